"""Comparison of two bindings of a model: states and transitions that only one of them reaches, counted and shown.

Both are explored, then every state that one of them stored is looked up in the other. Out of a state that both
reach, both kernels take all their steps, which are compared by (source, instance): an instance has at most one
successor. Packed states compare exactly, since ordinals are numbered by rank and bags are sorted; so the two
must have the same layout.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from checker.explicit.check import SHORTEST, kernel_of
from checker.explicit.kernel import abi
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.breadth_first import search
from checker.explicit.search.path import Path, first_state, packed, way_to
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import Context, Shard
from checker.lang.errors import SpecError
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.reference.replay import Departure, replay
from checker.reference.switches import guards
from checker.reference.trace import Tracer
from checker.running.arrays import Bits, Longs, Words
from checker.running.limits import Limits, Progress
from checker.verdicts import DIFFERS, INCOMPLETE, INTERRUPTED, SAME, exit_code
from traces import Trace

PROGRESS_S = 0.1

_BATCH = 1 << 13  # states looked at together
_RECORDS = 1 << 16  # successors a box takes
_BROKE_DOWN = -1  # in every word of the "successor" of a step that breaks down: no state is like that


@dataclass(frozen=True)
class Compared:
    """A comparison under way: of how many states of both sides it is done with how many."""

    done: int
    total: int
    seconds: float


@dataclass
class Side:
    """One binding of the model, and what it has that the other has not.

    label: how the user names it. states, transitions: all that were explored; own_states: those the other never
    reaches. from_shared: per action, transitions out of states of both that the other does not take (it has no such
    step there, or it leads elsewhere); from_own: transitions out of `own_states`.
    trace: a shortest one to a transition, or an initial state, that the other has not.
    """

    label: str
    model: BoundModel
    states: int = 0
    transitions: int = 0
    own_states: int = 0
    from_shared: list[int] = field(init=False)
    from_own: list[int] = field(init=False)
    trace: Trace | None = None

    def __post_init__(self) -> None:
        self.from_shared = [0] * len(self.model.model.actions)
        self.from_own = [0] * len(self.model.model.actions)

    def to_json(self) -> dict[str, Any]:
        actions = [a.name for a in self.model.model.actions]
        return {
            "label": self.label,
            "constants": {name: to_itf(value) for name, value in self.model.constants.items()},
            "states": self.states,
            "own_states": self.own_states,
            "transitions": self.transitions,
            "own_transitions": sum(self.from_shared) + sum(self.from_own),
            "actions": [
                {"name": name, "from_shared": shared, "from_own": own}
                for name, shared, own in zip(actions, self.from_shared, self.from_own, strict=True)
            ],
            "trace_length": None if self.trace is None else len(self.trace.steps),
        }


@dataclass
class Difference:
    """The parts of two bindings of a model that the other has not. stopped: why not all was compared, or None."""

    name: str
    sides: tuple[Side, Side]
    stopped: str | None
    seconds: float

    @property
    def traces(self) -> list[Trace]:
        return [side.trace for side in self.sides if side.trace is not None]

    @property
    def verdict(self) -> str:
        """`differs` as soon as a difference is known; `same` only where everything was compared."""
        if self.traces:
            return DIFFERS
        return SAME if self.stopped is None else INCOMPLETE

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "model": self.name,
            "verdict": self.verdict,
            "reason": self.stopped or "",
            "sides": [side.to_json() for side in self.sides],
            "seconds": round(self.seconds, 4),
        }


def diff(
    one: tuple[str, BoundModel],
    other: tuple[str, BoundModel],
    *,
    threads: int,
    limits: Limits,
    searching: Callable[[Progress], None] | None = None,
    comparing: Callable[[Compared], None] | None = None,
) -> Difference:
    """Compare two bindings, each with its label, of one model. Raises SpecError where their states differ in kind."""
    started = time.monotonic()
    sides = Side(*one), Side(*other)
    for side in sides:
        side.model = side.model.with_properties([])  # what holds or breaks is of no matter here
    if sides[0].model.model.hide:
        hidden = ", ".join(sides[0].model.model.hide)
        raise SpecError(
            f"{one[1].name} hides {hidden}: of states that differ only there one is explored, and which one may "
            "depend on the setting", hint="compare a model without `hide`",
        )  # fmt: skip
    kernels = tuple(_kernel(side.model, limits) for side in sides)
    _same_states(sides, kernels)
    explored: list[SearchResult] = []
    for side, kernel in zip(sides, kernels, strict=True):
        left = what_is_left(limits, started, explored)
        result = search(kernel, initial_codes(side.model), threads=threads, limits=left, all_violations=True,
                        progress=searching)  # fmt: skip
        side.states, side.transitions = result.distinct, sum(a.fired for a in result.actions)
        explored.append(result)
        if result.stopped == INTERRUPTED:
            return Difference(one[1].name, sides, INTERRUPTED, time.monotonic() - started)
    comparison = _Comparison(kernels, explored, limits.time_limit_s, started)
    stopped = comparison.run(comparing) or next((r.stopped for r in explored if r.stopped is not None), None)
    for number, side in enumerate(sides):
        side.own_states = sum(int(found.own_states[number]) for found in comparison.found)
        side.from_shared = sum(found.from_shared[number] for found in comparison.found).tolist()
        side.from_own = sum(found.from_own[number] for found in comparison.found).tolist()
        side.trace = _trace(sides, comparison, number, whole=stopped is None)
    return Difference(one[1].name, sides, stopped, time.monotonic() - started)


def _kernel(model: BoundModel, limits: Limits) -> Kernel:
    model.bind()
    return kernel_of(model, limits)


def initial_codes(model: BoundModel) -> list[list[int]]:
    """The codes of a model's initial states, which is in force from then on."""
    model.bind()
    return [model.state_type.encode(s) for s in model.initial_states()]


