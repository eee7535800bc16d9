"""The explored states as a graph in NumPy arrays, numbered in a way that no thread and no layout can change.

State 0 is the first initial state; from there on states are numbered as a breadth-first search meets them that
takes edges in order of (number of the source, instance). Whoever chooses the least number therefore chooses
the same for any number of shards, and the first edge into a state is the last one of a shortest path to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from checker.explicit import abi
from checker.explicit.kernel import Kernel
from checker.explicit.path import Packed, packed
from checker.explicit.results import SearchResult
from checker.explicit.search import Exploration
from checker.explicit.store import Context
from checker.explicit.watch import PER_WORD

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.integer]

EDGE_BYTES, STATE_BYTES = 112, 160
"""Memory that a graph and the search for lassos in it take, per edge and per state, with some to spare.

Measured: 162 MiB for 1.35 million edges between 249 thousand states; these figures give 182 MiB.
"""

_BATCH = 1 << 15  # records a box takes, states looked at together


@dataclass(frozen=True)
class StateGraph:
    """States 0..n-1 and the steps between them, self-loops and parallel edges included.

    first: shape (n + 1,), the edges first[s]..first[s + 1] - 1 leave s, in order of instances.
    sources, targets, instances: shape (edges,). depth: shape (n,), steps from an initial state.
    withheld: shape (n,), whether a fair step is enabled there and has no edge: it is cut, leaves the state
    constraint, or breaks down. watched: shape (n, words), as from `watch`.
    initial: the initial states' words, by number.
    """

    first: Longs
    sources: Ints
    targets: Ints
    instances: Ints
    depth: Ints
    withheld: Bits
    watched: Longs
    initial: list[Packed]

    @property
    def count(self) -> int:
        """States."""
        return len(self.depth)

    def leaving(self, states: Numbers) -> Longs:
        """The edges out of `states`, in order."""
        return spans(self.first, states)

    def way_to(self, state: int) -> tuple[int, list[int]]:
        """(an initial state, the edges of a shortest path from it to `state`)."""
        edges: list[int] = []
        while self.depth[state]:
            edge = int(self._entrances[state])
            edges.append(edge)
            state = int(self.sources[edge])
        return state, edges[::-1]

    @cached_property
    def _entrances(self) -> Longs:
        """Per state the first edge into it: by it the state was met first."""
        found = np.full(self.count, -1, dtype=np.int64)
        found[self.targets[::-1]] = np.arange(len(self.targets))[::-1]  # of several writes the last one stays
        return found


def spans(first: Longs, states: Numbers) -> Longs:
    """The indices first[s]..first[s + 1] - 1 for each of `states`, one after the other."""
    starts = first[states]
    lengths = first[np.asarray(states) + 1] - starts
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


def edge_bound(result: SearchResult) -> int:
    """At most how many edges the graph of a finished search has."""
    return sum(action.fired for action in result.actions)


def memory_needed(result: SearchResult) -> int:
    """Bytes that building the graph and looking for lassos in it may take."""
    return edge_bound(result) * EDGE_BYTES + result.distinct * STATE_BYTES


def build(kernel: Kernel, exploration: Exploration) -> StateGraph:
    """The graph of a finished search."""
    return _Builder(kernel, exploration).graph()


class _Builder:
    """Expands every stored state once more. Until the end, states are numbered by shard and place in it."""

    def __init__(self, kernel: Kernel, exploration: Exploration) -> None:
        self._kernel = kernel
        self._shards = exploration.shards
        self._offsets = np.cumsum([0, *[shard.count for shard in self._shards]])
        self._count = int(self._offsets[-1])
        self._initial = exploration.initial[(exploration.initial_bits & abi.OUTSIDE) == 0]
        self._fair = np.zeros(len(kernel.instances) + 1, dtype=bool)
        self._fair[list(kernel.fairness)] = True
        self._context = Context(kernel, len(self._shards), _BATCH, edges=_BATCH)

    def graph(self) -> StateGraph:
        steps, targets, withheld = self._expanded()
        order = np.argsort(steps, kind="stable")
        targets = targets[order]
        first = np.searchsorted(steps, np.arange(self._count + 1) << abi.META_SHIFT, sorter=order)
        initial = self._initial_numbers()
        old, depth = _met(first, targets, initial)
        number = np.empty(self._count, dtype=np.int32)
        number[old] = np.arange(self._count, dtype=np.int32)
        edges = spans(first, old)
        sources = np.repeat(np.arange(self._count, dtype=np.int32), first[old + 1] - first[old])
        instances = (steps[order[edges]] & abi.NO_INSTANCE).astype(np.int32)
        return StateGraph(
            first=np.searchsorted(sources, np.arange(self._count + 1)),
            sources=sources, targets=number[targets[edges]], instances=instances, depth=depth,
            withheld=withheld[old], watched=self._watched()[old],
            initial=self._initial_words(initial),
        )  # fmt: skip

    def _expanded(self) -> tuple[Longs, Ints, Bits]:
        """(source and instance of each edge as in a meta, its target; per state, whether a fair step is withheld)."""
        steps, targets = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        withheld = np.zeros(self._count, dtype=bool)
        for number, shard in enumerate(self._shards):
            offset = int(self._offsets[number])
            done = 0
            while done < shard.count:
                done = self._kernel.calls["expand"](self._context.address, shard.store_address, done, shard.count)
                self._context.close()
                for metas, found in self._stored():
                    steps.append(metas + (offset << abi.META_SHIFT))
                    targets.append(found)
                metas, codes = self._context.edges()[:, -2], self._context.edges()[:, -1]
                lost = ((codes < 0) | (codes & abi.OUTSIDE != 0)) & (metas & abi.NO_INSTANCE != abi.NO_INSTANCE)
                metas = metas[lost]
                withheld[(metas[self._fair[metas & abi.NO_INSTANCE]] >> abi.META_SHIFT) + offset] = True
        return np.concatenate(steps), np.concatenate(targets), withheld

    def _stored(self) -> Iterator[tuple[Longs, Ints]]:
        """(metas, numbers of the states) of the candidates in the boxes, by shard."""
        for number, shard in enumerate(self._shards):
            candidates = self._context.records(number)
            found = np.zeros(len(candidates), dtype=np.int64)
            self._kernel.calls["find"](shard.address, candidates.ctypes.data, len(candidates), found.ctypes.data)
            assert found.all(), "a successor was not explored: the search is not finished"
            yield candidates[:, -1].copy(), (found - 1 + self._offsets[number]).astype(np.int32)

    def _initial_numbers(self) -> Ints:
        """The initial states, each once, in the given order."""
        done, found = 0, []
        states = np.ascontiguousarray(self._initial)
        while done < len(states):
            done = self._kernel.calls["route"](self._context.address, states.ctypes.data, done, len(states))
            self._context.close()
            found += list(self._stored())
        metas = np.concatenate([np.zeros(0, dtype=np.int64), *[m for m, _ in found]])
        numbers = np.concatenate([np.zeros(0, dtype=np.int32), *[n for _, n in found]])
        return _in_order(numbers[np.argsort(metas, kind="stable")])[0]

    def _initial_words(self, numbers: Ints) -> list[Packed]:
        shards = np.searchsorted(self._offsets, numbers, side="right") - 1
        return [
            packed(self._shards[shard].states(place, place + 1)[0])
            for shard, place in zip(shards.tolist(), (numbers - self._offsets[shards]).tolist(), strict=True)
        ]

    def _watched(self) -> Longs:
        words = -(-len(self._kernel.obligations) // PER_WORD)
        out = np.zeros((self._count, words), dtype=np.int64)
        for number, shard in enumerate(self._shards):
            part = out[self._offsets[number] : self._offsets[number + 1]]
            self._kernel.calls["watch"](shard.store_address, shard.count, part.ctypes.data)
        return out


def _met(first: Longs, targets: Ints, initial: Ints) -> tuple[Ints, Ints]:
    """(the states in the order in which they are met from `initial`, the depth of each in that order)."""
    met = np.zeros(len(first) - 1, dtype=bool)
    levels = []
    frontier = initial
    while len(frontier):
        met[frontier] = True
        levels.append(frontier)
        onwards = targets[spans(first, frontier)]
        frontier = _in_order(onwards[~met[onwards]])[0]
    depth = np.repeat(np.arange(len(levels), dtype=np.int32), [len(level) for level in levels])
    return np.concatenate([np.zeros(0, dtype=np.int32), *levels]), depth


def _in_order(values: Ints) -> tuple[Ints, Longs]:
    """(each value once, in order of first appearance, where that is)."""
    found, at = np.unique(values, return_index=True)
    order = np.argsort(at)
    return found[order], at[order]
