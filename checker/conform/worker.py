"""One worker of a product exploration: the pairs that are given to it, and what comes out of them."""

from __future__ import annotations

import gc
import pickle
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from checker.conform.behaviour import Behaviour
from checker.conform.canonical import Canonical, Digest, by_rank
from checker.conform.driver import MOST_REMEMBERED, Diverges, Driver
from checker.conform.spec_side import Moves, SpecSide
from checker.conform.system import Probe, Receiver, Structure, System
from checker.explicit.kernel import abi
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.findings import Findings
from checker.explicit.search.path import Packed, packed
from checker.lang.loader import BoundModel
from checker.running.memory import Held

Accepted = tuple[int, int, bool]  # which of a level's candidates, its number as a pair, first with its spec state
Pair = tuple[int, bool, Packed, Any]  # its number, whether it is the first with its spec state, that, the SUT

BEGIN = -1  # the pair that initial pairs come out of
STEP, ATTEMPT, PROBE, GROWTH = range(4)


class Place(NamedTuple):
    """The place of a divergence, in the order in which one worker alone would reach it.

    pair: the number of the pair out of which it happens. number: of the instance (out of BEGIN: of the initial state;
    of a probe: of the receiver; of growth: of the step on the way to the pair after which less was in the field);
    probe: which of the receiver's.
    """

    pair: int
    phase: int
    number: int
    probe: int = 0


class Candidate(NamedTuple):
    """A pair that was reached: from the pair numbered `parent`, by an instance (out of BEGIN: an initial state)."""

    parent: int
    instance: int
    words: Packed
    key: Digest


class Probed(NamedTuple):
    """A receiver that was probed. pair, number: where it was met, as in `Place`. landed: with how many messages."""

    pair: int
    number: int
    landed: int


@dataclass
class Counts:
    """Counters of the work done. Lists are per action.

    pairs: expanded. states, transitions: of the spec, that the pairs cover; driven: steps of the product; tried: what
    the spec refuses, and nothing: of it, where there was nothing to try; cut: steps that a bound of the model cuts.
    """

    driven: list[int]
    tried: list[int]
    nothing: list[int]
    pairs: int = 0
    states: int = 0
    transitions: int = 0
    cut: int = 0
    outside: int = 0

    @classmethod
    def none(cls, actions: int) -> Counts:
        return cls([0] * actions, [0] * actions, [0] * actions)

    def add(self, other: Counts) -> None:
        for name, value in vars(other).items():
            mine = getattr(self, name)
            setattr(self, name, [a + b for a, b in zip(mine, value, strict=True)] if name in LISTS else mine + value)


LISTS = ("driven", "tried", "nothing")


@dataclass
class Portion:
    """Results of one request to a worker.

    receivers: keys of those that were probed. left: pairs of its part of the level that are still to be expanded.
    held: in which process the exploration holds how many bytes.
    """

    counts: Counts
    candidates: list[Candidate] = field(default_factory=list)
    receivers: list[tuple[Digest, Probed]] = field(default_factory=list)
    divergence: Place | None = None
    left: int = 0
    held: tuple[str, int] = ("", 0)


