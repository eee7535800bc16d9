"""Fair cycles of a graph of states: which strongly connected parts have one, and a short one to show.

A cycle is fair if it takes every weakly fair binding or passes a state where that is disabled, and takes every
strongly fair binding that is enabled anywhere on it. A strongly connected part has a fair cycle if the tour of
all its edges is fair; where only a strongly fair binding is in the way, the states that enable it are removed and
what is left is looked at again (Emerson and Lei, Modalities for model checking, 1987).

A state in which a fair step is enabled but withheld (by a bound, or by a state constraint) is on no cycle: what
the step would lead to is not known, so that going round there is no counterexample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from checker.explicit.graph import Bits, Ints, Longs, Numbers, StateGraph, spans
from checker.lang.liveness import STRONG

NOWHERE = -1


@dataclass(frozen=True)
class Parts:
    """part: per state the number of the fair part it is in, or NOWHERE. idle: it may stay there for ever."""

    part: Ints
    idle: Bits

    @property
    def accepting(self) -> Bits:
        """The states from which a fair behaviour can go on without leaving their part."""
        found: Bits = self.idle | (self.part != NOWHERE)
        return found


class Fairness:
    """Which fair bindings (by their numbers, 0, 1, ...) are enabled and taken where."""

    def __init__(self, graph: StateGraph, fairness: Mapping[int, tuple[int, str]], instances: int) -> None:
        """fairness: as in `Liveness`; instances: how many there are, fair or not."""
        self.graph = graph
        self.size = 1 + max((binding for binding, _ in fairness.values()), default=0)
        self.strong = np.zeros(self.size, dtype=bool)
        number = np.full(instances, NOWHERE, dtype=np.int32)
        for instance, (binding, kind) in fairness.items():
            number[instance] = binding
            self.strong[binding] = kind == STRONG
        self.taken = number[graph.instances]
        """Per edge, the fair binding that it takes, or NOWHERE."""
        moving = np.flatnonzero(self.taken != NOWHERE)
        enabled = np.unique(self._pairs(graph.sources[moving], self.taken[moving]))
        self.states, self.bindings = enabled // self.size, enabled % self.size
        """Which fair binding is enabled in which state: pairs, by state; but for steps that are withheld."""
        self.first = np.searchsorted(self.states, np.arange(graph.count + 1))

    def _pairs(self, owners: Numbers, bindings: Numbers) -> Longs:
        """Pairs of a state or component and a fair binding, as one number each."""
        return owners.astype(np.int64) * self.size + bindings

    def enabled(self, state: int) -> Longs:
        """The fair bindings that are enabled in a state."""
        return self.bindings[self.first[state] : self.first[state + 1]]

    def parts(self, region: Bits) -> Parts:
        """The fair parts of the subgraph of the states in `region`."""
        part = np.full(self.graph.count, NOWHERE, dtype=np.int32)
        alive = region & ~self.graph.withheld
        edges = np.flatnonzero(alive[self.graph.sources] & alive[self.graph.targets])
        found = 0
        while len(edges):
            label, count, edges = self._components(alive, edges)
            fair, removed = self._judged(label, count, edges)
            inside = label != NOWHERE
            here = inside & np.append(fair, False)[label]  # NOWHERE is the last
            part[here] = found + np.cumsum(fair)[label[here]] - 1
            found += int(fair.sum())
            alive = inside & ~removed & ~here
            edges = edges[alive[self.graph.sources[edges]] & alive[self.graph.targets[edges]]]
        return Parts(part, region & ~self.graph.withheld & (self.first[1:] == self.first[:-1]))

    def _components(self, alive: Bits, edges: Longs) -> tuple[Ints, int, Longs]:
        """(per state its component, NOWHERE for one without an edge inside; how many; the edges inside)."""
        states = np.flatnonzero(alive)
        place = np.zeros(self.graph.count, dtype=np.int32)
        place[states] = np.arange(len(states), dtype=np.int32)
        sources, targets = place[self.graph.sources[edges]], place[self.graph.targets[edges]]
        rows = np.searchsorted(sources, np.arange(len(states) + 1))
        matrix = csr_array((np.ones(len(edges)), targets, rows), (len(states), len(states)))
        matrix.sum_duplicates()  # on parallel edges SciPy (1.17) may never come back
        count, component = connected_components(matrix, directed=True, connection="strong")
        inside = component[sources] == component[targets]
        cyclic = np.unique(component[sources[inside]])
        renumbered = np.full(count, NOWHERE, dtype=np.int32)
        renumbered[cyclic] = np.arange(len(cyclic), dtype=np.int32)
        label = np.full(self.graph.count, NOWHERE, dtype=np.int32)
        label[states] = renumbered[component]
        return label, len(cyclic), edges[inside]

    def _judged(self, label: Ints, count: int, edges: Longs) -> tuple[Bits, Bits]:
        """(per component whether it is fair, per state whether no fair cycle passes it)."""
        moving = edges[self.taken[edges] != NOWHERE]
        taken = self._pairs(label[self.graph.sources[moving]], self.taken[moving])
        there = label[self.states] != NOWHERE
        states, bindings = self.states[there], self.bindings[there]
        keys = self._pairs(label[states], bindings)
        pairs, of_pair, often = np.unique(keys, return_inverse=True, return_counts=True)
        component, binding = pairs // self.size, pairs % self.size
        sizes = np.bincount(label[label != NOWHERE], minlength=count)
        refused = ~np.isin(pairs, taken)
        refused &= self.strong[binding] | (often == sizes[component])  # a weak one that is not always enabled: no harm
        fair = np.ones(count, dtype=bool)
        fair[component[refused]] = False
        removed = np.zeros(self.graph.count, dtype=bool)
        removed[states[refused[of_pair]]] = True  # of a weakly fair binding: the whole component
        return fair, removed

    # A cycle to show.

    def cycle(self, start: int, inside: Bits) -> list[int]:
        """Edges of a fair cycle through `start` in a fair part, given by its states: from need to nearest need."""
        needs = np.zeros(self.size, dtype=bool)
        needs[self.bindings[inside[self.states]]] = True
        needs &= self.strong
        needs[self.enabled(start)] = True
        state, edges = start, list[int]()
        while needs.any():
            way = self._onwards(state, inside, self._helps(needs))
            self._strike(needs, way)
            edges += way
            state = int(self.graph.targets[edges[-1]])
        if not edges or state != start:
            edges += self._onwards(state, inside, self.graph.targets == start)
        return edges

    def _helps(self, needs: Bits) -> Bits:
        """Per edge, whether it takes a binding that is needed, or leads to where a weakly fair one is disabled."""
        weak = needs & ~self.strong
        enabled = np.bincount(self.states[weak[self.bindings]], minlength=self.graph.count)
        helps: Bits = np.append(needs, False)[self.taken]  # NOWHERE is the last
        helps |= (enabled < weak.sum())[self.graph.targets]
        return helps

    def _strike(self, needs: Bits, way: list[int]) -> None:
        """Leave out what a way does."""
        for edge in way:
            enabled = self.enabled(int(self.graph.targets[edge]))
            needs &= self.strong | np.isin(np.arange(self.size), enabled)
            if self.taken[edge] != NOWHERE:
                needs[self.taken[edge]] = False

    def _onwards(self, start: int, inside: Bits, goal: Bits) -> list[int]:
        """The edges of a shortest way from a state, of one edge at least, that ends with an edge of `goal`."""
        graph = self.graph
        seen = np.zeros(graph.count, dtype=bool)
        seen[start] = True
        frontier, entered = np.array([start]), list[tuple[Longs, Longs]]()
        while True:
            edges = spans(graph.first, frontier)
            edges = edges[inside[graph.targets[edges]]]
            hits = edges[goal[edges]]
            if len(hits):
                return _way(graph, int(hits[0]), entered)
            new = edges[~seen[graph.targets[edges]]]
            frontier, at = np.unique(graph.targets[new], return_index=True)
            assert len(frontier), "a part that is strongly connected has a way from everywhere to everywhere"
            seen[frontier] = True
            entered.append((frontier, new[at]))


def _way(graph: StateGraph, last: int, entered: list[tuple[Longs, Longs]]) -> list[int]:
    """The edges that led to `last`, itself included. entered: per level the states, and the edge into each."""
    way = [last]
    for states, edges in reversed(entered):
        place = int(np.searchsorted(states, graph.sources[way[-1]]))
        way.append(int(edges[place]))
    return way[::-1]
