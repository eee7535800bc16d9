"""What the command prints: progress, verdicts, coverage, JSON and JUnit."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.redaction import redacted
from checker.verdicts import INCOMPLETE, NOT_REACHED, VACUOUS, VIOLATED, color
from traces.trace import printable
from traces.values import plural, shortened, show

if TYPE_CHECKING:
    from checker.conform.product import Progress as ProductProgress
    from checker.explicit.check import PropertyReport, Report
    from checker.explicit.diff import Compared, Difference
    from checker.explicit.export import Written
    from checker.explicit.simulate import Simulation
    from checker.lang.loader import BoundModel
    from checker.running.deadline import Stage
    from checker.running.limits import Progress
    from checker.symbolic.induction import Progress as ProofProgress
    from checker.validate.corpus import Summary, Verdict

FIRST_LINE_S, LONGEST_GAP_S, TERMINAL_S = 1.0, 60.0, 0.1
LEAST_COLUMN = 36  # of a table: a text is not wrapped to less


class ProgressLine:
    """Work under way, on standard error: one line updated on a terminal, else plain lines at growing gaps."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = FIRST_LINE_S
        self._gap = FIRST_LINE_S
        self._shown = False
        self._before: tuple[float, int] | None = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._shown and self._terminal:
            click.echo("\r\033[K", nl=False, err=True)

    def search(self, progress: Progress) -> None:
        """Show how far a search is."""
        self._show(progress.seconds, progress.generated, lambda rate: [
            f"level {progress.depth}", f"{count(progress.generated)} generated", f"{count(progress.distinct)} distinct",
            f"{rate}/s", f"{progress.seconds:.0f} s", f"frontier {count(progress.frontier)}",
            *_memory_or_tasks(progress),
        ])  # fmt: skip

    def walks(self, made: Simulation) -> None:
        """Show how far random walks are."""
        self._show(made.seconds, made.steps, lambda rate: [
            f"{made.walks:,} walks", f"{made.steps:,} steps", f"{rate}/s", f"{made.seconds:.0f} s",
        ])  # fmt: skip

    def proof(self, made: ProofProgress) -> None:
        """Show how far a proof is."""
        self._show(made.seconds, made.done, lambda rate: [
            f"{made.done:,} of {made.total:,} queries", f"{rate}/s", f"{made.seconds:.0f} s",
        ])  # fmt: skip

    def unrolling(self, made: ProofProgress) -> None:
        """Show how far an unrolling is."""
        self._show(made.seconds, made.done, lambda _: [f"{made.done} of {made.total} steps", f"{made.seconds:.0f} s"])

    def comparison(self, made: Compared) -> None:
        """Show how far the comparison of two searches is."""
        self._show(made.seconds, made.done, lambda rate: [
            f"{count(made.done)} of {count(made.total)} states compared", f"{rate}/s", f"{made.seconds:.0f} s",
        ])  # fmt: skip

    def mutants(self, model: str, judged: int, total: int, counts: Mapping[str, int], seconds: float) -> None:
        """Show how far a model's mutants are. counts: by verdict."""
        self._show(seconds, judged, lambda _: [
            f"{model}: {judged:,} of {total:,} mutants", *[f"{n:,} {verdict}" for verdict, n in counts.items() if n],
            f"{judged / max(1e-9, seconds):.1f}/s", f"{seconds:.0f} s",
        ])  # fmt: skip

    def stage(self, made: Stage) -> None:
        """Show how far work before or after a search is."""
        of = "" if made.total is None else f" of {count(made.total)}"
        self._show(made.seconds, made.done, lambda rate: [
            f"{made.name}: {count(made.done)}{of} {made.what}", f"{made.seconds:.0f} s",
            f"{made.memory_bytes / 2**30:.2f} GiB",
        ])  # fmt: skip

    def written(self, done: Written) -> None:
        """Show how far an export is."""
        self._show(done.seconds, done.rows, lambda rate: [
            f"{done.table}: {count(done.rows)} rows", f"{rate}/s", f"{done.seconds:.0f} s",
        ])  # fmt: skip

    def product(self, made: ProductProgress) -> None:
        """Show how far the exploration of a spec and an implementation is."""
        self._show(made.seconds, made.driven, lambda rate: [
            f"level {made.depth}", f"{count(made.driven)} transitions driven", f"{count(made.pairs)} pairs",
            f"{rate}/s", f"{made.seconds:.0f} s", f"{count(made.left)} of the level to go",
        ])  # fmt: skip

    def corpus(self, found: Summary) -> None:
        """Show how far the validation of a corpus is."""
        self._show(found.seconds, found.events, lambda rate: [
            f"{found.traces:,} traces", f"{count(found.events)} events", f"{rate}/s", f"{found.seconds:.0f} s",
            f"{found.counts['rejected']:,} rejected",
        ])  # fmt: skip

    def tasks(self, done: int, every: int, seconds: float) -> None:
        """Show how far a job of a cluster is."""
        self._show(seconds, done, lambda _: [f"{done} of {plural(every, 'task')}", f"{seconds:.0f} s"])

    def _show(self, seconds: float, done: int, parts: Callable[[str], list[str]]) -> None:
        since, before = self._before = self._before or (seconds, done)
        if self._quiet or seconds < self._next:
            return
        shown = parts(count(int((done - before) / max(1e-9, seconds - since))))
        self._before = (seconds, done)
        self._shown = True
        if self._terminal:
            self._next = seconds + TERMINAL_S
            while len(", ".join(shown)) >= _columns_of_stderr():  # a line that wraps could not be updated
                shown.pop()
            click.echo(f"\r\033[K{', '.join(shown)}", nl=False, err=True)
        else:
            self._gap = min(LONGEST_GAP_S, self._gap * 1.5)
            self._next = seconds + self._gap
            click.echo(", ".join(shown), err=True)


