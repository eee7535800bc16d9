"""What the command prints: progress, verdicts, coverage, JSON and JUnit."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from checker.explicit.check import Report
    from checker.explicit.results import Progress
    from checker.lang.loader import BoundModel

COLORS = {"holds": "green", "holds within bounds": "green", "reached": "green", "violated": "red"}
FIRST_LINE_S, LONGEST_GAP_S = 1.0, 60.0


def known_error(error: Exception) -> bool:
    """Whether an error is bad input that its message explains: no stack trace is needed."""
    names = {"TraceError", "CheckpointError", "LayoutError"}
    return any(cls.__name__ in names for cls in type(error).__mro__)


class ProgressLine:
    """A search under way, on standard error: one line updated on a terminal, else plain lines at growing gaps."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._next = FIRST_LINE_S
        self._gap = FIRST_LINE_S
        self._shown = False
        self._before = (0.0, 0)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._shown and self._terminal:
            click.echo("\r\033[K", nl=False, err=True)

    def __call__(self, progress: Progress) -> None:
        if self._quiet or progress.seconds < self._next:
            return
        if self._terminal:
            self._next = progress.seconds + 0.1
            click.echo(f"\r\033[K{self._text(progress)}", nl=False, err=True)
        else:
            self._gap = min(LONGEST_GAP_S, self._gap * 1.5)
            self._next = progress.seconds + self._gap
            click.echo(self._text(progress), err=True)
        self._shown = True

    def _text(self, progress: Progress) -> str:
        seconds, generated = self._before
        rate = (progress.generated - generated) / max(1e-9, progress.seconds - seconds)
        self._before = (progress.seconds, progress.generated)
        return (
            f"level {progress.depth}: {count(progress.generated)} generated, {count(progress.distinct)} distinct, "
            f"{count(int(rate))}/s, frontier {count(progress.frontier)} ({count(progress.queue)} left), "
            f"{progress.memory_bytes / 2**30:.2f} GiB, {progress.seconds:.0f} s"
        )


def count(number: int) -> str:
    """A number for people: 12,345 or 17.7 M."""
    return f"{number / 1e6:,.1f} M" if number >= 10_000_000 else f"{number:,}"


def print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2))


def table(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Rows of cells as aligned lines, without trailing blanks."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(right))]
    lines = []
    for row in rows:
        cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def describe(model: BoundModel) -> str:
    """Constants, switches, actions and properties of a model."""
    lines = [f"{model.name}: {model.model.doc}"]
    docs = model.info.docs if model.info else {}
    switches = {n: v for n, v in model.constants.items() if isinstance(v, bool)}
    constants = {n: v for n, v in model.constants.items() if n not in switches}
    for title, group in (("constants", constants), ("design switches", switches)):
        if group:
            rows = [(n, str(getattr(v, "name", v)).lower() if isinstance(v, bool) else str(v), docs.get(n, ""))
                    for n, v in group.items()]  # fmt: skip
            lines += ["", f"{title}:", *table(rows, (False, True, False))]
    if model.model.settings:
        shown = {s: ", ".join(f"{n}={str(v).lower()}" for n, v in c.items()) or "all on"
                 for s, c in model.model.settings.items()}  # fmt: skip
        lines += ["", "settings:", *table(list(shown.items()), (False, False))]
    lines += ["", "actions:", *table([(a.name, a.doc) for a in model.model.actions], (False, False))]
    lines += ["", "properties:"]
    lines += table([(p.name, p.kind, p.doc) for p in model.model.properties], (False, False, False))
    return "\n".join(lines)


def check_text(report: Report, *, coverage: bool) -> str:
    """A finished check for people: properties, actions, and the verdict as the last line."""
    lines = [f"{report.model.name}", ""]
    rows = [(p.name, p.kind, _verdict(p.verdict, p.trace_length)) for p in report.properties]
    lines += table(rows or [("no properties", "", "")], (False, False, False))
    counts = [("action", "enabled", "fired", "cut", "new states")]
    for name, c in zip(report.kernel.actions, report.result.actions, strict=True):
        counts.append((name, f"{c.enabled:,}", f"{c.fired:,}", f"{c.cut:,}", f"{c.new:,}"))
    lines += ["", *table(counts, (False, True, True, True, True))]
    if coverage:
        lines += _coverage(report)
    result = report.result
    size = f"{result.generated:,} generated, {result.distinct:,} distinct, depth {result.depth}"
    rate = result.generated / max(1e-9, result.seconds)
    speed = f"{report.seconds['search']:.2f} s search, {count(int(rate))}/s, {report.seconds['total']:.2f} s in all"
    verdict = click.style(report.verdict, fg=COLORS.get(report.verdict, "yellow"), bold=True)
    reason = f" ({report.reason})" if report.reason else ""
    lines += ["", f"{size}; {speed}", f"{verdict}{reason}"]
    return "\n".join(lines)


def _verdict(verdict: str, length: int | None) -> str:
    return f"{verdict}, {length} states" if length is not None else verdict


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
    return ["", *table(guards, (False, True, True, True)), "", *table(fields, (False, True, True))]


def write_junit(report: Report, path: Path) -> None:
    """A JUnit XML file: one test case for each property. Written whole or not at all."""
    suite = ET.Element("testsuite", name=f"fencepost {report.model.name}", tests=str(len(report.properties)))
    failures = errors = 0
    for found in report.properties:
        case = ET.SubElement(suite, "testcase", classname=report.model.name, name=found.name,
                             time=f"{report.seconds['search']:.3f}")  # fmt: skip
        if found.verdict in ("violated", "not reached"):
            failures += 1
            failure = ET.SubElement(case, "failure", message=_verdict(found.verdict, found.trace_length))
            failure.text = _plain(found.trace)
        elif found.verdict == "incomplete":
            errors += 1
            ET.SubElement(case, "error", message=report.reason or "not decided before the search ended")
    if report.verdict == "vacuous":
        case = ET.SubElement(suite, "testcase", classname=report.model.name, name="not vacuous")
        ET.SubElement(case, "failure", message=report.reason)
        failures += 1
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    suite.set("timestamp", time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()))
    write_whole(path, ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _plain(trace: Any) -> str:
    from traces.render import render

    return render(trace, 120, False) if trace is not None else ""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name beside it, then rename: it is there whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
