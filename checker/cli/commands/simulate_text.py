"""Words of `simulate`: what the walks went through, and the verdict as the last line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.cli.output.printing import verdict_line
from checker.cli.output.table import paragraphs, table
from checker.verdicts import VIOLATED
from traces.values import plural

if TYPE_CHECKING:
    from checker.explicit.simulate import Simulation


def coverage_text(found: Simulation) -> str:
    """Per action how often it was taken; what was never taken, and which witnesses were reached."""
    result = found.result
    rows = [("action", "enabled", "taken", "cut")]
    for name, c, taken in zip(found.kernel.actions, result.actions, result.taken, strict=True):
        rows.append((name, f"{c.enabled:,}", f"{taken:,}", f"{c.cut:,}"))
    lines = [f"never taken: {name}{_refusal(found, name)}" for name in found.never_taken()]
    for words, wanted in (("reached", True), ("not reached", False)):
        names = [name for name, reached in found.witnesses().items() if reached == wanted]
        lines += [f"witnesses {words}: {', '.join(names)}"] * bool(names)
    return paragraphs([found.model.name, "", *table(rows, (False, True, True, True)), *([""] if lines else []), *lines])


def _refusal(found: Simulation, action: str) -> str:
    """The guard that most often refused an action."""
    refused = [(c.ended, s) for s, c in found.guards() if found.kernel.actions[s.action] == action and c.ended]
    if not refused:
        return ""
    times, site = max(refused, key=lambda one: one[0])
    return f" ({plural(times, 'time')} refused by {site.text}, line {site.line})"


def ending_text(found: Simulation) -> str:
    """The verdict, how many walks there were, and how fast."""
    result = found.result
    rate = result.steps / max(1e-9, result.seconds)
    made = f"{plural(result.walks, 'walk')}, {plural(result.steps, 'step')}, {rate:,.0f} steps/s, seed {found.seed}"
    if found.trace is not None and result.violation is not None:
        length, steps = len(found.trace.steps), result.violation.found_steps
        shrunk = f"shrunk from {steps + 1:,} to " if length <= steps else ""
        return verdict_line(
            VIOLATED, f"{found.violated}; {made}; {shrunk}{plural(length, 'state')} (there may be a shorter way)"
        )
    if result.stopped:
        return verdict_line(found.verdict, f"{result.stopped}; no violation found in {made}")
    return verdict_line(found.verdict, f"{made}; this proves nothing about the walks not taken")
