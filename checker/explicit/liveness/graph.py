"""The explored states as a graph in NumPy arrays, numbered in a way that no thread and no layout can change.

State 0 is the first initial state; from there on states are numbered as a breadth-first search meets them that
takes edges in order of (number of the source, instance). Whoever chooses the least number therefore chooses
the same for any number of shards, and the first edge into a state is the last one of a shortest path to it.
The graph is made in that order from the start: nothing is sorted or copied once all edges are known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from checker.explicit.kernel import abi
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.predicates import condition_words, obligation_words
from checker.explicit.liveness.components import traversals
from checker.explicit.liveness.labels import Labels, LabelTable
from checker.explicit.search.explored import Stored
from checker.explicit.search.path import Packed, packed
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import Context
from checker.running.arrays import Bits, Ints, Longs, Numbers, Words
from checker.running.deadline import Deadline

EDGE_BYTES, STATE_BYTES = 8, 48
"""Memory that a graph and the search for lassos in it take, per edge and per state, but for the words of `watch`."""

MOST_STATES = 2**31 - 4  # what is numbered in 32 bits, beside the marks of `traversals`
_BATCH = 1 << 15  # records a box takes, states expanded together


@dataclass(frozen=True)
class StateGraph:
    """States 0..n-1 and the steps between them, self-loops and parallel edges included.

    first: shape (n + 1,), the edges first[s]..first[s + 1] - 1 leave s, in order of instances.
    targets, labels: shape (edges,); table: of the labels. levels: the first state of each level, and n.
    withheld: shape (n,), whether a fair step is enabled there and has no edge: it is cut, leaves the state
    constraint, or breaks down. busy: shape (n,), whether an edge leaves s that is a step of a fair group. watched:
    shape (n, words), as from `watch`. initial: the initial states' words, by number.
    """

    first: Longs
    targets: Ints
    labels: Ints
    table: LabelTable
    levels: list[int]
    withheld: Bits
    busy: Bits
    watched: Longs
    initial: list[Packed]

    @property
    def count(self) -> int:
        """States."""
        return len(self.first) - 1

    def leaving(self, states: Numbers) -> Longs:
        """The edges out of `states`, in order."""
        return ranges(self.first, states)[1]

    def instances(self, edges: Numbers) -> Ints:
        """The instances that edges take."""
        return self.table.instances[self.labels[edges]]

    def without(self, group: int) -> StateGraph:
        """The graph in which steps of a group lead to one more state, the last, that nothing leaves."""
        steps = self.table.of_group(group)[self.labels]
        return replace(
            self, first=np.append(self.first, self.first[-1]),
            targets=np.where(steps, np.int32(self.count), self.targets),
            withheld=np.append(self.withheld, False), busy=np.append(self.busy, False),
            watched=np.append(self.watched, np.zeros_like(self.watched[:1]), axis=0),
        )  # fmt: skip

    def source(self, edge: int) -> int:
        """The state that an edge leaves."""
        return int(np.searchsorted(self.first, edge, side="right")) - 1

    def way_to(self, state: int) -> tuple[int, list[int]]:
        """(an initial state, the edges of a shortest path from it to `state`)."""
        edges: list[int] = []
        for level in range(bisect_right(self.levels, state) - 2, -1, -1):
            begin, end = (int(self.first[self.levels[k]]) for k in (level, level + 1))
            edges.append(begin + int(np.argmax(self.targets[begin:end] == state)))  # the first one: by it, it was met
            state = self.source(edges[-1])
        return state, edges[::-1]


def ranges(first: Longs, rows: Numbers) -> tuple[Longs, Longs]:
    """The positions first[r]..first[r + 1] - 1 of each row r in turn, and before them the place of r in `rows`."""
    starts = first[rows]
    lengths = first[np.asarray(rows) + 1] - starts
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    owners = np.repeat(np.arange(len(lengths)), lengths)
    return owners, np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


def memory_needed(kernel: Kernel, result: SearchResult) -> int:
    """Bytes that building the graph and looking for lassos in it may take."""
    edge, state = EDGE_BYTES, STATE_BYTES + 8 * _watch_words(kernel)
    if any(obligation.taken is not None for obligation in kernel.obligations):  # `without` copies part of it
        edge, state = edge + 5, state + 18 + 8 * _watch_words(kernel)
    return edge_bound(result) * edge + result.distinct * state


def edge_bound(result: SearchResult) -> int:
    """At most how many edges the graph of a finished search has."""
    return sum(action.fired for action in result.actions)


def _watch_words(kernel: Kernel) -> int:
    return obligation_words(len(kernel.obligations)) + condition_words(kernel.conditions)


def build(kernel: Kernel, result: SearchResult, deadline: Deadline) -> StateGraph:
    """The graph of a finished search. Raises what `deadline` raises."""
    return _Builder(kernel, result.exploration, edge_bound(result), deadline).graph()


def build_with_states(kernel: Kernel, result: SearchResult, deadline: Deadline) -> tuple[StateGraph, Words]:
    """The graph of a finished search, and its states, packed, by number. Raises what `deadline` raises."""
    builder = _Builder(kernel, result.exploration, edge_bound(result), deadline)
    graph = builder.graph()
    return graph, builder.words(0, graph.count)


class _Builder:
    """Expands every stored state once more, in the order of the graph.

    A stored state has an index, counted over all shards. order: by number the index; numbers: by index, 1 + number.
    """

    def __init__(self, kernel: Kernel, stored: Stored, edges: int, deadline: Deadline) -> None:
        self._kernel = kernel
        self._shards = stored.shards
        self._offsets = np.cumsum([0, *[shard.count for shard in self._shards]])
        self._count = count = int(self._offsets[-1])
        self._deadline = deadline
        self._starts = stored.initial[(stored.initial_bits & abi.OUTSIDE) == 0]
        self._labelling = Labels(kernel)
        self._context = Context(kernel, len(self._shards), _BATCH, edges=_BATCH)
        self._order = np.empty(count, dtype=np.int32)
        self._numbers = np.zeros(count, dtype=np.int32)
        self._met = self._edges = 0
        self._first = np.zeros(count + 1, dtype=np.int64)
        self._targets, self._labels = np.empty(edges, dtype=np.int32), np.empty(edges, dtype=np.int32)
        self._withheld, self._busy = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self._watched = np.empty((count, _watch_words(kernel)), dtype=np.int64)

    def graph(self) -> StateGraph:
        self._enter_initial()
        levels = [0]
        while levels[-1] < self._met:
            start, end = levels[-1], self._met
            for begin in range(start, end, _BATCH):
                self._deadline.check(begin, self._count, "states")
                self._expand(begin, min(end, begin + _BATCH))
            levels.append(end)
        edges = self._edges
        return StateGraph(
            self._first, self._targets[:edges], self._labels[:edges], self._labelling.table(), levels, self._withheld,
            self._busy, self._watched, [packed(words) for words in self.words(0, levels[min(1, len(levels) - 1)])],
        )  # fmt: skip

    def _enter_initial(self) -> None:
        states = np.ascontiguousarray(self._starts)
        scratch = np.empty(len(states), dtype=np.int32)  # where edges would have their targets

        def note(metas: Longs, found: Longs) -> None:
            self._number(found, scratch)

        self._send("route", states, note)

    def _expand(self, begin: int, end: int) -> None:
        """The edges out of the states begin..end - 1, and what is to be known of these states."""
        states = self.words(begin, end)
        self._kernel.calls["watch"](states.ctypes.data, len(states), self._watched[begin:end].ctypes.data)
        degrees = np.zeros(end - begin, dtype=np.int64)

        def note(metas: Longs, found: Longs) -> None:
            limit = self._edges + len(metas)
            targets = self._targets[self._edges : limit]
            self._number(found, targets)
            sources = begin + (metas >> abi.META_SHIFT)
            labels = self._labelling.of(metas & abi.NO_INSTANCE, sources, targets, self._watched)
            self._labels[self._edges : limit] = labels
            self._edges = limit
            degrees[:] += np.bincount(sources - begin, minlength=len(degrees))
            self._busy[sources[self._labelling.are_fair()[labels]]] = True
            self._note_withheld(begin)

        self._send("expand", states, note)
        self._first[begin + 1 : end + 1] = self._first[begin] + np.cumsum(degrees)

    def _note_withheld(self, begin: int) -> None:
        """Mark the states, numbered from `begin` on, out of which fair steps have no edge."""
        metas, codes = self._context.edges()[:, -2], self._context.edges()[:, -1]
        metas = metas[(codes < 0) & (codes != abi.DEADLOCK) | (codes >= 0) & (codes & abi.OUTSIDE != 0)]
        sources = begin + (metas >> abi.META_SHIFT)
        fair = self._labelling.withheld(metas & abi.NO_INSTANCE, sources, self._watched)
        self._withheld[sources[fair]] = True

    def _send(self, call: str, states: Words, note: Callable[[Longs, Longs], None]) -> None:
        """Route or expand states: note(metas, 1 + index of the state) of what comes of it, in order, some at a time."""
        done = 0
        while done < len(states):
            done = self._kernel.calls[call](self._context.address, states.ctypes.data, done, len(states))
            self._context.close()
            parts = [self._found(number) for number in range(len(self._shards))]
            metas, found = (np.concatenate(part) for part in zip(*parts, strict=True))
            if len(parts) > 1:
                order = np.argsort(metas, kind="stable")
                metas, found = metas[order], found[order]
            note(metas, found)

    def _found(self, number: int) -> tuple[Longs, Longs]:
        """(metas, 1 + indices of the states) of the candidates in a shard's box."""
        candidates = self._context.records(number)
        found = np.zeros(len(candidates), dtype=np.int64)
        shard = self._shards[number].address
        self._kernel.calls["find"](shard, candidates.ctypes.data, len(candidates), found.ctypes.data)
        assert found.all(), "a successor was not explored: the search is not finished"
        return candidates[:, -1], found + self._offsets[number]

    def _number(self, found: Longs, targets: Ints) -> None:
        """Put the states' numbers into `targets`; new ones get the next numbers."""
        addresses = (array.ctypes.data for array in (self._numbers, self._order, targets))
        self._met = traversals()["number"](found.ctypes.data, len(found), *addresses, self._met)

    def words(self, begin: int, end: int) -> Words:
        """The packed states with the numbers begin..end - 1."""
        indices = self._order[begin:end]
        out = np.empty((end - begin, self._kernel.words), dtype=np.uint64)
        for shard, (low, high) in zip(self._shards, zip(self._offsets, self._offsets[1:], strict=False), strict=True):
            here = (indices >= low) & (indices < high)
            out[here] = shard.states(0, shard.count)[indices[here] - low]
        return out
