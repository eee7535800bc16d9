"""export: the state graph as tables."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import click

from checker.options import SET, SETTING, cores, limits, load_model, search_options
from traces.values import plural

INCOMPLETE = 3


def _new_folder(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """Say before a long search that the folder could not be made."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise click.BadParameter(f"{path} is there already: name a new folder")
    if not path.resolve().parent.is_dir() or not os.access(path.resolve().parent, os.W_OK):
        raise click.BadParameter(f"{path}: {path.resolve().parent} is no folder that can be written to")
    return path


@click.command()
@click.argument("model")
@SET
@SETTING
@click.option("--to", type=click.Path(path_type=Path), required=True, callback=_new_folder, metavar="DIR",
              help="A new folder for the tables.")
@search_options
@click.option("--quiet", is_flag=True, help="No progress.")
def export(model: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """Explore MODEL and write its state graph as Parquet tables: states, transitions, actions, properties.

    Exit codes: 0 written (whatever the verdict is), 3 a limit stopped the search, and nothing is written.
    """
    started = time.perf_counter()
    bound = load_model(model, changes, setting)
    from checker.explicit.check import Options, check
    from checker.report import ProgressLine

    with ProgressLine(quiet=options["quiet"]) as line:
        report = check(
            bound, Options(threads=options["threads"] or cores(), limits=limits(options), all_violations=True),
            started=started, progress=line.search,
        )  # fmt: skip
    if report.result.stopped is not None:
        click.echo(f"incomplete: {report.result.stopped}; no tables are written")
        return INCOMPLETE
    from checker.explicit.export import export as write  # Arrow takes a while to load

    with ProgressLine(quiet=options["quiet"]) as line:
        rows = write(report, options["to"], line.written)
    counts = f"{plural(rows['states'], 'state')}, {plural(rows['transitions'], 'transition')}"
    verdict = f"{report.verdict}: {report.reason}" if report.reason else report.verdict
    click.echo(f"{bound.name}: {counts} in {options['to']}; {verdict}")
    return 0
