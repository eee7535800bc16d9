"""Shortest paths to what a search found: the level of the target is known, parents are found by searching backwards.

Level by level, the states of the level before are expanded again in batches, and those with a
successor among the marked states are marked. The path is then chosen forwards: the first initial state
that is marked, and from every state the least instance that leads to a marked one. So it is the same
whatever the number of shards, and never depends on the layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from checker.explicit.kernel import abi
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.explored import Explored
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import Budget, Context, Shard
from checker.lang.loader import BoundModel
from checker.running.arrays import Bits, Longs, Numbers, Words

_BATCH = 1 << 15  # records a box takes
_UNLIMITED = 1 << 62
WORD = (1 << 64) - 1

Packed = tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """The target of a path: a property (broken, or a witness reached), an error at a site, or a deadlock.

    None of them: states that are given (`way_to`).
    """

    property: int | None = None
    site: int | None = None
    deadlock: bool = False

    def hits(self, codes: Longs) -> Bits:
        """The edges, given by their codes (see `abi`), that match the target."""
        if self.site is not None:
            return np.equal(codes, -1 - self.site)
        if self.deadlock:
            return np.equal(codes, abi.DEADLOCK)
        assert self.property is not None
        broken: Bits = (codes >= 0) & (codes >> self.property & 1 != 0)
        return broken


@dataclass(frozen=True)
class Path:
    """A behaviour. words: packed states; instances[i] leads from words[i] to words[i + 1].

    site: the last instance ends in an error there, and has no state after it.
    """

    instances: list[int]
    words: list[Packed]
    site: int | None = None


def packed(row: Numbers | Sequence[int]) -> Packed:
    """One state of an array, as non-negative integers."""
    return tuple([int(word) & WORD for word in row])


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
    return _Tracer(kernel, result.exploration, Target()).path(level, states)


@dataclass(frozen=True, eq=False)
class Pick:
    """The choice of states of a level: a description, so that it can be sent to where the states are.

    marks None: those that are the target, or out of which it happens. Else those with a successor among the marks,
    and where `last` also those with an edge that is the target.
    """

    target: Target
    marks: Words | None = None
    last: bool = False

    def prepare(self, kernel: Kernel) -> Callable[[Words], Words]:
        """A function that picks from states (contiguous, shape (n, words))."""
        if self.marks is None and self.target.property is not None:
            return partial(_having, kernel, self.target.property)
        return _Sources(kernel, self).among


def _having(kernel: Kernel, number: int, states: Words) -> Words:
    """The states that break property `number` or, for a witness, reach it."""
    bits = np.zeros(len(states), dtype=np.int64)
    kernel.calls["classify"](states.ctypes.data, len(states), bits.ctypes.data)
    found: Words = states[bits >> number & 1 != 0]
    return found


class _Sources:
    """Picks states by what they lead to."""

    def __init__(self, kernel: Kernel, pick: Pick) -> None:
        self._expander = Expander(kernel)
        self._pick = pick
        self._marks = None if pick.marks is None else Marks(kernel, pick.marks)

    def among(self, states: Words) -> Words:
        found = [np.zeros(0, dtype=np.int64)]
        for candidates, edges in self._expander.batches(states):
            if self._marks is not None:
                found.append(candidates[self._marks.has(candidates), -1])
            if self._marks is None or self._pick.last:
                found.append(edges[self._pick.target.hits(edges[:, -1]), -2])
        picked: Words = states[np.unique(np.concatenate(found) >> abi.META_SHIFT)]
        return picked


class Expander:
    """Expands states again, edges included."""

    def __init__(self, kernel: Kernel) -> None:
        self._expand = kernel.calls["expand"]
        self._context = Context(kernel, 1, _BATCH, edges=_BATCH)

    def batches(self, states: Words) -> Iterator[tuple[Longs, Longs]]:
        """(candidates, edges), as in `abi`, of contiguous states, some states at a time; valid until the next."""
        done = 0
        while done < len(states):
            done = self._expand(self._context.address, states.ctypes.data, done, len(states))
            self._context.close()
            yield self._context.records(0), self._context.edges()


class Marks:
    """A set of states."""

    def __init__(self, kernel: Kernel, states: Words) -> None:
        self._find = kernel.calls["find"]
        self._set = Shard(kernel, Budget(_UNLIMITED), capacity=len(states))
        context = Context(kernel, 1, _BATCH)
        done = 0
        while done < len(states):
            done = kernel.calls["route"](context.address, states.ctypes.data, done, len(states))
            context.close()
            self._set.insert(*context.box(0))

    def has(self, candidates: Longs) -> Bits:
        """Per candidate (words and meta), True if it is in the set."""
        found = np.zeros(len(candidates), dtype=np.int64)
        self._find(self._set.address, candidates.ctypes.data, len(candidates), found.ctypes.data)
        return np.not_equal(found, 0)


class _Tracer:
    """Marks states backwards from a target, then walks forwards."""

    def __init__(self, kernel: Kernel, explored: Explored, target: Target) -> None:
        self._kernel = kernel
        self._explored = explored
        self._target = target
        self._expander = Expander(kernel)

    def path(self, level: int, final: Words | None = None) -> Path:
        """The path to the target at `level`; final: the states that it is, or out of which it happens."""
        explored, target = self._explored, self._target
        if level == 1 and target.property is not None:
            hits = explored.initial_bits >> target.property & 1
            return Path([], [packed(explored.initial[np.flatnonzero(hits)[0]])])
        marks = [self._select(level, Pick(target)) if final is None else final]
        for previous in range(level - 1, 0, -1):
            last = previous == level - 1 and target.property is not None
            marks.append(self._select(previous, Pick(target, marks[-1], last)))
        return self._forwards([Marks(self._kernel, states) for states in reversed(marks)])

    def _select(self, level: int, pick: Pick) -> Words:
        nothing: Words = np.zeros((0, self._kernel.words), dtype=np.uint64)
        return np.concatenate([nothing, *self._explored.select(level, pick)])

    def _forwards(self, marks: list[Marks]) -> Path:
        """The path through the marked states. marks: for each level of the path."""
        initial = self._explored.initial
        candidates = np.zeros((len(initial), self._kernel.words + 1), dtype=np.int64)
        candidates[:, :-1] = initial.view(np.int64)
        state = initial[np.flatnonzero(marks[0].has(candidates))[0]]
        path = Path([], [packed(state)], self._target.site)
        for current in range(1, len(marks)):
            last = current == len(marks) - 1
            instance, state = min(self._onwards(state, marks[current], last), key=lambda step: step[0])
            path.instances.append(instance)
            path.words.append(packed(state))
        if self._target.site is not None:
            edges = self._expand_one(state)[1]
            path.instances.append(min(int(m) & abi.NO_INSTANCE for m in edges[self._target.hits(edges[:, -1]), -2]))
        return path

    def _expand_one(self, state: Words) -> tuple[Longs, Longs]:
        return next(self._expander.batches(np.ascontiguousarray(state).reshape(1, -1)))

    def _onwards(self, state: Words, marks: Marks, last: bool) -> Iterator[tuple[int, Words]]:
        """Steps to a marked state or, where that is of the last level, along a target edge."""
        candidates, edges = self._expand_one(state)
        for row in candidates[marks.has(candidates)]:
            yield int(row[-1]) & abi.NO_INSTANCE, row[:-1].view(np.uint64)
        if last and self._target.property is not None:
            for row in edges[self._target.hits(edges[:, -1])]:
                yield int(row[-2]) & abi.NO_INSTANCE, row[:-2].view(np.uint64)


def first_state(model: BoundModel, kernel: Kernel, words: Packed) -> Any:
    """The initial state with these packed words."""
    pack, encode = kernel.layout.pack, model.state_type.encode
    return next(s for s in model.initial_states() if tuple(pack(encode(s))) == words)
