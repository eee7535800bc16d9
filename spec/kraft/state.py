"""The state of the cluster: the controllers, the broker processes, the messages under way.

One controller is active throughout and what it decides is committed at once: its image is speculative and
committed state in one. What is soft state (lost on a failover) is named so.
Leaves out: the metadata log, standby controllers and failover; controlled shutdown; reassignment. The data
of a partition is one record, produced at most once.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, Bag, History, Map, Nat, Option, Seq, Set, message, record, state
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, AlterIsrReply, LifecycleReply, LifecycleRequest
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    BrokerState,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
    Process,
    RecordStatus,
    TopicPartition,
    Voter,
    node_id,
)

Replicas = Annotated[Seq[Broker], AtMost(lambda: Design.brokers)]


@record
class Registration:
    """What the metadata log says of a broker id."""

    incarnation: Incarnation
    broker_epoch: BrokerEpoch
    fenced: bool


@record
class Partition:
    """A partition as the metadata log has it. `replicas` are in preferred order."""

    replicas: Replicas
    isr: Set[Broker]
    leader: Option[Broker]
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch


@record
class Metadata:
    """What a replay of the metadata log gives."""

    registrations: Map[Broker, Option[Registration]]
    partitions: Map[TopicPartition, Option[Partition]]


@record
class Controller:
    """A controller's memory."""

    image: Metadata
    lapsed: Set[Broker]  # soft state: unfenced brokers whose lease ran out, and who are yet to be fenced


@message
class IsrChange:
    """One member that a leader asks to add (`epoch`: at which it saw it) or, without an epoch, to remove."""

    member: Broker
    epoch: Option[BrokerEpoch]


@record
class Leadership:
    """What a leader keeps in memory for as long as its leader epoch lasts."""

    partition_epoch: PartitionEpoch
    isr: Set[Broker]  # the committed ISR as far as the leader knows
    asked: Option[IsrChange]  # the one change that it has asked for, committed or not
    reply: Option[AlterIsrReply]  # under way to the leader
    holders: Set[Broker]  # followers that were seen, at their last fetch, to have the record
    starts_with_record: bool  # the record lies below the start of this leader's epoch
    applied: Option[BrokerEpoch]  # the last registration record in the leader's image, where ids have two processes
    candidates: Set[Broker]  # the brokers outside the ISR that are unfenced in the leader's image


@record
class Replica:
    """A process's replica of a partition, with what is on its disk."""

    leader_epoch: Option[LeaderEpoch]  # at which it leads or follows; None: it does neither
    leadership: Option[Leadership]
    high_watermark: bool  # the record is below the high watermark that it knows
    has_record: bool  # on disk: what a crash leaves, unless the disk is lost


@record
class BrokerProcess:
    """A broker process, and the disk of its machine."""

    state: BrokerState
    incarnation: Option[Incarnation]  # until it is registered: from then on its broker epoch stands for it
    broker_epoch: Option[BrokerEpoch]
    reply: Option[LifecycleReply]  # under way to the process
    wants_fence: bool  # from its start until its log is recovered
    caught_up: bool  # its metadata image reaches its own registration record
    replicas: Map[TopicPartition, Replica]


Crashes = Annotated[int, Nat(lambda: Design.max_crashes)]
DiskLosses = Annotated[int, Nat(lambda: Design.max_disk_losses)]
EarlyExpiries = Annotated[int, Nat(lambda: Design.max_early_expiries)]
Duplicates = Annotated[int, Nat(lambda: Design.max_duplicates)]
SecondStarts = Annotated[int, Nat(lambda: Design.max_second_starts)]


@record
class Faults:
    """How much of each budget is spent."""

    crashes: Crashes
    disk_losses: DiskLosses
    early_expiries: EarlyExpiries
    duplicates: Duplicates
    second_starts: SecondStarts


@message
class Service:
    """Who led in a leader epoch: the process that was registered at `broker_epoch`."""

    leader_epoch: LeaderEpoch
    broker_epoch: BrokerEpoch