def _same_states(sides: Sequence[Side], kernels: Sequence[Kernel]) -> None:
    """Raise SpecError unless packed states of both kernels mean the same."""
    layouts = [kernel.layout for kernel in kernels]
    if (layouts[0].leaves, layouts[0].bags) == (layouts[1].leaves, layouts[1].bags):
        if kernels[0].instances == kernels[1].instances:
            return
        where = "the parameters of its actions"
    else:
        leaves = [{leaf.path: leaf for leaf in layout.leaves} for layout in layouts]
        unlike = [path for path in {**leaves[0], **leaves[1]} if leaves[0].get(path) != leaves[1].get(path)]
        where = f"the type of s{unlike[0]}" if unlike else "the order of its fields"
    changed = [n for n, v in sides[0].model.constants.items() if sides[1].model.constants[n] != v]
    raise SpecError(
        f"the states of {sides[0].label} and of {sides[1].label} cannot be compared: {where} is not the same in both",
        hint=f"give what types depend on the same value on both sides ({', '.join(changed)} differ)",
    )


def what_is_left(limits: Limits, started: float, explored: Sequence[SearchResult]) -> Limits:
    """Limits for the next search: time and memory are for both sides together."""
    time_s, memory = limits.time_limit_s, limits.memory_bytes
    if time_s is not None:
        time_s = max(0.0, time_s - (time.monotonic() - started))
    if memory is not None:
        memory -= sum(result.exploration.budget.held for result in explored)
    return replace(limits, time_limit_s=time_s, memory_bytes=memory)


class _Found:
    """Results of comparing one shard; each list has an entry per side.

    level: the least one of a state that both reach and out of which the other side does not take the same steps;
    sources: the indices of those states in the shard of that side.
    """

    def __init__(self, actions: int) -> None:
        self.own_states = np.zeros(2, dtype=np.int64)
        self.from_shared = np.zeros((2, actions), dtype=np.int64)
        self.from_own = np.zeros((2, actions), dtype=np.int64)
        self.level: list[int | None] = [None, None]
        self.sources: list[list[Longs]] = [[], []]

    def note(self, side: int, levels: Longs, sources: Longs) -> None:
        """Steps that only `side` takes begin in these states, of these levels."""
        least = int(levels.min())
        known = self.level[side]
        if known is None or least < known:
            self.level[side], self.sources[side] = least, []
        if least == self.level[side]:
            self.sources[side].append(sources[levels == least])