class Worker:
    """The worker called `number` of `jobs`. It continues, level by level, from what it found; see `Product`."""

    def __init__(self, model: BoundModel, kernel: Kernel, system: System[Any], number: int, jobs: int) -> None:
        self._model, self._kernel, self._system = model, kernel, system
        self._number, self._jobs = number, jobs
        self._held = Held()
        self._canonical = Canonical()
        self._spec = SpecSide(model, kernel, system, self._canonical)
        self._driver = Driver(self._spec.reference, system, self._canonical)
        self._actions = [action for action, _ in self._spec.reference.instances]
        self._frontier: list[Pair] = []  # in reverse order
        self._seen: set[tuple[Packed, Digest]] = set()
        self._receivers: set[Digest] = set()
        self._looked_at: dict[int, Structure] = {}  # keys of receivers that were probed, by id
        self._found: list[tuple[Packed, Any]] = []  # the level's candidates
        self._portion = self._empty()

    def _empty(self) -> Portion:
        return Portion(Counts.none(len(self._spec.reference.actions)))

    def do(self, method: str, *arguments: Any) -> Any:
        """Call one of the methods below by its name."""
        return getattr(self, method)(*arguments)

    def begin(self) -> Portion:
        """Bring the SUT to the initial states that fall to it."""
        states = self._model.initial_states()
        found = Findings(self._kernel, [self._model.state_type.encode(state) for state in states])
        self._portion = self._empty()
        for number, (row, bits) in enumerate(zip(found.initial, found.initial_bits.tolist(), strict=True)):
            if number % self._jobs != self._number:
                continue
            words = packed(row)
            try:
                state, looks = self._spec.state(words), self._spec.looks(words)
                system, key = self._driver.begin(self._model.constants, state, looks)
            except Diverges:
                self._portion.divergence = Place(BEGIN, STEP, number)
                break
            if not bits & abi.OUTSIDE:
                self._come_to(Candidate(BEGIN, number, words, key), system)
        return self._portion

    def work(self, slice_s: float, last: int) -> Portion:
        """Expand pairs of the level, those up to number `last`, for about so long."""
        end = time.monotonic() + slice_s
        self._portion = self._empty()
        while self._frontier and self._frontier[-1][0] <= last and time.monotonic() < end:
            number, is_first, words, system = self._frontier.pop()
            place = self._expand(number, is_first, words, system)
            if place is not None:
                self._portion.divergence = place
                self._frontier.clear()
        if self._frontier and self._frontier[-1][0] > last:
            self._frontier.clear()
        self._portion.left, self._portion.held = len(self._frontier), self._held.now()
        return self._portion

    def _expand(self, number: int, is_first: bool, words: Packed, system: Any) -> Place | None:
        """All that can come of a pair; where it diverges."""
        moves = self._spec.moves(words)
        counts = self._portion.counts
        counts.pairs += 1
        counts.cut += moves.cut
        if is_first:
            counts.states += 1
            counts.transitions += len(moves.steps)
        return (
            self._steps(number, moves, system)
            or self._attempts(number, moves, system)
            or self._probes(number, moves, system)
        )

    def _steps(self, number: int, moves: Moves, system: Any) -> Place | None:
        state, step, looks = moves.state, self._driver.step, self._spec.looks
        counts = self._portion.counts
        for (instance, action, arguments), target, outside in moves.steps:
            counts.driven[self._actions[instance]] += 1
            try:
                after, key = step(system, action, arguments, state, looks(target))
            except Diverges:
                return Place(number, STEP, instance)
            if outside:
                counts.outside += 1
            elif (target, key) not in self._seen:
                self._come_to(Candidate(number, instance, target, key), after)
        return None

    def _come_to(self, candidate: Candidate, system: Any) -> None:
        self._seen.add(candidate[2:])
        self._portion.candidates.append(candidate)
        self._found.append((candidate.words, system))

    def _attempts(self, number: int, moves: Moves, system: Any) -> Place | None:
        state, attempt, counts = moves.state, self._driver.attempt, self._portion.counts
        counts.nothing = [one + more for one, more in zip(counts.nothing, moves.nothing, strict=True)]
        for instance, action, arguments in moves.refused:
            try:
                tried = attempt(system, action, arguments, state)
            except Diverges:
                return Place(number, ATTEMPT, instance)
            (counts.tried if tried else counts.nothing)[self._actions[instance]] += 1
        return None

    def _receiving(self, system: Any, state: Any) -> Iterable[Receiver]:
        return self._system.receivers(system, state, self._spec.classes, self._driver.actions)

    def _probes(self, number: int, moves: Moves, system: Any) -> Place | None:
        for at, (key, probes) in enumerate(self._receiving(system, moves.state)):
            if self._looked_at.get(id(key)) is key:
                continue
            if len(self._looked_at) > MOST_REMEMBERED:
                self._looked_at.clear()
            self._looked_at[id(key)] = key
            known = self._canonical.of(key)
            if known in self._receivers:
                continue
            self._receivers.add(known)
            landed = 0
            for which, probe in enumerate(probes()):
                try:
                    landed += self._driver.probe(Probe(*probe))
                except Diverges:
                    return Place(number, PROBE, at, which)
            self._portion.receivers.append((known, Probed(number, at, landed)))
        return None

    def keys_on(self, first: int, instances: list[int]) -> list[Structure]:
        """Keys of the SUT, by rank, in each state of the way that instances lead from an initial state."""
        behaviour = Behaviour(self._model, self._system)
        behaviour.begin(first)
        keys = [by_rank(self._system.key(behaviour.system))]
        for instance in instances:
            behaviour.step(instance)
            keys.append(by_rank(self._system.key(behaviour.system)))
        return keys

    def release(self, accepted: list[Accepted], gifts: dict[int, int]) -> dict[int, bytes]:
        """End the level. accepted: of its candidates. gifts: how many of them it gives to whom.

        Keeps the others for the next level, and returns the gifts, pickled.
        """
        pairs = [(number, is_first, *self._found[which]) for which, number, is_first in accepted]
        self._found.clear()
        given: dict[int, bytes] = {}
        for whose, many in gifts.items():
            given[whose] = pickle.dumps(pairs[-many:], pickle.HIGHEST_PROTOCOL)
            del pairs[-many:]
        self._frontier = pairs
        return given

    def receive(self, pickled: list[bytes]) -> int:
        """Begin a level, with what others released for it besides its own. How many pairs it has."""
        gc.collect(0)
        for pairs in pickled:
            self._frontier += pickle.loads(pairs)
        self._frontier.sort(key=lambda pair: -pair[0])
        return len(self._frontier)
