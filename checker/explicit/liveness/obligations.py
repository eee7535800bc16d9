"""Liveness: for each obligation a fair behaviour that never meets it, or that there is none.

Wherever the condition holds and the goal does not, behaviours continue inside the states without the goal. One that
never leaves them ends in a fair part of these (see `fairness`), or stays forever in a state where no fair
group is enabled. Where the goal is a step, behaviours continue along all other steps. Where the goal must stay at last,
the part needs to have a state without it, and may have others. What is shown is the shortest way to such a place, and
from there a short fair cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from checker.explicit.kernel.description import KernelGroup, KernelObligation
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.predicates import PER_WORD
from checker.explicit.liveness.fairness import Fairness
from checker.explicit.liveness.graph import MOST_STATES, StateGraph, build, memory_needed
from checker.explicit.search.path import Packed
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import Budget
from checker.lang.liveness import EVENTUALLY_ALWAYS
from checker.running.arrays import Bits, Longs
from checker.running.deadline import Deadline, Stage, Stopped
from checker.verdicts import INTERRUPTED

_BEGUN = -1  # in place of an edge into a state: the way begins there


@dataclass(frozen=True)
class Lasso:
    """A behaviour without end that an obligation forbids. obligation: its number in the kernel.

    start: the words of the first state; instances[i] leads from state i to state i + 1. asked: the state from which
    on the goal is missing (where it must stay at last: a state of the loop in which it is). turn: the state that the
    last one equals, so that all since then is repeated forever; None: the behaviour stays in the last state, where
    no fair group is enabled.
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


@dataclass
class Lassos:
    """The lassos found. by_property: the lasso of the first binding that has one.

    stopped: why it was not finished, None where it was; undecided: the properties that it was stopped before.
    """

    by_property: dict[int, Lasso] = field(default_factory=dict)
    stopped: str | None = None
    undecided: set[int] = field(default_factory=set)


def find_lassos(kernel: Kernel, result: SearchResult, progress: Callable[[Stage], None] | None = None) -> Lassos:
    """The lassos of a search that saw every state. Its limits of time and memory hold for this too, as does Ctrl-C."""
    found = Lassos(undecided={one.property for one in kernel.obligations})
    explored, needed = result.exploration, memory_needed(kernel, result)
    deadline = Deadline(explored.started, explored.limits, progress, needed)
    try:
        if result.distinct > MOST_STATES:
            raise Stopped(f"liveness is looked at for {MOST_STATES:,} states at most")
        deadline.stage = "liveness, states"
        exploration = explored.at_hand(deadline)
        with _holding(needed, exploration.budget, result):
            deadline.stage = "liveness, graph"
            graph = build(kernel, replace(result, exploration=exploration), deadline)
            _seek(kernel, graph, deadline, found)
    except Stopped as stopped:
        found.stopped = str(stopped)
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    return found


def _seek(kernel: Kernel, graph: StateGraph, deadline: Deadline, found: Lassos) -> None:
    """Look for the lassos of every obligation."""
    seeker = Seeker(graph, kernel.groups, deadline)
    for number, obligation in enumerate(kernel.obligations):
        asked = kernel.properties[obligation.property]
        deadline.stage = f"liveness, {asked.name} (obligation {number + 1} of {len(kernel.obligations)})"
        if obligation.property not in found.by_property:
            lasso = seeker.lasso(number, obligation, asked.kind)
            if lasso is not None:
                found.by_property[obligation.property] = lasso
        found.undecided = {one.property for one in kernel.obligations[number + 1 :]} - found.by_property.keys()


@contextmanager
def _holding(needed: int, budget: Budget, result: SearchResult) -> Iterator[None]:
    """The memory for the graph is claimed. Raises Stopped where it is not there."""
    if budget.held + needed > budget.limit:
        raise Stopped(
            f"memory limit: liveness needs the graph of all states and steps, {needed / 2**30:.3g} GiB beside the"
            f" {budget.held / 2**30:.3g} GiB of the search, and {budget.limit / 2**30:.3g} GiB are allowed"
        )
    budget.hold("graph", needed)
    result.peak_memory_bytes = max(result.peak_memory_bytes, budget.peak)
    try:
        yield
    finally:
        budget.hold("graph", 0)


