"""Fair cycles of a graph of states: which strongly connected parts have one, and a short one to show.

A cycle is fair if it takes a step of every weakly fair group or passes a state where that is disabled, and of every
strongly fair group that is enabled anywhere on it. A strongly connected part has a fair cycle if the tour of
all its edges is fair; where only a strongly fair group is in the way, the states that enable it are removed and
what is left is looked at again (Emerson and Lei, Modalities for model checking, 1987).

A state in which a fair step is enabled but withheld (by a bound, or by a state constraint) is on no cycle: what
the step would lead to is not known, so that going round there is no counterexample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from checker.explicit.kernel.description import KernelGroup
from checker.explicit.liveness import components
from checker.explicit.liveness.components import NOWHERE
from checker.explicit.liveness.graph import StateGraph, ranges
from checker.lang.liveness import STRONG
from checker.running.arrays import Bits, Ints, Longs, Numbers
from checker.running.deadline import Deadline

_BUDGET = 1 << 22  # edges followed without asking whether to go on
_CHUNK = 1 << 16  # states looked at together


@dataclass(frozen=True)
class Parts:
    """part: per state the number of the fair part it is in, or NOWHERE. idle: it may stay there forever."""

    part: Ints
    idle: Bits

    @property
    def accepting(self) -> Bits:
        """The states from which a fair behaviour can continue without leaving their part."""
        found: Bits = self.idle | (self.part != NOWHERE)
        return found


class Fairness:
    """Fair groups, where enabled and where taken. A group is enabled where an edge leaves that is a step of it."""

    def __init__(self, graph: StateGraph, groups: Sequence[KernelGroup], deadline: Deadline) -> None:
        """groups: as in `Kernel`."""
        self.graph = graph
        self.strong = np.array([group.kind == STRONG for group in groups if group.kind], dtype=bool)
        self.size = len(self.strong)
        self._table = graph.table.up_to(self.size)
        self._deadline = deadline
        self._stack, self._cursors = np.empty(graph.count, dtype=np.int32), np.empty(graph.count, dtype=np.int32)

    def reached(self, start: Bits, inside: Bits) -> Bits:
        """The states that are reached from `start` inside `inside`."""
        graph = self.graph
        marks = inside.astype(np.int8)
        marks[start] = 2
        begun = np.flatnonzero(start)
        self._stack[: len(begun)] = begun
        record = np.zeros(components.REACH_FIELDS, dtype=np.int64)
        record[: components.HEAD] = _addresses(graph.first, graph.targets, marks, self._stack)
        record[components.TAIL] = len(begun)
        while not components.traversals()["reach"](record.ctypes.data, _BUDGET):
            self._deadline.check(int(record[components.HEAD]), None, "states reached")
        found: Bits = marks == 2
        return found

    def parts(self, region: Bits) -> Parts:
        """The fair parts of the subgraph of the states in `region`."""
        region = region & ~self.graph.withheld
        graph, size = self.graph, self.size
        marks = np.where(region, np.int32(0), np.int32(NOWHERE))
        strong, scratch = self.strong.astype(np.int64), np.zeros((3, size), dtype=np.int64)
        record = np.zeros(components.COMPONENT_FIELDS, dtype=np.int64)
        record[: components.GROUPS] = _addresses(
            graph.first, graph.targets, graph.labels, self._table.first, self._table.groups, strong
        )
        record[components.GROUPS] = size
        record[components.ENABLED : components.COUNT] = _addresses(*scratch, marks, self._stack, self._cursors)
        record[components.COUNT] = graph.count
        record[components.INDEX], record[components.LABEL] = 1, components.LAST_PART
        while True:
            while not components.traversals()["components"](record.ctypes.data, _BUDGET):
                self._deadline.check(int(record[components.VISITED]), None, "states visited")
            if not record[components.AGAIN_SEEN]:
                return Parts(marks, region & ~graph.busy)
            marks[marks == components.AGAIN] = 0
            record[[components.ROOT, components.AGAIN_SEEN]] = 0

    # A cycle to show.

    def cycle(self, start: int, inside: Bits) -> list[int]:
        """Edges of a fair cycle through `start` in a fair part, given by its states: from need to nearest need."""
        needs = self.strong & self._ever_enabled(inside)
        needs |= self._enabled(start)
        state, edges = start, list[int]()
        while needs.any():
            way = self._onwards(state, inside, lambda steps: self._helps(needs, steps))
            self._remove_met(needs, way)
            edges += way
            state = int(self.graph.targets[edges[-1]])
        if not edges or state != start:
            edges += self._onwards(state, inside, lambda steps: self.graph.targets[steps] == start)
        return edges

    def _taken(self, edges: Numbers) -> tuple[Longs, Ints]:
        """(places in `edges`, fair groups): which edges are steps of which."""
        places, at = ranges(self._table.first, self.graph.labels[edges])
        return places, self._table.groups[at]

    def _enabled(self, state: int) -> Bits:
        """The fair groups that are enabled in a state that withholds none."""
        found = np.zeros(self.size, dtype=bool)
        found[self._taken(self.graph.leaving(np.array([state])))[1]] = True
        return found

    def _ever_enabled(self, inside: Bits) -> Bits:
        """The fair groups that are enabled in some of the states."""
        found = np.zeros(self.size, dtype=bool)
        for begin in range(0, self.graph.count, _CHUNK):
            states = begin + np.flatnonzero(inside[begin : begin + _CHUNK])
            found[self._taken(self.graph.leaving(states))[1]] = True
        return found

    def _helps(self, needs: Bits, edges: Longs) -> Bits:
        """Per edge, whether it is a step of a group that is needed, or leads to where a weakly fair one is disabled."""
        helps = np.zeros(len(edges), dtype=bool)
        places, groups = self._taken(edges)
        helps[places[needs[groups]]] = True
        weak = needs & ~self.strong
        targets, place = np.unique(self.graph.targets[edges], return_inverse=True)
        states, leaving = ranges(self.graph.first, targets)
        places, groups = self._taken(leaving)
        enabled = np.unique((states[places] * self.size + groups)[weak[groups]]) // max(1, self.size)
        helps |= (np.bincount(enabled, minlength=len(targets)) < weak.sum())[place]
        return helps

    def _remove_met(self, needs: Bits, way: list[int]) -> None:
        """Remove from the needs those that a way meets."""
        for edge in way:
            needs &= self.strong | self._enabled(int(self.graph.targets[edge]))
            needs[self._taken(np.array([edge]))[1]] = False

    def _onwards(self, start: int, inside: Bits, goal: Callable[[Longs], Bits]) -> list[int]:
        """The edges of a shortest way from a state, of one edge at least, that ends with an edge of `goal`."""
        graph = self.graph
        unseen = inside.copy()
        unseen[start] = False
        frontier, entered = np.array([start]), list[tuple[Ints, Longs]]()
        while True:
            edges = graph.leaving(frontier)
            edges = edges[inside[graph.targets[edges]]]
            hits = edges[goal(edges)]
            if len(hits):
                return self._way(int(hits[0]), entered)
            self._deadline.check(sum(len(states) for states, _ in entered), None, "states for a loop to show")
            new = edges[unseen[graph.targets[edges]]]
            frontier, at = np.unique(graph.targets[new], return_index=True)
            assert len(frontier), "a part that is strongly connected has a way from everywhere to everywhere"
            unseen[frontier] = False
            entered.append((frontier, new[at]))

    def _way(self, last: int, entered: list[tuple[Ints, Longs]]) -> list[int]:
        """The edges that led to `last`, itself included. entered: per level the states, and the edge into each."""
        way = [last]
        for states, edges in reversed(entered):
            place = int(np.searchsorted(states, self.graph.source(way[-1])))
            way.append(int(edges[place]))
        return way[::-1]


def _addresses(*arrays: Numbers) -> list[int]:
    """The addresses of arrays, which must outlive the record that they are put into."""
    return [int(array.ctypes.data) for array in arrays]
