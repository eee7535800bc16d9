"""export: the state graph as tables."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.cli.options import (
    SET,
    SETTING,
    cores,
    engine_options,
    limits,
    load_model,
    refuse_options_of_others,
    search_options,
)
from checker.redaction import redacted
from checker.verdicts import ExitCode
from traces.values import plural

if TYPE_CHECKING:
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
        raise click.BadParameter(f"{path}: {path.resolve().parent} is no folder that can be written to")
    return place


@click.command()
@click.argument("model")
@SET
@SETTING
@click.option("--to", required=True, callback=_new_folder, metavar="DIR",
              help="A new folder for the tables (Spark: or a URI).")
@search_options
@engine_options
@click.option("--quiet", is_flag=True, help="No progress.")
def export(model: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """Explore MODEL and write its state graph as Parquet tables: states, transitions, actions, properties.

    Exit codes: 0 written (whatever the verdict is), 3 a limit stopped the search, and nothing is written.
    """
    started = time.perf_counter()
    bound = load_model(model, changes, setting)
    refuse_options_of_others(options)
    report, rows = (_on_spark if options["engine"] == "spark" else _here)(bound, options, started)
    if report.result.stopped is not None:
        click.echo(f"incomplete: {report.result.stopped}; no tables are written")
        return ExitCode.INCOMPLETE
    counts = f"{plural(rows['states'], 'state')}, {plural(rows['transitions'], 'transition')}"
    verdict = f"{report.verdict}: {report.reason}" if report.reason else report.verdict
    click.echo(f"{bound.name}: {counts} in {redacted(options['to'])}; {verdict}")
    return 0


def _here(model: BoundModel, options: dict[str, Any], started: float) -> tuple[Report, dict[str, int]]:
    """The report and the rows of the tables; {} where the search was stopped."""
    if "://" in options["to"]:
        raise click.UsageError(f"--to {options['to']}: a URI is for --engine spark")
    from checker.cli.output.report import ProgressLine
    from checker.explicit.check import Options, check

    with ProgressLine(quiet=options["quiet"]) as line:
        how = Options(threads=options["threads"] or cores(), limits=limits(options), all_violations=True)
        report = check(model, how, started=started, progress=line.search, stages=line.stage)
    if report.result.stopped is not None:
        return report, {}
    from checker.explicit.export import export as write  # Arrow takes a while to load

    with ProgressLine(quiet=options["quiet"]) as line:
        return report, write(report, Path(options["to"]), line.written)


def _on_spark(model: BoundModel, options: dict[str, Any], started: float) -> tuple[Report, dict[str, int]]:
    from checker.cli.output.report import ProgressLine
    from checker.spark.check import Options
    from checker.spark.export import export as write

    how = Options(
        master=options["master"], conf=options["spark_conf"], partitions=options["partitions"], limits=limits(options),
        task_timeout_s=options["task_timeout_s"],
    )  # fmt: skip
    with ProgressLine(quiet=options["quiet"]) as line:
        return write(model, how, options["to"], started=started, progress=line.search, stages=line.stage,
                     tasks=line.tasks)  # fmt: skip
