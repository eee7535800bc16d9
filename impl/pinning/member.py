"""What the cores of one broker share: who it is, where it stands in the election, and how it reads znodes.

Cores are written as *scripts*: generators that yield an operation and are sent its Result. A broker runs one script at
a time, to its end; events that arrive meanwhile wait. A script that loses its connection is dropped where it stands: a
new connection reads everything anew. So nothing of what was read is kept beyond a script but what stands here.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from impl.pinning.design import Design
from impl.pinning.effects import Effect, SetTimer, Timer
from impl.pinning.znodes import NEXT, NOBODY, READY, ZnodeError, read_next, read_ready
from impl.runtime.effects import Did, Facts, Log
from impl.zookeeper import Absent, Exists, Found, GetData, Operation, Result
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH, Epoch, read_epoch
from impl.zookeeper.znodes import read_controller

T = TypeVar("T")
Script = Generator[Operation, Result, T]


class Phase(Enum):
    """The stages of a broker in the election of a controller, as it believes itself."""

    WATCHING = "it knows of a controller, or has yet to hear that there is none"
    PULLED = "it has pulled `ready`, and is about to run or to abstain"
    ABSTAINS = "it leaves the election to another"
    LAPSED = "it has abstained for too long, and is about to run whatever `ready` says"
    ELECTED = "it has created /controller, and has yet to begin its term"
    IN_OFFICE = "it is controller"


@dataclass(frozen=True, slots=True)
class Holder:
    """`/controller`, as it was read."""

    broker: int
    owner: int


@dataclass(frozen=True, slots=True)
class Next:
    """`/admin/next_controller`, as it was read. request: the zxid of the write that made it."""

    target: int
    request: int
    version: int


@dataclass(frozen=True, slots=True)
class ReadyBy:
    """`/admin/ready_to_serve_as_controller`, as it was read. request: None where its data names none."""

    broker: int
    request: int | None
    owner: int
    version: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The versions that a target has read, and which its takeover checks; and the request that it serves."""

    next_version: int
    request: int
    epoch: Epoch


@dataclass
class Member:
    """One broker's part, all of it soft.

    session: 0 without one. is_in_touch: ZooKeeper was heard from within two thirds of the session's timeout.
    waits_for: whom it saw in `ready` when it last pulled. term: the epoch it was elected at; with its version, what
    fences its writes. seen: of a target that takes over. is_able: it can hold office.
    """

    broker: int
    design: Design
    session_timeout_ms: int = 6_000
    abstain_timeout_ms: int = 18_000
    endpoint: tuple[str, int] = ("127.0.0.1", 0)
    """Host and port that it listens at, for its registration."""
    session: int = 0
    is_in_touch: bool = False
    is_able: bool = True
    phase: Phase = Phase.WATCHING
    waits_for: int | None = None
    term: Epoch | None = None
    seen: Seen | None = None
    decided: Epoch | None = None
    """A write that was decided in the term of this epoch, and is yet to be made."""
    controller: int | None = None
    """The controller that it knows of: for answers and metrics, nothing is decided by it."""
    former: Holder | None = None
    """The controller before it, as far as it knows. `ended`: the request that its own election ended, if any."""
    ended: int | None = None
    now_ms: int = 0
    zxid: int = 0
    """Of the last result: where in ZooKeeper's history the script at hand is."""
    complained: Mapping[str, int] = field(default_factory=dict)
    """The garbage that the log has, by path: the zxid of the write that made it."""
    effects: list[Effect] = field(default_factory=list)

    def copy(self) -> Member:
        """A copy between two scripts."""
        return replace(self, effects=list(self.effects))

    @property
    def believes_in_office(self) -> bool:
        return self.phase in (Phase.ELECTED, Phase.IN_OFFICE)

    def forget(self) -> None:
        """Be as after a start."""
        self.phase, self.waits_for, self.term, self.seen, self.controller = Phase.WATCHING, None, None, None, None
        self.decided = None

    def leave_office(self) -> None:
        """Be in office no more, and drop what was decided there and not written yet (KAFKA-2300: it was not)."""
        self.phase, self.term = Phase.WATCHING, None
        if self.design.clears_state_on_resign:
            self.decided = None

    def of_term(self, cause: str) -> Facts:
        """Facts for the log about the end of its term."""
        return {"from": self.broker, "epoch": None if self.term is None else self.term.epoch, "cause": cause}

    # Effects.

    def set_timer(self, timer: Timer | int, delay_ms: int = 0) -> None:
        self.effects.append(SetTimer(timer, self.now_ms + delay_ms))

    def did(self, action: str, **facts: int | str | bool | None) -> None:
        """The script at hand took this step of the design."""
        self.effects.append(Did(action, self.zxid, facts))

    def log(self, event: str, facts: Facts, *, is_warning: bool = False) -> None:
        self.effects.append(Log(event, facts, is_warning))

    # Reading.

    def read(self, path: str, *, watch: bool = False, arms_where_absent: bool = True) -> Script[Found | None]:
        """The data of a znode; None where it is absent.

        watch: arm a watch, also on an absent znode, unless `arms_where_absent` is off (`get` arms none there).
        """
        while True:
            result = yield GetData(path, watch)
            if isinstance(result.outcome, Found):
                return result.outcome
            if not watch or not arms_where_absent or not isinstance(result.outcome, Absent):
                return None
            result = yield Exists(path, watch=True)
            if not isinstance(result.outcome, Found):
                return None  # and a watch is armed for when it is created

    def read_holder(self, *, watch: bool = False) -> Script[Holder | None]:
        """/controller. Where it is garbage, somebody unknown holds it."""
        found = yield from self.read(CONTROLLER, watch=watch)
        if found is None:
            self.controller = None
            return None
        try:
            broker = read_controller(CONTROLLER, found.data or b"")
        except ZnodeError as error:
            self.complain(error, found)
            broker = -1
        self.controller = broker
        holder = Holder(broker, found.stat.owner)
        if holder.owner != self.session:
            self.former = holder
        return holder

    def read_next(self, *, watch: bool = False) -> Script[Next | None]:
        """The request that stands. Where it was taken back, or is garbage, none does."""
        found = yield from self.read(NEXT, watch=watch)
        if found is None:
            return None
        try:
            target = read_next(found.data or b"")
            return None if target == NOBODY else Next(target, found.stat.mzxid, found.stat.version)
        except ZnodeError as error:
            self.complain(error, found)
            return None

    def read_ready(self, *, watch: bool = False) -> Script[ReadyBy | None]:
        """`ready`. Where it is garbage, nobody is ready."""
        found = yield from self.read(READY, watch=watch, arms_where_absent=self.design.watch_where_absent)
        if found is None:
            return None
        try:
            ready = read_ready(found.data or b"")
        except ZnodeError as error:
            self.complain(error, found)
            return None
        return ReadyBy(ready.broker, ready.request, found.stat.owner, found.stat.version)

    def read_epoch(self) -> Script[Epoch | None]:
        """The controller epoch. None where it is absent or garbage: nobody can be elected then."""
        found = yield from self.read(CONTROLLER_EPOCH)
        if found is None:
            self.log("no controller epoch", {"path": CONTROLLER_EPOCH}, is_warning=True)
            return None
        try:
            return read_epoch(found)
        except ZnodeError as error:
            self.complain(error, found)
            return None

    def complain(self, error: ZnodeError, found: Found) -> None:
        """Say that a znode holds garbage: once, however often that is read."""
        if self.complained.get(error.path) != found.stat.mzxid:
            self.complained = {**self.complained, error.path: found.stat.mzxid}
            self.log("garbage in a znode", {"what": str(error)}, is_warning=True)
