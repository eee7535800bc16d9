"""Shortest paths to what a search found: the level of the target is known, parents are found by searching backwards.

Level by level, the states of the level before are expanded again in batches, and those with a
successor among the marked states are marked. The path is then chosen forwards: the first initial state
that is marked, and from every state the least instance that leads to a marked one. So it is the same
whatever the number of shards, and never depends on the layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checker.explicit import abi
from checker.explicit.kernel import Kernel
from checker.explicit.results import SearchResult
from checker.explicit.search import Exploration
from checker.explicit.store import Budget, Context, Shard, Words

_BATCH = 1 << 15  # records a box takes, states looked at together
_UNLIMITED = 1 << 62

Packed = tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """What a path leads to: a property (broken, or a witness reached), an error at a site, or a deadlock.

    None of them: states that are given (`way_to`).
    """

    property: int | None = None
    site: int | None = None
    deadlock: bool = False

    def hits(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which edges, given by their codes (see `abi`), are what the target asks for."""
        if self.site is not None:
            return np.equal(codes, -1 - self.site)
        if self.deadlock:
            return np.equal(codes, abi.DEADLOCK)
        assert self.property is not None
        broken: npt.NDArray[np.bool_] = (codes >= 0) & (codes >> self.property & 1 != 0)
        return broken


@dataclass(frozen=True)
class Path:
    """A behaviour. words: packed states; instances[i] leads from words[i] to words[i + 1].

    site: the last instance ends in an error there, and has no state after it.
    """

    instances: list[int]
    words: list[Packed]
    site: int | None = None


def packed(row: npt.NDArray[np.integer]) -> Packed:
    """One state of an array, as non-negative integers."""
    return tuple(int(word) & (1 << 64) - 1 for word in row)


def shortest(kernel: Kernel, result: SearchResult, target: Target) -> Path:
    """The shortest path to a target that the search found. Raises KeyError for one that it did not find."""
    declared = None if target.property is None else kernel.properties[target.property].kind
    if declared == "deadlock":
        target = Target(deadlock=True)
    if target.site is not None:
        level = result.errors[target.site]
    elif target.deadlock:
        if result.deadlock is None:
            raise KeyError("the search found no deadlock")
        level = result.deadlock
    else:
        assert target.property is not None
        level = (result.witnesses if declared == "witness" else result.broken)[target.property]
    return _Tracer(kernel, result.exploration, target).path(level)


def way_to(kernel: Kernel, result: SearchResult, states: Words, level: int) -> Path:
    """The shortest path to one of `states` (contiguous, at least one), all of them stored ones of `level`."""
    return _Tracer(kernel, result.exploration, Target()).path(level, [states])


