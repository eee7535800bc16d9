"""The state of the cluster: the controllers, the broker processes, the messages under way.

With one controller, what it decides is committed at once: its image is speculative and committed state in one,
and its log is empty. With more, the two are apart, and `committed` is what the cluster has decided for good. What
is soft state (lost on a failover) is named so. What a model does not use has no width.
Leaves out: what of the metadata log is committed, but for its replay. The data of a partition is one record, produced
at most once.
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
    ControllerEpoch,
    Incarnation,
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

Replicas = Annotated[Seq[Broker], AtMost(lambda: Design.brokers)]
Moving = Annotated[Seq[Broker], AtMost(lambda: Design.brokers if Design.max_reassignments > 0 else 0)]


@record
class Registration:
    """The entry of a broker id in the metadata log."""

    incarnation: Incarnation
    broker_epoch: BrokerEpoch
    fenced: bool
    in_controlled_shutdown: bool


@record
class Partition:
    """A partition as the metadata log has it. `replicas` are in preferred order."""

    replicas: Replicas
    isr: Set[Broker]
    leader: Option[Broker]
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    adding: Moving  # replicas that a reassignment adds; some may be removing, too: added by one that was replaced
    removing: Moving  # replicas that go once it is complete


Registrations = Map[Broker, Option[Registration]]
Partitions = Map[TopicPartition, Option[Partition]]


@record
class Metadata:
    """The image that a replay of the metadata log gives."""

    registrations: Registrations
    topic: Option[TopicId]  # the one topic of its name
    partitions: Partitions
    offset: Option[MetadataOffset]  # how far the log reaches; it moves where somebody compares it


@record
class Shutdown:
    """The active controller's memory of a controlled shutdown."""

    offset: MetadataOffset  # the broker's leaderships have moved here
    lagging: Set[Broker]  # brokers whose last heartbeat did not reach it


# How far the log reaches, if that moves where somebody compares it. No room where nobody is shut down over the quorum.
NewOffset = Annotated[
    Seq[MetadataOffset], AtMost(lambda: 1 if Design.controllers > 1 and Design.max_shutdowns > 0 else 0)
]


@record
class Removed:
    """The removals of a batch: the topic with all its partitions, registrations."""

    topic: bool
    registrations: Set[Broker]


Removals = Annotated[Seq[Removed], AtMost(lambda: Design.removals)]


@record
class Delta:
    """The effect of a batch: its removals, then the new value of each part; None: the batch does not change it."""

    removals: Removals  # none, where the batch removes nothing
    registrations: Registrations
    topic: Option[TopicId]
    partitions: Partitions
    offset: NewOffset


@record
class Batch:
    """A batch of the metadata log, written by the controller of an epoch: it survives or is lost as a whole."""

    epoch: ControllerEpoch
    delta: Delta


Log = Annotated[Seq[Batch], AtMost(lambda: Design.pending_batches)]


@record
class Controller:
    """A controller's memory and its log.

    An active controller's image is speculative: the replay of its whole log. A standby's is what is committed,
    and where it lacks some of that, nothing is kept of what it has.
    """

    image: Metadata
    expired_leases: Set[Broker]  # soft state: unfenced brokers whose lease ran out, and who are yet to be fenced
    checks_leases: bool  # soft state: it will look for leases that ran out
    shutdowns: Map[Broker, Option[Shutdown]]  # soft state
    role: Role
    epoch: ControllerEpoch  # the newest that it voted in or heard of
    lags_since: Option[ControllerEpoch]  # where it lacks something committed: the epoch of the last batch that it has
    log: Log  # what it has beyond the high watermark, oldest first


@message
class IsrChange:
    """One member that a leader asks to add (`epoch`: at which it saw it) or, without an epoch, to remove."""

    member: Broker
    epoch: Option[BrokerEpoch]


@message
class CaughtUp:
    """The followers that were at the end of the leader's log within replica.lag.time.max.ms."""

    followers: Set[Broker]


LagKnown = Annotated[Seq[CaughtUp], AtMost(lambda: Design.lag_is_known)]


@record
class Leadership:
    """The memory of a leader, for as long as its leader epoch lasts."""

    partition_epoch: PartitionEpoch
    isr: Set[Broker]  # the committed ISR as far as the leader knows
    pending_change: Option[IsrChange]  # the one change that it has asked for, committed or not
    reply: Option[AlterIsrReply]  # under way to the leader
    awaits_metadata: bool  # an answer left its change open, and it does not ask again
    is_ahead: bool  # it knows a change from a reply, and its image is yet to have it; kept where that matters
    replicas_with_record: Set[Broker]  # followers that were seen, at their last fetch, to have the record
    caught_up: LagKnown  # one, where it is known how long followers lag behind
    starts_with_record: bool  # the record lies below the start of this leader's epoch
    applied: Option[BrokerEpoch]  # the last registration record in the leader's image
    candidates: Set[Broker]  # the replicas that are unfenced in the leader's image


# How many batches of which controller must commit before a reply leaves it. A reply that waits for none is under way.
Waits = Annotated[int, Nat(lambda: Design.pending_batches)]
Deferral = Map[Voter, Waits]


@record
class Replica:
    """A process's replica of a partition, with what is on its disk."""

    topic: TopicId  # of which its log is, or was last, where there is none
    leader_epoch: Option[LeaderEpoch]  # at which it leads or follows; None: it does neither
    leadership: Option[Leadership]
    deferral: Deferral  # of the reply to the leader
    image_leader: Option[Broker]  # who leads in its image, kept where brokers are shut down
    high_watermark: bool  # the record is below the high watermark that it knows
    has_record: bool  # on disk: what a crash leaves, unless the disk is lost


