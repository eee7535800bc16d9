"""Words of `conform`: what was driven, and the two states after a step that diverges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from checker.cli.output.printing import count, verdict_line
from checker.cli.output.table import paragraphs, table
from traces.values import plural

if TYPE_CHECKING:
    from checker.conform.check import Report
    from checker.conform.divergence import Divergence

HEADS = {False: ("spec", "implementation"), True: ("before", "after")}


def conform_text(report: Report) -> str:
    """A finished exploration for people: actions and counts."""
    counts = report.counts
    names = [action.name for action in report.model.model.actions]
    rows: list[tuple[str, ...]] = [("action", "driven", "refused by both", "nothing to try")]
    for name, *numbers in zip(names, counts.driven, counts.tried, counts.nothing, strict=True):
        rows.append((name, *[f"{number:,}" for number in numbers]))
    driven = sum(counts.driven)
    rate = count(int((driven - report.before) / max(1e-9, report.seconds["product"])))
    bounds = [f"{counts.cut:,} steps were cut by a bound of the model"] * bool(counts.cut)
    bounds += [f"{counts.outside:,} steps left the state constraint: they were driven, not expanded"] * bool(
        counts.outside
    )
    before = f" ({report.before:,} of them before it was resumed)" * bool(report.before)
    lines = [
        f"{report.model.name} and {report.name}", "", *table(rows, (False, True, True, True)), "",
        f"{plural(driven, 'transition')} driven{before} between {plural(report.pairs, 'pair')}, depth {report.depth}; "
        f"{plural(sum(counts.tried), 'refusal')}",
        *[f"{plural(report.probes, 'message')} not under way, at {plural(report.receivers, 'receiver')}"]
        * bool(report.receivers),
        f"of the spec: {_share(counts.states, report.states, 'states')}, "
        f"{_share(counts.transitions, report.transitions, 'transitions')}",
        *bounds,
        f"{report.seconds['product']:.2f} s, {rate} transitions/s; {report.seconds['total']:.2f} s in all",
    ]  # fmt: skip
    if report.divergence is not None:
        lines.append("counts are of the levels before the one that diverges")
    return paragraphs(lines)


def conform_verdict(report: Report, checkpoint: Path | None) -> str:
    """The two states after the step that diverges, and the verdict as the last line. checkpoint: where it was saved."""
    lines = [side_by_side(report.divergence), ""] if report.divergence is not None else []
    if report.stopped is not None and checkpoint is not None:
        lines += [f"to continue from the last whole level: --resume {checkpoint}", ""]
    return "\n".join([*lines, verdict_line(report.verdict, report.reason)])


def _share(covered: int, total: int | None, what: str) -> str:
    if total is None:
        return f"{covered:,} {what}, of a number that is not known"
    return f"all {total:,} {what}" if covered == total else f"{covered:,} of {total:,} {what}"


def side_by_side(found: Divergence) -> str:
    """The two states after the step that diverges, in full; what differs is marked.

    Below it, where the implementation remembers what it should not, all that does not show, before and after.
    """
    rows: list[tuple[str, ...]] = []
    for hidden in (False, True):
        here = [row for row in found.rows if row.hidden is hidden]
        part = [("≠" if row.differs else " ", row.path, row.spec, row.system) for row in here]
        rows += [("", "", *HEADS[hidden]), *part] if part else []
    return "\n".join(table(rows, (False, False, False, False))) if rows else ""