class _Tracer:
    """Marks states backwards from a target, then walks forwards."""

    def __init__(self, kernel: Kernel, exploration: Exploration, target: Target) -> None:
        self._kernel = kernel
        self._exploration = exploration
        self._target = target
        self._context = Context(kernel, 1, _BATCH, edges=_BATCH)
        self._marks: dict[int, Shard] = {}

    def path(self, level: int, final: list[Words] | None = None) -> Path:
        """The path to the target at `level`; final: the states that it is, or out of which it happens."""
        if level == 1 and self._target.property is not None:
            hits = self._exploration.initial_bits >> self._target.property & 1
            return Path([], [packed(self._exploration.initial[np.flatnonzero(hits)[0]])])
        self._mark(level, self._final(level) if final is None else final)
        for previous in range(level - 1, 0, -1):
            self._mark(previous, self._leading_to(previous, level))
        return self._forwards(level)

    # Backwards.

    def _mark(self, level: int, states: list[Words]) -> None:
        """Keep a set of a level's states."""
        total = sum(len(part) for part in states)
        marks = Shard(self._kernel, Budget(_UNLIMITED), capacity=total)
        context = Context(self._kernel, 1, _BATCH)
        for part in states:
            done = 0
            while done < len(part):
                done = self._kernel.calls["route"](context.address, part.ctypes.data, done, len(part))
                context.close()
                marks.insert(*context.box(0))
        self._marks[level] = marks

    def _ranges(self, level: int) -> Iterator[tuple[Shard, int, int]]:
        bounds = self._exploration.bounds
        return zip(self._exploration.shards, bounds[level - 1], bounds[level], strict=True)

    def _final(self, level: int) -> list[Words]:
        """The states of the last level that are the target, or out of which it happens."""
        if self._target.property is None:
            return [_rows(shard, self._edge_sources(edges)) for shard, _, edges in self._expanded(level)]
        found = []
        for shard, first, limit in self._ranges(level):
            for start in range(first, limit, _BATCH):
                states = shard.states(start, min(start + _BATCH, limit))
                bits = np.zeros(len(states), dtype=np.int64)
                self._kernel.calls["classify"](states.ctypes.data, len(states), bits.ctypes.data)
                found.append(states[bits >> self._target.property & 1 != 0])
        return found

    def _edge_sources(self, edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Indices of the states with an edge that is the target."""
        metas: npt.NDArray[np.int64] = edges[self._target.hits(edges[:, -1]), -2]
        return metas >> abi.META_SHIFT

    def _leading_to(self, level: int, last: int) -> list[Words]:
        """States of `level` with a successor that is marked or, out of the last level but one, a target edge."""
        marks = self._marks[level + 1]
        found = []
        for shard, candidates, edges in self._expanded(level):
            sources = candidates[self._marked(marks, candidates), -1] >> abi.META_SHIFT
            if level == last - 1 and self._target.property is not None:
                sources = np.concatenate([sources, self._edge_sources(edges)])
            found.append(_rows(shard, sources))
        return found

    def _expanded(
        self, level: int
    ) -> Iterator[tuple[Shard, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Expand a level again: per batch the shard, the candidates and the edges."""
        context, expand = self._context, self._kernel.calls["expand"]
        for shard, first, limit in self._ranges(level):
            while first < limit:
                first = expand(context.address, shard.store_address, first, limit)
                context.close()
                yield shard, context.records(0), context.edges()

    def _marked(self, marks: Shard, candidates: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(candidates), dtype=np.int64)
        self._kernel.calls["find"](marks.address, candidates.ctypes.data, len(candidates), found.ctypes.data)
        return np.not_equal(found, 0)

    # Forwards.

    def _forwards(self, level: int) -> Path:
        initial = self._exploration.initial
        candidates = np.zeros((len(initial), self._kernel.words + 1), dtype=np.int64)
        candidates[:, :-1] = initial.view(np.int64)
        state = initial[np.flatnonzero(self._marked(self._marks[1], candidates))[0]]
        path = Path([], [packed(state)], self._target.site)
        for current in range(1, level):
            instance, state = min(self._onwards(state, current + 1, level), key=lambda step: step[0])
            path.instances.append(instance)
            path.words.append(packed(state))
        if self._target.site is not None:
            edges = self._expand_one(state)[1]
            path.instances.append(min(int(m) & abi.NO_INSTANCE for m in edges[self._target.hits(edges[:, -1]), -2]))
        return path

    def _expand_one(self, state: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        single = np.ascontiguousarray(state)
        self._kernel.calls["expand"](self._context.address, single.ctypes.data, 0, 1)
        self._context.close()
        return self._context.records(0), self._context.edges()

    def _onwards(self, state: Words, level: int, last: int) -> Iterator[tuple[int, Words]]:
        """Steps to a marked state of `level` or, where that is the last, along a target edge."""
        candidates, edges = self._expand_one(state)
        for row in candidates[self._marked(self._marks[level], candidates)]:
            yield int(row[-1]) & abi.NO_INSTANCE, row[:-1].view(np.uint64)
        if level == last and self._target.property is not None:
            for row in edges[self._target.hits(edges[:, -1])]:
                yield int(row[-2]) & abi.NO_INSTANCE, row[:-2].view(np.uint64)


def _rows(shard: Shard, sources: npt.NDArray[np.int64]) -> Words:
    """The stored states with these indices, each once."""
    return shard.states(0, shard.count)[np.unique(sources)]
