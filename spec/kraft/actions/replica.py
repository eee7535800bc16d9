"""Leaders and followers: fetch, write, high watermark, and the leader's requests to alter the ISR.

A fetch is one step: request, the leader's bookkeeping, and what the follower appends or truncates. What a
leader knows of a follower is therefore one fetch old. Only a leader that has a place in the image of its
leader epoch serves; two processes fetch from each other only while they are at the same leader epoch, as
KIP-320 has it.
Leaves out: all records but one; reading; log directories; throttling of replicas.
"""

from __future__ import annotations

from checker.lang import Option, action, replace, require, require_some
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, AlterIsrReply
from spec.kraft.processes import CaughtUp, IsrChange, Leadership, Replica, is_deferred, maximal_isr, proposed_isr
from spec.kraft.state import Cluster, alter_exchanges, committed
from spec.kraft.types import Broker, BrokerEpoch, Error, LeaderEpoch, Process, RecordStatus, TopicPartition, node_id


@action(
    who="broker {leader}",
    source="KIP-679; Kafka, acks=all and min.insync.replicas",
    kafka="Partition.appendRecordsToLeader",
    deviates="one record in the whole behaviour",
)
def write(s: Cluster, leader: Process, p: TopicPartition) -> None:
    """A leader appends the record that a producer sends with acks=all."""
    replica = s.processes[leader].replicas[p]
    leadership = require_some(replica.leadership)
    require(s.produced[p] == RecordStatus.UNWRITTEN and committed(s).topic == replica.topic)
    require(len(leadership.isr) >= Design.min_insync_replicas)
    replica.has_record = True
    s.produced[p] = RecordStatus.WRITTEN


def is_known_stale(s: Cluster, leader: Leadership, follower: Process) -> bool:
    """True when the leader's image has a newer registration of the follower's id than the one that fetches."""
    registration = committed(s).registrations[node_id(follower)]
    epoch = s.processes[follower].broker_epoch
    if registration is None or epoch is None or leader.applied is None:
        return False
    return epoch < registration.broker_epoch and registration.broker_epoch <= leader.applied


def has_seen_epoch(leader: Leadership, epoch: BrokerEpoch) -> bool:
    """True when the leader's image has the registration at which a follower fetches."""
    return leader.applied is not None and epoch <= leader.applied


def may_join_isr(leader: Replica, leadership: Leadership, follower: Broker, has_record: bool) -> bool:
    """True when the leader asks to add a follower whose fetch shows whether it has the record.

    It must be caught up to the high watermark and to the start of the leader's epoch, and active in
    the leader's image; and no other change may be under way.
    """
    if leadership.pending_change is not None or follower in leadership.isr or follower not in leadership.candidates:
        return False
    return has_record or not (leader.high_watermark or leadership.starts_with_record)


@action(
    who="broker {follower}",
    source="KIP-320; KIP-903",
    kafka="ReplicaManager.fetchMessages, Partition.updateFollowerFetchState, Partition.maybeExpandIsr",
    deviates="request and reply in one step",
    api="Fetch v15",
)
def fetch(s: Cluster, follower: Process, leader: Process, p: TopicPartition, answered: bool) -> None:
    """A follower fetches from its leader and, unless the reply is lost, takes over its log and high watermark.

    The leader notes how far the follower was, and asks to add it to the ISR where it may join.
    """
    require(follower != leader and node_id(follower) != node_id(leader))
    fetching = s.processes[follower].replicas[p]
    serving = s.processes[leader].replicas[p]
    leader_epoch = require_some(fetching.leader_epoch)
    broker_epoch = require_some(s.processes[follower].broker_epoch)
    require(fetching.leadership is None)
    leadership = require_some(serving.leadership)
    require(serving.topic == fetching.topic and serving.leader_epoch == leader_epoch)
    require(not is_known_stale(s, leadership, follower))
    member = node_id(follower)
    if has_seen_epoch(leadership, broker_epoch) and may_join_isr(serving, leadership, member, fetching.has_record):
        leadership.pending_change = IsrChange(member, broker_epoch)
    if fetching.has_record and serving.has_record:
        leadership.replicas_with_record |= {member}
    else:
        leadership.replicas_with_record -= {member}
    if fetching.has_record == serving.has_record:
        leadership.caught_up = tuple(CaughtUp(one.followers | {member}) for one in leadership.caught_up)
    if answered:
        fetching.has_record = serving.has_record
        fetching.high_watermark = serving.high_watermark


@action(
    who="broker {leader}",
    source="Kafka, replica.lag.time.max.ms",
    kafka="ReplicaState.isCaughtUp",
)
def fall_behind(s: Cluster, leader: Process, p: TopicPartition, follower: Broker) -> None:
    """For replica.lag.time.max.ms a follower has not been at the end of its leader's log."""
    replica = s.processes[leader].replicas[p]
    leadership = require_some(replica.leadership)
    require(any(follower in one.followers for one in leadership.caught_up))
    require(replica.has_record and follower not in leadership.replicas_with_record)
    require(s.faults.lags < Design.max_lags)
    leadership.caught_up = tuple(CaughtUp(one.followers - {follower}) for one in leadership.caught_up)
    s.faults.lags += 1


