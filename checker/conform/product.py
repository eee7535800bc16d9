"""The product of a spec and a system under test, explored breadth-first, level by level.

A pair is a state of the spec and, up to the numbering of ordinals, a whole state of the SUT. Pairs are numbered in
the order in which a search in one process meets them: by the number of the pair they come out of, then by instance.
Level by level, workers expand the pairs that they found, for they know the parts of which those are made; who has more
than its share gives the rest away. What is new, and in which order, is decided here. So all counts and reports are
the same for any number of workers.
"""

from __future__ import annotations

import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from checker.conform.canonical import Digest
from checker.conform.checkpoint import Checkpoint
from checker.conform.growth import RISES, rises
from checker.conform.retracing import Retracing, retracings
from checker.conform.rows import Seen
from checker.conform.system import Structure
from checker.conform.worker import BEGIN, GROWTH, Accepted, Candidate, Counts, Place, Portion, Probed
from checker.explicit.search.store import Budget, OutOfMemoryError
from checker.running.levels import LevelSearch
from checker.running.memory import Held
from checker.running.pool import Worker, ready

SLICE_S = 0.1  # a worker reports, and hears of limits, about so often


@dataclass(frozen=True)
class Progress:
    """An exploration under way. left: pairs of the level that are still to be expanded.

    retraced: while it is resumed, the pairs to which the SUT was driven again.
    """

    pairs: int
    driven: int
    depth: int
    left: int
    seconds: float
    retraced: int = 0


class _Level:
    """Results of a level so far. probed: receivers, where each was first met, and with how many messages."""

    def __init__(self, actions: int) -> None:
        self.counts = Counts.none(actions)
        self.probed: dict[Digest, Probed] = {}


