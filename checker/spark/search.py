"""Exhaustive search on Spark: breadth-first, level by level, sharded by state hash over the tasks of a job.

A level is one job of two stages: every shard's states are expanded by a task, which keeps each successor once and
sends it to its shard; there a task strikes out what the shard has seen, and writes what is left as a sorted run.
Only candidates go through the shuffle. The result of a job counts once the driver has written the level's manifest,
so tasks may fail and run again. A small level is done by the driver, without a job.
All that a search reports is the same for any number of shards, and the same as the local engine reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from checker.explicit.search import breadth_first as local
from checker.explicit.search.explored import Picking
from checker.explicit.search.findings import Findings, reached_limit
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import OutOfMemoryError
from checker.running.arrays import Words
from checker.running.checkpoint import CheckpointError
from checker.running.deadline import Deadline, Stopped
from checker.running.interrupts import interrupts
from checker.running.levels import LevelSearch
from checker.running.limits import Limits, Progress
from checker.spark import shard_tasks
from checker.spark.checkpoint import Checkpoint, Saved
from checker.spark.runs import GROUP, Run, RunReader, folder_of
from checker.spark.session import Cluster, SparkError
from checker.spark.shard_tasks import Found, Job, ShardFiles
from checker.spark.stalls import Cancelled, StalledError

SMALL = 1 << 14  # states of a level that the driver expands itself, by far sooner than a job would have started
SMALL_GROUPS = 256  # row groups of visited states that it reads for that: as long as a job takes to start
SUCCESSORS = 4  # different ones of a state: each is next to some row group
TASK = 1 << 16  # states that a task expands at least, unless cores would have nothing to do
MAX_SHARDS = 1 << 12


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search.

    small, small_groups: most states of a level that the driver expands itself, and most row groups that it reads for
    them. task: see TASK.
    """

    limits: Limits = field(default_factory=Limits)
    all_violations: bool = False
    small: int = SMALL
    small_groups: int = SMALL_GROUPS
    task: int = TASK
    progress: Callable[[Progress], None] | None = None


def search(
    cluster: Cluster, job: Job, initial: Sequence[Sequence[int]], options: SearchOptions, saved: Saved | None = None,
    stopped: str | None = None,
) -> SearchResult:  # fmt: skip
    """Explore every state that can be reached from the initial ones (each a code per leaf); save every level.

    saved: what `Checkpoint.load` gave, to resume from. stopped: why nothing is to be explored after all. Raises
    CheckpointError, SparkError.
    """
    exploration = Exploration(cluster, job, initial, options, saved)
    exploration.stopped = stopped
    with interrupts(exploration):
        if stopped is None:
            exploration.explore(options.limits.max_depth)
        exploration.tidy()
    return exploration.result()


