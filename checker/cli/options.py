"""What commands share: their options, the model they name, the traces they show and write."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from checker.lang.loader import BoundModel
    from checker.running.limits import Limits
    from traces import Trace

MAX_THREADS = 64
MAX_PARTITIONS = 4096


def constants(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r}: write NAME=VALUE")
        found[name] = value
    return found


SET = click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", callback=constants, help="Set a constant or switch."
)
SETTING = click.option("--setting", metavar="NAME", help="A named setting of the design switches.")


def finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no amount")
    return value


def _trace_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Say before a long search that its trace could not be written."""
    from traces.files import ENDINGS

    if path is not None and not path.name.endswith(ENDINGS):
        raise click.BadParameter(f"{path}: a trace ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    return new_file(context, parameter, path)


def new_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Say before a long search that a file could not be written."""
    if path is not None:
        folder = path.resolve().parent
        if path.is_dir():
            raise click.BadParameter(f"{path} is a folder: name a file")
        if not folder.is_dir():
            raise click.BadParameter(f"{path}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise click.BadParameter(f"{path}: the folder {folder} cannot be written to")
    return path


TRACE_OUT = click.option(
    "--trace-out", type=click.Path(path_type=Path), callback=_trace_file, metavar="FILE",
    help="Write the trace (.itf.json or .ndjson); further ones beside it, numbered.",
)  # fmt: skip
TIME_LIMIT = click.option(
    "--time-limit-s", type=click.FloatRange(0), callback=finite,
    help="Stop after this many seconds of compiling, or of search.",
)
MEMORY = click.option(
    "--memory-gib", type=click.FloatRange(0, min_open=True), callback=finite,
    help="Stop before using more memory (default: 80 % of what is free).",
)  # fmt: skip
_SEARCH = (
    click.option("--threads", type=click.IntRange(1, MAX_THREADS), help="Threads to search with (default: all cores)."),
    click.option("--max-states", type=click.IntRange(1), help="Stop after this many distinct states."),
    click.option("--max-depth", type=click.IntRange(1), help="Stop after this many levels."),
    TIME_LIMIT,
    MEMORY,
)  # fmt: skip


TASK_TIMEOUT = click.option(
    "--task-timeout-s", type=click.FloatRange(0, min_open=True), callback=finite,
    help="Spark: give up when no task has ended for so many seconds (default: wait, and say so).",
)  # fmt: skip
_SPARK = (
    click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True,
                 help="Search on this machine, or on Apache Spark."),
    click.option("--master", metavar="URL", help="Spark: the cluster (default: local[*], all cores of this machine)."),
    click.option("--spark-conf", multiple=True, metavar="K=V", callback=constants,
                 help="Spark: a setting, such as spark.executor.memory=8g (repeatable)."),
    TASK_TIMEOUT,
    click.option("--partitions", type=click.IntRange(1, MAX_PARTITIONS),
                 help="Spark: parts the states are sharded into (default: the cores of the cluster)."),
)  # fmt: skip


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_SPARK):
        command = option(command)
    return command


def refuse_options_of_others(options: dict[str, Any]) -> None:
    """Say which options do not belong to the engine that was chosen."""
    of_engine = {
        "local": {"threads": "--threads", "memory_gib": "--memory-gib"},
        "spark": {"master": "--master", "spark_conf": "--spark-conf", "partitions": "--partitions",
                  "task_timeout_s": "--task-timeout-s"},
    }
    other = "local" if options["engine"] == "spark" else "spark"
    given = [option for name, option in of_engine[other].items() if options[name]]
    if given:
        mend = "--spark-conf spark.executor.cores and spark.executor.memory say it to Spark"
        mend = "" if other == "spark" else f" ({mend})"
        raise click.UsageError(f"{', '.join(given)}: this is for --engine {other}{mend}")


def search_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_SEARCH):
        command = option(command)
    return command


def load_model(
    model: str, changes: dict[str, str], setting: str | None, properties: tuple[str, ...] = ()
) -> BoundModel:
    from checker.lang.loader import load, suggest

    bound = load(model, changes, setting)
    known = {p.name: p for p in bound.model.properties}
    for name in properties:
        if name not in known:
            raise SpecError(f"{bound.name} has no property {name}", mend=suggest(name, known, "properties"))
    return bound.with_properties([known[n] for n in properties]) if properties else bound


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limits(options: dict[str, Any]) -> Limits:
    from checker.running.limits import Limits

    return Limits(
        max_states=options["max_states"], max_depth=options["max_depth"], time_limit_s=options["time_limit_s"],
        memory_bytes=memory_bytes(options),
    )  # fmt: skip


def memory_bytes(options: dict[str, Any]) -> int | None:
    """What --memory-gib allows; None where it is not given."""
    gib = options["memory_gib"]
    return None if gib is None else int(gib * 2**30)


def write_traces(traces: list[Trace], path: Path) -> None:
    """Write the traces: the first to `path`, the others beside it, numbered."""
    from traces import save
    from traces.files import ENDINGS

    ending = next(e for e in ENDINGS if path.name.endswith(e))
    for number, trace in enumerate(traces, 1):
        name = path.name if number == 1 else f"{path.name.removesuffix(ending)}-{number}{ending}"
        save(trace, path.with_name(name))
        click.echo(f"trace written to {path.with_name(name)}", err=True)
    if not traces:
        click.echo(f"there is no trace to write to {path}", err=True)


def use_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def show(trace: Trace) -> None:
    from traces.render import render

    click.echo(render(trace, columns(), use_color()))
    click.echo()


