"""export: the state graph as tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.cli.options import QUIET, Engine, Search, Target, engine_options, search_options, target_options
from checker.redaction import redacted
from checker.verdicts import ExitCode
from traces.values import plural

if TYPE_CHECKING:
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.check import Report
    from checker.lang.loader import BoundModel


def _new_folder(context: click.Context, parameter: click.Parameter, place: str) -> str:
    """Say before a long search that the folder could not be made."""
    if "://" in place:
        return place  # Spark's engine looks at it first
    path = Path(place)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise click.BadParameter(f"{path} is there already: name a new folder")
    if not path.resolve().parent.is_dir() or not os.access(path.resolve().parent, os.W_OK):
        raise click.BadParameter(f"{path}: {path.resolve().parent} is not a folder that can be written to")
    return place


@click.command()
@target_options
@click.option(
    "--to", required=True, callback=_new_folder, metavar="DIR", help="A new folder for the tables (Spark: or a URI)."
)
@search_options
@engine_options
@QUIET
def export(target: Target, to: str, search: Search, engine: Engine, quiet: bool) -> int:
    """Explore MODEL and write its state graph as Parquet tables: states, transitions, actions, properties.

    Exit codes: 0 written (whatever the verdict is), 3 a limit stopped the search, and nothing is written.
    """
    started = time.perf_counter()
    bound = target.load()
    engine.refuse_options_of_others(search)
    from checker.cli.output.progress import ProgressLine

    def line() -> ProgressLine:
        return ProgressLine(quiet=quiet)

    if engine.on_spark:
        report, rows = _on_spark(bound, to, search, engine, started, line)
    else:
        report, rows = _here(bound, to, search, started, line)
    if report.result.stopped is not None:
        click.echo(f"incomplete: {report.result.stopped}; no tables are written")
        return ExitCode.INCOMPLETE
    counts = f"{plural(rows['states'], 'state')}, {plural(rows['transitions'], 'transition')}"
    verdict = f"{report.verdict}: {report.reason}" if report.reason else report.verdict
    click.echo(f"{bound.name}: {counts} in {redacted(to)}; {verdict}")
    return 0


def _here(
    model: BoundModel, to: str, search: Search, started: float, progress: Callable[[], ProgressLine]
) -> tuple[Report, dict[str, int]]:
    """The report and the rows of the tables; {} where the search was stopped."""
    if "://" in to:
        raise click.UsageError(f"--to {to}: a URI is for --engine spark")
    from checker.explicit.check import CheckOptions, check

    with progress() as line:
        options = CheckOptions(threads=search.threads_or_cores, limits=search.limits(), all_violations=True)
        report = check(model, options, started=started, progress=line.search, stages=line.stage)
    if report.result.stopped is not None:
        return report, {}
    from checker.explicit.export import export as write  # Arrow takes a while to load

    with progress() as line:
        return report, write(report, Path(to), line.written)


def _on_spark(
    model: BoundModel, to: str, search: Search, engine: Engine, started: float, progress: Callable[[], ProgressLine]
) -> tuple[Report, dict[str, int]]:
    from checker.spark.check import SparkOptions
    from checker.spark.export import export as write

    options = SparkOptions(
        master=engine.master, conf=engine.spark_conf, partitions=engine.partitions, limits=search.limits(),
        task_timeout_s=engine.task_timeout_s,
    )  # fmt: skip
    with progress() as line:
        return write(model, options, to, started=started, progress=line.search, stages=line.stage, tasks=line.tasks)