class _Comparison:
    """Compares what two searches stored, a thread for each shard: a state is in the same shard on both sides."""

    def __init__(
        self, kernels: Sequence[Kernel], explored: Sequence[SearchResult], time_limit_s: float | None, started: float
    ) -> None:
        self.kernels = kernels
        self.explored = explored
        self.started = started
        self._until = None if time_limit_s is None else started + time_limit_s
        self._action_of = np.array([action for action, _ in kernels[0].instances], dtype=np.int64)
        self._actions = len(kernels[0].actions)
        self.found = [_Found(self._actions) for _ in range(explored[0].workers)]
        self._done = [0] * len(self.found)
        self._stop = threading.Event()

    def run(self, progress: Callable[[Compared], None] | None) -> str | None:
        """Compare everything. Gives the reason why it was stopped, or None."""
        total = sum(result.distinct for result in self.explored)
        reason = None
        with ThreadPoolExecutor(len(self.found)) as pool:
            work = [pool.submit(self._shard, number) for number in range(len(self.found))]
            try:
                while wait(work, PROGRESS_S).not_done:
                    now = time.monotonic()
                    if self._until is not None and now >= self._until and reason is None:
                        reason = "the time limit was reached while comparing"
                        self._stop.set()
                    if progress is not None:
                        progress(Compared(sum(self._done), total, now - self.started))
            except KeyboardInterrupt:
                reason = INTERRUPTED
            finally:
                self._stop.set()
        for done in work:
            done.result()
        return reason

    def _shard(self, number: int) -> None:
        shards = [result.exploration.shards[number] for result in self.explored]
        contexts = [Context(kernel, 1, _RECORDS, edges=_RECORDS) for kernel in self.kernels]
        for side in (0, 1):
            for first in range(0, shards[side].count, _BATCH):
                if self._stop.is_set():
                    return
                limit = min(first + _BATCH, shards[side].count)
                self._batch(number, side, first, shards[side].states(first, limit), shards, contexts)
                self._done[number] += limit - first

    def _batch(
        self, number: int, side: int, first: int, states: Words, shards: Sequence[Shard], contexts: Sequence[Context]
    ) -> None:
        """Some stored states of one side. Those of both sides are dealt with where side 0 reaches them."""
        found = self.found[number]
        there = look_up(self.kernels[1 - side], shards[1 - side], states)
        own = np.ascontiguousarray(states[there == 0])
        if len(own):
            found.own_states[side] += len(own)
            metas, _ = steps(self.kernels[side], contexts[side], own)
            found.from_own[side] += self._by_action(metas)
        if side == 1 or not there.any():
            return
        places = [np.flatnonzero(there) + first, there[there != 0] - 1]
        shared = np.ascontiguousarray(states[there != 0])
        taken = [steps(k, c, shared) for k, c in zip(self.kernels, contexts, strict=True)]
        for one, only in enumerate(unlike(*taken)):
            metas = taken[one][0][only]
            if len(metas):
                found.from_shared[one] += self._by_action(metas)
                sources = places[one][np.unique(metas >> abi.META_SHIFT)]
                found.note(one, self._levels(one, number, sources), sources)

    def _by_action(self, metas: Longs) -> Longs:
        """The number of these steps per action."""
        return np.bincount(self._action_of[metas & abi.NO_INSTANCE], minlength=self._actions)

    def _levels(self, side: int, number: int, places: Longs) -> Longs:
        """The levels, from 1, of the states at these places of a shard."""
        starts = [bounds[number] for bounds in self.explored[side].exploration.bounds[:-1]]
        return np.searchsorted(starts, places, side="right")

    def first(self, side: int) -> tuple[int, Words] | None:
        """The least level out of whose states only `side` takes some step, and those states; None for none."""
        levels = [found.level[side] for found in self.found]
        if not any(levels):
            return None
        least = min(level for level in levels if level is not None)
        return least, np.concatenate([
            shard.states(0, shard.count)[np.concatenate(found.sources[side])]
            for found, shard in zip(self.found, self.explored[side].exploration.shards, strict=True)
            if found.level[side] == least
        ])  # fmt: skip


def look_up(kernel: Kernel, shard: Shard, states: Words) -> Longs:
    """For each of `states`: its index in a shard + 1, or 0."""
    candidates = np.zeros((len(states), kernel.words + 1), dtype=np.int64)
    candidates[:, :-1] = states.view(np.int64)
    found = np.zeros(len(states), dtype=np.int64)
    kernel.calls["find"](shard.address, candidates.ctypes.data, len(candidates), found.ctypes.data)
    return found