class Seeker:
    """Looks for lassos in one graph. groups: as in `Kernel`."""

    def __init__(self, graph: StateGraph, groups: Sequence[KernelGroup], deadline: Deadline) -> None:
        self._graph, self._groups, self._deadline = graph, groups, deadline
        self._whole = Fairness(graph, groups, deadline)

    def lasso(self, number: int, obligation: KernelObligation, kind: str) -> Lasso | None:
        """The lasso of an obligation: a shortest way, and least by (source, instance) among those.

        number: that of the obligation; kind: that of its property.
        """
        fairness = self._whole
        if obligation.taken is not None:
            fairness = Fairness(self._graph.without(obligation.taken), self._groups, self._deadline)
        graph = fairness.graph
        inside, asked, wanted = self._regions(graph, number, obligation, kind)
        parts = fairness.parts(fairness.reached(asked, inside))
        accepting = parts.accepting & wanted
        if not accepting.any():
            return None
        first, way, place = _way(graph, asked, inside, accepting)
        initial, prefix = self._graph.way_to(first)
        stem = [*prefix, *way]
        cycle = [] if parts.idle[place] else fairness.cycle(place, parts.part == parts.part[place])
        return Lasso(
            number, graph.initial[initial], graph.instances(np.array([*stem, *cycle], dtype=np.int64)).tolist(),
            asked=len(stem) if kind == EVENTUALLY_ALWAYS else len(prefix), turn=len(stem) if cycle else None,
        )  # fmt: skip

    def _regions(
        self, graph: StateGraph, number: int, obligation: KernelObligation, kind: str
    ) -> tuple[Bits, Bits, Bits]:
        """(the states in which a lasso may continue, those that ask for it, those of which its loop has one)."""
        bits = graph.watched[:, number // PER_WORD] >> 2 * (number % PER_WORD)
        missing, states = bits & 2 == 0, np.arange(graph.count) < self._graph.count
        asked = bits & 1 != 0 if obligation.has_condition else np.arange(graph.count) < graph.levels[1]
        if kind == EVENTUALLY_ALWAYS:
            return states, asked, missing
        inside = missing if obligation.taken is None else states
        return inside, asked & inside, inside


def _way(graph: StateGraph, asked: Bits, inside: Bits, accepting: Bits) -> tuple[int, list[int], int]:
    """(a state of `asked`, edges inside `inside` from it, the state of `accepting` that they reach).

    Of all behaviours that do this it is a shortest one, counted from the initial state.
    """
    level = 0
    unseen = inside.copy()
    entered: list[tuple[Longs, Longs]] = []
    frontier = np.zeros(0, dtype=np.int64)
    while True:
        edges = graph.leaving(frontier)
        edges = edges[unseen[graph.targets[edges]]]
        begin, end = graph.levels[level : level + 2] if level + 1 < len(graph.levels) else (0, 0)
        begun = begin + np.flatnonzero(asked[begin:end] & unseen[begin:end])
        states = np.concatenate([begun, graph.targets[edges]])
        frontier, at = np.unique(states, return_index=True)
        into = np.concatenate([np.full(len(begun), _BEGUN), edges])[at]  # begun come first, and win
        unseen[frontier] = False
        entered.append((frontier, into))
        ends = frontier[accepting[frontier]]
        if len(ends):
            return (*_back(graph, int(ends[0]), entered), int(ends[0]))
        level += 1


def _back(graph: StateGraph, state: int, entered: list[tuple[Longs, Longs]]) -> tuple[int, list[int]]:
    way: list[int] = []
    for states, into in reversed(entered):
        edge = int(into[np.searchsorted(states, state)])
        if edge == _BEGUN:
            break
        way.append(edge)
        state = graph.source(edge)
    return state, way[::-1]