class Product(LevelSearch):
    """An exploration. The results are its attributes.

    counts: of whole levels, and where it was stopped of the last one too. divergence: the first place that diverges.
    """

    def __init__(
        self, workers: Sequence[Worker], actions: int, *, deadline: float | None = None,
        limit: str = "", budget: Budget, progress: Callable[[Progress], None] | None = None,
        saved: Checkpoint | None = None,
    ) -> None:  # fmt: skip
        """deadline: of `time.monotonic()`, and `limit` what to say then. budget: of the memory of all processes.

        saved: where every whole level is saved, and from where the search goes on if there are some.
        """
        self._workers, self._saved = list(workers), saved
        self._deadline, self._limit, self._report = deadline, limit, progress
        self._started = time.monotonic()
        self._budget, self._held = budget, Held()
        self._met: set[Digest] = set()  # pairs, as in `Candidate`
        self._level: list[Candidate] = []  # the last level
        self._receivers_saved = 0
        self._last: dict[Digest, int] = {}  # of each spec state, its pair with the highest number
        self._parents, self._instances = array("q"), array("l")
        self._alike, self._place = (
            array("q"),
            array("l"),
        )  # of each pair: the one before it in its spec state, how many are
        self._probed: dict[Digest, Probed] = {}
        self._untold: dict[int, list[Digest]] = {id(worker): [] for worker in workers}  # receivers that others probed
        self.counts = Counts.none(actions)
        self._depth = 0
        self._left = 0
        self.divergence: Place | None = None
        self.seen: Seen | None = None  # what diverges there

    @property
    def pairs(self) -> int:
        """Pairs that were met."""
        return len(self._parents)

    @property
    def receivers(self) -> int:
        """Distinct places where messages were tried that were not under way."""
        return len(self._probed)

    @property
    def probes(self) -> int:
        """Messages that were tried there."""
        return sum(probed.landed for probed in self._probed.values())

    @property
    def depth(self) -> int:
        """Levels of pairs that were expanded, one perhaps in part."""
        return self._depth

    @property
    def frontier(self) -> int:
        """Pairs of the next level."""
        return self._left

    def decided(self) -> bool:
        """True if something diverges."""
        return self.divergence is not None

    def way_to(self, pair: int) -> tuple[int, list[int]]:
        """(the number of an initial state, the instances of a shortest way from it) of a pair."""
        instances: list[int] = []
        while pair != BEGIN:
            instances.append(self._instances[pair])
            pair = self._parents[pair]
        return instances[-1], instances[-2::-1]

    # A level.

    def begin(self) -> None:
        """Enter the initial pairs, or those that were saved."""
        if self._saved is not None and self._saved.counts is not None:
            self._resume(self._saved, self._saved.counts)
            return
        for worker in self._workers:
            worker.ask("begin")
        level = _Level(len(self.counts.driven))
        self._left = self._enter([self._taken(worker.answer(), level) for worker in self._workers])
        self._save()

    def expand_level(self) -> None:
        """Expand the pairs of a level, in all workers."""
        self._depth += 1
        level = _Level(len(self.counts.driven))
        found: dict[int, list[Candidate]] = {id(worker): [] for worker in self._workers}
        left = dict.fromkeys(found, 0)
        busy = list(self._workers)
        for worker in busy:
            self._go_on(worker)
        while busy:
            for worker in ready(busy):
                portion: Portion = worker.answer()
                self._share(worker, portion)
                found[id(worker)] += self._taken(portion, level)
                left[id(worker)] = portion.left
                if portion.left and not self.is_over():
                    self._go_on(worker)
                else:
                    busy.remove(worker)
            self._told(sum(level.counts.driven), sum(left.values()))
        if self.divergence is None:
            self.counts.add(level.counts)
            _note(self._probed, level.probed.items())
        if any(left.values()):
            self._left = 0
        else:
            self._left = self._enter(list(found.values()))
            self._save()

    def limit(self) -> str | None:
        """The limit on time or memory that is reached."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return self._limit
        self._budget.hold(*self._held.now())
        try:
            self._budget.check()
        except OutOfMemoryError as error:
            return f"memory limit: {error}"
        return None

    def _go_on(self, worker: Worker) -> None:
        untold, self._untold[id(worker)] = self._untold[id(worker)], []
        worker.ask("work", SLICE_S, sys.maxsize if self.divergence is None else self.divergence.pair, untold)

    def _share(self, worker: Worker, portion: Portion) -> None:
        """Spare the other workers the receivers that one has probed."""
        for other in self._workers:
            if other is not worker:
                self._untold[id(other)] += [receiver for receiver, _ in portion.receivers]

    def _taken(self, portion: Portion, level: _Level) -> list[Candidate]:
        level.counts.add(portion.counts)
        _note(level.probed, portion.receivers)
        self._budget.hold(*portion.held)
        place = portion.divergence
        if place is not None and (self.divergence is None or place < self.divergence):
            self.divergence, self.seen = place, portion.seen
        return portion.candidates

    def _told(self, driven: int, left: int, retraced: int = 0) -> None:
        if self._report is not None:
            driven += sum(self.counts.driven)
            self._report(Progress(self.pairs, driven, self.depth, left, time.monotonic() - self._started, retraced))

    def _enter(self, found: list[list[Candidate]]) -> int:
        """Number the pairs among the candidates that are new, and share them out. found: by worker."""
        if self.divergence is not None:
            return 0
        order = sorted(
            (candidate.parent, candidate.instance, whose, which)
            for whose, candidates in enumerate(found)
            for which, candidate in enumerate(candidates)
        )
        accepted: list[list[Accepted]] = [[] for _ in found]
        self._level = []
        for _, _, whose, which in order:
            candidate = found[whose][which]
            if candidate.pair not in self._met:
                number = self._numbered(candidate)
                accepted[whose].append((which, number, self._alike[number] == BEGIN))
                self._level.append(candidate)
                if self._place[number] >= RISES and self._grows(number):
                    return 0
        return self._distribute(accepted)

    def _numbered(self, candidate: Candidate) -> int:
        """The number of a new pair."""
        number, before = len(self._parents), self._last.get(candidate.state, BEGIN)
        self._met.add(candidate.pair)
        self._last[candidate.state] = number
        self._parents.append(candidate.parent)
        self._instances.append(candidate.instance)
        self._alike.append(before)
        self._place.append(0 if before == BEGIN else self._place[before] + 1)
        return number

    def _grows(self, last: int) -> bool:
        """Whether something has grown on the way to a pair, the last of its spec state, and nothing else changed."""
        way, pair, alike = list[int](), last, last
        while pair != BEGIN and alike != BEGIN:
            if pair == alike:
                way.append(pair)
            if pair >= alike:
                pair = self._parents[pair]
            else:
                alike = self._alike[alike]
        if len(way) <= RISES:
            return False
        self._workers[0].ask("keys_on", *self.way_to(last))
        keys: list[Structure] = self._workers[0].answer()
        steps = [len(self.way_to(pair)[1]) for pair in way]
        if not rises([keys[step] for step in reversed(steps)]):
            return False
        self.divergence = Place(last, GROWTH, steps[1])
        return True

    def _distribute(self, accepted: list[list[Accepted]]) -> int:
        gifts = shared_out([len(pairs) for pairs in accepted])
        for worker, pairs, given in zip(self._workers, accepted, gifts, strict=True):
            worker.ask("release", pairs, given)
        sent: list[list[bytes]] = [[] for _ in self._workers]
        for worker in self._workers:
            pickled: dict[int, bytes] = worker.answer()
            for whose, packet in pickled.items():
                sent[whose].append(packet)
        for worker, pairs_of in zip(self._workers, sent, strict=True):
            worker.ask("receive", pairs_of)
        return sum(int(worker.answer()) for worker in self._workers)

    # On disk.

    def _save(self) -> None:
        """Save the last level, if all before it is decided."""
        if self._saved is not None and self.divergence is None:
            receivers = islice(self._probed.items(), self._receivers_saved, None)
            self._saved.save(self._level, receivers, self.counts)
            self._receivers_saved = len(self._probed)

    def _resume(self, saved: Checkpoint, counts: Counts) -> None:
        """Enter what was saved, and drive the SUT to the pairs of its last level."""
        digests = list[Digest]()
        for candidate in saved.pairs():
            self._numbered(candidate)
            digests.append(candidate.pair)
        self._probed = dict(saved.receivers())
        self._receivers_saved = len(self._probed)
        self._untold = {id(worker): list(self._probed) for worker in self._workers}
        self.counts, self._depth, self._left = counts, len(saved.levels) - 1, saved.levels[-1]
        last = range(self.pairs - self._left, self.pairs)
        many = -(-len(last) // len(self._workers))
        shares = [last[many * whose : many * (whose + 1)] for whose in range(len(self._workers))]
        if self._retraced(saved, shares, digests):
            accepted = [
                [(at, number, self._alike[number] == BEGIN) for at, number in enumerate(share)] for share in shares
            ]
            self._distribute(accepted)

    def _retraced(self, saved: Checkpoint, shares: Sequence[Sequence[int]], digests: Sequence[Digest]) -> bool:
        """Drive the SUT to pairs, in all workers. False where that was stopped. shares: of each worker."""
        todo = {
            worker: retracings(share, self._parents, self._instances, digests)
            for worker, share in zip(self._workers, shares, strict=True)
        }
        asked: dict[Worker, Retracing] = {}
        done = 0

        def ask(worker: Worker) -> None:
            portion = next(todo[worker], None)
            if portion is not None:
                worker.ask("retrace", portion.is_first, portion.pairs)
                asked[worker] = portion

        for worker in self._workers:
            ask(worker)
        while asked:
            for worker in ready(list(asked)):
                portion = asked.pop(worker)
                if not worker.answer():
                    raise saved.changed(portion.steps)
                done += len(portion.pairs)
                ask(worker)
            if self.is_over():
                return False
            self._told(0, self._left, done)
        return True


def _note(probed: dict[Digest, Probed], found: Iterable[tuple[Digest, Probed]]) -> None:
    """Of receivers that are alike, the one counts that a search in one process meets first."""
    for receiver, one in found:
        probed[receiver] = min(one, probed.get(receiver, one))


def shared_out(counts: Sequence[int]) -> list[dict[int, int]]:
    """The numbers that each gives to the others, so that nobody has more than its share. counts: what each has."""
    share = -(-sum(counts) // len(counts))
    poor = deque((whose, share - has) for whose, has in enumerate(counts) if has < share)
    gifts: list[dict[int, int]] = [{} for _ in counts]
    for giver, has in enumerate(counts):
        left = has - share
        while left > 0:
            whose, lacks = poor.popleft()
            gifts[giver][whose] = many = min(left, lacks)
            left -= many
            if many < lacks:
                poor.appendleft((whose, lacks - many))
    return gifts
