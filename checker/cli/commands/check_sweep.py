"""Sweeps of `check`: one run for each value of a constant, one table of what they found.

`--set brokers=2..4` and `--set brokers=2,3` name several values; several such constants are a product, the last of
them changing fastest.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from checker.cli.commands.check_junit import suite_of, suite_without_verdict
from checker.cli.commands.check_text import length_text
from checker.cli.options import Target, with_only
from checker.cli.output.table import paragraphs, table
from checker.lang.itf import to_itf
from checker.lang.loader import bind_model, constants_of, find
from checker.running.deadline import CompilationStopped
from checker.verdicts import INCOMPLETE, INTERRUPTED, VACUOUS, VIOLATED, exit_code, strongest
from traces.values import shortened

if TYPE_CHECKING:
    from checker.explicit.check import Report
    from checker.lang.loader import BoundModel

MAX_RUNS = 64
_REASON = 160  # characters of a reason in the table; the check of the run alone prints all of it
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")


@dataclass(frozen=True)
class Run:
    """One run of a sweep. values: the text of each constant that is swept; target: the model with them.

    properties: those that are judged, where not all are.
    """

    values: dict[str, str]
    target: Target
    properties: tuple[str, ...]
    model: BoundModel

    @property
    def label(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.values.items())

    @property
    def command(self) -> str:
        """The command that checks it alone, and shows the traces."""
        target = self.target
        options = [("--setting", target.setting)] if target.setting else []
        options += [("--set", f"{name}={value}") for name, value in target.changes.items()]
        options += [("--property", name) for name in self.properties]
        return shlex.join(["fencepost", "check", target.model, *itertools.chain.from_iterable(options)])


@dataclass(frozen=True)
class Row:
    """Results of a run: the object of `--json`, its JUnit suite, and in words why the verdict is what it is."""

    run: Run
    found: dict[str, Any]
    suite: ET.Element
    why: str

    @property
    def verdict(self) -> str:
        verdict: str = self.found["verdict"]
        return verdict


def runs_of(target: Target, properties: tuple[str, ...]) -> list[Run]:
    """The runs that `--set` asks for, each bound; none where every constant has one value.

    Raises SpecError for a value that does not fit, BadParameter for a malformed range and for too many runs.
    """
    if not any("," in text or ".." in text for text in target.changes.values()):
        return []
    spec, name = find(target.model)
    info = constants_of(spec.model(name), spec.module)
    defaults = info.defaults if info else {}
    swept = {
        constant: _values(constant, text)
        for constant, text in target.changes.items()
        if ("," in text or ".." in text) and not isinstance(defaults.get(constant), str)
    }
    number = math.prod(len(values) for values in swept.values())
    if number > MAX_RUNS:
        raise click.BadParameter(f"{number:,} runs are too many: a sweep has at most {MAX_RUNS}", param_hint="'--set'")
    runs = []
    for combination in itertools.product(*swept.values()) if swept else ():
        values = dict(zip(swept, combination, strict=True))
        one = replace(target, changes={**target.changes, **values})
        bound = bind_model(spec, name, one.changes, one.setting)
        runs.append(Run(values, one, properties, with_only(bound, properties)))
    return runs


def _values(name: str, text: str) -> list[str]:
    """The values that `2..4`, `2,3` or `1,3..5` names, each once. Raises BadParameter."""
    values: list[str] = []
    for part in text.split(","):
        ends = _RANGE.fullmatch(part)
        if ends is None and (not part or ".." in part):
            raise click.BadParameter(
                f"{name}={text}: {part!r} is neither a value nor a range: write {name}=2..4, {name}=2,3 or both "
                f"({name}=1,3..5)", param_hint="'--set'",
            )  # fmt: skip
        if ends is None:
            values.append(part)
            continue
        first, last = int(ends[1]), int(ends[2])
        if last < first:
            raise click.BadParameter(f"{name}={text}: the range {part} ends before it starts", param_hint="'--set'")
        if last - first >= MAX_RUNS:
            raise click.BadParameter(
                f"{name}={text}: {last - first + 1:,} runs are too many: a sweep has at most {MAX_RUNS}",
                param_hint="'--set'",
            )
        values += map(str, range(first, last + 1))
    return list(dict.fromkeys(values))


def sweep(
    runs: Sequence[Run], check: Callable[[Run, float | None], Report], time_limit_s: float | None
) -> Iterator[Row]:
    """Check one run after the other; after Ctrl-C, or when the time is up, the others are incomplete.

    check: called with a run and the seconds that are left for it.
    """
    started = time.monotonic()
    stopped: str | None = None
    for number, run in enumerate(runs):
        left = None if time_limit_s is None else time_limit_s - (time.monotonic() - started)
        if stopped is None and number and left is not None and left <= 0:
            stopped = f"time limit of {time_limit_s:g} s"
        if stopped is not None:
            yield _undecided(run, f"not run: {stopped}")
            continue
        try:
            run.model.bind()
            row, stopped = _outcome(run, check(run, left if left is None else max(0.0, left)))
        except KeyboardInterrupt:  # outside of the search, which reports its counts
            stopped = INTERRUPTED
            row = _undecided(run, stopped)
        except CompilationStopped as error:
            row = _undecided(run, str(error))
        yield row


def _outcome(run: Run, report: Report) -> tuple[Row, str | None]:
    """What is kept of a report, and why no run may follow. Not its states: the next run needs the room."""
    violated = [f"{p.name}, {length_text(p)}" for p in report.properties if p.verdict == VIOLATED]
    why = "; ".join(violated) or (shortened(report.reason, _REASON) if report.verdict in (INCOMPLETE, VACUOUS) else "")
    row = Row(run, report.to_json(), suite_of(report, f"{run.model.name} {run.label}"), why)
    return row, INTERRUPTED if report.stopped == INTERRUPTED else None


def _undecided(run: Run, reason: str) -> Row:
    model = run.model
    constants = {name: to_itf(value) for name, value in model.constants.items()}
    found = {"model": model.name, "constants": constants, "verdict": INCOMPLETE, "reason": reason}
    return Row(run, found, suite_without_verdict(f"{model.name} {run.label}", reason), reason)


def sweep_text(rows: Sequence[Row]) -> str:
    """All runs as one table, and how to see each violation."""
    swept = list(rows[0].run.values)
    cells = [(*swept, "verdict", "distinct", "generated", "depth", "seconds", "violated, or why")]
    for row in rows:
        numbers = [f"{row.found[key]:,}" if key in row.found else "" for key in ("distinct", "generated", "depth")]
        seconds = f"{row.found['seconds']['total']:.2f}" if "seconds" in row.found else ""
        cells.append((*row.run.values.values(), row.verdict, *numbers, seconds, row.why))
    lines = [rows[0].run.model.name, "", *table(cells, (*[False] * len(swept), False, True, True, True, True, False))]
    hints = [f"to see it: {row.run.command}" for row in rows if row.verdict == VIOLATED]
    return "\n".join([paragraphs(lines), *["", *hints] * bool(hints)])  # hints are whole: they are copied


def sweep_exit_code(rows: Sequence[Row]) -> int:
    """The exit code of the verdict that takes precedence over those of the other runs."""
    return exit_code(strongest(row.verdict for row in rows))
