"""Election of a controller: who creates the ephemeral /controller is in office, under a new controller epoch.

As Apache Kafka's KafkaController and KafkaZkClient (2.1-3.9) do it: one multi creates /controller and raises
/controller_epoch, and a resignation checks the epoch's version. With `epoch_with_office` off, /controller is created
first and the epoch raised by a second write; with `conditional_resign` off, /controller is deleted whoever owns it
(both as before 2.1). Whether to run and whether to resign is up to a policy that a design hands in.

A write of unknown outcome is read back: /controller is one's own if one's session owns it, and its epoch was raised
with it if the two have the same zxid; otherwise the epoch is raised once more.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from impl.zookeeper.events import (
    Absent,
    Committed,
    Connected,
    Created,
    Event,
    Expired,
    Failed,
    Found,
    Outcome,
    Result,
    Stat,
    Unknown,
    WatchEvent,
    Written,
)
from impl.zookeeper.office import (
    CONTROLLER_SEAT,
    Epoch,
    Seat,
    creation,
    election,
    raising,
    read_epoch,
    resignation,
)
from impl.zookeeper.operations import Create, Delete, Exists, GetData, Operation, Submit
from impl.zookeeper.znodes import ZnodeError, write_decimal


@dataclass(frozen=True, slots=True)
class Office:
    """A term of office. czxid: of /controller. epoch_version: of /controller_epoch, what fenced writes check."""

    epoch: int
    epoch_version: int
    czxid: int


class Cause(Enum):
    """The reasons for which a controller leaves office."""

    RESIGNED = "its policy let it resign"
    DELETED = "/controller was deleted, or is another's"
    EXPIRED = "its session expired"


@dataclass(frozen=True, slots=True)
class TookOffice:
    """From now on this broker is the controller."""

    office: Office


@dataclass(frozen=True, slots=True)
class LeftOffice:
    """From now on this broker is not the controller: it must not act as one while it handles any later event."""

    office: Office
    cause: Cause


@dataclass(frozen=True, slots=True)
class ControllerSeen:
    """/controller was read. broker: whom it names; None: nobody is in office."""

    broker: int | None


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something in ZooKeeper is not as it should be; the election waits for it to change. For the log."""

    message: str


Notice = TookOffice | LeftOffice | ControllerSeen | Complaint
Effects = list[Submit | Notice]


class Policy(Protocol):
    """Decisions that a design takes for the election. `Election.reconsider` is for when they may have changed."""

    def may_run(self) -> bool:
        """/controller is absent: create it?"""

    def must_resign(self) -> bool:
        """This broker is in office: leave it?"""


class AlwaysRun:
    """The policy of Apache Kafka: everybody runs, nobody resigns."""

    def may_run(self) -> bool:
        return True

    def must_resign(self) -> bool:
        return False


class Phase(Enum):
    """The stage of an election, by the operation whose result is awaited."""

    NO_SESSION = "no session"
    LOOKING = "looks whether /controller is there"
    READING = "reads whom /controller names"
    WATCHING = "another is in office"
    ABSTAINING = "nobody is in office, and the policy says not to run"
    PREPARING = "reads the epoch, to raise it"
    INITIALIZING = "creates /controller_epoch, which is absent"
    RUNNING = "creates /controller"
    RAISING = "raises the epoch of its own /controller"
    IN_OFFICE = "in office"
    RESIGNING = "deletes /controller"
    MENDING = "reads the epoch, which was no number, with a watch"
    BLOCKED = "waits for something in ZooKeeper to be mended"


