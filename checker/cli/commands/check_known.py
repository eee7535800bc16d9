"""Check past known violations: `fencepost check MODEL --setting S --known`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from checker.cli.commands.check_text import check_text, length_text
from checker.cli.output.table import paragraphs, table
from traces.values import plural

if TYPE_CHECKING:
    from checker.cli.options import Target
    from checker.explicit.check import Report
    from checker.explicit.known import PastKnown
    from checker.lang.loader import BoundModel
    from traces import Trace


def within_time(
    check: Callable[[BoundModel, float | None], Report], time_limit_s: float | None, clock: Callable[[], float]
) -> Callable[[BoundModel], Report]:
    """The check of a model that shares one limit of time with all others. clock: seconds."""
    started = clock()
    return lambda model: check(model, None if time_limit_s is None else max(0.0, time_limit_s - (clock() - started)))


def known_text(found: PastKnown, target: Target, *, coverage: bool) -> str:
    """The known violations, each with its switch and the command that shows it; then the check with these on."""
    model = found.rest.model.name
    if not found.known:
        return check_text(found.rest, coverage=coverage)
    rows = [("known by", "violates", "kind", "in", "also stopped by")]
    rows += [
        (one.switch, one.found.name, one.found.kind, length_text(one.found), ", ".join(one.alternatives))
        for one in found.known
    ]
    known = ", ".join(one.switch for one in found.known)
    off = f"; still off: {', '.join(found.off)}" if found.off else ""
    lines = [f"{model}, past {plural(len(found.known), 'known violation')}", ""]
    lines += table(rows, (False, False, False, False, False))
    rest = f"with {known} on{off}:"
    return "\n".join([paragraphs(lines), "", *_commands(found, target), "", paragraphs([rest]), "",
                      check_text(found.rest, coverage=coverage)])  # fmt: skip


def _commands(found: PastKnown, target: Target) -> list[str]:
    """For each known violation the command that shows it: the switches of those before it are on."""
    lines, changes = [], dict(target.changes)
    for one in found.known:
        options = ["--setting", target.setting] if target.setting else []
        options += [text for name, value in changes.items() for text in ("--set", f"{name}={value}")]
        command = shlex.join(["fencepost", "check", target.model, *options, "--property", one.found.name])
        lines.append(f"to see it: {command}")
        changes[one.switch] = "true"
    return lines


def known_json(found: PastKnown) -> dict[str, Any]:
    """The object that `--json` prints: the check with the switches of known violations on, and these."""
    return {
        **found.rest.to_json(),
        "verdict": found.verdict,
        "reason": found.reason,
        "known": [
            {"switch": one.switch, "property": one.found.name, "kind": one.found.kind,
             "trace_length": one.found.trace_length, "alternatives": list(one.alternatives)}
            for one in found.known
        ],
        "off": found.off,
    }  # fmt: skip


def known_traces(found: PastKnown) -> list[Trace]:
    """The counterexamples of known violations, then those of the rest."""
    return [one.found.trace for one in found.known if one.found.trace is not None] + found.rest.traces
