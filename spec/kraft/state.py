"""The state of the cluster: the controllers, the broker processes, the messages under way.

With one controller, what it decides is committed at once: its image is speculative and committed state in one,
and its log is empty. With more, the two are apart, and `committed` is what the cluster has decided for good. What
is soft state (lost on a failover) is named so. What a model does not use has no width.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, Bag, History, Map, Nat, Option, Seq, Set, message, record, state
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, LifecycleRequest
from spec.kraft.metadata import Loaded, Log, Metadata, Moving, PreviousImages, Snapshots, StableLog
from spec.kraft.processes import BrokerProcess, is_alive, is_answered
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    ControllerEpoch,
    LeaderEpoch,
    MetadataOffset,
    PartitionEpoch,
    Process,
    RecordStatus,
    Role,
    TopicId,
    TopicPartition,
    Voter,
    node_id,
)


@record
class Shutdown:
    """The active controller's memory of a controlled shutdown."""

    offset: MetadataOffset  # the broker's leaderships have moved here
    lagging: Set[Broker]  # brokers whose last heartbeat did not reach it


@record
class Controller:
    """A controller's memory and its log.

    An active controller's image is speculative: the replay of its whole log. Any other's is what is committed, as far
    as it knows; where a standby lacks some of that, nothing is kept of what it has.
    """

    image: Metadata
    expired_leases: Set[Broker]  # soft state: brokers whose lease ran out; see `fence_expired`
    checks_leases: bool  # soft state: it will look for leases that ran out
    shutdowns: Map[Broker, Option[Shutdown]]  # soft state
    role: Role
    epoch: ControllerEpoch  # the newest that it voted in or heard of
    lags_since: Option[ControllerEpoch]  # where it lacks something committed: the epoch of the last batch that it has
    log: Log  # what it has beyond the high watermark, oldest first
    goes_back_to: Loaded  # when it renounces: the snapshot that it has loaded, where one record is behind it at most


@message
class ReassignmentListing:
    """ListPartitionReassignmentsResponse of a partition, and, for a property to look at, how new its answer is."""

    partition: TopicPartition
    under_way: bool
    partition_epoch: PartitionEpoch


@message
class MetadataReply:
    """MetadataResponse, as far as it lists brokers."""

    answerer: Process
    brokers: Set[Broker]


Answers = Annotated[Seq[MetadataReply], AtMost(lambda: Design.metadata_responses)]
LastListing = Annotated[Seq[ReassignmentListing], AtMost(lambda: Design.listings)]
Crashes = Annotated[int, Nat(lambda: Design.max_crashes)]
DiskLosses = Annotated[int, Nat(lambda: Design.max_disk_losses)]
EarlyExpiries = Annotated[int, Nat(lambda: Design.max_early_expiries)]
Lags = Annotated[int, Nat(lambda: Design.max_lags)]
Duplicates = Annotated[int, Nat(lambda: Design.max_duplicates)]
SecondStarts = Annotated[int, Nat(lambda: Design.max_second_starts)]
Shutdowns = Annotated[int, Nat(lambda: Design.max_shutdowns)]
Failovers = Annotated[int, Nat(lambda: Design.max_failovers)]
Reassignments = Annotated[int, Nat(lambda: Design.max_reassignments)]
Topics = Annotated[int, Nat(lambda: Design.max_topics)]
Unregistrations = Annotated[int, Nat(lambda: Design.max_unregistrations)]


@record
class Faults:
    """The spent part of each fault budget."""

    crashes: Crashes
    disk_losses: DiskLosses
    lags: Lags
    early_expiries: EarlyExpiries
    duplicates: Duplicates
    second_starts: SecondStarts
    shutdowns: Shutdowns
    failovers: Failovers
    reassignments: Reassignments
    topics: Topics
    unregistrations: Unregistrations


@message
class Service:
    """The leader of a leader epoch: the process that was registered at `broker_epoch`."""

    leader_epoch: LeaderEpoch
    broker_epoch: BrokerEpoch


@message
class FirstEpochs:
    """The first epochs of the partitions of a new topic, whatever those of an older one have reached."""

    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch


Start = Annotated[Seq[FirstEpochs], AtMost(lambda: min(Design.max_topics, 1))]
LastTarget = Annotated[Map[TopicPartition, Moving], History]
LastService = Annotated[Map[TopicPartition, Option[Service]], History]
LifecycleNetwork = Annotated[Bag[LifecycleRequest], AtMost(lambda: Design.lifecycle_in_flight + Design.max_duplicates)]
AlterNetwork = Annotated[Bag[AlterIsr], AtMost(lambda: Design.alter_in_flight + Design.max_duplicates)]


@record
class RequestedRemoval:
    """A topic or a registration that an operator asked a controller to remove, who answers once that is committed."""

    topic: Option[TopicId]
    registration: Option[BrokerEpoch]
    voter: Voter
    epoch: ControllerEpoch  # in which that controller decided it; from the next one on it knows of no reply to give
    is_confirmed: bool  # the operator has the reply


LastRemoval = Annotated[Seq[RequestedRemoval], AtMost(lambda: Design.removals)]


@state
class Cluster:
    """The whole cluster."""

    controllers: Map[Voter, Controller]
    stable: StableLog
    previous: PreviousImages  # the committed metadata without the last batch
    snapshots: Snapshots
    processes: Map[Process, BrokerProcess]
    lifecycle: LifecycleNetwork  # registrations and heartbeats under way
    alterations: AlterNetwork  # AlterIsr requests under way
    produced: Map[TopicPartition, RecordStatus]  # what the producer knows of its record
    last_service: LastService  # the newest leader epoch that any process led in, and who was the first to
    start: Start  # one, where topics are created; never changed
    last_target: LastTarget  # the replicas that were last asked for and not cancelled; empty before that
    answer: Answers  # the last metadata response
    last_removal: LastRemoval  # that was asked for over the quorum
    last_listing: LastListing  # of a reassignment, that an operator has
    faults: Faults


def committed(s: Cluster) -> Metadata:
    """The committed metadata: the replay of the log up to the high watermark."""
    return s.stable[0].image if Design.controllers > 1 else s.controllers[Voter(0)].image


def another_is_alive(s: Cluster, process: Process) -> bool:
    """Another process of the same broker id is alive."""
    return any(
        other != process and node_id(other) == node_id(process) and is_alive(s.processes[other]) for other in Process
    )


def is_silent(s: Cluster, voter: Voter, broker: Broker) -> bool:
    """No process that is alive sends the controller heartbeats which it would take as this broker's."""
    registration = s.controllers[voter].image.registrations[broker]
    return registration is not None and not any(
        node_id(process) == broker
        and s.processes[process].broker_epoch == registration.broker_epoch
        and s.processes[process].controller == voter
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
