"""A broker process: its memory, its replicas, and what is on its disk.

A reply under way is kept with the process that waits for it. The data of a partition is one record, produced at most
once.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, Map, Nat, Option, Seq, Set, message, record
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsrReply, Lack, LifecycleReply
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    BrokerState,
    Incarnation,
    LeaderEpoch,
    MetadataOffset,
    PartitionEpoch,
    TopicId,
    TopicPartition,
    Voter,
    snapshot_end_counts,
)


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


Listings = Annotated[Seq[Listing], AtMost(lambda: Design.metadata_responses)]
Lag = Annotated[int, Nat(lambda: 2 * Design.previous_images)]  # 2 stands for more, too

# How far an image reaches, where that counts: 2 has all that is committed, 1 all that is in the newest snapshot.
Reach = Annotated[int, Nat(lambda: 2 if snapshot_end_counts() else 0)]
Lacks = Map[Voter, Lack]


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
    reach: Reach
    lacks: Lacks  # of the controllers that have its registration from a snapshot
    listing: Listings  # one, once it has metadata, where clients ask for it
    replicas: Map[TopicPartition, Replica]


Disk = Map[TopicPartition, Replica]


def is_alive(process: BrokerProcess) -> bool:
    return process.state != BrokerState.NOT_RUNNING


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


def up_to_date() -> Reach:
    """An image that has all that is committed."""
    return 2 if snapshot_end_counts() else 0


def nothing_lacking() -> Lacks:
    """An image that has all that is in any snapshot."""
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
        reach=0,
        lacks=nothing_lacking(),
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
        reach=up_to_date(),
        lacks=nothing_lacking(),
        listing=(),
        replicas=disk,
    )