def _memory_or_tasks(progress: Progress) -> list[str]:
    if progress.tasks is None:
        return [f"{progress.memory_bytes / 2**30:.2f} GiB", f"{count(progress.queue)} of the frontier to go"]
    done, tasks = progress.tasks
    return [f"{progress.sent_bytes / 2**20:,.1f} MiB shuffled", f"{done} of {tasks} tasks done"]


def _columns_of_stderr() -> int:
    with suppress(OSError):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
        if columns:
            return max(20, columns)
    return 80


def count(number: int) -> str:
    """A number for people: 12,345 or 17.7 M."""
    return f"{number / 1e6:,.1f} M" if number >= 1_000_000 else f"{number:,}"


def print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2))


def table(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Rows of cells as aligned lines, without trailing blanks; on a terminal the last column is wrapped.

    Where the other columns leave it no room there, it stands below them.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(right))]
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() and not right[-1] else sys.maxsize
    margin = 2 + sum(w + 2 for w in widths[:-1])
    below = columns - margin < min(widths[-1], LEAST_COLUMN)
    margin = 6 if below else margin
    lines = []
    for row in rows:
        *cells, last = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
        start = "  " + "  ".join(cells)
        rest = [last.rstrip()] if len(last.rstrip()) <= columns - margin else textwrap.wrap(last, columns - margin)
        if not below:
            start, *rest = [f"{start}  {rest[0]}" if cells else f"  {rest[0]}", *rest[1:]]
        lines += [start.rstrip(), *[(" " * margin + line).rstrip() for line in rest]]
    return lines


def list_models(name: str, models: Sequence[Any]) -> list[str]:
    """A line for each model of a spec."""
    return [line[2:] for line in table([(f"{name}/{m.name}", m.doc) for m in models], (False, False))]


def list_names(model: BoundModel) -> list[str]:
    """What the models of a spec have in common, by name: constants, switches, settings, and all their properties."""
    models = model.spec.models
    groups = {
        "constants": [n for n, v in model.constants.items() if not isinstance(v, bool)],
        "switches": [n for n, v in model.constants.items() if isinstance(v, bool)],
        "settings": list(dict.fromkeys(s for m in models for s in m.settings)),
        "properties": list(dict.fromkeys(p.name for m in models for p in m.properties)),
    }
    lines = []
    for title, names in groups.items():
        if names:
            lines += textwrap.wrap(
                ", ".join(names), 100, initial_indent=f"  {title:<12}", subsequent_indent=" " * 14,
                break_on_hyphens=False,
            )  # fmt: skip
    return lines


