"""Words of `trace validate`: traces that are not accepted, actions, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.cli.output.printing import count
from checker.cli.output.table import paragraphs, table
from traces.values import plural, show

if TYPE_CHECKING:
    from checker.lang.loader import BoundModel
    from checker.validate.corpus import Summary, Verdict


def corpus_text(model: BoundModel, found: Summary, most: int) -> str:
    """A validated corpus for people: traces that are not accepted (`most` at most), actions, counts."""
    lines: list[str] = []
    for verdict in found.verdicts[:most]:
        lines += [*_verdict_lines(verdict), ""]
    if len(found.verdicts) > most:
        lines += [f"{len(found.verdicts) - most:,} more that are not accepted (--show, --json)", ""]
    taken = [("action", "events"), *[(name, f"{events:,}") for name, events in found.actions.items() if events]]
    lines += [model.name, *table(taken, (False, True))] if len(taken) > 1 else [model.name]
    uncertain = [name for name, events in found.actions.items() if not events]
    for word, is_possible in (("perhaps", True), ("never", False)):
        names = [name for name in uncertain if (name in found.possible) == is_possible]
        if names:
            lines.append(f"  {word}: {', '.join(names)}")
    rate = count(int(found.events / max(1e-9, found.seconds)))
    steps = plural(len(found.transitions), "distinct transition")
    lines += ["", f"{plural(found.events, 'event')}, {steps}; {found.seconds:.2f} s, {rate}/s"]
    if found.endless:
        lines.append(f"{found.endless:,} accepted without a line that ends them: they may have been cut short")
    counted = ", ".join(f"{number:,} {status}" for status, number in found.counts.items() if number) or "no traces"
    stopped = f"incomplete ({found.stopped}): " if found.stopped else ""
    return paragraphs([*lines, f"{stopped}{plural(found.traces, 'trace')}: {counted}"])


def _verdict_lines(verdict: Verdict) -> list[str]:
    if not verdict.line:
        return [f"{verdict.trace}: {verdict.status}: {verdict.reason}"]
    lines = [f"{verdict.trace}: {verdict.status} at line {verdict.line}, {verdict.event}", f"  {verdict.reason}"]
    if verdict.nearest is not None:
        which = "the" if verdict.candidates == 1 else f"the nearest of {verdict.candidates}"
        lines.append(f"  {which} state{'s' * (verdict.candidates > 1)} before it:")
        lines += [f"    {name} = {show(value)}" for name, value in verdict.nearest.items()]
    return lines
