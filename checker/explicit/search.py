"""Exhaustive search: breadth-first, level by level, sharded by state hash over threads.

A round: every thread expands states of its own shard into boxes, one for each shard, until a box is
full; the threads meet; then every thread enters what all boxes hold for its shard, and goes on to the
next round with a second set of boxes. All that a search reports is the same for any number of threads,
as long as no limit stops it.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from checker.explicit import abi
from checker.explicit.checkpoint import Checkpoint
from checker.explicit.coverage import generated, summarize
from checker.explicit.kernel import Kernel
from checker.explicit.results import Limits, Progress, SearchResult, SeenLeaf, default_memory
from checker.explicit.runtime import LANES, observed_by_bitmap
from checker.explicit.store import Budget, Context, OutOfMemoryError, Shard, Words
from checker.lang.ir import EventKind

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

    Stops at the end of the level in which a property broke (all_violations: goes on), or in which the
    witness with index `stop_on_witness` was reached. checkpoint: directory to which every finished level is
    saved; resume: such a directory to go on from (and, unless `checkpoint` names another, to save to).
    Raises CheckpointError for a directory that cannot be resumed from, ValueError for a bad number of threads.
    """
    if not 1 <= threads <= abi.MAX_SHARDS:
        raise ValueError(f"threads must be 1 to {abi.MAX_SHARDS}, not {threads}")
    exploration = Exploration(kernel, initial, threads, limits or Limits())
    exploration.all_violations = all_violations
    exploration.stop_on_witness = stop_on_witness
    exploration.progress = progress
    with exploration.crew(), _interrupts(exploration):
        exploration.run(checkpoint, resume)
    return exploration.result()