class Election:
    """One broker's part in the election. Plain data: `copy.copy` copies it.

    id: of the operations that it submits, one at a time. policy: see Policy. seat: the office, if not the controller's.
    """

    def __init__(
        self, broker: int, policy: Policy, *, id: int = 0, epoch_with_office: bool = True,
        conditional_resign: bool = True, seat: Seat = CONTROLLER_SEAT,
    ) -> None:  # fmt: skip
        self.seat = seat
        self.broker = broker
        self.policy = policy
        self.id = id
        self.epoch_with_office = epoch_with_office
        self.conditional_resign = conditional_resign
        self.phase = Phase.NO_SESSION
        self.session = 0
        self.office: Office | None = None
        self.created: Stat | None = None
        """The Stat of this session's own /controller, while there is no term of office for it yet."""
        self.resigned: Office | None = None
        """The term of office that ended by resignation, until /controller is known to be deleted."""
        self.last: Epoch | None = None
        """The epoch that the write whose result is awaited raises."""
        self.is_awaiting = False
        """An operation was submitted, and its result did not come yet."""
        self.look_again = False
        """A watch fired or a connection was made while a result was awaited."""

    def handle(self, event: Event, now_ms: int) -> Effects:
        """Take in the next event of the stream. Events that concern others are passed over."""
        match event:
            case Connected():
                self.session = event.session
                return self._look()
            case Expired():
                return self._expired()
            case WatchEvent(path=path) if path == self.seat.path or self.phase is Phase.BLOCKED:
                return self._look()
            case Result(id=self.id) if self.is_awaiting:
                self.is_awaiting = False
                return self._result(event.outcome, now_ms)
        return []

    def reconsider(self) -> Effects:
        """Ask the policy again: its answer may have changed."""
        if self.phase is Phase.IN_OFFICE and self.policy.must_resign():
            return self._resign()
        if self.phase is Phase.ABSTAINING and self.policy.may_run():
            return self._prepare()
        return []

    # Session and watch.

    def _expired(self) -> Effects:
        self.phase, self.session = Phase.NO_SESSION, 0
        self.created = self.resigned = None
        return self._left(Cause.EXPIRED)

    def _look(self) -> Effects:
        """Read whether /controller is there: now, or once the result that is awaited is there."""
        self.look_again = self.is_awaiting
        if self.is_awaiting or not self.session:
            return []
        return self._submit(Phase.LOOKING, Exists(self.seat.path, watch=True))

    # Results, each in the phase that awaits it.

    def _result(self, outcome: Outcome, now_ms: int) -> Effects:
        if not self.session or isinstance(outcome, Unknown):
            return []  # once there is a connection, all is read again
        decides = self.phase in (Phase.RUNNING, Phase.RAISING) and not isinstance(outcome, Failed)
        if self.look_again and not decides and self.phase is not Phase.RESIGNING:
            return self._look()
        effects = self._by_phase(outcome, now_ms)
        return effects + (self._look() if self.look_again and not self.is_awaiting else [])

    def _by_phase(self, outcome: Outcome, now_ms: int) -> Effects:
        match self.phase:
            case Phase.LOOKING:
                return self._looked(outcome)
            case Phase.READING:
                return self._read(outcome)
            case Phase.PREPARING:
                return self._prepared(outcome, now_ms)
            case Phase.RUNNING:
                return self._ran(outcome)
            case Phase.RAISING:
                return self._raised(outcome)
            case Phase.MENDING:
                return self._mended(outcome)
            case Phase.RESIGNING:
                self.resigned = None
        return self._look()

    def _looked(self, outcome: Outcome) -> Effects:
        if isinstance(outcome, Found) and outcome.stat.owner == self.session:
            return self._own(outcome.stat)
        self.created = self.resigned = None
        left = self._left(Cause.DELETED)
        if isinstance(outcome, Found):
            return left + self._submit(Phase.READING, GetData(self.seat.path))
        if isinstance(outcome, Failed):
            return left + self._blocked(f"{self.seat.path} cannot be read: {outcome.code.value} {outcome.message}")
        self.phase = Phase.ABSTAINING
        return [*left, ControllerSeen(None), *self.reconsider()]

    def _own(self, stat: Stat) -> Effects:
        """/controller is this session's: its term goes on, or begins once its epoch is known."""
        if self.office is not None and self.office.czxid == stat.czxid:
            self.phase = Phase.IN_OFFICE
            return self.reconsider()
        if self.resigned is not None and self.resigned.czxid == stat.czxid:
            return self._delete(self.resigned)
        left = self._left(Cause.DELETED)
        self.created = stat
        return left + self._submit(Phase.PREPARING, GetData(self.seat.epoch_path))

    def _read(self, outcome: Outcome) -> Effects:
        if isinstance(outcome, Absent):
            return self._look()
        if not isinstance(outcome, Found) or outcome.data is None:
            return self._blocked(f"{self.seat.path} cannot be read")
        self.phase = Phase.WATCHING
        try:
            return [ControllerSeen(self.seat.holder(outcome.data))]
        except ZnodeError as error:
            return [Complaint(str(error))]

    def _prepare(self) -> Effects:
        self.created = None
        return self._submit(Phase.PREPARING, GetData(self.seat.epoch_path))

    def _prepared(self, outcome: Outcome, now_ms: int) -> Effects:
        if isinstance(outcome, Absent):
            return self._submit(Phase.INITIALIZING, Create(self.seat.epoch_path, write_decimal(0)))
        if not isinstance(outcome, Found) or outcome.data is None:
            return self._blocked(f"{self.seat.epoch_path} cannot be read")
        try:
            epoch = read_epoch(outcome, self.seat)
        except ZnodeError as error:
            watched = self._submit(Phase.MENDING, GetData(self.seat.epoch_path, watch=True))
            return [Complaint(str(error)), *watched]
        if self.created is not None and self.created.czxid == outcome.stat.mzxid:
            return self._take_office(Office(epoch.epoch, epoch.version, self.created.czxid))
        self.last = epoch
        if self.created is not None:
            return self._submit(Phase.RAISING, raising(epoch, self.seat))
        with_epoch = self.epoch_with_office
        runs = (
            election(self.broker, now_ms, epoch, seat=self.seat)
            if with_epoch
            else creation(self.broker, now_ms, self.seat)
        )
        return self._submit(Phase.RUNNING, runs)

    def _ran(self, outcome: Outcome) -> Effects:
        match outcome:
            case Committed(parts=(Created(stat=own), Written(stat=raised))) if self.last is not None:
                return self._take_office(Office(self.last.epoch + 1, raised.version, own.czxid))
            case Created(stat=own):
                return self._own(own)
        return self._look()

    def _raised(self, outcome: Outcome) -> Effects:
        if isinstance(outcome, Written) and self.created is not None and self.last is not None:
            return self._take_office(Office(self.last.epoch + 1, outcome.stat.version, self.created.czxid))
        return self._look()

    # Office.

    def _take_office(self, office: Office) -> Effects:
        self.phase, self.office, self.created = Phase.IN_OFFICE, office, None
        return [ControllerSeen(self.broker), TookOffice(office), *self.reconsider()]

    def _resign(self) -> Effects:
        office = self.office
        assert office is not None, "only a broker in office resigns"
        return self._left(Cause.RESIGNED) + self._delete(office)

    def _delete(self, office: Office) -> Effects:
        self.resigned = office
        conditional = resignation(Epoch(office.epoch, office.epoch_version), seat=self.seat)
        return self._submit(Phase.RESIGNING, conditional if self.conditional_resign else Delete(self.seat.path))

    def _left(self, cause: Cause) -> Effects:
        if self.office is None:
            return []
        office, self.office = self.office, None
        return [LeftOffice(office, cause)]

    def _mended(self, outcome: Outcome) -> Effects:
        if isinstance(outcome, Absent):
            return self._look()
        if isinstance(outcome, Found) and outcome.data is not None:
            with suppress(ZnodeError):
                read_epoch(outcome, self.seat)
                return self._look()
        self.phase = Phase.BLOCKED
        return []

    def _blocked(self, message: str) -> Effects:
        self.phase = Phase.BLOCKED
        return [Complaint(message)]

    def _submit(self, phase: Phase, operation: Operation) -> Effects:
        self.phase, self.is_awaiting = phase, True
        return [Submit(self.id, operation)]
