"""Exhaustive search: breadth-first, level by level, sharded by state hash over threads.

A round: every thread expands states of its own shard into boxes, one for each shard, until a box is
full; the threads meet; then every thread enters what all boxes hold for its shard, and goes on to the
next round with a second set of boxes. All that a search reports is the same for any number of threads,
as long as no limit stops it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from checker.explicit.kernel import abi
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.runtime import LANES
from checker.explicit.search.checkpoint import Checkpoint
from checker.explicit.search.explored import Picking
from checker.explicit.search.findings import Findings, reached_limit, survey
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import Budget, Context, OutOfMemoryError, Shard
from checker.running.arrays import Words
from checker.running.deadline import Deadline
from checker.running.interrupts import interrupts
from checker.running.levels import LevelSearch
from checker.running.limits import Limits, Progress
from checker.running.memory import default_memory

BOX = 16384  # candidates a box takes, one thread: they stay in the cache
SHARED_BOX = 32768  # the same for several threads, over all boxes of one: a round must outweigh a meeting
SMALL = 4096  # states of a level for which it does not pay to wake the other threads
CHUNK = 1 << 15  # most states a thread expands in a round
PROGRESS_S = 0.1


def search(
    kernel: Kernel,
    initial: Sequence[Sequence[int]],
    *,
    threads: int = 1,
    limits: Limits | None = None,
    all_violations: bool = False,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
    stop_on_witness: int | None = None,
) -> SearchResult:
    """Explore every state that can be reached from the initial ones (each a code per leaf).

    Stops at the end of the level in which a property broke (all_violations: continues), or in which the
    witness with index `stop_on_witness` was reached. checkpoint: directory to which every finished level is
    saved; resume: such a directory to continue from (and, unless `checkpoint` names another, to save to).
    Raises CheckpointError for a directory that cannot be resumed from, ValueError for a bad number of threads.
    """
    if not 1 <= threads <= abi.MAX_SHARDS:
        raise ValueError(f"threads must be 1 to {abi.MAX_SHARDS}, not {threads}")
    exploration = Exploration(kernel, initial, threads, limits or Limits())
    exploration.all_violations = all_violations
    exploration.stop_on_witness = stop_on_witness
    exploration.progress = progress
    exploration.checkpoint, exploration.resume = checkpoint, resume
    with exploration.workers(), interrupts(exploration):
        exploration.explore(exploration.limits.max_depth)
    return exploration.result()


class Exploration(LevelSearch):
    """The stored states of a search, by shard and level, and the search itself (see `Explored`).

    bounds[l]: per shard, the index of the first state of level l + 1; the last entry is where the next level goes.
    """

    def __init__(self, kernel: Kernel, initial: Sequence[Sequence[int]], threads: int, limits: Limits) -> None:
        self.kernel = kernel
        self.threads = threads
        self.limits = limits
        self.all_violations = False
        self.stop_on_witness: int | None = None
        self.progress: Callable[[Progress], None] | None = None
        self.checkpoint: Path | None = None
        self.resume: Path | None = None
        self._saved: Checkpoint | None = None
        self.findings = Findings(kernel, initial)
        self.initial, self.initial_bits = self.findings.initial, self.findings.initial_bits
        memory = default_memory() if limits.memory_bytes is None else limits.memory_bytes
        self.budget = Budget(memory)
        self.shards = [Shard(kernel, self.budget, number) for number in range(threads)]
        capacity = BOX if threads == 1 else max(1024, SHARED_BOX // threads)
        sets = 1 if threads == 1 else 2
        self.contexts = [Context(kernel, threads, capacity, sets=sets) for _ in range(threads)]
        self._seen = np.zeros((threads, len(kernel.layout.leaves), LANES), dtype=np.int64)
        self.budget.hold("contexts", sum(c.size for c in self.contexts) + self._seen.nbytes)
        self.bounds: list[list[int]] = [[0] * threads]
        self._new = np.zeros((threads, len(kernel.actions)), dtype=np.int64)
        self._found = [0] * threads
        self._positions = [0] * threads
        self._ends = [0] * threads
        self._going = False
        self._whole = True  # nothing that was found in the level at hand is lost
        self.started = time.monotonic()
        self._started_cpu = time.process_time()
        self._last_progress = self.started

    # Threads.

    @contextmanager
    def workers(self) -> Iterator[None]:
        """The threads and the checkpoint lock, held for the duration of a search."""
        self._meeting = threading.Barrier(self.threads, action=self._meet)
        with ExitStack() as stack:
            self._pool: ThreadPoolExecutor | None = None
            if self.threads > 1:
                self._pool = stack.enter_context(ThreadPoolExecutor(self.threads - 1))
            try:
                yield
            finally:
                del self._meeting, self._pool  # they refer back: without them memory goes with the result
                self._saved = None

    def _together(self, work: Callable[[int], None]) -> None:
        """Run work(t) for every thread t; the calling thread is number 0."""
        others = [self._pool.submit(work, t) for t in range(1, self.threads)] if self._pool else []
        failures: list[BaseException | None] = []
        try:
            work(0)
        except BaseException as failure:
            failures.append(failure)
        failures += [other.exception() for other in others]
        found = [failure for failure in failures if failure is not None]
        if found:  # where one thread fails, the others only find that it is gone
            raise next((f for f in found if not isinstance(f, threading.BrokenBarrierError)), found[0])

    # The search.

    def begin(self) -> None:
        """Enter the initial states, or those of `resume`."""
        if self.resume is not None:
            self._saved = Checkpoint.open(self.resume, self)
        if self.checkpoint is not None and self.checkpoint != self.resume:
            self._saved = Checkpoint.create(self.checkpoint, self)
        if self.resume is None:
            self._enter_initial()
        self._save()

    def _save(self) -> None:
        if self._saved is not None and self._whole and self._positions == self._ends:
            self._saved.save(self)

    def decided(self) -> bool:
        """True if something is violated, or the awaited witness is reached."""
        if self.stop_on_witness is not None and self.stop_on_witness in self.findings.witnesses:
            return True
        return not self.all_violations and self.findings.violated

    @property
    def frontier(self) -> int:
        """States of the last level."""
        return sum(s.count for s in self.shards) - sum(self.bounds[-2])

    @property
    def depth(self) -> int:
        """Number of levels that have a state."""
        return sum(1 for a, b in zip(self.bounds, self.bounds[1:], strict=False) if a != b)

    def _enter_initial(self) -> None:
        """Enter the initial states as level 1."""
        self.begin_level()
        try:
            self.add(self.findings.inside())
        except OutOfMemoryError as error:
            self._whole = False
            self.stop(f"memory limit: {error}")
        for t in range(self.threads):
            self._look(t)
        self.close_level()
        self.findings.note_initial(self._gather())

    def begin_level(self) -> None:
        """Begin a new level, to which the states entered from now on belong."""
        for shard in self.shards:
            shard.begin_level()

    def add(self, states: Words) -> None:
        """Enter given states (contiguous). Raises OutOfMemoryError."""
        context, route = self.contexts[0], self.kernel.calls["route"]
        done = 0
        while done < len(states):
            done = route(context.address, states.ctypes.data, done, len(states))
            context.close()
            for number, shard in enumerate(self.shards):
                shard.insert(*context.box(number))

    def close_level(self) -> None:
        """Make a level of what was entered since `begin_level`."""
        self.bounds.append([shard.count for shard in self.shards])

    def expand_level(self) -> None:
        """Expand the last level, in as many threads as pay."""
        self._tell_use()
        self._positions, self._ends = list(self.bounds[-2]), list(self.bounds[-1])
        self.begin_level()
        for context in self.contexts:
            context.record[abi.BROKEN] = context.record[abi.DEADLOCKS] = 0
        self._going = self._whole = True
        if self.threads == 1 or sum(self._ends) - sum(self._positions) < SMALL:
            self._alone()
        else:
            self._together(self._work)
        self.close_level()
        broken = np.bitwise_or.reduce([c.record[abi.BROKEN] for c in self.contexts])
        deadlocks = sum(int(c.record[abi.DEADLOCKS]) for c in self.contexts)
        self.findings.note_level(len(self.bounds) - 1, self._gather() | int(broken), deadlocks)
        self._save()

    def _alone(self) -> None:
        """A level in the calling thread, for all shards."""
        everyone = range(self.threads)
        while self._going:
            for t in everyone:
                self._expand(t)
            self._meet()
            for t in everyone:
                self._take(t)
        for t in everyone:
            self._look(t)

    def _work(self, t: int) -> None:
        """One thread's part of a level."""
        try:
            while self._going:
                self._expand(t)
                self._meeting.wait()
                self._take(t)
            self._look(t)
        except BaseException:
            self._meeting.abort()  # nobody waits for this thread
            raise

    def _expand(self, t: int) -> None:
        """Expand some of shard t's states, until a box is full."""
        first, limit = self._positions[t], min(self._ends[t], self._positions[t] + CHUNK)
        if first < limit:
            states = self.shards[t].store_address
            self._positions[t] = self.kernel.calls["expand"](self.contexts[t].address, states, first, limit)

    def _take(self, t: int) -> None:
        """Enter what all threads have found for shard t."""
        try:
            for source in self.contexts:
                address, n = source.box(t)
                if n:
                    self.shards[t].insert(address, n)
        except OutOfMemoryError as error:
            self._whole = False
            self.stop(f"memory limit: {error}")

    def _meet(self) -> None:
        """Run by one thread while the others wait."""
        try:
            for context in self.contexts:
                context.close()
            for shard in self.shards:
                shard.note()
            self.budget.check()
        except OutOfMemoryError as error:
            self.stop(f"memory limit: {error}")
        left = self._positions != self._ends
        self._going = left and not self.is_over()
        if self._going:
            self._tell_use()
        now = time.monotonic()
        if self.progress is not None and (not left or now - self._last_progress >= PROGRESS_S):
            self._last_progress = now
            self.progress(self._progress(now))

    def _tell_use(self) -> None:
        self.kernel.used(time.process_time() - self._started_cpu, self._is_stopped)

    def _is_stopped(self) -> bool:
        return self.stopped is not None or self.limit() is not None

    def limit(self) -> str | None:
        """The limit on states or time that is reached."""
        return reached_limit(self.limits, self.distinct, time.monotonic() - self.started)

    def _progress(self, now: float) -> Progress:
        frontier = sum(self._ends) - sum(self.bounds[-2])
        queue = sum(self._ends) - sum(self._positions)
        self._gather()
        return Progress(
            self.findings.generated, self.distinct, len(self.bounds) - 1, frontier, queue, now - self.started,
            memory_bytes=self.budget.held,
        )  # fmt: skip

    # The end of a level.

    def _look(self, t: int) -> None:
        """Look at shard t's states of the level being built: their leaves, what they break, where they come from."""
        first, limit = self.bounds[-1][t], self.shards[t].count
        self._found[t] = 0
        if first == limit:
            return
        self._found[t] = survey(self.kernel, self.shards[t].states(first, limit), self._seen[t])
        if len(self.bounds) > 1:  # no action generated the initial states
            origins = self.shards[t].origins()
            self.kernel.calls["tally"](origins.ctypes.data, len(origins), self._new[t].ctypes.data)

    def _gather(self) -> int:
        """Combine the threads' findings; return the properties that the new level's states break or reach."""
        self.findings.counters[:] = np.sum([c.counters for c in self.contexts], axis=0)
        self.findings.seen[:] = np.bitwise_or.reduce(self._seen, axis=(0, 2))
        self.findings.new[:] = self._new.sum(axis=0)
        return int(np.bitwise_or.reduce(self._found))

    # What is known so far.

    @property
    def distinct(self) -> int:
        """Stored states."""
        return sum(shard.count for shard in self.shards)

    def select(self, level: int, pick: Picking) -> list[Words]:
        """The states of a level that `pick` picks."""
        states_of = pick.prepare(self.kernel)
        return [
            states_of(shard.states(start, min(start + CHUNK, limit)))
            for shard, first, limit in zip(self.shards, self.bounds[level - 1], self.bounds[level], strict=True)
            for start in range(first, limit, CHUNK)
        ]

    def at_hand(self, deadline: Deadline) -> Exploration:
        """This object, whose states are in memory already: see `Explored`."""
        return self

    def restore(self, saved: dict[str, Any]) -> None:
        """Take over what an earlier search found; its states have been entered."""
        self.findings.restore(saved)
        self.contexts[0].counters[:] = self.findings.counters
        self._seen[0, :, 0] = self.findings.seen
        self._new[0] = self.findings.new

    def result(self) -> SearchResult:
        """The result of the search so far."""
        self._gather()
        return self.findings.result(
            self, stopped=self.stopped, distinct=self.distinct, depth=self.depth,
            seconds=time.monotonic() - self.started, peak_memory_bytes=self.budget.peak,
            workers=self.threads, worker="thread",
        )  # fmt: skip
