"""Options that commands share. Each group is added by a decorator, and arrives as one typed argument."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from checker.lang.loader import BoundModel
    from checker.running.limits import Limits

MAX_THREADS = 64
MAX_PARTITIONS = 4096

Command = Callable[..., Any]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Callbacks: an option that does not do is refused before any work.


def name_value_pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, repeated, as a dict."""
    found = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r}: write NAME=VALUE")
        found[name] = value
    return found


def finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse nan and inf, which click's ranges let pass."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not an amount")
    return value


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


def _trace_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Say before a long search that its trace could not be written."""
    from traces.files import ENDINGS

    if path is not None and not path.name.endswith(ENDINGS):
        raise click.BadParameter(f"{path}: a trace ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    return new_file(context, parameter, path)


# Single options.

SET = click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", callback=name_value_pairs, help="Set a constant or switch."
)
SETTING = click.option("--setting", metavar="NAME", help="A named setting of the design switches.")
PROPERTY = click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="Judge this property only (repeatable)."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
TRACE_OUT = click.option(
    "--trace-out", type=click.Path(path_type=Path), callback=_trace_file, metavar="FILE",
    help="Write the trace (.itf.json or .ndjson); further ones beside it, numbered.",
)  # fmt: skip
QUIET = click.option("--quiet", is_flag=True, help="No progress.")
TIME_LIMIT = click.option(
    "--time-limit-s",
    type=click.FloatRange(0),
    callback=finite,
    help="Stop after this many seconds of compiling, or of search.",
)
MEMORY = click.option(
    "--memory-gib", type=click.FloatRange(0, min_open=True), callback=finite,
    help="Stop before using more memory (default: 80 % of what is free).",
)  # fmt: skip
THREADS = click.option(
    "--threads", type=click.IntRange(1, MAX_THREADS), help="Threads to search with (default: all cores)."
)
_MASTER = click.option(
    "--master", metavar="URL", help="Spark: the cluster (default: local[*], all cores of this machine)."
)
_SPARK_CONF = click.option(
    "--spark-conf", multiple=True, metavar="K=V", callback=name_value_pairs,
    help="Spark: a setting, such as spark.executor.memory=8g (repeatable).",
)  # fmt: skip
_TASK_TIMEOUT = click.option(
    "--task-timeout-s", type=click.FloatRange(0, min_open=True), callback=finite,
    help="Spark: give up when no task has ended for so many seconds (default: wait, and say so).",
)  # fmt: skip
_PARTITIONS = click.option(
    "--partitions", type=click.IntRange(1, MAX_PARTITIONS),
    help="Spark: parts the states are sharded into (default: the cores of the cluster).",
)  # fmt: skip


def _group(kind: type[Any], name: str, *options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """A decorator: adds options to a command, which gets their values as one `kind`, its argument `name`."""
    fields = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def called(**given: Any) -> Any:
            return command(**{name: kind(**{field: given.pop(field) for field in fields})}, **given)

        for option in reversed(options):
            option(called)
        return called

    return decorate


@dataclass(frozen=True)
class Target:
    """The model that a command is about. changes: of its constants and switches, values as text."""

    model: str
    changes: dict[str, str]
    setting: str | None

    def load(self, properties: tuple[str, ...] = ()) -> BoundModel:
        """Load and bind the model; with `properties` it has only these. Raises SpecError."""
        return load_model(self.model, self.changes, self.setting, properties)


def load_model(
    model: str, changes: dict[str, str], setting: str | None, properties: tuple[str, ...] = ()
) -> BoundModel:
    """Load a model and bind its constants; with `properties` it has only these. Raises SpecError."""
    from checker.lang.loader import load

    return with_only(load(model, changes, setting), properties)


def with_only(bound: BoundModel, properties: tuple[str, ...]) -> BoundModel:
    """The model with these properties only; with all that it has if none is named. Raises SpecError."""
    from checker.lang.loader import suggest

    known = {p.name: p for p in bound.model.properties}
    for name in properties:
        if name not in known:
            raise SpecError(f"{bound.name} has no property {name}", hint=suggest(name, known, "properties"))
    return bound.with_properties([known[n] for n in properties]) if properties else bound


target_options = _group(Target, "target", click.argument("model"), SET, SETTING)
"""MODEL --set --setting, as the argument `target`."""


def memory_bytes(gib: float | None) -> int | None:
    """The bytes that --memory-gib allows; None if it is not given."""
    return None if gib is None else int(gib * 2**30)


@dataclass(frozen=True)
class Search:
    """Options of running a search, and its limits; None: the default."""

    threads: int | None
    max_states: int | None
    max_depth: int | None
    time_limit_s: float | None
    memory_gib: float | None

    @property
    def threads_or_cores(self) -> int:
        return self.threads or cores()

    def limits(self) -> Limits:
        from checker.running.limits import Limits

        return Limits(self.max_states, self.max_depth, self.time_limit_s, memory_bytes(self.memory_gib))


search_options = _group(
    Search,
    "search",
    THREADS,
    click.option("--max-states", type=click.IntRange(1), help="Stop after this many distinct states."),
    click.option("--max-depth", type=click.IntRange(1), help="Stop after this many levels."),
    TIME_LIMIT,
    MEMORY,
)
"""Threads and limits, as the argument `search`."""


@dataclass(frozen=True)
class Cluster:
    """The place of the work: this machine or Apache Spark. engine: "local" or "spark"; conf: settings of Spark."""

    engine: str
    master: str | None
    spark_conf: dict[str, str]
    task_timeout_s: float | None

    @property
    def on_spark(self) -> bool:
        return self.engine == "spark"

    def given(self) -> dict[str, Any]:
        """Option -> its value, of those that are for Spark alone."""
        return {"--master": self.master, "--spark-conf": self.spark_conf, "--task-timeout-s": self.task_timeout_s}


@dataclass(frozen=True)
class Engine(Cluster):
    """The engine of a search. partitions: of the states, on Spark."""

    partitions: int | None

    def given(self) -> dict[str, Any]:
        return super().given() | {"--partitions": self.partitions}

    def refuse_options_of_others(self, search: Search) -> None:
        """Say which options do not belong to the engine that was chosen."""
        wrong = {"--threads": search.threads, "--memory-gib": search.memory_gib} if self.on_spark else self.given()
        names = [name for name, value in wrong.items() if value]
        if names:
            engine = "local" if self.on_spark else "spark"
            hint = " (--spark-conf spark.executor.cores and spark.executor.memory say it to Spark)" * self.on_spark
            raise click.UsageError(f"{', '.join(names)}: this is for --engine {engine}{hint}")


def _engine(does: str) -> Callable[[Command], Command]:
    return click.option(
        "--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True,
        help=f"{does} on this machine, or on Apache Spark.",
    )  # fmt: skip


engine_options = _group(Engine, "engine", _engine("Search"), _MASTER, _SPARK_CONF, _TASK_TIMEOUT, _PARTITIONS)
"""This machine or Spark for a search, as the argument `engine`."""

cluster_options = _group(Cluster, "cluster", _engine("Judge"), _MASTER, _SPARK_CONF, _TASK_TIMEOUT)
"""This machine or Spark for a corpus, as the argument `cluster`."""


@dataclass(frozen=True)
class Output:
    """The output of a command: what it prints and writes."""

    as_json: bool
    trace_out: Path | None
    quiet: bool


output_options = _group(Output, "output", JSON, TRACE_OUT, QUIET)
"""--json --trace-out --quiet, as the argument `output`."""