@action(
    who="broker {leader}",
    source="Kafka, replica.lag.time.max.ms",
    kafka="Partition.maybeShrinkIsr",
    deviates="members leave one at a time; where the lag is not known, any that lacks the record may be too slow",
)
def shrink_isr(s: Cluster, leader: Process, p: TopicPartition, member: Broker) -> None:
    """A leader asks to remove a follower from the ISR that it has not seen to have the record for too long."""
    replica = s.processes[leader].replicas[p]
    leadership = require_some(replica.leadership)
    require(member != node_id(leader) and member in leadership.isr)
    require(leadership.pending_change is None)
    require(replica.has_record and member not in leadership.replicas_with_record)
    require(not any(member in one.followers for one in leadership.caught_up))
    leadership.pending_change = IsrChange(member, None)


@action(
    who="broker {leader}",
    source="KIP-497; KIP-903",
    kafka="AlterPartitionManager.maybePropagateIsrChanges",
    api="AlterPartition v3",
)
def send_alter_isr(s: Cluster, leader: Process, p: TopicPartition) -> None:
    """A leader sends the change that it asks for, again if need be; one request is under way at a time."""
    replica = s.processes[leader].replicas[p]
    leadership = require_some(replica.leadership)
    leader_epoch = require_some(replica.leader_epoch)
    require(alter_exchanges(s) < Design.alter_in_flight)
    require(leadership.reply is None)
    require(not any(is_same_request(m, leader, p, leader_epoch) for m in s.alterations))
    s.alterations = s.alterations.add(require_some(next_alter_isr(s, leader, p)))


def next_alter_isr(s: Cluster, leader: Process, p: TopicPartition) -> Option[AlterIsr]:
    """The request for the change that a leader asks for; None where it asks for none, or waits for the metadata."""
    broker = s.processes[leader]
    replica = broker.replicas[p]
    leadership = replica.leadership
    if broker.broker_epoch is None or replica.leader_epoch is None or leadership is None:
        return None
    if leadership.pending_change is None or leadership.awaits_metadata:
        return None
    return AlterIsr(
        sender=leader,
        broker_epoch=broker.broker_epoch,
        topic=replica.topic,
        partition=p,
        leader_epoch=replica.leader_epoch,
        partition_epoch=leadership.partition_epoch,
        isr=proposed_isr(leadership),
        added_epoch=leadership.pending_change.epoch,
        late=False,
        to=broker.controller,
    )


def is_same_request(request: AlterIsr, leader: Process, p: TopicPartition, leader_epoch: LeaderEpoch) -> bool:
    """True when a leader waits for the reply to this request about the partition."""
    return (
        request.sender == leader
        and request.partition == p
        and request.leader_epoch == leader_epoch
        and not request.late
    )


@action(
    who="broker {leader}",
    source="KIP-497; KIP-841",
    kafka="Partition.handleAlterPartitionUpdate, Partition.handleAlterPartitionError",
    api="AlterPartition v3",
)
def receive_alter_isr_reply(s: Cluster, leader: Process, p: TopicPartition) -> None:
    """A leader takes over the ISR that the controller committed, or forgets the change that it refused."""
    replica = s.processes[leader].replicas[p]
    leadership = require_some(replica.leadership)
    reply = require_some(leadership.reply)
    require(not is_deferred(replica.deferral))
    replica.leadership = after_reply(leadership, reply)


def after_reply(leadership: Leadership, reply: AlterIsrReply) -> Leadership:
    """The memory of a leader after a reply.

    It forgets its change only after INELIGIBLE_REPLICA. After any other error, and where the change completed a
    reassignment and so began a new leader epoch, it keeps its maximal ISR until the metadata shows a newer partition,
    and asks again; Kafka's leader asks again after two errors only.
    """
    if reply.error == Error.NONE and not reply.at_new_leader_epoch:
        return replace(
            leadership,
            isr=reply.isr,
            partition_epoch=reply.partition_epoch,
            pending_change=None,
            reply=None,
            is_ahead=not Design.known_record_settles_nothing,
        )
    if reply.error == Error.INELIGIBLE_REPLICA:
        return replace(leadership, pending_change=None, reply=None)
    asks_again = reply.error == Error.STALE_BROKER_EPOCH or reply.error == Error.NOT_CONTROLLER
    return replace(leadership, reply=None, awaits_metadata=not (Design.repeats_after_errors or asks_again))


@action(
    who="broker {leader}",
    source="KIP-101; Kafka, acks=all and min.insync.replicas",
    kafka="Partition.maybeIncrementLeaderHW, Partition.checkEnoughReplicasReachOffset",
    deviates="the producer's acknowledgement is part of the step",
)
def advance_high_watermark(s: Cluster, leader: Process, p: TopicPartition) -> None:
    """A leader that saw the whole maximal ISR to have the record commits and acknowledges it.

    It waits, too, for followers outside the ISR that are caught up and may join it (shouldWaitForReplicaToJoinIsr).
    """
    replica = s.processes[leader].replicas[p]
    leadership = require_some(replica.leadership)
    require(replica.has_record and not replica.high_watermark)
    have_it = leadership.replicas_with_record | {node_id(leader)}
    require(maximal_isr(leadership) <= have_it)
    require(all(one.followers & leadership.candidates <= have_it for one in leadership.caught_up))
    replica.high_watermark = True
    is_current = committed(s).topic == replica.topic
    if is_current and s.produced[p] == RecordStatus.WRITTEN and len(leadership.isr) >= Design.min_insync_replicas:
        s.produced[p] = RecordStatus.ACKNOWLEDGED