@contextmanager
def _interrupts(exploration: Exploration) -> Iterator[None]:
    """Ctrl-C stops the search at the end of the round (where signals can be caught: in the main thread)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        exploration.stop("interrupted")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Exploration:
    """The stored states of a search, by shard and level, and the search itself.

    bounds[l]: per shard, the index of the first state of level l + 1; the last entry is where the next level goes.
    initial: the packed initial states in the given order, those outside the state constraint too;
    initial_bits: their properties, as from `classify`.
    """

    def __init__(
        self, kernel: Kernel, initial: Sequence[Sequence[int]], threads: int, limits: Limits
    ) -> None:
        self.kernel = kernel
        self.threads = threads
        self.limits = limits
        self.all_violations = False
        self.stop_on_witness: int | None = None
        self.progress: Callable[[Progress], None] | None = None
        self.stopped: str | None = None
        packed = [kernel.layout.pack(codes) for codes in initial]
        self.initial: Words = np.array(packed, dtype=np.uint64).reshape(-1, kernel.words)
        self.initial_bits = np.zeros(len(packed), dtype=np.int64)
        kernel.calls["classify"](self.initial.ctypes.data, len(packed), self.initial_bits.ctypes.data)
        memory = default_memory() if limits.memory_bytes is None else limits.memory_bytes
        self.budget = Budget(memory)
        self.shards = [Shard(kernel, self.budget, number) for number in range(threads)]
        capacity = BOX if threads == 1 else max(1024, SHARED_BOX // threads)
        sets = 1 if threads == 1 else 2
        self.contexts = [Context(kernel, threads, capacity, sets=sets) for _ in range(threads)]
        self._seen = np.zeros((threads, len(kernel.layout.leaves), LANES), dtype=np.int64)
        self.budget.hold("contexts", sum(c.size for c in self.contexts) + self._seen.nbytes)
        self.bounds: list[list[int]] = [[0] * threads]
        self.broken: dict[int, int] = {}
        self.witnesses: dict[int, int] = {}
        self.errors: dict[int, int] = {}
        self.deadlock: int | None = None
        self._new = np.zeros((threads, len(kernel.actions)), dtype=np.int64)
        self._found = [0] * threads
        self._witness_mask = kernel.mask_of("witness")
        self._errors = [
            (e.site, e.counter)
            for s in kernel.signatures
            for e in s.exits
            if kernel.sites[e.site].kind is EventKind.ERROR
        ]
        self._positions = [0] * threads
        self._ends = [0] * threads
        self._going = False
        self._whole = True  # nothing that was found in the level at hand is lost
        self.started = time.monotonic()
        self._last_progress = self.started

    # Threads.

    @contextmanager
    def crew(self) -> Iterator[None]:
        """The threads, for the time of a search."""
        self._meeting = threading.Barrier(self.threads, action=self._meet)
        with ExitStack() as stack:
            self._pool: ThreadPoolExecutor | None = None
            if self.threads > 1:
                self._pool = stack.enter_context(ThreadPoolExecutor(self.threads - 1))
            try:
                yield
            finally:
                del self._meeting, self._pool  # they refer back: without them memory goes with the result

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

    def stop(self, reason: str) -> None:
        """End the search at the next opportunity; the first reason counts."""
        self.stopped = self.stopped or reason

    # The search.

    def run(self, checkpoint: Path | None, resume: Path | None) -> None:
        """Search until all is explored, or something says stop."""
        saved = Checkpoint.open(resume, self) if resume else None
        if checkpoint is not None and checkpoint != resume:
            saved = Checkpoint.create(checkpoint, self)
        if not resume:
            self._enter_initial()
        if saved and self._whole:
            saved.save(self)
        while self.stopped is None and not self._decided() and self._frontier():
            reason = self._limit()
            if reason is None and self.limits.max_depth is not None and self.depth >= self.limits.max_depth:
                reason = f"depth limit of {self.limits.max_depth}"
            if reason is not None:
                self.stop(reason)
                break
            self._level()
            if saved and self._whole and self._positions == self._ends:
                saved.save(self)

    def _decided(self) -> bool:
        if self.stop_on_witness is not None and self.stop_on_witness in self.witnesses:
            return True
        return not self.all_violations and bool(self.broken or self.errors)

    def _frontier(self) -> int:
        return sum(s.count for s in self.shards) - sum(self.bounds[-2])

    @property
    def depth(self) -> int:
        """Levels that have a state."""
        return sum(1 for a, b in zip(self.bounds, self.bounds[1:], strict=False) if a != b)

    def _enter_initial(self) -> None:
        """Level 1."""
        states = self.initial[(self.initial_bits & abi.OUTSIDE) == 0]
        self.begin_level()
        try:
            self.add(np.ascontiguousarray(states))
        except OutOfMemoryError as error:
            self._whole = False
            self.stop(f"memory limit: {error}")
        outside = self.initial_bits[(self.initial_bits & abi.OUTSIDE) != 0]
        bits = int(np.bitwise_or.reduce(outside, initial=0)) & ~(abi.OUTSIDE | self._witness_mask)
        for t in range(self.threads):
            self._look(t)
        self.close_level()
        self._note_properties(1, int(np.bitwise_or.reduce([bits, *self._found])))

    def begin_level(self) -> None:
        """States entered from now on belong to a new level."""
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
        """What was entered since `begin_level` is a level."""
        self.bounds.append([shard.count for shard in self.shards])

    def _level(self) -> None:
        """Expand the last level."""
        self._positions, self._ends = list(self.bounds[-2]), list(self.bounds[-1])
        self.begin_level()
        for context in self.contexts:
            context.record[abi.BROKEN] = context.record[abi.DEADLOCKS] = 0
        self._going = self._whole = True
        if self.threads == 1 or sum(self._ends) - sum(self._positions) < SMALL:
            self._alone()
        else:
            self._together(self._work)
        level = len(self.bounds)
        self.close_level()
        self._note_failures(level - 1)
        broken = [int(c.record[abi.BROKEN]) for c in self.contexts]
        self._note_properties(level, int(np.bitwise_or.reduce(broken + self._found)))

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
        reason = self._limit() if left else None
        if reason is not None:
            self.stop(reason)
        self._going = left and self.stopped is None
        now = time.monotonic()
        if self.progress is not None and (not left or now - self._last_progress >= PROGRESS_S):
            self._last_progress = now
            self.progress(self._progress(now))

    def _limit(self) -> str | None:
        """The limit that has been reached, if any."""
        limits = self.limits
        if limits.max_states is not None and self.distinct >= limits.max_states:
            return f"limit of {limits.max_states} states"
        if limits.time_limit_s is not None and time.monotonic() - self.started >= limits.time_limit_s:
            return f"time limit of {limits.time_limit_s:g} s"
        return None

    def _progress(self, now: float) -> Progress:
        frontier = sum(self._ends) - sum(self.bounds[-2])
        queue = sum(self._ends) - sum(self._positions)
        return Progress(
            self.generated, self.distinct, len(self.bounds) - 1, frontier, queue, now - self.started, self.budget.held
        )

    # The end of a level.

    def _note_failures(self, level: int) -> None:
        """Errors and deadlocks out of states of `level`."""
        counters = self.counters()
        for site, counter in self._errors:
            if counters[counter]:
                self.errors.setdefault(site, level)
        if self.deadlock is None and any(c.record[abi.DEADLOCKS] for c in self.contexts):
            self.deadlock = level
            for index, declared in enumerate(self.kernel.properties):
                if declared.kind == "deadlock":
                    self.broken[index] = level

    def _note_properties(self, level: int, bits: int) -> None:
        """Properties broken, or witnesses reached, by states of `level` or edges into it."""
        for index, declared in enumerate(self.kernel.properties):
            if bits >> index & 1:
                (self.witnesses if declared.kind == "witness" else self.broken).setdefault(index, level)

    def _look(self, t: int) -> None:
        """Look at shard t's states of the level being built: their leaves, what they break, where they come from."""
        first, limit = self.bounds[-1][t], self.shards[t].count
        self._found[t] = 0
        if first == limit:
            return
        states = self.shards[t].states(first, limit)
        if limit - first < LANES:
            states = np.resize(states, (LANES, self.kernel.words))  # repeats them: seeing twice does no harm
        calls = self.kernel.calls
        self._found[t] = int(calls["survey"](states.ctypes.data, len(states), self._seen[t].ctypes.data))
        if len(self.bounds) > 1:  # no action generated the initial states
            origins = self.shards[t].origins()
            calls["tally"](origins.ctypes.data, len(origins), self._new[t].ctypes.data)

    # What is known so far.

    @property
    def distinct(self) -> int:
        """Stored states."""
        return sum(shard.count for shard in self.shards)

    @property
    def generated(self) -> int:
        """Initial states and every successor."""
        return len(self.initial) + generated(self.kernel.signatures, self.counters().tolist())

    def counters(self) -> np.typing.NDArray[np.int64]:
        """Sums over all threads; see `coverage`."""
        total: np.typing.NDArray[np.int64] = np.sum([c.counters for c in self.contexts], axis=0)
        return total

    def seen(self) -> np.typing.NDArray[np.int64]:
        """Per leaf, what `survey` saw."""
        merged: np.typing.NDArray[np.int64] = np.bitwise_or.reduce(self._seen, axis=(0, 2))
        return merged

    def saved(self) -> dict[str, Any]:
        """What a checkpoint keeps besides the states, as JSON."""
        return {
            "counters": self.counters().tolist(),
            "seen": self.seen().tolist(),
            "new": self._new.sum(axis=0).tolist(),
            "broken": list(self.broken.items()),
            "errors": list(self.errors.items()),
            "witnesses": list(self.witnesses.items()),
            "deadlock": self.deadlock,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Take over what an earlier search found; its states have been entered."""
        self.contexts[0].counters[:] = saved["counters"]
        self._seen[0, :, 0] = saved["seen"]
        self._new[0] = saved["new"]
        self.broken, self.errors = dict(saved["broken"]), dict(saved["errors"])
        self.witnesses, self.deadlock = dict(saved["witnesses"]), saved["deadlock"]

    def _outside(self) -> int:
        """Initial states and successors that break a state constraint."""
        initial = int(np.count_nonzero(self.initial_bits & abi.OUTSIDE))
        return initial + int(self.counters()[abi.OUTSIDE_COUNTER])

    def result(self) -> SearchResult:
        """What the search has to tell."""
        seconds = time.monotonic() - self.started
        kernel = self.kernel
        actions, sites = summarize(kernel.signatures, kernel.sites, len(kernel.actions), self.counters().tolist())
        for action, new in zip(actions, self._new.sum(axis=0), strict=True):
            action.new = int(new)
        leaves = []
        for leaf, value in enumerate(self.seen()):
            bits = int(value) & (1 << 64) - 1
            if observed_by_bitmap(kernel.layout, leaf):
                leaves.append(SeenLeaf(frozenset(code for code in range(64) if bits >> code & 1), None))
            else:
                leaves.append(SeenLeaf(None, bits))
        return SearchResult(
            self.stopped, self.generated, self.distinct, self.depth, self._outside(), actions, sites, leaves,
            dict(self.broken), dict(self.errors), self.deadlock, dict(self.witnesses),
            seconds, 8 * kernel.words, self.budget.peak, self.threads, self,
        )
