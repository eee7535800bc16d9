"""The znodes of a run as its transactions leave them, and what is measured on the log alone, whatever brokers say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from impl.pinning.znodes import NEXT, NOBODY, READY, STATE, read_next, read_ready
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH
from impl.zookeeper.transaction_log import Change, Logged
from impl.zookeeper.znodes import read_controller, read_decimal


@dataclass
class Znodes:
    """The znodes as a transaction left them: broker and owner; target, version and request; broker, owner, request.

    written: the epoch of the last write of a controller.
    """

    controller: tuple[int, int] | None = None
    epoch: int = 0
    written: int | None = None
    next: tuple[int, int, int] | None = None
    ready: tuple[int, int, int] | None = None

    def apply(self, change: Change, transaction: Logged) -> None:
        data = change.data
        if change.path == CONTROLLER:
            self.controller = None if data is None else (read_controller(CONTROLLER, data), transaction.session)
        elif change.path == CONTROLLER_EPOCH and data is not None:
            self.epoch = read_decimal(CONTROLLER_EPOCH, data)
        elif change.path == STATE and data:
            self.written = read_decimal(STATE, data)
        elif change.path == NEXT:
            version = 0 if change.is_create or self.next is None else self.next[1] + 1
            self.next = None if data is None else (read_next(data), version, transaction.zxid)
        elif change.path == READY:
            said = None if data is None else read_ready(data)
            owner = transaction.session if change.is_create or self.ready is None else self.ready[1]
            self.ready = None if said is None else (said.broker, owner, said.request or 0)

    def state(self, numbers: Mapping[int, int]) -> dict[str, Any]:
        """As the spec has them. numbers: of sessions, in order of their beginning."""
        controller, standing, ready = self.controller, self.next, self.ready
        return {
            **({} if self.written is None else {"written": [self.written]}),
            "controller": controller and {"broker": f"broker{controller[0]}", "owner": numbers[controller[1]]},
            "epoch": self.epoch,
            "next_controller": standing
            and {"target": target_of(standing[0]), "version": standing[1], "request": standing[2]},
            "ready": ready and {"broker": f"broker{ready[0]}", "owner": numbers[ready[1]], "request": ready[2]},
        }


def target_of(broker: int) -> str | None:
    return None if broker == NOBODY else f"broker{broker}"


@dataclass(frozen=True)
class Figures:
    """Measured on the log.

    late_writes: of a controller, after a later epoch was issued (P1); epochs_issued_again: P1; moves_without_cause: P2;
    foreign_deletions: P3; longest_vacancy_ms: nobody in office; ends_vacant: 1 where nobody is at the end (P8), up to
    which that vacancy counts; ends_unserved: 1 where a request stands at the end (P9).
    """

    elections: int = 0
    requests: int = 0
    taken_back: int = 0
    writes: int = 0
    late_writes: int = 0
    epochs_issued_again: int = 0
    moves_without_cause: int = 0
    foreign_deletions: int = 0
    longest_vacancy_ms: int = 0
    ends_vacant: int = 0
    ends_unserved: int = 0

    def violated(self) -> list[str]:
        """What is never to be seen, at the end of a run or before."""
        wrong = {
            "P1: writes of a former controller": self.late_writes,
            "P1: epochs issued again": self.epochs_issued_again,
            "P2: moves without a cause": self.moves_without_cause,
            "P3: deletions of another's /controller": self.foreign_deletions,
            "P8: nobody is in office at the end": self.ends_vacant,
            "P9: a request stands at the end": self.ends_unserved,
        }
        return [what for what, count in wrong.items() if count]


@dataclass
class Measured:
    """What is measured on transactions so far. sessions: those of brokers.

    newest: the highest epoch that was issued, and the session that it was issued to. vacant_ms: since when nobody is in
    office. served: the requests whose target was elected while they stood.
    """

    znodes: Znodes
    sessions: Collection[int]
    newest: tuple[int, int] = (0, 0)
    vacant_ms: int | None = None
    served: set[int] = field(default_factory=set)
    counted: Figures = field(default_factory=Figures)

    def __post_init__(self) -> None:
        owner = 0 if self.znodes.controller is None else self.znodes.controller[1]
        self.newest = self.znodes.epoch, owner

    def add(self, one: Logged) -> None:
        before = replace(self.znodes)
        for change in one.changes:
            self.znodes.apply(change, one)
        self._requests(before)
        self._epochs(before, one)
        if self.znodes.controller != before.controller:
            self._leaves(before, one)
            self._is_elected(before, one)

    def _count(self, **more: int) -> None:
        self.counted = replace(self.counted, **{name: getattr(self.counted, name) + n for name, n in more.items()})

    def _requests(self, before: Znodes) -> None:
        standing = self.znodes.next
        if standing is not None and standing != before.next:
            self._count(taken_back=1) if standing[0] == NOBODY else self._count(requests=1)

    def _epochs(self, before: Znodes, one: Logged) -> None:
        """P1: an epoch is issued once, and nobody writes after a later one was."""
        epoch, elected = self.znodes.epoch, self.znodes.controller not in (None, before.controller)
        if any(change.path == STATE for change in one.changes):
            self._count(writes=1, late_writes=int((self.znodes.written, one.session) != self.newest))
        again = epoch < self.newest[0] or (elected and epoch == self.newest[0])
        self._count(epochs_issued_again=int(again))
        if elected:
            self.newest = epoch, one.session

    def _leaves(self, before: Znodes, one: Logged) -> None:
        """P2 and P3: the office of a broker that does not die is left for a request that is the newest and unserved."""
        if before.controller is None:
            return
        in_office, owner = before.controller
        if one.session in self.sessions and not one.ends_session:
            target, _, request = before.next or (NOBODY, 0, 0)
            wanted = target not in (NOBODY, in_office) and request not in self.served
            foreign = owner != one.session and self.znodes.controller is None
            self._count(moves_without_cause=int(not wanted), foreign_deletions=int(foreign))
        if self.znodes.controller is None:
            self.vacant_ms = one.time_ms

    def _is_elected(self, before: Znodes, one: Logged) -> None:
        if self.znodes.controller is None:
            return
        self._count(elections=1)
        if before.next is not None and before.next[0] == self.znodes.controller[0]:
            self.served.add(before.next[2])
        self._vacant_until(one.time_ms)
        self.vacant_ms = None

    def _vacant_until(self, time_ms: int) -> None:
        spent_ms = 0 if self.vacant_ms is None else time_ms - self.vacant_ms
        self.counted = replace(self.counted, longest_vacancy_ms=max(self.counted.longest_vacancy_ms, spent_ms))

    def figures(self, ended_ms: int | None, *, serves: bool) -> Figures:
        """ended_ms: the end of the run, by its clock. serves: whoever is asked for takes office in the end."""
        if ended_ms is not None:
            self._vacant_until(ended_ms)
        standing = self.znodes.next
        unserved = serves and standing is not None and standing[0] != NOBODY
        return replace(self.counted, ends_vacant=int(self.vacant_ms is not None), ends_unserved=int(unserved))