LastService = Annotated[Map[TopicPartition, Option[Service]], History]
LifecycleNetwork = Annotated[Bag[LifecycleRequest], AtMost(lambda: Design.lifecycle_in_flight + Design.max_duplicates)]
AlterNetwork = Annotated[Bag[AlterIsr], AtMost(lambda: Design.alter_in_flight + Design.max_duplicates)]


@state
class Cluster:
    """The whole cluster."""

    controllers: Map[Voter, Controller]
    processes: Map[Process, BrokerProcess]
    lifecycle: LifecycleNetwork  # registrations and heartbeats under way
    alterations: AlterNetwork  # AlterIsr requests under way
    produced: Map[TopicPartition, RecordStatus]  # what the producer knows of its record
    last_service: LastService  # the newest leader epoch that any process led in, and who was the first to
    faults: Faults


def committed(s: Cluster) -> Metadata:
    """What the cluster has decided for good: the replay of the log up to the high watermark."""
    return s.controllers[Voter(0)].image


def active_brokers(image: Metadata) -> Set[Broker]:
    """The brokers that are registered and unfenced."""
    return frozenset(broker for broker in Broker if is_active(image, broker))


def is_active(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and not registration.fenced


def newest_registration(image: Metadata) -> Option[BrokerEpoch]:
    """The offset of the last registration record."""
    return max((r.broker_epoch for r in image.registrations.values() if r is not None), default=None)


def is_alive(process: BrokerProcess) -> bool:
    return process.state != BrokerState.NOT_RUNNING


def another_is_alive(s: Cluster, process: Process) -> bool:
    """Another process of the same broker id is alive."""
    return any(
        other != process and node_id(other) == node_id(process) and is_alive(s.processes[other]) for other in Process
    )


def is_silent(s: Cluster, broker: Broker) -> bool:
    """No process that is alive sends heartbeats which the controller would take as this broker's."""
    registration = committed(s).registrations[broker]
    return registration is not None and not any(
        node_id(process) == broker and s.processes[process].broker_epoch == registration.broker_epoch
        for process in Process
    )


def lifecycle_exchanges(s: Cluster) -> int:
    """Registrations and heartbeats under way, and the replies to them. Late copies do not count."""
    requests = sum(1 for m in s.lifecycle if not m.late)
    return requests + sum(1 for process in Process if s.processes[process].reply is not None)


def alter_exchanges(s: Cluster) -> int:
    """AlterIsr requests under way, and the replies to them. Late copies do not count."""
    requests = sum(1 for m in s.alterations if not m.late)
    return requests + sum(
        1 for process in Process for p in TopicPartition if is_answered(s.processes[process].replicas[p])
    )


def is_answered(replica: Replica) -> bool:
    return replica.leadership is not None and replica.leadership.reply is not None


def proposed_isr(leadership: Leadership) -> Set[Broker]:
    """The ISR that the leader has asked for; the committed one where it has asked for nothing."""
    if leadership.asked is None:
        return leadership.isr
    member = frozenset({leadership.asked.member})
    return leadership.isr - member if leadership.asked.epoch is None else leadership.isr | member


def maximal_isr(leadership: Leadership) -> Set[Broker]:
    """Every replica that may be in the ISR by now: the high watermark waits for all of these."""
    return leadership.isr | proposed_isr(leadership)


def unassigned(has_record: bool) -> Replica:
    """A replica that neither leads nor follows, with what is on its disk."""
    return Replica(leader_epoch=None, leadership=None, high_watermark=False, has_record=has_record)


def disk(process: BrokerProcess) -> Set[TopicPartition]:
    """The partitions of which a process has the record on disk."""
    return frozenset(partition for partition in TopicPartition if process.replicas[partition].has_record)


def stopped(disk: Set[TopicPartition]) -> BrokerProcess:
    """A process that does not run. `disk`: the partitions of which it has the record."""
    return BrokerProcess(
        state=BrokerState.NOT_RUNNING,
        incarnation=None,
        broker_epoch=None,
        reply=None,
        wants_fence=False,
        caught_up=False,
        replicas=Map({partition: unassigned(partition in disk) for partition in TopicPartition}),
    )
