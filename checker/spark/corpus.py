"""A corpus of recorded traces on Spark: files in shards, each judged where it is read, the parts put together here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyarrow import fs

from checker.lang.errors import SpecError
from checker.lang.loader import BoundModel
from checker.redaction import redacted
from checker.spark.models import Shipped, ship
from checker.spark.runs import file_system
from checker.spark.session import Cluster, cluster
from checker.spark.stalls import StalledError
from checker.validate.corpus import CorpusOptions, Summary, Verdict, validate
from checker.validate.reader import ENDINGS, Recorded
from checker.verdicts import INTERRUPTED

TASKS_PER_CORE = 4  # so that a core that is done early takes over from the others
REJECTED_BYTES = 1 << 26  # of one shard: rejected traces beyond it are reported and not brought here

Rejected = list[tuple[str, bytes]]
"""[(name of a trace, its lines)]"""


@dataclass(frozen=True)
class Where:
    """The cluster (master None: as `session.cluster` chooses), settings of Spark, how long no task of a job may end."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    task_timeout_s: float | None = None


@dataclass(frozen=True)
class _Task:
    """Inputs of every task: the model, how to judge, and the folder that relative paths start from."""

    model: Shipped
    options: CorpusOptions
    keep: bool
    here: Path

    def __call__(self, groups: Iterable[list[str]]) -> Iterator[tuple[Summary, Rejected]]:
        model = self.model.load()
        for files in groups:
            rejected: Rejected = []
            size = 0

            def keep(verdict: Verdict, trace: Recorded, rejected: Rejected = rejected) -> None:
                nonlocal size
                content = b"\n".join([*trace.source, b""])
                size += len(content)
                if self.keep and size <= REJECTED_BYTES:
                    rejected.append((verdict.trace, content))

            yield validate(model, _contents(files, self.here), self.options, keep=keep), rejected


def validate_on_spark(
    model: BoundModel,
    paths: Sequence[str],
    options: CorpusOptions,
    where: Where,
    *,
    progress: Callable[[int, int, float], None] | None = None,
    keep: Callable[[str, bytes], None] | None = None,
) -> Summary:
    """Judge the traces of files and folders that all executors reach (local paths, or URIs that Arrow opens).

    progress: called with tasks done, all tasks, seconds. keep: called with name and lines of each rejected trace.
    Raises SpecError, SparkError, JavaError.
    """
    started = time.monotonic()
    files = _files(paths)
    summary = Summary()
    with cluster(where.master, where.conf, where.task_timeout_s) as spark:
        groups: list[list[str]] = []

        def tick(done: int) -> bool:
            if progress is not None:
                progress(done, len(groups), time.monotonic() - started)
            return True

        try:
            groups = _groups(files, TASKS_PER_CORE * spark.cores())
            task = _Task(ship(model), options, keep is not None, Path.cwd())
            for part, rejected in _collected(spark, groups, task, tick):
                part.verdicts = [replace(v, reason=task.model.as_here(v.reason)) for v in part.verdicts]
                summary.add(part)
                if keep is not None:
                    for name, content in rejected:
                        keep(name, content)
        except KeyboardInterrupt:
            summary.stopped = INTERRUPTED
        except StalledError as error:
            summary.stopped = str(error)
    summary.verdicts.sort(key=lambda verdict: verdict.trace)
    summary.seconds = time.monotonic() - started
    return summary


def _collected(
    spark: Cluster, groups: list[list[str]], task: _Task, tick: Callable[[int], bool]
) -> list[tuple[Summary, Rejected]]:
    numbered = spark.numbers(len(groups))
    found: list[tuple[Summary, Rejected]] = spark.collect(numbered.map(groups.__getitem__).mapPartitions(task), tick)
    return found


def _contents(files: list[str], here: Path) -> Iterator[tuple[str, bytes]]:
    for file in files:
        system, path = file_system(file, here)
        with system.open_input_stream(path, compression=None) as stream:
            yield redacted(file) if "://" in file else file, stream.read()


def _files(paths: Sequence[str]) -> list[tuple[str, int]]:
    """(file, bytes) of each file that is named, or lies below a folder that is."""
    found: list[tuple[str, int]] = []
    for place in paths:
        system, path = file_system(place)
        info = system.get_file_info(path)
        if info.type is fs.FileType.NotFound:
            raise SpecError(f"there is no file {place}", hint="name files, or folders of them")
        if info.type is fs.FileType.File:
            found.append((place, info.size))
            continue
        below = system.get_file_info(fs.FileSelector(path, recursive=True))
        traces = [i for i in below if i.type is fs.FileType.File and i.path.endswith(ENDINGS)]
        if not traces:
            raise SpecError(f"{place} holds no traces", hint=f"they end in {', '.join(ENDINGS)}")
        found += [(place.rstrip("/") + i.path[len(path.rstrip("/")) :], i.size) for i in traces]
    return sorted(found)


def _groups(files: list[tuple[str, int]], count: int) -> list[list[str]]:
    """The files in about `count` groups of about the same size, the largest first."""
    groups: list[list[str]] = [[] for _ in range(min(count, len(files)))]
    sizes = [0] * len(groups)
    for file, size in sorted(files, key=lambda found: (-found[1], found[0])):
        least = sizes.index(min(sizes))
        groups[least].append(file)
        sizes[least] += size + 4096  # a file costs something, however small
    return groups