def describe(model: BoundModel) -> str:
    """Constants, switches, settings, actions and properties of a model."""
    lines = [f"{model.name}: {model.model.doc}"]
    docs = model.info.docs if model.info else {}
    switches = {n: v for n, v in model.constants.items() if isinstance(v, bool)}
    constants = {n: v for n, v in model.constants.items() if n not in switches}
    for title, group in (("constants", constants), ("design switches", switches)):
        if group:
            rows = [(name, _value(value), docs.get(name, "")) for name, value in group.items()]
            lines += ["", f"{title} (--set NAME=VALUE):", *table(rows, (False, True, False))]
    if model.model.settings:
        settings = [(s, ", ".join(f"{n}={_value(v)}" for n, v in c.items()) or "as above")
                    for s, c in model.model.settings.items()]  # fmt: skip
        lines += ["", "settings (--setting NAME):", *table(settings, (False, False))]
    lines += ["", "actions:", *table([(a.name, a.doc) for a in model.model.actions], (False, False))]
    if model.model.fairness:
        rows = [(f.name, f.fair, f.doc) for f in model.model.fairness]
        lines += ["", "fairness, beside that of single actions:", *table(rows, (False, False, False))]
    lines += ["", "properties:"]
    rows = [(p.name, p.kind, p.doc) for p in model.model.properties]
    lines += table(rows, (False, False, False)) if rows else ["  none"]
    if model.model.lemmas:
        lines += ["", "lemmas (for proofs):", *table([(d.name, d.doc) for d in model.model.lemmas], (False, False))]
    return "\n".join(lines)


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "name", value))


def check_text(report: Report, *, coverage: bool, checkpoint: Path | None) -> str:
    """A finished check for people: properties, actions, counts, and the verdict as the last line.

    checkpoint: the directory that the search was saved to.
    """
    result = report.result
    rows = [(p.name, p.kind, _verdict(p)) for p in report.properties]
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
        *_hints(report, checkpoint),
    ]
    verdict = click.style(report.verdict, fg=color(report.verdict), bold=True)
    if len(report.reasons) > 1:
        return "\n".join([*lines, "", *[f"  {reason}" for reason in report.reasons], verdict])
    return "\n".join([*lines, "", f"{verdict}: {report.reason}" if report.reason else verdict])


def _hints(report: Report, checkpoint: Path | None) -> list[str]:
    """What the reader may want to know or do next."""
    lines = []
    deadlocks = any(p.kind == "deadlock" for p in report.properties)
    if report.result.deadlock is not None and not deadlocks:
        level = report.result.deadlock
        lines.append(f"note: a state of level {level} has no enabled action (deadlock_free is not checked)")
    if len([p for p in report.properties if p.verdict == VIOLATED]) > len(report.traces):
        lines.append("note: --all-violations goes on, and shows a trace for each violated property")
    if report.stopped is not None and checkpoint is not None:
        lines.append(f"to go on from the last whole level: --resume {redacted(str(checkpoint))}")
    return lines


def _verdict(found: PropertyReport) -> str:
    if found.trace_length is None:
        return found.verdict
    after = "after " if found.kind == "runtime error" else ""  # the step out of the last state is what breaks
    return f"{found.verdict}, {after}{plural(found.trace_length, 'state')}"


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


def diff_text(found: Difference) -> str:
    """A finished comparison for people: states and transitions of both sides, and the verdict as the last line."""
    sides = found.sides
    counts = [
        ("", "A", "B"),
        ("reachable states", *[f"{s.states:,}" for s in sides]),
        ("  that the other has not reached", *[f"{s.own_states:,}" for s in sides]),
        ("transitions", *[f"{s.transitions:,}" for s in sides]),
        ("  out of states of both, that the other does not take", *[f"{sum(s.from_shared):,}" for s in sides]),
        ("  out of states that the other has not reached", *[f"{sum(s.from_own):,}" for s in sides]),
    ]
    names = [action.name for action in sides[0].model.model.actions]
    by_action = [("not taken by the other", "A, of both", "A, of its own", "B, of both", "B, of its own")]
    by_action += [
        (name, *[f"{n:,}" for n in numbers])
        for name, *numbers in zip(names, *[n for s in sides for n in (s.from_shared, s.from_own)], strict=True)
        if any(numbers)
    ]
    lines = [f"{found.name}: A is {sides[0].label}, B is {sides[1].label}"]
    lines += [f"not finished: {found.stopped}; what follows is of the states seen so far"] * bool(found.stopped)
    lines += ["", *table(counts, (False, True, True)), ""]
    lines += [*table(by_action, (False, True, True, True, True)), ""] if len(by_action) > 1 else []
    for name, other, side in zip("AB", "BA", sides, strict=True):
        if side.trace is not None:
            length = len(side.trace.steps)
            lines.append(f"{name} first does what {other} does not at step {length}")
    lines.append(f"{found.seconds:.2f} s in all")
    verdict = click.style(found.verdict, fg=color(found.verdict), bold=True)
    return "\n".join([*lines, "", f"{verdict}: {found.stopped}" if found.verdict == INCOMPLETE else verdict])