def steps(kernel: Kernel, context: Context, states: Words) -> tuple[Longs, Longs]:
    """All steps out of `states` (contiguous): metas in ascending order (see `abi`), and the words they lead to.

    With steps to states outside the constraint, and those that break down, whose words are all _BROKE_DOWN.
    """
    parts = [np.zeros((0, kernel.words + 1), dtype=np.int64)]
    done = 0
    while done < len(states):
        done = kernel.calls["expand"](context.address, states.ctypes.data, done, len(states))
        context.close()
        parts.append(context.records(0).copy())
        parts += _beside(context.edges())
    every = np.concatenate(parts)
    metas = every[:, -1]
    if not (metas[1:] > metas[:-1]).all():
        every = every[np.argsort(metas, kind="stable")]
    return every[:, -1], every[:, :-1]


def _beside(edges: Longs) -> Iterator[Longs]:
    """The steps that are not candidates: out of the constraint, and those that break down."""
    if len(edges):
        metas, codes = edges[:, -2], edges[:, -1]
        yield edges[(codes >= 0) & (codes & abi.OUTSIDE != 0)][:, :-1]
        broken = edges[(codes < 0) & (metas & abi.NO_INSTANCE != abi.NO_INSTANCE)][:, :-1]
        broken[:, :-1] = _BROKE_DOWN
        yield broken


def unlike(one: tuple[Longs, Longs], other: tuple[Longs, Longs]) -> tuple[Bits, Bits]:
    """The steps out of the same states, each as from `steps`, that the other side does not have."""
    if np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1]):
        return np.zeros(len(one[0]), dtype=bool), np.zeros(len(other[0]), dtype=bool)
    _, mine, theirs = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    alike = (one[1][mine] == other[1][theirs]).all(axis=1)
    only = np.ones(len(one[0]), dtype=bool), np.ones(len(other[0]), dtype=bool)
    only[0][mine[alike]] = only[1][theirs[alike]] = False
    return only


# The traces.


def _trace(sides: Sequence[Side], comparison: _Comparison, number: int, *, whole: bool) -> Trace | None:
    """A trace of one side whose last step, or initial state, the other has not. whole: everything was compared."""
    path = _path(comparison, number)
    if path is None:
        return None
    side, other = sides[number], sides[1 - number]
    side.model.bind()
    head = [f"compared: {side.label}, against {other.label}", *[SHORTEST] * whole]
    first = first_state(side.model, comparison.kernels[number], path.words[0])
    trace = Tracer(side.model).trace(first, path.instances, None, *head)
    other.model.bind()
    departure = replay(other.model, trace).departure
    assert departure is not None, "the other side takes the same steps"
    # of a search that was stopped, a step before the last may already be one that the other does not take
    return replace(trace, steps=trace.steps[: departure.index], tail=tuple(_tail(side, other, departure)))


def _path(comparison: _Comparison, number: int) -> Path | None:
    """The least of the shortest paths to what only one side has; None where it has nothing of its own."""
    kernels, explored = comparison.kernels, comparison.explored
    starts = [[packed(row) for row in result.exploration.initial] for result in explored]
    own = [words for words in starts[number] if words not in starts[1 - number]]
    if own:
        return Path([], own[:1])
    first = comparison.first(number)
    if first is None:
        return None
    level, states = first
    path = way_to(kernels[number], explored[number], states, level)
    last = np.array(path.words[-1:], dtype=np.uint64)
    taken = [steps(kernel, Context(kernel, 1, 1, edges=1), last) for kernel in kernels]
    instance = int(taken[number][0][unlike(*taken)[number]][0]) & abi.NO_INSTANCE
    return Path([*path.instances, instance], path.words)


def _tail(side: Side, other: Side, departure: Departure) -> Iterator[str]:
    """Lines on what the other side does instead, and where the spec asks for what differs."""
    yield f"step {departure.index}, {other.label}: {departure.reason}"
    constants = other.model.constants
    differing = [n for n, v in side.model.constants.items() if isinstance(v, bool) and constants[n] is not v]
    for name, lines in guards(other.model, differing).items():
        yield from (f"{name}: {guard}" for guard in lines)
