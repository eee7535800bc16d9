"""One worker of a product exploration: the pairs that are given to it, and what comes out of them."""

from __future__ import annotations

import gc
import pickle
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from checker.conform.behaviour import Behaviour
from checker.conform.canonical import DIGEST_BYTES, Canonical, Digest, by_rank
from checker.conform.driver import Diverges, Driver, Held
from checker.conform.noting import Noting, Reading, noted, reads_alike
from checker.conform.rows import Seen, seen
from checker.conform.spec_side import Call, Move, Moves, SpecSide, digest_of
from checker.conform.system import Probe, Receiver, SetsApart, Structure, System
from checker.explicit.kernel import abi
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.findings import Findings
from checker.explicit.search.path import Packed, packed
from checker.lang.loader import BoundModel
from checker.running import memory

Accepted = tuple[int, int, bool]  # which of a level's candidates, its number as a pair, first with its spec state
MOST_REMEMBERED = 1 << 15  # keys of receivers; beyond it all are forgotten
MOST_FIRST = 1 << 14  # SUTs that go on for others, as above
BEGIN = -1  # the pair that initial pairs come out of
STEP, ATTEMPT, PROBE, GROWTH = range(4)


class Reached:
    """A SUT, which stands for all that look like it, have its key, and are not set apart from it.

    after: by instance, the SUT that it came to. tried: of the last attempts, how they ended. It travels between
    processes without these.
    """

    __slots__ = ("after", "key", "looks", "system", "tried")

    def __init__(self, system: Any, key: Digest, looks: Digest) -> None:
        self.system, self.key, self.looks = system, key, looks
        self.forget()

    def forget(self) -> None:
        """Forget what it did."""
        self.after: dict[int, After] = {}
        self.tried: Tried | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Reached, (self.system, self.key, self.looks)


class After(NamedTuple):
    """The SUT after a step. arguments, reading: what the step went by."""

    to: Reached
    arguments: Mapping[str, Any]
    reading: Reading


class Tried(NamedTuple):
    """Attempts at what the spec refuses. calls, reading: what they went by. ended: of each, whether it was tried."""

    calls: tuple[Call, ...]
    reading: Reading
    ended: tuple[bool, ...]


Pair = tuple[int, bool, Packed, Reached]  # its number, whether it is the first with its spec state, that, the SUT


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
    """A pair that was reached: from the pair numbered `parent`, by an instance (out of BEGIN: an initial state).

    pair: the digest of the spec state, and the key of the SUT.
    """

    parent: int
    instance: int
    pair: Digest

    @property
    def state(self) -> Digest:
        """The digest of the spec state."""
        return self.pair[:DIGEST_BYTES]


