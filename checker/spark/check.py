"""Checking a model on Spark: compile, search on a cluster, verdict, and a trace for what is broken."""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from checker.errors import UnwritableError
from checker.explicit.check import Report, judge
from checker.explicit.kernel.build import KernelSource, kernel_source
from checker.explicit.kernel.cache import load_entry, store_entry
from checker.lang.errors import SpecError
from checker.lang.frontend import compile_model
from checker.lang.loader import BoundModel
from checker.running.deadline import CompilationDeadline, Stage
from checker.running.limits import Limits, Progress
from checker.spark import search
from checker.spark.checkpoint import Checkpoint
from checker.spark.runs import folder_of
from checker.spark.session import Cluster, cluster
from checker.spark.shard_tasks import Job
from checker.spark.stalls import StalledError


@dataclass(frozen=True)
class SparkOptions:
    """Options of a check on Spark.

    master, conf: as for `session.cluster`. partitions: shards, None: as many as the cluster has cores.
    checkpoint, resume: a folder to save to, or to resume from and save to; all executors must reach it. task_timeout_s:
    how long no task may end before the search is given up, None: forever.
    """

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    partitions: int | None = None
    limits: Limits = field(default_factory=Limits)
    all_violations: bool = False
    checkpoint: str | None = None
    resume: str | None = None
    task_timeout_s: float | None = None
    small: int = search.SMALL
    small_groups: int = search.SMALL_GROUPS
    task: int = search.TASK


def check(
    model: BoundModel, options: SparkOptions, *, started: float, progress: Callable[[Progress], None] | None = None,
    stages: Callable[[Stage], None] | None = None,
) -> Report:  # fmt: skip
    """Explore a model on Spark and judge it. started: `time.perf_counter()` when loading began.

    progress, stages: as for the local `check`; liveness is judged by the driver, on the graph in its own memory.
    Raises SpecError, SparkError, JavaError, CheckpointError, UnwritableError.
    """
    try:
        with checked(model, options, started=started, progress=progress, stages=stages) as report:
            return report
    except UnwritableError as error:
        place = options.checkpoint or options.resume
        hint = f"then continue: --resume {place}" if place else "or keep the states elsewhere: --checkpoint DIR"
        raise UnwritableError(f"{error}, {hint}") from error


@contextmanager
def checked(
    model: BoundModel, options: SparkOptions, *, started: float, progress: Callable[[Progress], None] | None = None,
    stages: Callable[[Stage], None] | None = None,
) -> Iterator[Report]:  # fmt: skip
    """The report of `check`, while the cluster and the states are still there."""
    loaded = time.perf_counter()
    source = source_of(model, options.limits, stages)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    compiled = time.perf_counter()
    with (
        cluster(options.master, options.conf, options.task_timeout_s) as spark,
        _place(spark, options) as place,
    ):
        ready = time.perf_counter()
        saved, stopped = Checkpoint(folder_of(place), model.key()).load() if options.resume else None, None
        try:
            shards = _shards(spark, options, None if saved is None else len(saved.shards))
        except StalledError as error:
            shards, stopped = 1, str(error)
        job = Job.of(model.key(), source, place, shards)
        how = search.SearchOptions(
            options.limits, options.all_violations, options.small, options.small_groups, options.task, progress
        )
        result = search.search(spark, job, initial, how, saved, stopped)
        seconds = {"load": loaded - started, "compile": compiled - loaded, "session": ready - compiled,
                   "search": time.perf_counter() - ready}  # fmt: skip
        yield judge(model, job.kernel(), result, seconds, started=started, all_violations=options.all_violations,
                    stages=stages)  # fmt: skip


def source_of(
    model: BoundModel, limits: Limits | None = None, stages: Callable[[Stage], None] | None = None
) -> KernelSource:
    """The source that a model's kernel is compiled from, from the cache if it is there. Raises CompilationStopped."""
    name = f"{model.key()}-source"
    found = load_entry(name)
    if found is not None:
        return KernelSource(found[0], zlib.decompress(found[1]).decode())
    deadline = CompilationDeadline(limits or Limits(), stages)
    source = kernel_source(compile_model(model, deadline.bindings, for_kernel=True))
    store_entry(name, source.metadata, zlib.compress(source.text.encode(), 1))
    return source


@contextmanager
def _place(spark: Cluster, options: SparkOptions) -> Iterator[str]:
    """The folder for the states: the checkpoint's, or on one machine a temporary one."""
    place = options.checkpoint or options.resume
    if place is not None:
        yield place
    elif spark.is_local:
        with tempfile.TemporaryDirectory(prefix="fencepost-states-") as folder:
            yield folder
    else:
        raise SpecError(
            "the states of a search on a cluster are kept in a folder that all its machines reach",
            hint="name one: --checkpoint hdfs://namenode/fencepost/run-1",
        )


def _shards(spark: Cluster, options: SparkOptions, saved: int | None) -> int:
    if saved is not None and options.partitions not in (None, saved):
        raise SpecError(f"{options.resume} has {saved} partitions", hint="leave --partitions out when resuming")
    return saved or min(options.partitions or spark.cores(), search.MAX_SHARDS)
