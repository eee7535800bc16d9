"""AlterIsr (L4): a leader's request to change the ISR, and the controller's reply.

A reply is judged as in `registration`: by the states before and after the step that gave it.
Leaves out: that a reply comes at all.
"""

from __future__ import annotations

from checker.lang import Option, invariant, leads_to, transition_invariant, witness
from spec.kraft.messages import AlterIsr, AlterIsrReply
from spec.kraft.metadata import Partition, is_active, newest_registration
from spec.kraft.processes import Leadership, Replica, is_answered, proposed_isr
from spec.kraft.properties.isr import is_at_epoch
from spec.kraft.properties.leadership import leads_now
from spec.kraft.state import Cluster, Controller, committed
from spec.kraft.types import Broker, BrokerEpoch, Error, Process, TopicPartition, node_id


@invariant(source="Kafka, AlterPartitionManager (one request in flight)")
def one_change_at_a_time(s: Cluster) -> bool:
    """A leader waits for the reply to one AlterIsr of a partition at a time."""
    return all(exchanges_of_leader(s, process, p) <= 1 for process in Process for p in TopicPartition)


def exchanges_of_leader(s: Cluster, process: Process, p: TopicPartition) -> int:
    replica = s.processes[process].replicas[p]
    requests = sum(
        1 for m in s.alterations if m.sender == process and m.partition == p and is_from_current_leader(replica, m)
    )
    return requests + (1 if is_answered(replica) else 0)


def is_from_current_leader(replica: Replica, request: AlterIsr) -> bool:
    """The leader that sent the request still leads at its epoch."""
    return not request.late and replica.leadership is not None and replica.leader_epoch == request.leader_epoch


@invariant(source="KIP-903; Kafka, Partition.isReplicaIsrEligible")
def member_is_added_as_registered(s: Cluster) -> bool:
    """A leader asks to add only a follower whose registration its own image has: that is what it has seen as active.

    No image is ahead of what is committed.
    """
    return all(
        adds_known_registration(s.processes[process].replicas[p].leadership, newest_registration(committed(s)))
        for process in Process
        for p in TopicPartition
    )


def adds_known_registration(leadership: Option[Leadership], newest: Option[BrokerEpoch]) -> bool:
    if leadership is None:
        return True
    if leadership.applied is not None and (newest is None or leadership.applied > newest):
        return False
    if leadership.pending_change is None or leadership.pending_change.epoch is None:
        return True
    return leadership.applied is not None and leadership.pending_change.epoch <= leadership.applied


