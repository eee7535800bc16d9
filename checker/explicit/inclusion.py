"""Inclusion of behaviours: does each behaviour of a model look like one of another, by what can be seen of both?

Both are explored. Then the model is explored once more, each of its states beside the set of all states in which the
other can be after the same was seen: a step that shows something new leads to those states of the set's successors that
show it, and on from there by steps that show nothing new. Where none does, the model has shown what the other cannot.
The sets are few, since they change only when something new is seen, and are numbered as they are met.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from checker.explicit.check import SHORTEST, bounds, kernel_of
from checker.explicit.diff import initial_codes, what_is_left
from checker.explicit.kernel.columns import codes_of
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.liveness.graph import StateGraph, build_with_states, ranges
from checker.explicit.search.breadth_first import search
from checker.explicit.search.path import first_state
from checker.explicit.search.results import SearchResult
from checker.lang.errors import SpecError
from checker.lang.frontend.observation import Observation, observation
from checker.lang.inclusion import BoundInclusion
from checker.lang.loader import BoundModel
from checker.lang.values import StepEnd
from checker.lang.where import function_place
from checker.reference.step import BREAKDOWNS
from checker.reference.trace import Tracer
from checker.running.arrays import Ints, Longs, Words
from checker.running.deadline import Deadline, Stage, Stopped
from checker.running.limits import Limits, Progress
from checker.running.memory import default_memory
from checker.verdicts import HOLDS, INCOMPLETE, INTERRUPTED, VACUOUS, VIOLATED, WITHIN, exit_code
from traces import Trace
from traces.values import show

_BATCH = 1 << 17  # states, or pairs, that are taken together
_MOST_KEYS = 2**63


@dataclass
class Included:
    """What came of an inclusion. pairs: states of the model, each beside a set of states of the other that look alike.

    states, transitions: of both models; sets: how many of the other's; sights: different things that are seen of
    the model. stopped: why it was not finished, or None; bounds: as those of a check; trace: a shortest one whose last
    step shows what the other model cannot show.
    """

    name: str
    models: tuple[str, str]
    states: tuple[int, int] = (0, 0)
    transitions: tuple[int, int] = (0, 0)
    pairs: int = 0
    sets: int = 0
    sights: int = 0
    stopped: str | None = None
    bounds: list[str] = field(default_factory=list)
    trace: Trace | None = None
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        if self.trace is not None:
            return VIOLATED
        if self.stopped is not None:
            return INCOMPLETE
        if self.sights < 2:
            return VACUOUS
        return WITHIN if self.bounds else HOLDS

    @property
    def reason(self) -> str:
        """Words beside the verdict."""
        if self.verdict == VACUOUS:
            return f"of {self.models[0]} always the same is seen"
        return {INCOMPLETE: self.stopped or "", WITHIN: "; ".join(self.bounds)}.get(self.verdict, "")

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        sides = [
            {"model": name, "states": states, "transitions": transitions}
            for name, states, transitions in zip(self.models, self.states, self.transitions, strict=True)
        ]
        return {
            "inclusion": self.name, "verdict": self.verdict, "reason": self.reason, "sides": sides,
            "pairs": self.pairs, "sets": self.sets, "sights": self.sights,
            "trace_length": None if self.trace is None else len(self.trace.steps), "seconds": round(self.seconds, 4),
        }  # fmt: skip


@dataclass(frozen=True)
class _Side:
    """A model that was explored. sights: by state, the number of what is seen of it."""

    model: BoundModel
    kernel: Kernel
    graph: StateGraph
    observed: Observation
    sights: Ints
    states: Words


def include(
    asked: BoundInclusion,
    *,
    threads: int,
    limits: Limits,
    searching: Callable[[Progress], None] | None = None,
    stages: Callable[[Stage], None] | None = None,
) -> Included:
    """Judge an inclusion. Raises SpecError where what is seen of the models cannot be compared."""
    started = time.monotonic()
    found = Included(asked.name, (asked.model.name, asked.within.name))
    if limits.memory_bytes is None:  # both searches and what comes after them share it
        limits = replace(limits, memory_bytes=default_memory())
    deadline = Deadline(started, limits, stages)
    try:
        results = _explored(asked, threads, limits, started, searching)
        (_, one), (_, other) = results
        found.states = (one.distinct, other.distinct)
        found.transitions = (sum(a.fired for a in one.actions), sum(a.fired for a in other.actions))
        found.stopped = one.stopped or other.stopped
        if found.stopped is None:
            numbers: dict[tuple[int, ...], int] = {}
            functions = (asked.inclusion.seen, asked.inclusion.seen_within)
            deadline.stage = "what is seen"
            sides = [
                _side(model, function, *explored, numbers, deadline)
                for model, function, explored in zip((asked.model, asked.within), functions, results, strict=True)
            ]
            _require_one_message(asked, sides)
            _judge(sides, asked.inclusion.from_any_state, found, deadline)
            asked.model.bind()
            found.bounds = bounds(asked.model, *results[0])
    except Stopped as stopped:
        found.stopped = str(stopped)
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    found.seconds = time.monotonic() - started
    return found


def _require_one_message(asked: BoundInclusion, sides: Sequence[_Side]) -> None:
    one, other = (side.observed for side in sides)
    if one.type.cls is not other.type.cls:
        raise SpecError(
            f"{one.function.__name__} gives {one.type}, and {other.function.__name__} gives {other.type}",
            place=asked.inclusion.place, hint="what can be seen of both models is one message",
        )  # fmt: skip


def _explored(
    asked: BoundInclusion, threads: int, limits: Limits, started: float, progress: Callable[[Progress], None] | None
) -> list[tuple[Kernel, SearchResult]]:
    """Both models, explored, but for the second where the first was stopped by a user."""
    found: list[tuple[Kernel, SearchResult]] = []
    for model in (asked.model, asked.within):
        model.bind()
        kernel = kernel_of(model, limits)
        left = what_is_left(limits, started, [result for _, result in found])
        result = search(kernel, initial_codes(model), threads=threads, limits=left, all_violations=True,
                        progress=progress)  # fmt: skip
        found.append((kernel, result))
        if result.stopped == INTERRUPTED:
            raise KeyboardInterrupt
    return found


def _side(
    model: BoundModel,
    function: Callable[[Any], Any],
    kernel: Kernel,
    result: SearchResult,
    numbers: dict[tuple[int, ...], int],
    deadline: Deadline,
) -> _Side:
    """numbers: of what is seen, by its codes; what is new gets the next one."""
    model.bind()
    observed = observation(model, function)
    graph, states = build_with_states(kernel, result, deadline)
    sights = np.empty(graph.count, dtype=np.int32)
    met: dict[bytes, int] = {}  # by the codes of the leaves that are read
    for begin in range(0, graph.count, _BATCH):
        deadline.check(begin, graph.count, "states")
        batch = states[begin : begin + _BATCH]
        read = codes_of(kernel.layout, batch, observed.leaves)
        first, which = distinct(read)
        found = []
        for place in first.tolist():
            key = read[place].tobytes()
            if key not in met:
                codes = codes_of(kernel.layout, batch[[place]])[0]
                value = _seen(observed, model.state_type.decode(codes.tolist()))
                met[key] = numbers.setdefault(tuple(observed.type.encode(value)), len(numbers))
            found.append(met[key])
        sights[begin : begin + _BATCH] = np.array(found, dtype=np.int32)[which]
    return _Side(model, kernel, graph, observed, sights, states)


def distinct(rows: Longs) -> tuple[Longs, Longs]:
    """(where each different row is first, which of these each row is). rows: one at least."""
    keys, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        low, high = int(column.min()), int(column.max())
        if size * (high - low + 1) >= _MOST_KEYS:
            keys, column = (np.unique(part, return_inverse=True)[1] for part in (keys, column))
            size, low, high = int(keys.max()) + 1, 0, int(column.max())
        keys, size = keys * (high - low + 1) + (column - low), size * (high - low + 1)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which


def _seen(observed: Observation, state: Any) -> Any:
    try:
        return observed.type.store(observed.function(state))
    except (*BREAKDOWNS, StepEnd) as error:
        raise SpecError(
            f"{observed.function.__name__} cannot be evaluated in a state that is reached: {error}",
            place=function_place(observed.function), hint="say what is seen of every state",
        ) from None  # fmt: skip


class _Sets:
    """Sets of states of a side in which the same is seen, by number; `ways` from one to the next."""

    def __init__(self, side: _Side) -> None:
        self._graph, self._sights = side.graph, side.sights
        self._sets: list[Longs] = []
        self._numbers: dict[bytes, int] = {}
        self._ways: dict[tuple[int, int], int] = {}
        self._is_in = np.zeros(side.graph.count, dtype=bool)

    def __len__(self) -> int:
        return len(self._sets)

    def initial(self, sight: int, from_any_state: bool) -> int:
        """The set of the states that are reached while nothing else is seen; -1: none is."""
        count = self._graph.count if from_any_state else len(self._graph.initial)
        return self._closed(np.flatnonzero(self._sights[:count] == sight), sight)

    def after(self, number: int, sight: int) -> int:
        """The set that a set leads to when this is seen next; -1: it is not."""
        if (number, sight) not in self._ways:
            self._ways[number, sight] = self._closed(self._successors(self._sets[number], sight), sight)
        return self._ways[number, sight]

    def _successors(self, states: Longs, sight: int) -> Longs:
        targets: Longs = np.unique(self._graph.targets[ranges(self._graph.first, states)[1]]).astype(np.int64)
        return targets[np.equal(self._sights[targets], sight)]

    def _closed(self, states: Longs, sight: int) -> int:
        if not len(states):
            return -1
        parts, front = [states], states
        self._is_in[states] = True
        while len(front):
            front = self._successors(front, sight)
            front = front[~self._is_in[front]]
            self._is_in[front] = True
            parts.append(front)
        every = np.sort(np.concatenate(parts))
        self._is_in[every] = False
        number = self._numbers.setdefault(every.tobytes(), len(self._sets))
        if number == len(self._sets):
            self._sets.append(every)
        return number


def _judge(sides: Sequence[_Side], from_any_state: bool, found: Included, deadline: Deadline) -> None:
    """Explore the pairs, level by level, up to the first step that shows what `within` cannot. Fills in `found`."""
    one, sets = sides[0], _Sets(sides[1])
    count = one.graph.count
    deadline.stage = "inclusion"
    found.sights = len(np.unique(one.sights))
    starts = [(state, sets.initial(int(one.sights[state]), from_any_state)) for state in range(len(one.graph.initial))]
    refused = next((state for state, number in starts if number < 0), None)
    if refused is not None:
        found.trace = _trace(sides, [refused], [])
        return
    level = np.unique([number * count + state for state, number in starts])
    known, levels = level, [(level, np.full(len(level), -1, dtype=np.int64))]
    while len(level):
        keys, parents = [], []
        for begin in range(0, len(level), _BATCH):
            deadline.check(len(known), None, "pairs")
            deadline.check_memory()
            step = _Step(one, sets, level[begin : begin + _BATCH])
            if step.refused is not None:
                found.pairs, found.sets = len(known), len(sets)
                found.trace = _trace(sides, *_way(one, levels, step.refused))
                return
            keys.append(step.keys)
            parents.append(step.parents)
        level, where = np.unique(np.concatenate(keys), return_index=True)
        is_new = known[np.searchsorted(known, level).clip(max=len(known) - 1)] != level
        level, parents_of = level[is_new], np.concatenate(parents)[where[is_new]]
        known = np.concatenate((known, level))
        known.sort(kind="stable")  # which merges the two
        levels.append((level, parents_of))
    found.pairs, found.sets = len(known), len(sets)


class _Step:
    """All steps out of some pairs. A pair is number of the set x states + state.

    keys, parents: the pairs that they lead to, and where from. refused: (pair, edge) of the first that shows what the
    set cannot, None where there is none.
    """

    def __init__(self, one: _Side, sets: _Sets, pairs: Longs) -> None:
        graph, count = one.graph, one.graph.count
        states, numbers = pairs % count, pairs // count
        owners, edges = ranges(graph.first, states)
        targets = graph.targets[edges].astype(np.int64)
        sights = one.sights[targets].astype(np.int64)
        after = numbers[owners]
        changed = np.flatnonzero(sights != one.sights[states[owners]])
        width = int(one.sights.max()) + 1
        asked, which = np.unique(after[changed] * width + sights[changed], return_inverse=True)
        ways = np.array([sets.after(*divmod(int(key), width)) for key in asked], dtype=np.int64)
        after[changed] = ways[which] if len(ways) else after[changed]
        self.keys, self.parents = after * count + targets, pairs[owners]
        bad = np.flatnonzero(after < 0)
        self.refused = (int(pairs[owners[bad[0]]]), int(edges[bad[0]])) if len(bad) else None


def _way(one: _Side, levels: Sequence[tuple[Longs, Longs]], refused: tuple[int, int]) -> tuple[list[int], list[int]]:
    """(the states on a shortest way to a step that is refused, and behind it; the edges between them)."""
    graph, (pair, edge) = one.graph, refused
    pairs = [pair]
    for level, parents in reversed(levels):
        place = int(np.searchsorted(level, pairs[0]))
        if place < len(level) and level[place] == pairs[0] and parents[place] >= 0:
            pairs.insert(0, int(parents[place]))
    states = [pair % graph.count for pair in pairs]
    edges = []
    for state, target in itertools.pairwise(states):
        leaving = range(int(graph.first[state]), int(graph.first[state + 1]))
        edges.append(next(e for e in leaving if graph.targets[e] == target))
    return [*states, int(graph.targets[edge])], [*edges, edge]


def _trace(sides: Sequence[_Side], states: list[int], edges: list[int]) -> Trace:
    one, other = sides
    one.model.bind()
    first = first_state(one.model, one.kernel, one.graph.initial[states[0]])
    instances = [int(i) for i in one.graph.instances(np.array(edges, dtype=np.int64))]
    trace = Tracer(one.model).trace(first, instances, None, f"looks like no behaviour of {other.model.name}", SHORTEST)
    tail = []
    for index, state in enumerate(states):
        if index == 0 or one.sights[state] != one.sights[states[index - 1]]:
            value = _seen(
                one.observed, one.model.state_type.decode(codes_of(one.kernel.layout, one.states[[state]])[0].tolist())
            )
            tail.append(f"step {index + 1}: seen is {show(one.observed.type.itf(value))}")
    tail[-1] += f", which {other.model.name} cannot show after what was seen before"
    return replace(trace, tail=(*trace.tail, *tail))
