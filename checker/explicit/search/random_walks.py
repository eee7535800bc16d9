"""Random walks, block by block on several threads, and what they found.

Walk n is the same whatever thread takes it (see `walking`). Blocks are begun in the order of their walks, and the
first walk that violates something ends them all: what comes after it does not count. So all that is reported is the
same for any number of threads, as long as no limit stops the walks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from checker.explicit.kernel import abi
from checker.explicit.kernel.coverage import ActionCoverage, SiteCoverage, summarize
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.path import Packed, Path, Target, packed
from checker.explicit.search.shrink import shrink
from checker.explicit.search.store import Context
from checker.running.arrays import Longs, Words
from checker.running.interrupts import interrupts
from checker.verdicts import INTERRUPTED

BLOCK_STEPS = 20_000  # most steps of a block of several walks: some 20 ms
PROGRESS_S = 0.1
_SEEDS = 1 << 64


@dataclass(frozen=True)
class WalkProgress:
    """Walks under way: how many are done, and the steps of all."""

    walks: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class Violation:
    """The first walk that violates something. path: of the walk, shrunk; found_steps: of the walk as it was."""

    walk: int
    target: Target
    path: Path
    found_steps: int


@dataclass(frozen=True)
class WalksResult:
    """Results of random walks. walks, steps: how many were taken, the violating walk among them.

    stopped: why not all were taken, None where they were, or one violates something. taken: steps per action. actions,
    sites: what was enabled, and what guards did, in all the states that were gone through. witnesses: mask of those
    that were reached.
    """

    walks: int
    steps: int
    seconds: float
    stopped: str | None
    taken: list[int]
    actions: list[ActionCoverage]
    sites: list[SiteCoverage]
    witnesses: int
    violation: Violation | None


def random_walks(
    kernel: Kernel, initial: Sequence[Sequence[int]], *, seed: int, walks: int, max_steps: int, jobs: int = 1,
    time_limit_s: float | None = None, progress: Callable[[WalkProgress], None] | None = None,
) -> WalksResult:  # fmt: skip
    """Walk from the initial states (codes per leaf), up to the first walk that violates something, which is shrunk.

    From a state one of its enabled instances is taken, each with the same probability. jobs: threads. Raises
    ValueError where there is no initial state.
    """
    if not initial:
        raise ValueError("there is no initial state")
    walkers = _Walkers(kernel, initial, seed, walks, max_steps, jobs)
    walkers.time_limit_s = time_limit_s
    walkers.progress = progress
    with interrupts(walkers):
        walkers.run()
        return walkers.result()


@dataclass
class _Tally:
    """Sums over some walks."""

    walks: int
    steps: int
    counters: Longs
    taken: Longs
    seen: int

    def add(self, other: _Tally) -> None:
        self.walks += other.walks
        self.steps += other.steps
        self.counters += other.counters
        self.taken += other.taken
        self.seen |= other.seen


class _Walker:
    """Takes the walks of one thread."""

    def __init__(self, kernel: Kernel, starts: Words, seed: int, max_steps: int) -> None:
        self._kernel = kernel
        self._starts = starts  # kept, as native code has the address
        self._context = Context(kernel, 1, 1, edges=1)
        self._taken = np.zeros(len(kernel.actions), dtype=np.int64)
        self.record = np.zeros(abi.WALK_FIELDS, dtype=np.int64)
        self.record[abi.SEED] = np.uint64(seed % _SEEDS).astype(np.int64)
        self.record[abi.MAX_STEPS] = min(max_steps, np.iinfo(np.int64).max)
        self.record[abi.STARTS] = starts.ctypes.data
        self.record[abi.START_COUNT] = len(starts)
        self.record[abi.JUDGED] = kernel.mask_of("invariant")
        self.record[abi.DEADLOCK_JUDGED] = bool(kernel.mask_of("deadlock"))
        self.record[abi.EDGES], self.record[abi.CANDIDATES] = self._context.record[[abi.BOXES, abi.BOXES + 2]]
        self.record[abi.TAKEN] = self._taken.ctypes.data

    def walk(self, first: int, limit: int) -> tuple[_Tally, bool]:
        """Take the walks first..limit-1, up to one that violates something, and say whether there was one."""
        self.record[abi.WALK], self.record[abi.WALK_LIMIT] = first, limit
        self.record[abi.STEPS] = self.record[abi.SEEN] = 0
        self._context.counters[:], self._taken[:] = 0, 0
        violated = bool(self._kernel.calls["walk"](self._context.address, self.record.ctypes.data))
        walks, steps = int(self.record[abi.WALK]) - first + violated, int(self.record[abi.STEPS])
        self.record[abi.STEPS] = 0
        counters, taken = self._context.counters.copy(), self._taken.copy()
        return _Tally(walks, steps, counters, taken, int(self.record[abi.SEEN])), violated

    def path(self, walk: int, steps: int) -> tuple[Packed, list[int]]:
        """The initial state of a walk, and the instances that it takes. steps: at least as many as it has."""
        path = np.zeros(steps, dtype=np.int64)
        self.record[abi.PATH] = path.ctypes.data
        self.walk(walk, walk + 1)
        self.record[abi.PATH] = 0
        return packed(self._starts[int(self.record[abi.START])]), path[: int(self.record[abi.LENGTH])].tolist()


class _Walkers:
    """The threads, and what they have found so far."""

    def __init__(
        self, kernel: Kernel, initial: Sequence[Sequence[int]], seed: int, walks: int, max_steps: int, jobs: int
    ) -> None:
        self.time_limit_s: float | None = None
        self.progress: Callable[[WalkProgress], None] | None = None
        self._kernel = kernel
        self._seed, self._walks, self._max_steps, self._jobs = seed, walks, max_steps, jobs
        self._starts: Words = np.array([kernel.layout.pack(codes) for codes in initial], dtype=np.uint64)
        self._block = max(1, BLOCK_STEPS // max_steps)
        self._lock = threading.Lock()
        self._walkers = [self._walker() for _ in range(jobs)]
        self._running = [-1] * jobs  # per thread its block
        self._begun = 0
        self._done: dict[int, _Tally] = {}  # blocks after one that is not done
        self._merged = 0
        self._total = _Tally(0, 0, np.zeros(kernel.counters, np.int64), np.zeros(len(kernel.actions), np.int64), 0)
        self._violated: int | None = None  # the least block in which a walk violates something
        self._violating = (0, 0)  # that walk, and its steps
        self._stopped: str | None = None
        self._started = time.monotonic()
        self._started_cpu_s = time.process_time()

    def _walker(self) -> _Walker:
        return _Walker(self._kernel, self._starts, self._seed, self._max_steps)

    def stop(self, reason: str) -> None:
        """End the walks; the first reason counts. Called in signal handlers: takes no lock."""
        self._stopped = self._stopped or reason
        for walker in self._walkers:
            walker.record[abi.STOP] = 1

    def run(self) -> None:
        """Take all walks, unless something ends them before."""
        with ThreadPoolExecutor(self._jobs) as pool:
            working = [pool.submit(self._work, t) for t in range(self._jobs)]
            try:
                while not self._is_over(working):
                    self._kernel.used(time.process_time() - self._started_cpu_s, lambda: self._is_over(working))
            except BaseException:
                self.stop(INTERRUPTED)
                raise
        for one in working:
            one.result()

    def _is_over(self, working: Sequence[Future[None]]) -> bool:
        """Wait a while; return True if the threads are done, or soon will be."""
        going = wait(working, timeout=PROGRESS_S, return_when=FIRST_EXCEPTION).not_done
        if self.progress is not None:
            self.progress(self._so_far())
        return self._is_stopped() or not going

    def _is_stopped(self) -> bool:
        if self.time_limit_s is not None and self._seconds >= self.time_limit_s:
            self.stop(f"time limit of {self.time_limit_s:g} s")
        return self._stopped is not None

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _work(self, t: int) -> None:
        """One thread: block after block."""
        walker = self._walkers[t]
        while (block := self._next(t)) is not None:
            tally, violated = walker.walk(block * self._block, min((block + 1) * self._block, self._walks))
            self._note(t, block, tally, violated)

    def _next(self, t: int) -> int | None:
        with self._lock:
            if self._stopped is not None or self._violated is not None or self._begun * self._block >= self._walks:
                return None
            self._running[t] = self._begun
            self._begun += 1
            return self._running[t]

    def _note(self, t: int, block: int, tally: _Tally, violated: bool) -> None:
        """Note that a block is done. If one of its walks violates something, no later block counts."""
        with self._lock:
            self._running[t] = -1
            self._done[block] = tally
            if violated and (self._violated is None or block < self._violated):
                self._violated = block
                record = self._walkers[t].record
                self._violating = int(record[abi.WALK]), int(record[abi.LENGTH])
                for walker, running in zip(self._walkers, self._running, strict=True):
                    if running > block:
                        walker.record[abi.STOP] = 1
            while self._merged in self._done and (self._violated is None or self._merged <= self._violated):
                self._total.add(self._done.pop(self._merged))
                self._merged += 1

    def _so_far(self) -> WalkProgress:
        with self._lock:
            tallies = [self._total, *self._done.values()]
            steps = sum(t.steps for t in tallies) + sum(int(w.record[abi.STEPS]) for w in self._walkers)
            return WalkProgress(sum(t.walks for t in tallies), steps, self._seconds)

    def result(self) -> WalksResult:
        """The result, once no thread is at work."""
        seconds = self._seconds
        violation = None if self._violated is None else self._shrunk()
        total, kernel = self._total, self._kernel
        actions, sites = summarize(kernel.signatures, kernel.sites, len(kernel.actions), total.counters.tolist())
        return WalksResult(
            total.walks, total.steps, seconds, self._stopped, total.taken.tolist(), actions, sites,
            total.seen & kernel.mask_of("witness"), violation,
        )  # fmt: skip

    def _shrunk(self) -> Violation:
        start, instances = self._walker().path(*self._violating)
        target, path, shorter = shrink(self._kernel, start, instances, self._is_stopped)
        return Violation(self._violating[0], target, shorter, len(path.instances))
