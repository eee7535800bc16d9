"""Findings of a search so far: counts, coverage, what is broken and reached at which level. Every engine keeps one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from checker.explicit.kernel import abi
from checker.explicit.kernel.coverage import generated, summarize
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.runtime import LANES, observed_by_bitmap
from checker.explicit.search.explored import Explored
from checker.explicit.search.results import SearchResult, SeenLeaf
from checker.lang.ir import EventKind
from checker.running.arrays import Longs, Words
from checker.running.limits import Limits


class Findings:
    """Findings of one search.

    initial: the packed initial states in the given order, those outside the state constraint too;
    initial_bits: their properties, as from `classify`. counters: as in `coverage`, over all that was expanded.
    seen: per leaf what `survey` saw. new: per action, states first generated. broken, errors, deadlock, witnesses: as
    in `SearchResult`.
    """

    def __init__(self, kernel: Kernel, initial: Sequence[Sequence[int]]) -> None:
        self._kernel = kernel
        packed = [kernel.layout.pack(codes) for codes in initial]
        self.initial: Words = np.array(packed, dtype=np.uint64).reshape(-1, kernel.words)
        self.initial_bits = np.zeros(len(packed), dtype=np.int64)
        kernel.calls["classify"](self.initial.ctypes.data, len(packed), self.initial_bits.ctypes.data)
        self.counters: Longs = np.zeros(kernel.counters, dtype=np.int64)
        self.seen: Longs = np.zeros(len(kernel.layout.leaves), dtype=np.int64)
        self.new: Longs = np.zeros(len(kernel.actions), dtype=np.int64)
        self.broken: dict[int, int] = {}
        self.witnesses: dict[int, int] = {}
        self.errors: dict[int, int] = {}
        self.deadlock: int | None = None
        self._errors = [
            (e.site, e.counter)
            for s in kernel.signatures
            for e in s.exits
            if kernel.sites[e.site].kind is EventKind.ERROR
        ]

    @property
    def violated(self) -> bool:
        """True if a property or a type bound is broken."""
        return bool(self.broken or self.errors)

    @property
    def generated(self) -> int:
        """Initial states and every successor."""
        return len(self.initial) + generated(self._kernel.signatures, self.counters.tolist())

    def inside(self) -> Words:
        """The initial states within the state constraint, in the given order."""
        return np.ascontiguousarray(self.initial[(self.initial_bits & abi.OUTSIDE) == 0])

    def note_initial(self, bits: int) -> None:
        """Note level 1. bits: properties its states break or reach; states outside the constraint are added here."""
        outside = self.initial_bits[(self.initial_bits & abi.OUTSIDE) != 0]
        theirs = int(np.bitwise_or.reduce(outside, initial=0)) & ~(abi.OUTSIDE | self._kernel.mask_of("witness"))
        self._note_properties(1, bits | theirs)

    def note_level(self, level: int, bits: int, deadlocks: int) -> None:
        """Note `level`, once level - 1 is expanded and counted. bits: properties broken or reached by states of `level`
        or edges into it; deadlocks: states of `level` - 1 that have no enabled action."""
        for site, counter in self._errors:
            if self.counters[counter]:
                self.errors.setdefault(site, level - 1)
        if self.deadlock is None and deadlocks:
            self.deadlock = level - 1
            for index, declared in enumerate(self._kernel.properties):
                if declared.kind == "deadlock":
                    self.broken[index] = level - 1
        self._note_properties(level, bits)

    def _note_properties(self, level: int, bits: int) -> None:
        for index, declared in enumerate(self._kernel.properties):
            if bits >> index & 1:
                (self.witnesses if declared.kind == "witness" else self.broken).setdefault(index, level)

    def saved(self) -> dict[str, Any]:
        """The part of the findings that a checkpoint keeps, as JSON."""
        return {
            "counters": self.counters.tolist(),
            "seen": self.seen.tolist(),
            "new": self.new.tolist(),
            "broken": list(self.broken.items()),
            "errors": list(self.errors.items()),
            "witnesses": list(self.witnesses.items()),
            "deadlock": self.deadlock,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Take over what an earlier search found."""
        self.counters[:], self.seen[:], self.new[:] = saved["counters"], saved["seen"], saved["new"]
        self.broken, self.errors = dict(saved["broken"]), dict(saved["errors"])
        self.witnesses, self.deadlock = dict(saved["witnesses"]), saved["deadlock"]

    def result(
        self, explored: Explored, *, stopped: str | None, distinct: int, depth: int, seconds: float,
        peak_memory_bytes: int, workers: int, worker: str,
    ) -> SearchResult:  # fmt: skip
        """The result of the search, from these findings and the search's own figures."""
        kernel = self._kernel
        actions, sites = summarize(kernel.signatures, kernel.sites, len(kernel.actions), self.counters.tolist())
        for action, new in zip(actions, self.new.tolist(), strict=True):
            action.new = new
        leaves = []
        for leaf, value in enumerate(self.seen.tolist()):
            bits = value & (1 << 64) - 1
            if observed_by_bitmap(kernel.layout, leaf):
                leaves.append(SeenLeaf(frozenset(code for code in range(64) if bits >> code & 1), None))
            else:
                leaves.append(SeenLeaf(None, bits))
        outside = int(np.count_nonzero(self.initial_bits & abi.OUTSIDE)) + int(self.counters[abi.OUTSIDE_COUNTER])
        return SearchResult(
            stopped, self.generated, distinct, depth, outside, actions, sites, leaves,
            dict(self.broken), dict(self.errors), self.deadlock, dict(self.witnesses),
            seconds, 8 * kernel.words, peak_memory_bytes, workers, worker, explored,
        )  # fmt: skip


def survey(kernel: Kernel, states: Words, seen: Longs) -> int:
    """Evaluate properties on `states` (contiguous, not empty); add their leaves to `seen`, shape (leaves, LANES)."""
    if len(states) < LANES:
        states = np.resize(states, (LANES, kernel.words))  # repeats them: seeing twice does no harm
    return int(kernel.calls["survey"](states.ctypes.data, len(states), seen.ctypes.data))


def reached_limit(limits: Limits, distinct: int, seconds: float) -> str | None:
    """The limit on states or time that a search has reached, if any."""
    if limits.max_states is not None and distinct >= limits.max_states:
        return f"limit of {limits.max_states} states"
    if limits.time_limit_s is not None and seconds + limits.spent_s >= limits.time_limit_s:
        return f"time limit of {limits.time_limit_s:g} s"
    return None
