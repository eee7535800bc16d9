"""check: a model explored exhaustively."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.cli.options import (
    PROPERTY,
    Engine,
    Output,
    Search,
    Target,
    engine_options,
    new_file,
    output_options,
    search_options,
    target_options,
)

if TYPE_CHECKING:
    from checker.cli.commands.check_sweep import Run
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.check import Report
    from checker.lang.loader import BoundModel


@dataclass(frozen=True)
class _How:
    """Options of one search. checkpoint, resume: folders, or URIs for Spark."""

    search: Search
    engine: Engine
    all_violations: bool
    checkpoint: str | None
    resume: str | None


@click.command()
@target_options
@PROPERTY
@click.option("--all-violations", is_flag=True, help="Go on after a violation: a shortest trace for each property.")
@click.option("--known", is_flag=True, help="Go on past violations that a switch repairs which is off, and list them.")
@search_options
@engine_options
@click.option("--checkpoint", metavar="DIR", help="Save every finished level to DIR (Spark: or to a URI).")
@click.option("--resume", metavar="DIR", help="Go on from a DIR that --checkpoint wrote, and save to it.")
@click.option("--coverage", is_flag=True, help="Also show guards and fields.")
@click.option(
    "--junit", type=click.Path(path_type=Path), callback=new_file, metavar="FILE", help="Write a JUnit XML report."
)
@output_options
def check(
    target: Target, properties: tuple[str, ...], all_violations: bool, known: bool, search: Search, engine: Engine,
    checkpoint: str | None, resume: str | None, coverage: bool, junit: Path | None, output: Output,
) -> int:  # fmt: skip
    """Explore MODEL exhaustively: a design (kraft), one of its models (kraft/isr), a module, or a Python file.

    --set NAME=2..4 or NAME=2,3 checks MODEL once for each value (several: for each combination), and prints one table.
    """
    from checker.cli.commands.check_junit import junit_of_failures

    how = _How(search, engine, all_violations, checkpoint, resume)
    with junit_of_failures(junit, target.model):
        engine.refuse_options_of_others(search)
        if runs := _runs(target, properties):
            _refuse_in_a_sweep(how, known, coverage, output)
            return _swept(runs, how, junit, output)
        if known:
            _refuse_past_known(how)
            return _past_known(target, properties, how, coverage, junit, output)
        return _checked(target, properties, how, coverage, junit, output)


def _runs(target: Target, properties: tuple[str, ...]) -> list[Run]:
    from checker.cli.commands.check_sweep import runs_of

    return runs_of(target, properties)


def _refuse_in_a_sweep(how: _How, known: bool, coverage: bool, output: Output) -> None:
    """Say which options are for one run only."""
    given = {"--checkpoint": how.checkpoint, "--resume": how.resume, "--trace-out": output.trace_out,
             "--coverage": coverage, "--known": known}  # fmt: skip
    names = [name for name, value in given.items() if value]
    if names:
        raise click.UsageError(f"{', '.join(names)}: this is for one run, and --set asks for several: give one value")


def _refuse_past_known(how: _How) -> None:
    """Say which options are for one search: past known violations there are several."""
    given = {"--checkpoint": how.checkpoint, "--resume": how.resume, "--all-violations": how.all_violations}
    names = [name for name, value in given.items() if value]
    if names:
        raise click.UsageError(f"{', '.join(names)}: this is for one search, and --known makes one after another")


def _past_known(
    target: Target, properties: tuple[str, ...], how: _How, coverage: bool, junit: Path | None, output: Output
) -> int:
    bound = target.load(properties)
    from checker.cli.commands.check_junit import suite_of, write_junit
    from checker.cli.commands.check_known import known_json, known_text, known_traces, within_time
    from checker.cli.output.printing import print_json, print_report, verdict_line, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.known import past_known

    def one(model: BoundModel, time_limit_s: float | None) -> Report:
        limited = replace(how, search=replace(how.search, time_limit_s=time_limit_s))
        on = [name for name, value in model.constants.items() if value is True and bound.constants[name] is False]
        with ProgressLine(quiet=output.quiet, label=", ".join(f"{name} on" for name in on)) as line:
            return _engine(how)(model, limited, time.perf_counter(), line)

    found = past_known(bound, within_time(one, how.search.time_limit_s, time.monotonic))
    if output.as_json:
        print_json(known_json(found))
    else:
        print_report(known_text(found, target, coverage=coverage), found.rest.traces,
                     verdict_line(found.verdict, found.reason))  # fmt: skip
    if junit is not None:
        write_junit([suite_of(found.rest, found.rest.model.name)], junit)
    write_traces(known_traces(found), output.trace_out)
    return found.exit_code


def _swept(runs: list[Run], how: _How, junit: Path | None, output: Output) -> int:
    """Check each run of a sweep. What was found before an error that ends it is printed all the same."""
    from checker.cli.commands.check_junit import write_junit
    from checker.cli.commands.check_sweep import Row, sweep, sweep_exit_code, sweep_text
    from checker.cli.output.printing import print_json
    from checker.cli.output.progress import ProgressLine

    def one(run: Run, time_limit_s: float | None) -> Report:
        limited = replace(how, search=replace(how.search, time_limit_s=time_limit_s))
        with ProgressLine(quiet=output.quiet, label=run.label) as line:
            return _engine(how)(run.model, limited, time.perf_counter(), line)

    rows: list[Row] = []
    try:
        for row in sweep(runs, one, how.search.time_limit_s):
            rows.append(row)
    finally:
        if rows and output.as_json:
            print_json([row.found for row in rows])
        elif rows:
            click.echo(sweep_text(rows))
    if junit is not None:
        write_junit([row.suite for row in rows], junit)
    return sweep_exit_code(rows)


def _engine(how: _How) -> Callable[[BoundModel, _How, float, ProgressLine], Report]:
    return _on_spark if how.engine.on_spark else _here


def _checked(
    target: Target, properties: tuple[str, ...], how: _How, coverage: bool, junit: Path | None, output: Output
) -> int:
    started = time.perf_counter()
    bound = target.load(properties)
    from checker.cli.commands.check_junit import suite_of, write_junit
    from checker.cli.commands.check_text import check_text, check_verdict
    from checker.cli.output.printing import print_json, print_report, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.running.deadline import CompilationStopped
    from checker.verdicts import INCOMPLETE

    with ProgressLine(quiet=output.quiet) as line:
        try:
            report = _engine(how)(bound, how, started, line)
        except CompilationStopped as stopped:
            if output.as_json:
                print_json({"model": bound.name, "verdict": INCOMPLETE, "reason": str(stopped)})
            raise
    if output.as_json:
        print_json(report.to_json())
    else:
        last = check_verdict(report, how.checkpoint or how.resume)
        print_report(check_text(report, coverage=coverage), report.traces, last)
    if junit is not None:
        write_junit([suite_of(report, report.model.name)], junit)
    write_traces(report.traces, output.trace_out)
    return report.exit_code


def _here(model: BoundModel, how: _How, started: float, line: ProgressLine) -> Report:
    from checker.explicit.check import CheckOptions, check

    checkpoint, resume = (None if place is None else Path(place) for place in (how.checkpoint, how.resume))
    options = CheckOptions(
        threads=how.search.threads_or_cores, limits=how.search.limits(), all_violations=how.all_violations,
        checkpoint=checkpoint, resume=resume,
    )  # fmt: skip
    return check(model, options, started=started, progress=line.search, stages=line.stage)


def _on_spark(model: BoundModel, how: _How, started: float, line: ProgressLine) -> Report:
    from checker.spark.check import SparkOptions, check

    engine = how.engine
    options = SparkOptions(
        master=engine.master, conf=engine.spark_conf, partitions=engine.partitions, limits=how.search.limits(),
        task_timeout_s=engine.task_timeout_s, all_violations=how.all_violations, checkpoint=how.checkpoint,
        resume=how.resume,
    )  # fmt: skip
    return check(model, options, started=started, progress=line.search, stages=line.stage)