@invariant(source="KAFKA-14154")
def awaited_metadata_is_there(s: Cluster) -> bool:
    """A leader that waits for the metadata, and asks no more, lags behind what is committed."""
    return all(
        not awaits_metadata(s.processes[process].replicas[p]) or lags_behind(s, p, s.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


def awaits_metadata(replica: Replica) -> bool:
    return replica.leadership is not None and replica.leadership.awaits_metadata


def lags_behind(s: Cluster, p: TopicPartition, replica: Replica) -> bool:
    partition = committed(s).partitions[p]
    if partition is None or replica.leadership is None or not is_at_epoch(committed(s), partition, replica):
        return True
    return replica.leadership.partition_epoch < partition.partition_epoch


@transition_invariant(source="KIP-497; KIP-841; KIP-903; Kafka, Errors")
def alter_isr_reply_is_true(before: Cluster, after: Cluster) -> bool:
    """An AlterIsr is answered once, to the leader that sent it, leads on, and still asks for this change.

    The reply has the ISR as it is now, or an error that is the case.
    """
    return all(
        not gets_reply(before.processes[process].replicas[p], after.processes[process].replicas[p])
        or any(
            m.sender == process
            and m.partition == p
            and after.alterations.count(m) < before.alterations.count(m)
            and is_from_current_leader(before.processes[process].replicas[p], m)
            and is_for_pending_change(before.processes[process].replicas[p].leadership, m)
            and answers_alter_isr(
                before.controllers[m.to], after.controllers[m.to], m, after.processes[process].replicas[p].leadership
            )
            for m in before.alterations
        )
        for process in Process
        for p in TopicPartition
    )


def is_for_pending_change(leadership: Option[Leadership], request: AlterIsr) -> bool:
    """The request is for the change that the leader asks for, of the partition as it knows it."""
    if leadership is None or leadership.pending_change is None or leadership.partition_epoch != request.partition_epoch:
        return False
    return proposed_isr(leadership) == request.isr


def gets_reply(old: Replica, new: Replica) -> bool:
    return is_answered(new) and not is_answered(old)


def answers_alter_isr(before: Controller, after: Controller, request: AlterIsr, leadership: Option[Leadership]) -> bool:
    """The meaning of each error that a request can get: no leader sends one that is malformed."""
    if leadership is None or leadership.reply is None:
        return False
    reply, sender = leadership.reply, node_id(request.sender)
    if reply.at_new_leader_epoch and reply.error != Error.NONE:
        return False
    registration = before.image.registrations[sender]
    if reply.error == Error.STALE_BROKER_EPOCH:
        return registration is None or registration.broker_epoch != request.broker_epoch
    old, new = before.image.partitions[request.partition], after.image.partitions[request.partition]
    if reply.error == Error.UNKNOWN_TOPIC_ID:
        return old is None or before.image.topic != request.topic
    if old is None or new is None or registration is None or registration.broker_epoch != request.broker_epoch:
        return False
    return says_as_decided(before, request, reply, old, new)


def says_as_decided(
    before: Controller, request: AlterIsr, reply: AlterIsrReply, old: Partition, new: Partition
) -> bool:
    if reply.error == Error.NOT_CONTROLLER:
        return request.leader_epoch > old.leader_epoch or request.partition_epoch > old.partition_epoch
    if reply.error == Error.FENCED_LEADER_EPOCH:
        return request.leader_epoch < old.leader_epoch
    if reply.error == Error.INVALID_UPDATE_VERSION:
        return request.partition_epoch < old.partition_epoch
    is_current = request.leader_epoch == old.leader_epoch and request.partition_epoch == old.partition_epoch
    if reply.error == Error.INELIGIBLE_REPLICA:
        return is_current and old.isr == new.isr and any(is_unfit(before, request, member) for member in request.isr)
    is_done = is_current and new.isr <= request.isr and reply.isr == new.isr
    if not is_done or reply.partition_epoch != new.partition_epoch:
        return False
    if new.leader != node_id(request.sender):
        return reply.error == Error.NEW_LEADER_ELECTED
    return reply.error == Error.NONE and reply.at_new_leader_epoch == (old.leader_epoch < new.leader_epoch)


def is_unfit(before: Controller, request: AlterIsr, member: Broker) -> bool:
    """A member that is not active, or that has registered again since the leader saw it."""
    registration = before.image.registrations[member]
    if registration is None or not is_active(before.image, member):
        return True
    return request.added_epoch is not None and registration.broker_epoch != request.added_epoch


@leads_to(source="KIP-497 (L4)")
def pending_change_is_resolved(s: Cluster, process: Process, p: TopicPartition) -> tuple[bool, bool]:
    """A leader that asks for a change of the ISR learns what became of it, or leads no more."""
    leadership = s.processes[process].replicas[p].leadership
    pending = leadership is not None and leadership.pending_change is not None
    return pending, not pending


# Witnesses.


def alter_isr_answered(s: Cluster, error: Error) -> bool:
    return any(is_answered_with(s.processes[process].replicas[p], error) for process in Process for p in TopicPartition)


def is_answered_with(replica: Replica, error: Error) -> bool:
    leadership = replica.leadership
    return leadership is not None and leadership.reply is not None and leadership.reply.error == error


@witness
def isr_changed_by_leader(s: Cluster) -> bool:
    """A leader's change of the ISR is committed."""
    return alter_isr_answered(s, Error.NONE)


@witness
def deposed_leader_refused(s: Cluster) -> bool:
    """A leader of an older leader epoch gets FENCED_LEADER_EPOCH."""
    return alter_isr_answered(s, Error.FENCED_LEADER_EPOCH)


@witness
def late_change_refused(s: Cluster) -> bool:
    """A change of an older partition gets INVALID_UPDATE_VERSION."""
    return alter_isr_answered(s, Error.INVALID_UPDATE_VERSION)


@witness
def ineligible_replica_refused(s: Cluster) -> bool:
    """A change that adds a fenced replica, or one that registered again, gets INELIGIBLE_REPLICA."""
    return alter_isr_answered(s, Error.INELIGIBLE_REPLICA)


@witness
def superseded_leader_refused(s: Cluster) -> bool:
    """A leader whose id was registered by another process since gets STALE_BROKER_EPOCH for its AlterIsr."""
    return alter_isr_answered(s, Error.STALE_BROKER_EPOCH)


@witness
def late_alter_isr(s: Cluster) -> bool:
    """An AlterIsr request is under way on a connection that its leader has given up."""
    return any(m.late for m in s.alterations)


@witness
def next_change_overtakes_late_one(s: Cluster) -> bool:
    """A leader asks for its next change; the request for the one before is on a connection that it has given up."""
    return any(
        late.late
        and any(
            not m.late
            and m.sender == late.sender
            and m.leader_epoch == late.leader_epoch
            and late.partition_epoch < m.partition_epoch
            for m in s.alterations
        )
        for late in s.alterations
    )


@witness
def follower_falls_behind(s: Cluster) -> bool:
    """A leader asks to remove a follower from the ISR."""
    return any(
        asks_to_remove(s.processes[process].replicas[p].leadership) for process in Process for p in TopicPartition
    )


def asks_to_remove(leadership: Option[Leadership]) -> bool:
    return leadership is not None and leadership.pending_change is not None and leadership.pending_change.epoch is None


@witness
def reply_of_change_lost(s: Cluster) -> bool:
    """The member that a leader asks to add is in the ISR, and no message under way informs the leader."""
    return any(is_changed_unheard(s, process, p) for process in Process for p in TopicPartition)


def is_changed_unheard(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    leadership = replica.leadership
    if partition is None or leadership is None or leadership.pending_change is None or leadership.reply is not None:
        return False
    is_made = leadership.pending_change.member in partition.isr - leadership.isr
    return is_made and leads_now(s, replica, p) and not any(m.sender == process for m in s.alterations)
