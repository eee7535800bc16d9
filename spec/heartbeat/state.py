"""The state of the cluster: znodes, controllers (soft), broker processes, messages, and history for properties.

Leases have no clocks here. A timeout may come whenever nothing renews it; of two, the one that is the longer by design
waits for the shorter (`decisions.leases`). `timed` has the clocks.
A lost message is one that stays under way until the next one takes its place. A process whose session has ended at the
server has registered `owned` once, and learns no later than by registering again that this is over.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, Bag, History, Map, Nat, Option, Set, message, record, state
from spec.heartbeat.design import Design
from spec.heartbeat.types import (
    Broker,
    BrokerState,
    Controller,
    ControllerEpoch,
    Error,
    Incarnation,
    LeaderEpoch,
    Process,
    RecordStatus,
    Software,
    Version,
    broker_id,
)


@record
class Registration:
    """`/brokers/ids/<id>`, ephemeral: BrokerInfo."""

    process: Process  # endpoints
    czxid: Incarnation
    legacy: bool  # version 4 of BrokerInfo, else 5


@record
class PartitionState:
    """`/brokers/topics/<topic>/partitions/<partition>/state`."""

    leader: Option[Broker]
    leader_epoch: LeaderEpoch
    isr: Set[Broker]
    version: Version
    incarnations: Map[Broker, Option[Incarnation]]  # of the leader, and of members that are in, where it names them
    controller_epoch: ControllerEpoch  # of the controller that wrote it


@message
class Heartbeat:
    """MetadataHeartbeatRequest. Its broker_id is that of the process that sends it."""

    incarnation: Incarnation
    target: BrokerState
    controller_epoch: ControllerEpoch  # v1


@message
class HeartbeatReply:
    """MetadataHeartbeatResponse. What the switches turn off is there, and nobody looks at it."""

    error: Error
    state: BrokerState
    incarnation: Incarnation  # v1
    controller_epoch: ControllerEpoch  # v1
    by: Controller


@message
class IsrChange:
    """IsrChangeRequest, of one partition."""

    sender: Process
    incarnation: Incarnation
    leader_epoch: LeaderEpoch
    isr: Set[Broker]
    version: Version  # v1
    added: Option[Incarnation]  # v1: the incarnation of who is new in the ISR


@message
class IsrReply:
    """IsrChangeResponse, of one partition. v1 says what the partition state is now."""

    error: Error
    incarnation: Incarnation  # of the request
    leader_epoch: LeaderEpoch
    isr: Set[Broker]
    version: Version


@message
class Fetch:
    """ReplicaFetchRequest, of one partition."""

    sender: Broker
    incarnation: Incarnation
    leader_epoch: LeaderEpoch
    has_record: bool  # the sender's log has it: the fetch is from behind it


@record
class BrokerProcess:
    """A broker process. All but `has_record` is soft; of one that is down nothing else is kept."""

    up: bool
    software: Software
    owned: Option[Incarnation]  # the czxid of the znode that its session created, as its client believes
    incarnation: Option[Incarnation]  # that it sends
    fenced: bool
    leased_by: Controller  # who processed the heartbeat that its lease is from
    target: BrokerState  # ACTIVE or STOPPING
    heartbeat: Option[Heartbeat]  # under way to the controller
    reply: Option[HeartbeatReply]  # under way to it
    controller: Controller  # whom it takes for the active one
    controller_epoch: Option[ControllerEpoch]  # the highest that it has seen
    leader_epoch: Option[LeaderEpoch]  # the newest that it was sent
    leads: bool  # it believes so
    isr: Set[Broker]  # that it knows as committed, while it leads
    version: Option[Version]  # of the partition state that it knows, while it leads
    proposed: Set[Broker]  # the ISR that it has asked for, and has no answer about; none: it waits for nothing
    change: Option[IsrChange]  # under way to the controller
    isr_reply: Option[IsrReply]  # under way to it
    followers: Map[Broker, Option[Incarnation]]  # the incarnations of which it has taken fetches
    caught_up: Set[Broker]  # the followers that it has seen to have all that it has
    in_hand: bool  # a produce request that it has accepted, and not answered
    has_record: bool  # on its disk


@record
class ControllerProcess:
    """A controller. All of it is soft."""

    epoch: Option[ControllerEpoch]  # of its term; None: it knows that it is not in office
    software: Software
    known: Map[Broker, Option[Incarnation]]  # the incarnation that it goes by
    states: Map[Broker, BrokerState]
    legacy: Set[Broker]  # whose registration is a legacy one
    owed: Set[Broker]  # who has not acknowledged all control requests
    metadata: Set[Broker]  # the brokers in UpdateMetadata and MetadataResponse
    partition: PartitionState  # its copy
    view: Map[Broker, Option[Incarnation]]  # /brokers/ids as its follower of ZooKeeper has it (with views)
    missing: Set[Broker]  # whose znode it has read to be gone


@message
class Leadership:
    """The newest leader epoch that a process has taken up, and its incarnation then."""

    leader_epoch: LeaderEpoch
    incarnation: Incarnation


@record
class Faults:
    """The spent part of each budget."""

    silences: Annotated[int, Nat(lambda: Design.max_silences)]
    crashes: Annotated[int, Nat(lambda: Design.max_crashes)]
    disk_losses: Annotated[int, Nat(lambda: Design.max_disk_losses)]
    expiries: Annotated[int, Nat(lambda: Design.max_expiries)]
    failovers: Annotated[int, Nat(lambda: Design.max_failovers)]
    late_copies: Annotated[int, Nat(lambda: Design.max_late_copies)]
    shutdowns: Annotated[int, Nat(lambda: Design.max_shutdowns)]
    lost_replies: Annotated[int, Nat(lambda: Design.max_lost_replies)]


LateFetches = Annotated[Bag[Fetch], AtMost(lambda: Design.late_fetches)]
LateCopies = Annotated[Bag[IsrChange], AtMost(lambda: Design.max_late_copies)]
GoneBy = Annotated[Map[Broker, Option[Incarnation]], History]
TakenUp = Annotated[Option[Leadership], History]


@state
class Cluster:
    """ZooKeeper, the controllers and the brokers."""

    ids: Map[Broker, Option[Registration]]
    office: Option[Controller]  # /controller, ephemeral
    controller_epoch: ControllerEpoch  # /controller_epoch
    partition: PartitionState
    controllers: Map[Controller, ControllerProcess]
    processes: Map[Process, BrokerProcess]
    cut: Set[Process]  # who does not reach the controller, nor is reached by it
    late: LateCopies
    late_fetches: LateFetches
    record: RecordStatus
    gone_by: GoneBy  # the highest incarnation that any controller ever went by
    taken_up: TakenUp
    faults: Faults


def is_legacy(process: BrokerProcess) -> bool:
    """It sends no heartbeats, never fences itself, and writes the ISR to ZooKeeper."""
    return process.software != Software.HEARTBEATS


def is_registered(s: Cluster, process: Process) -> bool:
    """Its session lives, and owns the znode of its id."""
    registration = s.ids[broker_id(process)]
    return registration is not None and s.processes[process].owned == registration.czxid


def serves(process: BrokerProcess) -> bool:
    """It accepts requests as the leader."""
    return process.up and process.leads and not process.fenced


def is_counted(state: BrokerState) -> bool:
    """A broker in this state is in the metadata."""
    return state >= BrokerState.ACTIVE


def believes_in_office(controller: ControllerProcess) -> bool:
    return controller.epoch is not None
