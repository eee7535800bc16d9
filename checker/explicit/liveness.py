"""Liveness: for each obligation a fair behaviour that never meets it, or that there is none.

Wherever the condition holds and the goal does not, behaviours go on inside the states without the goal. One that
never leaves them ends in a fair part of these (see `fairness`), or stays for ever in a state where no fair
binding is enabled. What is shown is the shortest way to such a place, and from there a short fair cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checker.explicit.fairness import NOWHERE, Fairness
from checker.explicit.graph import Bits, Longs, StateGraph, build, memory_needed
from checker.explicit.kernel import Kernel
from checker.explicit.path import Packed
from checker.explicit.results import SearchResult
from checker.explicit.watch import PER_WORD
from checker.lang.errors import SpecError


@dataclass(frozen=True)
class Lasso:
    """A behaviour without end that an obligation forbids. obligation: its number in the kernel.

    start: the words of the first state; instances[i] leads from state i to state i + 1. asked: the state from which
    on the goal is missing. turn: the state that the last one equals, so that all since then is done again and
    again; None: the behaviour stays in the last state, where no fair binding is enabled.
    """

    obligation: int
    start: Packed
    instances: list[int]
    asked: int
    turn: int | None

    @property
    def length(self) -> int:
        """States, the last one included."""
        return len(self.instances) + 1

    @property
    def loop(self) -> int:
        """The state that comes after the last one, as `Trace.loop`."""
        return len(self.instances) if self.turn is None else self.turn + 1


def find_lassos(kernel: Kernel, result: SearchResult) -> dict[int, Lasso]:
    """Property -> the lasso of its first binding that has one, for a search that saw every state.

    Raises SpecError where the graph of the states does not fit the memory that the search was given.
    """
    if not kernel.obligations:
        return {}
    budget = result.exploration.budget
    needed = memory_needed(result)
    if budget.held + needed > budget.limit:
        raise SpecError(
            f"liveness needs the graph of all states and steps: {needed / 2**30:.3g} GiB beside the"
            f" {budget.held / 2**30:.3g} GiB of the search, and {budget.limit / 2**30:.3g} GiB are allowed",
            mend="a smaller model for liveness, more memory, or the other properties alone (--property)",
        )
    budget.hold("graph", needed)
    result.peak_memory_bytes = max(result.peak_memory_bytes, budget.peak)
    graph = build(kernel, result.exploration)
    seeker = _Seeker(graph, Fairness(graph, kernel.fairness, len(kernel.instances)))
    found: dict[int, Lasso] = {}
    for number, obligation in enumerate(kernel.obligations):
        if obligation.property not in found:
            lasso = seeker.lasso(number, obligation.has_condition)
            if lasso is not None:
                found[obligation.property] = lasso
    budget.hold("graph", 0)
    return found


class _Seeker:
    """Looks for lassos in one graph."""

    def __init__(self, graph: StateGraph, fairness: Fairness) -> None:
        self._graph = graph
        self._fairness = fairness

    def lasso(self, number: int, has_condition: bool) -> Lasso | None:
        """The lasso of an obligation: a shortest way, and least by (source, instance) among those."""
        graph = self._graph
        bits = graph.watched[:, number // PER_WORD] >> 2 * (number % PER_WORD)
        missing = bits & 2 == 0
        asked = missing & (bits & 1 != 0 if has_condition else graph.depth == 0)
        parts = self._fairness.parts(self._reached(asked, missing))
        if not parts.accepting.any():
            return None
        first, way, place = self._way(asked, missing, parts.accepting)
        initial, prefix = graph.way_to(first)
        stem = [*prefix, *way]
        cycle = [] if parts.idle[place] else self._fairness.cycle(place, parts.part == parts.part[place])
        return Lasso(
            number, graph.initial[initial], graph.instances[np.array([*stem, *cycle], dtype=np.int64)].tolist(),
            asked=len(prefix), turn=len(stem) if cycle else None,
        )  # fmt: skip

    def _reached(self, start: Bits, inside: Bits) -> Bits:
        """The states that are reached from `start` inside `inside`."""
        graph, reached = self._graph, start.copy()
        frontier = np.flatnonzero(start)
        while len(frontier):
            targets = graph.targets[graph.leaving(frontier)]
            frontier = np.unique(targets[inside[targets] & ~reached[targets]])
            reached[frontier] = True
        return reached

    def _way(self, asked: Bits, missing: Bits, accepting: Bits) -> tuple[int, list[int], int]:
        """(a state of `asked`, edges inside `missing` from it, the state of `accepting` that they come to).

        Of all behaviours that do this it is a shortest one, counted from the initial state.
        """
        graph, level = self._graph, 0
        seen = np.zeros(graph.count, dtype=bool)
        entered: list[tuple[Longs, Longs]] = []
        frontier = np.zeros(0, dtype=np.int64)
        while True:
            edges = graph.leaving(frontier)
            edges = edges[missing[graph.targets[edges]] & ~seen[graph.targets[edges]]]
            begun = np.flatnonzero(asked & (graph.depth == level) & ~seen)
            states = np.concatenate([begun, graph.targets[edges]])
            frontier, at = np.unique(states, return_index=True)
            into = np.concatenate([np.full(len(begun), NOWHERE), edges])[at]  # begun come first, and win
            seen[frontier] = True
            entered.append((frontier, into))
            ends = frontier[accepting[frontier]]
            if len(ends):
                return (*self._back(int(ends[0]), entered), int(ends[0]))
            level += 1

    def _back(self, state: int, entered: list[tuple[Longs, Longs]]) -> tuple[int, list[int]]:
        way: list[int] = []
        for states, into in reversed(entered):
            edge = int(into[np.searchsorted(states, state)])
            if edge == NOWHERE:
                break
            way.append(edge)
            state = int(self._graph.sources[edge])
        return state, way[::-1]
