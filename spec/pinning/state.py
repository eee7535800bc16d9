"""The state of the cluster: the znodes in ZooKeeper, the broker processes, and what happened, for properties to read.

All that a broker has is soft: only znodes outlive a process. Of a znode {version, owner, zxid} is kept what some step
or property reads: but in the draft nobody sets `/controller` or `ready` again except its owner, so their versions say
nothing.
Leaves out: `/brokers/ids`, which is there while its broker's session is; what a controller does in office beyond writes
that can be fenced; views of followers, since nothing runs ahead of what a broker reads (see `spec.zookeeper`).
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, History, Map, Nat, Option, Seq, Set, message, record, state
from spec.pinning.design import Design
from spec.pinning.types import Answer, Broker, ControllerEpoch, EpochVersion, Path, Phase, ProcessState
from spec.zookeeper.sessions import Session, is_own
from spec.zookeeper.tree import Zxid

Version = Annotated[int, Nat(lambda: max(Design.max_requests + Design.max_unpins - 1, 0))]


@record
class Controller:
    """`/controller`, ephemeral."""

    broker: Broker
    owner: Session


@record
class NextController:
    """`/admin/next_controller`, persistent: the request that stands.

    `request` is the zxid of the write that made it. That is its czxid until another request replaces it: `set_data`
    keeps the czxid, and would let `ready` of one request pass for that of a later one.
    """

    target: Option[Broker]  # None: the operator has taken the request back
    version: Version
    request: Zxid


@record
class Ready:
    """`/admin/ready_to_serve_as_controller`, ephemeral. The document has three names for it; one is meant."""

    broker: Broker
    owner: Session
    request: Zxid  # that the target answered; the draft does not look at it


@message
class Member:
    """`/brokers/preferred_controllers/<id>`, ephemeral: a preferred broker is there."""

    broker: Broker
    owner: Session


@message
class Seen:
    """The versions that a target has read, and which its multi checks."""

    next_version: Version
    epoch_version: EpochVersion


Members = Annotated[Set[Member], AtMost(lambda: Design.preferred_brokers if Design.preferred else 0)]
Events = Annotated[Seq[Path], AtMost(3)]
Decided = Annotated[Seq[ControllerEpoch], AtMost(lambda: Design.writes)]
Heard = Annotated[Seq[ControllerEpoch], AtMost(lambda: Design.writes)]
SeenVersions = Annotated[Seq[Seen], AtMost(lambda: Design.versions_read)]


@record
class BrokerProcess:
    """A broker process. Of one that is down, hangs or has no session, only that is kept which it can still use."""

    state: ProcessState
    session: Option[Session]  # None, while it runs: its session has ended, and the client has yet to hear of that
    expired: bool  # it has a new session, and has yet to handle that the former one has ended
    phase: Phase
    waits_for: Option[Broker]  # whom it saw in `ready` when it last pulled: to whom it leaves the election
    epoch: Option[ControllerEpoch]  # of its term, as it believes; and that epoch's version
    decided: Decided  # a write that it has decided in the term of this epoch, and not made yet
    heard: Heard  # the highest controller epoch of a request that it took
    seen: SeenVersions  # what it has read, as the target of a request, to take over
    armed: Set[Path]  # watches that are set
    events: Events  # watches that have fired, oldest first, and what it has yet to read after a start


Crashes = Annotated[int, Nat(lambda: Design.max_crashes)]
Hangs = Annotated[int, Nat(lambda: Design.max_hangs)]
Expiries = Annotated[int, Nat(lambda: Design.max_expiries)]
EarlyLapses = Annotated[int, Nat(lambda: Design.max_early_lapses)]
LostReplies = Annotated[int, Nat(lambda: Design.max_lost_replies)]
OfficeFailures = Annotated[int, Nat(lambda: Design.max_office_failures)]
Deletions = Annotated[int, Nat(lambda: Design.max_deletions)]
Requests = Annotated[int, Nat(lambda: Design.max_requests)]
Unpins = Annotated[int, Nat(lambda: Design.max_unpins)]
LateRemovals = Annotated[int, Nat(lambda: Design.max_late_removals)]
Restarts = Annotated[int, Nat(lambda: Design.max_restarts)]
Moves = Annotated[int, Nat(lambda: Design.counted_moves)]


@record
class Faults:
    """The spent part of each budget."""

    requests: Requests
    crashes: Crashes
    hangs: Hangs
    expiries: Expiries
    early_lapses: EarlyLapses
    lost_replies: LostReplies
    office_failures: OfficeFailures
    deletions: Deletions
    unpins: Unpins
    late_removals: LateRemovals
    restarts: Restarts


@message
class Asked:
    """The newest request, as the operator who awaits an answer has it; `served` is for a property to look at."""

    target: Broker
    request: Zxid
    served: bool
    answer: Option[Answer]


Wanted = Annotated[Option[Broker], History]
NewestAsked = Annotated[Seq[Asked], AtMost(lambda: Design.answers)]
Written = Annotated[Seq[ControllerEpoch], AtMost(lambda: Design.writes)]


@state
class Cluster:
    """ZooKeeper and the brokers."""

    controller: Option[Controller]
    epoch: ControllerEpoch
    epoch_version: EpochVersion
    next_controller: Option[NextController]
    ready: Option[Ready]
    members: Members
    written: Written  # a znode that stands for all that controllers write: the epoch in which its data was decided
    brokers: Map[Broker, BrokerProcess]
    unable: Set[Broker]  # who fails whenever it takes office
    wanted: Wanted  # the target of the newest request, until that is served, given up or taken back
    asked: NewestAsked
    moves: Annotated[Moves, History]  # elections since the start
    faults: Faults


def runs(process: BrokerProcess) -> bool:
    """It is up, and its session lives: it can act, and reach ZooKeeper."""
    return process.state == ProcessState.UP and process.session is not None


def believes_in_office(process: BrokerProcess) -> bool:
    return process.phase == Phase.ELECTED or process.phase == Phase.IN_OFFICE


def takes_part(process: BrokerProcess) -> bool:
    """It has looked at `ready`, or at who is preferred, for an election that it has yet to win or to leave."""
    return process.phase == Phase.PULLED or process.phase == Phase.ABSTAINS or process.phase == Phase.LAPSED


def is_in_office(s: Cluster, broker: Broker) -> bool:
    """A broker is in office, as it believes and as ZooKeeper has it."""
    return s.brokers[broker].phase == Phase.IN_OFFICE and owns_office(s, broker)


def owns_office(s: Cluster, broker: Broker) -> bool:
    """`/controller` belongs to the session that a broker has now."""
    return s.controller is not None and is_own(s.controller.owner, s.brokers[broker].session)


def owns_ready(s: Cluster, broker: Broker) -> bool:
    """`ready` belongs to the session that a broker has now."""
    return s.ready is not None and is_own(s.ready.owner, s.brokers[broker].session)


def is_target(s: Cluster, broker: Broker) -> bool:
    """The request that stands asks for this broker."""
    return s.next_controller is not None and s.next_controller.target == broker