class Exploration(LevelSearch):
    """A search and where its states are (see `Explored`). levels, shards: as in `Saved`."""

    def __init__(
        self, cluster: Cluster, job: Job, initial: Sequence[Sequence[int]], options: SearchOptions, saved: Saved | None
    ) -> None:
        self.cluster, self.job, self._options, self._saved = cluster, job, options, saved
        self._kernel, self._given, self.limits = job.kernel(), initial, options.limits
        self._checkpoint = Checkpoint(folder_of(job.place), job.key)
        self.findings = Findings(self._kernel, initial)
        self.initial, self.initial_bits = self.findings.initial, self.findings.initial_bits
        self.levels: list[list[Run | None]] = []
        self.shards = [ShardFiles() for _ in range(job.shards)]
        self._distinct = self._sent_bytes = self._peak_bytes = 0
        self._broadcast = cluster.broadcast(job)
        self._job_tasks = 0
        self.started = time.monotonic()

    def begin(self) -> None:
        """Enter the initial states, or resume from what was saved."""
        if self._saved is not None:
            self._restore(self._saved)
        else:
            self._checkpoint.create()
            self._enter_initial()

    def decided(self) -> bool:
        """True if something is violated."""
        return self.findings.violated and not self._options.all_violations

    def limit(self) -> str | None:
        """The limit on states or time that is reached."""
        return reached_limit(self.limits, self._distinct, time.monotonic() - self.started)

    @property
    def frontier(self) -> int:
        """States of the last level."""
        return sum(run.states for run in self.levels[-1] if run is not None)

    @property
    def depth(self) -> int:
        """Levels that have a state."""
        return sum(1 for level in self.levels if any(level))

    def _enter_initial(self) -> None:
        parts: dict[int, list[bytes]] = {}
        for shard, data in shard_tasks.start(self.job, self.findings.inside()):
            parts.setdefault(shard, []).append(data)
        found = self._absorb(1, parts)
        self._take(found)
        self.findings.note_initial(found.broken)
        self._save()

    def expand_level(self) -> None:
        """Expand the last level, in the driver or as a job."""
        level = len(self.levels) + 1
        try:
            found = self._alone(level) if self._is_small() else self._together(level)
        except Cancelled as error:
            self.stop(str(error))  # unless that was what cancelled it
            return
        self._take(found)
        self.findings.note_level(level, found.broken, found.deadlocks)
        self._save()
        self._tell(0)

    def _is_small(self) -> bool:
        """True if the driver does the next level itself: few states, which lie next to few of those visited."""
        groups = sum(-(-run.states // GROUP) for files in self.shards for run in files.visited)
        beside = min(groups, SUCCESSORS * self.frontier)
        return self.frontier <= self._options.small and beside <= self._options.small_groups

    def _alone(self, level: int) -> Found:
        """A level in the driver, for all shards."""
        total = Found.nothing(self._kernel)
        parts: dict[int, list[bytes]] = {}
        for item in shard_tasks.expand(self.job, (files.frontier for files in self.shards)):
            if isinstance(item, Found):
                total.add(item)
            else:
                parts.setdefault(item[0], []).append(item[1])
        total.sent_bytes = 0  # they went nowhere
        total.add(self._absorb(level, parts))
        return total

    def _absorb(self, level: int, parts: dict[int, list[bytes]]) -> Found:
        """Enter candidates, given by shard, in the driver."""
        total = Found.nothing(self._kernel)
        for shard, files in enumerate(self.shards):
            self.shards[shard], found = shard_tasks.absorb(self.job, shard, level, files, parts.get(shard, []))
            total.add(found)
        return total

    def _tasks(self, states: int) -> int:
        """The number of tasks that share the shards for a level of so many states."""
        return min(len(self.shards), max(self.cluster.slots(), states // self._options.task))

    def _together(self, level: int) -> Found:
        """A level as a job."""
        broadcast, shards, tasks = self._broadcast, self.shards, self._tasks(self.frontier)

        def expand(numbers: Iterable[int]) -> Iterator[tuple[int, bytes | Found]]:
            return (item for task in numbers for item in expand_task(broadcast.value, shards, task, tasks))

        def absorb(task: int, sent: Iterable[tuple[int, bytes | Found]]) -> Iterator[tuple[int, ShardFiles, Found]]:
            return absorb_task(broadcast.value, shards, level, shards_of(task, tasks, len(shards)), sent)

        def task_of(shard: int) -> int:
            return shard * tasks // len(shards)

        sent = self.cluster.numbers(tasks).mapPartitions(expand).partitionBy(tasks, task_of)
        total = Found.nothing(self._kernel)
        self._job_tasks = 2 * tasks
        for shard, files, found in self.cluster.collect(sent.mapPartitionsWithIndex(absorb), self._tick):
            self.shards[shard] = files
            total.add(found)
        return total

    def select(self, level: int, pick: Picking) -> list[Words]:
        """The states of a level that `pick` picks. Raises CheckpointError where they are lost."""
        broadcast, runs = self._broadcast, self.levels[level - 1]
        states = sum(run.states for run in runs if run is not None)
        if states <= self._options.small:
            return [found for run in runs for found in shard_tasks.select(self.job, run, pick)]
        tasks = self._tasks(states)

        def choose(numbers: Iterable[int]) -> Iterator[Words]:
            chosen = (runs[shard] for task in numbers for shard in shards_of(task, tasks, len(runs)))
            return (found for run in chosen for found in shard_tasks.select(broadcast.value, run, pick))

        try:
            return self.cluster.collect(self.cluster.numbers(tasks).mapPartitions(choose), lambda done: True)
        except (SparkError, StalledError) as error:
            raise CheckpointError(str(error)) from error

    def at_hand(self, deadline: Deadline) -> local.Exploration:
        """The same states in the memory of the driver: see `Explored`."""
        found = local.Exploration(self._kernel, self._given, 1, self.limits)
        done, folder = 0, folder_of(self.job.place)
        try:
            found.budget.check(8 * self._kernel.words * self._distinct)
            for level in self.levels:
                found.begin_level()
                for run in level:
                    for states in RunReader(folder, run, self._kernel.words).groups() if run else ():
                        found.add(states)
                        done += len(states)
                        deadline.check(done, self._distinct, "states")
                found.close_level()
        except OutOfMemoryError as error:
            raise Stopped(f"memory limit: for liveness the driver holds all states: {error}") from error
        except CheckpointError as error:
            raise Stopped(str(error)) from error
        return found

    def _take(self, found: Found) -> None:
        """A level is whole."""
        self.levels.append([files.frontier for files in self.shards])
        self.findings.counters += found.counters
        self.findings.seen |= found.seen
        self.findings.new += found.new
        self._distinct += found.states
        self._sent_bytes += found.sent_bytes
        self._peak_bytes = max(self._peak_bytes, found.peak_bytes)

    def _save(self) -> None:
        self._checkpoint.save(Saved(self.levels, self.shards, self.findings.saved(), self._sent_bytes))

    def tidy(self) -> None:
        """Delete what tasks wrote that ran twice, or were given up."""
        if self._job_tasks and self.levels:
            self._checkpoint.tidy(Saved(self.levels, self.shards, {}, 0))

    def _restore(self, saved: Saved) -> None:
        self.levels, self.shards, self._sent_bytes = saved.levels, saved.shards, saved.sent_bytes
        self.findings.restore(saved.findings)
        self._distinct = sum(run.states for level in self.levels for run in level if run is not None)

    def _tick(self, done: int) -> bool:
        """Called while a job runs: whether it may continue."""
        self._tell(done)
        return not self.is_over()

    def _tell(self, done: int) -> None:
        if self._options.progress is not None:
            self._options.progress(Progress(
                self.findings.generated, self._distinct, len(self.levels), self.frontier, 0,
                time.monotonic() - self.started, self._peak_bytes, self._sent_bytes, (done, self._job_tasks),
            ))  # fmt: skip

    def result(self) -> SearchResult:
        """The result of the search so far."""
        return self.findings.result(
            self, stopped=self.stopped, distinct=self._distinct, depth=self.depth,
            seconds=time.monotonic() - self.started, peak_memory_bytes=self._peak_bytes,
            workers=len(self.shards), worker="partition",
        )  # fmt: skip


# What runs in the executors. What is sent is bytes: Spark never looks into it.


def shards_of(task: int, tasks: int, shards: int) -> range:
    """The shards of one of several tasks: those with shard * tasks // shards == task."""
    return range(-(-task * shards // tasks), -(-(task + 1) * shards // tasks))


def expand_task(job: Job, shards: Sequence[ShardFiles], task: int, tasks: int) -> Iterator[tuple[int, bytes | Found]]:
    """The candidates that come out of a task's shards, by shard; then what was found, for the first of its own."""
    own = shards_of(task, tasks, len(shards))
    for item in shard_tasks.expand(job, (shards[shard].frontier for shard in own)):
        yield (own[0], item) if isinstance(item, Found) else item


def absorb_task(
    job: Job, shards: Sequence[ShardFiles], level: int, own: range, sent: Iterable[tuple[int, bytes | Found]]
) -> Iterator[tuple[int, ShardFiles, Found]]:
    """Each of a task's own shards, its files with the new level, and what was found. sent: the parts sent to them."""
    expanded = Found.nothing(job.kernel())
    parts: dict[int, list[bytes]] = {}
    for shard, item in sent:
        if isinstance(item, Found):
            expanded.add(item)
        else:
            parts.setdefault(shard, []).append(item)
    for shard in own:
        files, found = shard_tasks.absorb(job, shard, level, shards[shard], parts.pop(shard, []))
        if shard == own[0]:
            found.add(expanded)
        yield shard, files, found
