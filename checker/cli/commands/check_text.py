"""Words of `check`: properties, actions, coverage and counts; hints and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.cli.output.printing import count, verdict_line
from checker.cli.output.table import paragraphs, table
from checker.redaction import redacted
from checker.verdicts import VIOLATED
from traces.values import plural

if TYPE_CHECKING:
    from checker.explicit.check import PropertyReport, Report


def check_text(report: Report, *, coverage: bool) -> str:
    """A finished check for people: properties, actions, counts."""
    result = report.result
    rows = [(p.name, p.kind, property_verdict(p)) for p in report.properties]
    lines = [f"{report.model.name}", "", *table(rows or [("no properties", "", "")], (False, False, False))]
    counts = [("action", "enabled", "fired", "cut", "new states")]
    for name, c in zip(report.kernel.actions, result.actions, strict=True):
        counts.append((name, f"{c.enabled:,}", f"{c.fired:,}", f"{c.cut:,}", f"{c.new:,}"))
    lines += ["", *table(counts, (False, True, True, True, True))]
    if coverage:
        lines += _coverage(report)
    rate = count(int(result.generated / max(1e-9, result.seconds)))
    lines += [
        "",
        f"{result.generated:,} generated, {result.distinct:,} distinct, depth {result.depth}; "
        f"{result.bytes_per_state} bytes a state, {result.peak_memory_bytes / 2**20:,.0f} MiB at most",
        f"{report.seconds['search']:.2f} s search, {rate}/s on {plural(result.workers, result.worker)}; "
        + (f"{report.seconds['liveness']:.2f} s liveness; " if report.kernel.obligations else "")
        + f"{report.seconds['total']:.2f} s in all",
    ]
    return paragraphs(lines)


def check_verdict(report: Report, checkpoint: str | None) -> str:
    """Hints, and the verdict as the last line. checkpoint: the folder or URI that the search was saved to."""
    lines = [*hints, ""] if (hints := _hints(report, checkpoint)) else []  # whole: a path is copied
    if len(report.reasons) > 1:
        lines += [paragraphs([f"  {reason}"]) for reason in report.reasons]
        return "\n".join([*lines, verdict_line(report.verdict)])
    return "\n".join([*lines, verdict_line(report.verdict, report.reason)])


def _hints(report: Report, checkpoint: str | None) -> list[str]:
    """Hints on what the reader may want to know or do next."""
    lines = []
    deadlocks = any(p.kind == "deadlock" for p in report.properties)
    if report.result.deadlock is not None and not deadlocks:
        level = report.result.deadlock
        lines.append(f"note: a state of level {level} has no enabled action (deadlock_free is not checked)")
    if len([p for p in report.properties if p.verdict == VIOLATED]) > len(report.traces):
        lines.append("note: --all-violations continues, and shows a trace for each violated property")
    if report.stopped is not None and checkpoint is not None:
        lines.append(f"to continue from the last whole level: --resume {redacted(checkpoint)}")
    return lines


def property_verdict(found: PropertyReport) -> str:
    return found.verdict if found.trace_length is None else f"{found.verdict}, {length_text(found)}"


def length_text(found: PropertyReport) -> str:
    """The length of a shortest trace: 6 states."""
    assert found.trace_length is not None
    after = "after " if found.kind == "runtime error" else ""  # the step out of the last state is what breaks
    return f"{after}{plural(found.trace_length, 'state')}"


def _coverage(report: Report) -> list[str]:
    full = report.to_json()
    guards = [("require", "line", "evaluated", "refused")]
    guards += [
        (f"{r['action']}: {r['text']}", str(r["line"]), f"{r['evaluated']:,}", f"{r['refused']:,}")
        for r in full["requires"]
    ]
    fields = [("field", "seen", "of")]
    for f in full["fields"]:
        seen = str(f["distinct"]) if "distinct" in f else f"{f['members']} members"
        fields.append((f["field"], seen, str(f.get("possible", ""))))
    shown = ["", *table(guards, (False, True, True, True))] if len(guards) > 1 else []
    return [*shown, "", *table(fields, (False, True, True))]