def corpus_text(model: BoundModel, found: Summary, most: int) -> str:
    """A validated corpus for people: traces that are not accepted (`most` at most), actions, counts."""
    lines: list[str] = []
    for verdict in found.verdicts[:most]:
        lines += [*_verdict_lines(verdict), ""]
    if len(found.verdicts) > most:
        lines += [f"{len(found.verdicts) - most:,} more that are not accepted (--show, --json)", ""]
    taken = [("action", "events"), *[(name, f"{events:,}") for name, events in found.actions.items() if events]]
    lines += [model.name, *table(taken, (False, True))] if len(taken) > 1 else [model.name]
    never = [name for name, events in found.actions.items() if not events]
    if never:
        lines.append(f"  never: {', '.join(never)}")
    rate = count(int(found.events / max(1e-9, found.seconds)))
    steps = plural(len(found.transitions), "distinct transition")
    lines += ["", f"{plural(found.events, 'event')}, {steps}; {found.seconds:.2f} s, {rate}/s"]
    if found.endless:
        lines.append(f"{found.endless:,} accepted without a line that ends them: they may have been cut short")
    counted = ", ".join(f"{number:,} {status}" for status, number in found.counts.items() if number) or "no traces"
    stopped = f"incomplete ({found.stopped}): " if found.stopped else ""
    return "\n".join([*lines, f"{stopped}{plural(found.traces, 'trace')}: {counted}"])


def _verdict_lines(verdict: Verdict) -> list[str]:
    if not verdict.line:
        return [f"{verdict.trace}: {verdict.status}: {verdict.reason}"]
    lines = [f"{verdict.trace}: {verdict.status} at line {verdict.line}, {verdict.event}", f"  {verdict.reason}"]
    if verdict.nearest is not None:
        which = "the" if verdict.candidates == 1 else f"the nearest of {verdict.candidates}"
        lines.append(f"  {which} state{'s' * (verdict.candidates > 1)} before it:")
        lines += [f"    {name} = {show(value)}" for name, value in verdict.nearest.items()]
    return lines


def write_junit(report: Report, path: Path) -> None:
    """A JUnit XML file: a test case for each property, and one for the search. Written whole or not at all."""
    suite = ET.Element("testsuite", name=f"fencepost {report.model.name}")
    seconds = f"{report.seconds['search']:.3f}"
    for found in report.properties:
        case = ET.SubElement(suite, "testcase", classname=report.model.name, name=found.name, time="0")
        if found.verdict in (VIOLATED, NOT_REACHED):
            ET.SubElement(case, "failure", message=_verdict(found)).text = _plain(found.trace)
        elif found.verdict == INCOMPLETE:
            ET.SubElement(case, "error", message=f"not decided: the search is {report.verdict}: {report.reason}")
    case = ET.SubElement(suite, "testcase", classname=report.model.name, name="search", time=seconds)
    if report.verdict == VACUOUS:
        ET.SubElement(case, "failure", message=f"vacuous: {report.reason}")
    elif report.verdict == INCOMPLETE:
        ET.SubElement(case, "error", message=f"incomplete: {report.reason}")
    numbers = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error"}
    for name, cases in numbers.items():
        suite.set(name, str(len(suite.findall(cases))))
    suite.set("time", seconds)
    suite.set("timestamp", time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()))
    _write_xml(suite, path)


@contextmanager
def junit_of_failures(path: Path | None, model: str) -> Iterator[None]:
    """Where a check ends without a verdict, `path` says so, and never what an earlier check found."""
    if path is not None and path.is_file():
        path.unlink()
    try:
        yield
    except BaseException as error:
        if path is not None:
            suite = ET.Element("testsuite", name=f"fencepost {model}", tests="1", failures="0", errors="1")
            case = ET.SubElement(suite, "testcase", classname=model, name="search", time="0")
            text = redacted(f"no verdict: {type(error).__name__}: {error}")
            ET.SubElement(case, "error", message=shortened(printable(text), 1000))
            with suppress(OSError):  # what ended the check is what is told
                _write_xml(suite, path)
        raise


def _write_xml(suite: ET.Element, path: Path) -> None:
    from traces.files import write_whole

    write_whole(path, ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _plain(trace: Any) -> str:
    from traces.render import render

    return render(trace, 120, False) if trace is not None else ""