class Retraced(NamedTuple):
    """A pair that is on disk, to which the SUT is driven again. at: its parent's place in the level before."""

    at: int
    instance: int
    pair: Digest


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

    receivers: keys of those that were probed. seen: what diverges there. left: pairs of its part of the level that are
    still to be expanded. held: in which process the exploration holds how many bytes.
    """

    counts: Counts
    candidates: list[Candidate] = field(default_factory=list)
    receivers: list[tuple[Digest, Probed]] = field(default_factory=list)
    divergence: Place | None = None
    seen: Seen | None = None
    left: int = 0
    held: tuple[str, int] = ("", 0)


class Worker:
    """The worker called `number` of `jobs`. It continues, level by level, from what it found; see `Product`.

    probes: it tries messages that are not under way, too.
    """

    def __init__(
        self, model: BoundModel, kernel: Kernel, system: System[Any], number: int, jobs: int, *, probes: bool = True
    ) -> None:
        self._model, self._kernel, self._system = model, kernel, system
        self._number, self._jobs, self._has_probes = number, jobs, probes
        self._is_shared = isinstance(system, SetsApart)
        self._held = memory.Held()
        self._canonical = Canonical()
        self._spec = SpecSide(model, kernel, system, self._canonical)
        self._driver = Driver(self._spec.reference, system, self._canonical)
        self._actions = [action for action, _ in self._spec.reference.instances]
        self._frontier: list[Pair] = []  # in reverse order
        self._seen: set[Digest] = set()  # as in `Candidate`
        self._receivers: set[Digest] = set()
        self._looked_at: dict[int, Structure] = {}  # keys of receivers that were probed, by id
        self._found: list[tuple[Packed, Reached]] = []  # the level's candidates
        self._before: list[tuple[Packed, Reached]] = []  # the level out of which pairs are retraced
        self._first: dict[Digest, Reached] = {}  # of SUTs that are alike in all that decides, the one met first
        self._portion = self._empty()

    def _empty(self) -> Portion:
        return Portion(Counts.none(len(self._spec.reference.actions)))

    def do(self, method: str, *arguments: Any) -> Any:
        """Call one of the methods below by its name."""
        return getattr(self, method)(*arguments)

    def begin(self) -> Portion:
        """Bring the SUT to the initial states that fall to it."""
        self._portion = self._empty()
        for number, (words, is_outside) in enumerate(self._initial):
            if number % self._jobs != self._number:
                continue
            try:
                reached = self._begun(words)
            except Diverges as diverges:
                place = Place(BEGIN, STEP, number)
                self._portion.divergence = self._diverged(place, diverges, self._spec.state(words))
                break
            if not is_outside:
                self._come_to(Candidate(BEGIN, number, digest_of(words) + reached.key), words, reached)
        return self._portion

    @cached_property
    def _initial(self) -> list[tuple[Packed, bool]]:
        """The initial states, and whether they break the state constraint."""
        states = self._model.initial_states()
        found = Findings(self._kernel, [self._model.state_type.encode(state) for state in states])
        return [
            (packed(row), bool(bits & abi.OUTSIDE)) for row, bits in zip(found.initial, found.initial_bits, strict=True)
        ]

    def _begun(self, words: Packed) -> Reached:
        """The SUT in an initial state. Raises Diverges."""
        state, looks = self._spec.state(words), self._spec.looks(words)
        return self._first_like(self._driver.begin(self._model.constants, state, looks), looks)

    def retrace(self, is_first: bool, pairs: list[Retraced]) -> bool:
        """Drive the SUT to pairs of a level. is_first: of the level. Whether it comes to all of them.

        The last level that is retraced is to be released, as if the pairs were its candidates.
        """
        if is_first:
            self._before, self._found = self._found, []
        for at, instance, pair in pairs:
            try:
                words, reached = self._retraced(at, instance)
            except Diverges:
                return False
            if digest_of(words) + reached.key != pair:
                return False
            self._found.append((words, reached))
        return True

    def _retraced(self, at: int, instance: int) -> tuple[Packed, Reached]:
        if at == BEGIN:
            words, _ = self._initial[instance]
            return words, self._begun(words)
        before, reached = self._before[at]
        moves = self._spec.moves(before)
        move = next(move for move in moves.steps if move.call.instance == instance)
        return move.target, self._after(reached, move, moves.state)

    def work(self, slice_s: float, last: int, probed: list[Digest]) -> Portion:
        """Expand pairs of the level, those up to number `last`, for about so long.

        probed: receivers that others probed since the last time. Their keys say all that decides what happens there.
        """
        end = time.monotonic() + slice_s
        self._receivers.update(probed)
        self._portion = self._empty()
        while self._frontier and self._frontier[-1][0] <= last and time.monotonic() < end:
            number, is_first, words, reached = self._frontier.pop()
            place = self._expand(number, is_first, words, reached)
            if place is not None:
                self._portion.divergence = place
                self._frontier.clear()
        if self._frontier and self._frontier[-1][0] > last:
            self._frontier.clear()
        self._portion.left, self._portion.held = len(self._frontier), self._held.now()
        return self._portion

    def _expand(self, number: int, is_first: bool, words: Packed, reached: Reached) -> Place | None:
        """All that can come of a pair; where it diverges."""
        moves = self._spec.moves(words)
        counts = self._portion.counts
        counts.pairs += 1
        counts.cut += moves.cut
        if is_first:
            counts.states += 1
            counts.transitions += len(moves.steps)
        return (
            self._steps(number, moves, reached)
            or self._attempts(number, moves, reached)
            or self._probes(number, moves, reached.system)
        )

    def _steps(self, number: int, moves: Moves, before: Reached) -> Place | None:
        counts, actions = self._portion.counts, self._actions
        for move in moves.steps:
            instance = move.call.instance
            counts.driven[actions[instance]] += 1
            try:
                to = self._after(before, move, moves.state)
            except Diverges as diverges:
                return self._diverged(Place(number, STEP, instance), diverges, self._spec.state(move.target))
            if move.outside:
                counts.outside += 1
            elif (pair := move.digest + to.key) not in self._seen:
                self._come_to(Candidate(number, instance, pair), move.target, to)
        return None

    def _after(self, before: Reached, move: Move, state: Any) -> Reached:
        """The SUT after a step of the spec in `state`. Raises Diverges."""
        looks = self._spec.looks(move.target)
        known = self._recalled(before, move.call, state)
        return self._driven(before, move.call, state, looks) if known is None or known.looks != looks else known

    def _recalled(self, before: Reached, call: Call, state: Any) -> Reached | None:
        """The SUT after a step that it took before, where all is the same that the step went by."""
        known = before.after.get(call.instance)
        if known is None or known.arguments != call.arguments or not reads_alike(known.reading, state):
            return None
        return known.to

    def _driven(self, before: Reached, call: Call, state: Any, looks: Digest) -> Reached:
        """The SUT after a step. Raises Diverges."""
        if not self._is_shared:
            return self._first_like(self._driver.step(before.system, *call[1:], state, looks), looks)
        noting = Noting(state, "", {})
        to = self._first_like(self._driver.step(before.system, *call[1:], noting, looks), looks)
        before.after[call.instance] = After(to, call.arguments, noted(noting.read))
        return to

    def _first_like(self, held: Held, looks: Digest) -> Reached:
        """Of SUTs that are alike in all that decides the first, which goes on for all, in whichever spec states.

        Only an adapter that sets SUTs apart says so of its keys; by others, each goes on in its own spec state.
        """
        if not self._is_shared:
            return Reached(held.system, held.key, looks)
        found = self._first.get(held.apart)
        if found is None:
            if len(self._first) > MOST_FIRST:
                for one in self._first.values():
                    one.forget()
                self._first.clear()
            found = self._first[held.apart] = Reached(held.system, held.key, looks)
        return found

    def _come_to(self, candidate: Candidate, words: Packed, reached: Reached) -> None:
        self._seen.add(candidate.pair)
        self._portion.candidates.append(candidate)
        self._found.append((words, reached))

    def _attempts(self, number: int, moves: Moves, reached: Reached) -> Place | None:
        counts, actions = self._portion.counts, self._actions
        counts.nothing = [one + more for one, more in zip(counts.nothing, moves.nothing, strict=True)]
        tried = reached.tried
        if tried is None or tried.calls != moves.refused or not reads_alike(tried.reading, moves.state):
            noting, ended = Noting(moves.state, "", {}), list[bool]()
            before = noting if self._is_shared else moves.state
            for instance, action, arguments in moves.refused:
                try:
                    ended.append(self._driver.attempt(reached.system, action, arguments, before))
                except Diverges as diverges:
                    return self._diverged(Place(number, ATTEMPT, instance), diverges, moves.state)
            tried = Tried(moves.refused, noted(noting.read), tuple(ended))
            if self._is_shared:
                reached.tried = tried
        for call, was_tried in zip(tried.calls, tried.ended, strict=True):
            (counts.tried if was_tried else counts.nothing)[actions[call.instance]] += 1
        return None

    def _diverged(self, place: Place, diverges: Diverges, spec: Any) -> Place:
        """A place where something diverges. spec: the spec's state there, as it should be."""
        diverges.spec = spec
        self._portion.seen = seen(self._system, diverges)
        return place

    def _receiving(self, system: Any, state: Any) -> Iterable[Receiver]:
        if not self._has_probes:
            return ()
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
                message = Probe(*probe)
                try:
                    landed += self._driver.probe(message)
                except Diverges as diverges:
                    return self._diverged(Place(number, PROBE, at, which), diverges, diverges.spec or message.state)
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
        self._before.clear()
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