@message
class Listing:
    """The registrations in a broker's image, and, for a property to look at, those that are unfenced at its offset."""

    registered: Set[Broker]
    fenced: Set[Broker]
    unfenced: Set[Broker]


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


Listings = Annotated[Seq[Listing], AtMost(lambda: Design.metadata_responses)]
Answers = Annotated[Seq[MetadataReply], AtMost(lambda: Design.metadata_responses)]
LastListing = Annotated[Seq[ReassignmentListing], AtMost(lambda: Design.listings)]


PreviousImages = Annotated[Seq[Metadata], AtMost(lambda: Design.previous_images)]
Lag = Annotated[int, Nat(lambda: 2 * Design.previous_images)]  # 2 stands for more, too


@record
class BrokerProcess:
    """A broker process, and the disk of its machine."""

    state: BrokerState
    incarnation: Option[Incarnation]  # until it is registered: from then on its broker epoch stands for it
    broker_epoch: Option[BrokerEpoch]
    controller: Voter  # that it takes for the active one
    reply: Option[LifecycleReply]  # under way to the process
    deferral: Deferral  # of the reply
    wants_fence: bool  # from its start until its log is recovered
    caught_up: bool  # its metadata image reaches its own registration record
    applied: Option[MetadataOffset]  # the offset that its metadata image reaches
    lag: Lag  # batches that are committed and that its metadata image lacks, where previous images are modelled
    listing: Listings  # one, once it has metadata, where clients ask for it
    replicas: Map[TopicPartition, Replica]


Disk = Map[TopicPartition, Replica]
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


@record
class Stable:
    """The metadata log up to the high watermark: its replay, and the epoch of its last batch."""

    image: Metadata
    epoch: ControllerEpoch


# With one controller there is none beside its image.
StableLog = Annotated[Seq[Stable], AtMost(lambda: min(1, Design.controllers - 1))]


@record
class Snapshot:
    """The newest snapshot of the metadata log, and what the records leave that were committed after it."""

    image: Metadata
    since: Delta


Snapshots = Annotated[Seq[Snapshot], AtMost(lambda: Design.snapshots)]


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


def active_brokers(image: Metadata) -> Set[Broker]:
    """The brokers that are registered, unfenced and not shutting down: these may lead, and may join an ISR."""
    return frozenset(broker for broker in Broker if is_active(image, broker))


def is_active(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and not registration.fenced and not registration.in_controlled_shutdown


def is_unfenced(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and not registration.fenced


def is_fenced(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and registration.fenced


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


def is_answered(replica: Replica) -> bool:
    return replica.leadership is not None and replica.leadership.reply is not None


def proposed_isr(leadership: Leadership) -> Set[Broker]:
    """The ISR that the leader has asked for; the committed one where it has asked for nothing."""
    if leadership.pending_change is None:
        return leadership.isr
    member = frozenset({leadership.pending_change.member})
    return leadership.isr - member if leadership.pending_change.epoch is None else leadership.isr | member


def maximal_isr(leadership: Leadership) -> Set[Broker]:
    """Every replica that may be in the ISR by now: the high watermark waits for all of these."""
    return leadership.isr | proposed_isr(leadership)


def caught_up_among(isr: Set[Broker]) -> LagKnown:
    """The knowledge of a leader that begins: members of the ISR count as caught up just now, and nobody else does."""
    return (CaughtUp(isr),) if Design.lag_is_known > 0 else ()


def unassigned(topic: TopicId, has_record: bool) -> Replica:
    """A replica that neither leads nor follows, with what is on its disk."""
    return Replica(
        topic,
        leader_epoch=None,
        leadership=None,
        deferral=at_once(),
        image_leader=None,
        high_watermark=False,
        has_record=has_record,
    )


def at_once() -> Deferral:
    """A reply that waits for nothing."""
    return Map({voter: 0 for voter in Voter})


def is_deferred(deferral: Deferral) -> bool:
    """A controller has answered, but the reply waits there for what is not committed yet."""
    return any(deferral[voter] > 0 for voter in Voter)


def disk(process: BrokerProcess) -> Disk:
    """A process's replicas after a crash."""
    return Map({p: unassigned(process.replicas[p].topic, process.replicas[p].has_record) for p in TopicPartition})


def empty_disk(process: BrokerProcess) -> Disk:
    """A process's replicas after a crash that loses the disk."""
    return Map({p: unassigned(process.replicas[p].topic, has_record=False) for p in TopicPartition})


def stopped(disk: Disk) -> BrokerProcess:
    """A process that does not run."""
    return BrokerProcess(
        state=BrokerState.NOT_RUNNING,
        incarnation=None,
        broker_epoch=None,
        controller=Voter(0),
        reply=None,
        deferral=at_once(),
        wants_fence=False,
        caught_up=False,
        applied=None,
        lag=0,
        listing=(),
        replicas=disk,
    )


def running(epoch: BrokerEpoch, disk: Disk) -> BrokerProcess:
    """A process that runs, registered at `epoch`, and neither leads nor follows."""
    return BrokerProcess(
        state=BrokerState.RUNNING,
        incarnation=None,
        broker_epoch=epoch,
        controller=Voter(0),
        reply=None,
        deferral=at_once(),
        wants_fence=False,
        caught_up=True,
        applied=None,
        lag=0,
        listing=(),
        replicas=disk,
    )
