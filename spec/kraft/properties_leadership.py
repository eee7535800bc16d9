"""What AlterIsr and its replies mean, and what a leader remembers within its leader epoch.

A reply is judged as in `properties_protocol`: by the states before and after the step that gave it.
Leaves out: that a reply comes at all.
"""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant, witness
from spec.kraft.messages import AlterIsr, AlterIsrReply
from spec.kraft.partition import everyone
from spec.kraft.properties import is_at_epoch
from spec.kraft.properties_protocol import is_active_throughout
from spec.kraft.state import (
    Cluster,
    Controller,
    Leadership,
    Partition,
    Replica,
    active_brokers,
    committed,
    is_active,
    is_answered,
    is_deferred,
)
from spec.kraft.types import Broker, Error, Process, RecordStatus, TopicPartition, Voter, node_id

# AlterIsr.


@invariant(source="Kafka, AlterPartitionManager (one request in flight)")
def one_change_at_a_time(s: Cluster) -> bool:
    """A leader waits for the reply to one AlterIsr of a partition at a time."""
    return all(alter_exchanges(s, process, p) <= 1 for process in Process for p in TopicPartition)


def alter_exchanges(s: Cluster, process: Process, p: TopicPartition) -> int:
    replica = s.processes[process].replicas[p]
    requests = sum(1 for m in s.alterations if m.sender == process and m.partition == p and asks(replica, m))
    return requests + (1 if is_answered(replica) else 0)


def asks(replica: Replica, request: AlterIsr) -> bool:
    """The leader that sent the request still leads at its epoch."""
    return not request.late and replica.leadership is not None and replica.leader_epoch == request.leader_epoch


@transition_invariant(source="KIP-497; KIP-841; KIP-903; Kafka, Errors")
def alter_isr_reply_is_true(before: Cluster, after: Cluster) -> bool:
    """An AlterIsr is answered once, to the leader that sent it and leads on.

    The reply has the ISR as it is now, or an error that is the case.
    """
    return all(
        not gets_reply(before.processes[process].replicas[p], after.processes[process].replicas[p])
        or any(
            m.sender == process
            and m.partition == p
            and after.alterations.count(m) < before.alterations.count(m)
            and asks(before.processes[process].replicas[p], m)
            and answers_alter_isr(
                before.controllers[m.to], after.controllers[m.to], m, after.processes[process].replicas[p].leadership
            )
            for m in before.alterations
        )
        for process in Process
        for p in TopicPartition
    )


def gets_reply(old: Replica, new: Replica) -> bool:
    return is_answered(new) and not is_answered(old)


def answers_alter_isr(before: Controller, after: Controller, request: AlterIsr, leadership: Option[Leadership]) -> bool:
    """What each error says, as far as one request can get it: no leader sends one that is malformed."""
    if leadership is None or leadership.reply is None:
        return False
    reply, sender = leadership.reply, node_id(request.sender)
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
    leads_on = new.leader == node_id(request.sender)
    return leads_on if reply.error == Error.NONE else reply.error == Error.NEW_LEADER_ELECTED and not leads_on


def is_unfit(before: Controller, request: AlterIsr, member: Broker) -> bool:
    """A member that is not active, or that has registered anew since the leader saw it."""
    registration = before.image.registrations[member]
    if registration is None or not is_active(before.image, member):
        return True
    return request.added_epoch is not None and registration.broker_epoch != request.added_epoch


@transition_invariant(source="KIP-497; KIP-631, FenceBrokerRecord")
def isr_gains_who_is_asked_for(before: Cluster, after: Cluster) -> bool:
    """An ISR gains a member only by a request for it from the leader of the partition as it is."""
    return all(
        not is_active_throughout(before, after, voter)
        or not gains(before.controllers[voter].image.partitions[p], after.controllers[voter].image.partitions[p])
        or any(
            after.alterations.count(m) < before.alterations.count(m)
            and is_granted(
                before.controllers[voter].image.partitions[p], after.controllers[voter].image.partitions[p], m
            )
            for m in before.alterations
        )
        for voter in Voter
        for p in TopicPartition
    )


def gains(old: Option[Partition], new: Option[Partition]) -> bool:
    return old is not None and new is not None and not new.isr <= old.isr


def is_granted(old: Option[Partition], new: Option[Partition], request: AlterIsr) -> bool:
    if old is None or new is None:
        return False
    return (
        old.leader == node_id(request.sender)
        and old.leader_epoch == request.leader_epoch
        and old.partition_epoch == request.partition_epoch
        and new.isr <= request.isr
    )


# Leaders and followers.


@invariant(source="Kafka, Partition.makeLeader, Partition.makeFollower")
def leads_as_elected(s: Cluster) -> bool:
    """At the leader epoch of the metadata a process leads if its id is the leader there, and knows the ISR of its
    partition epoch. Who is at no leader epoch, or follows, remembers nothing of a leader.
    """
    return all(leads_rightly(s, process, p) for process in Process for p in TopicPartition)


def leads_rightly(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    if replica.leadership is None and is_deferred(replica.deferral):
        return False
    if replica.leader_epoch is None:
        return replica.leadership is None and replica.image_leader is None
    if partition is None or not is_at_epoch(committed(s), partition, replica):
        return True
    if replica.leadership is None:
        return partition.leader != node_id(process)
    has_its_isr = (
        replica.leadership.partition_epoch != partition.partition_epoch or replica.leadership.isr == partition.isr
    )
    return partition.leader == node_id(process) and has_its_isr


@transition_invariant(source="Kafka, Partition.makeLeader; KIP-497")
def leader_keeps_its_word(before: Cluster, after: Cluster) -> bool:
    """A leader begins its leader epoch with the partition of the metadata, and has asked for nothing. From then on its
    partition epoch only rises, which settles what it has asked for, and its ISR changes with it.
    """
    return all(
        leads_on(before.processes[process].replicas[p], after.processes[process].replicas[p])
        or begins_afresh(after, process, p)
        for process in Process
        for p in TopicPartition
    )


def leads_on(old: Replica, new: Replica) -> bool:
    if new.leadership is None:
        return True
    if old.leadership is None or old.topic != new.topic or old.leader_epoch != new.leader_epoch:
        return False
    was, now = old.leadership, new.leadership
    if was.partition_epoch == now.partition_epoch:
        return was.isr == now.isr
    return was.partition_epoch < now.partition_epoch and now.asked is None and now.reply is None


def begins_afresh(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    if partition is None or replica.leadership is None or not is_at_epoch(committed(s), partition, replica):
        return False
    started = replica.leadership
    is_new = started.asked is None and started.reply is None and len(started.holders) == 0
    candidates = active_brokers(committed(s)) & everyone(partition.replicas)
    return (
        is_new
        and started.partition_epoch == partition.partition_epoch
        and started.candidates == candidates
        and started.starts_with_record == replica.has_record
    )


@transition_invariant(source="Kafka, PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded")
def leader_epoch_rises_for_cause(before: Cluster, after: Cluster) -> bool:
    """A leader epoch ends with a change of leader, or where a replica goes."""
    return all(is_led_on(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition)


def is_led_on(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None or old.leader_epoch == new.leader_epoch or old.leader != new.leader:
        return True
    return not everyone(old.replicas) <= everyone(new.replicas)


# What the properties themselves rely on.


@transition_invariant(source="Kafka, acks=all (S13)")
def record_is_owed_until_lost(before: Cluster, after: Cluster) -> bool:
    """A record is written, acknowledged, and forfeited, in this order, and one that was acknowledged only if a disk was
    lost.
    """
    return all(
        before.produced[p] == after.produced[p]
        or (before.produced[p] == RecordStatus.UNWRITTEN and after.produced[p] == RecordStatus.WRITTEN)
        or (before.produced[p] == RecordStatus.WRITTEN and after.produced[p] != RecordStatus.UNWRITTEN)
        or (after.produced[p] == RecordStatus.FORFEITED and after.faults.disk_losses > 0)
        for p in TopicPartition
    )


@invariant(source="KIP-631, Broker Registration (S1)")
def service_is_remembered(s: Cluster) -> bool:
    """No leader is at a newer leader epoch than the one that is remembered as the newest."""
    return all(is_remembered(s, process, p) for process in Process for p in TopicPartition)


def is_remembered(s: Cluster, process: Process, p: TopicPartition) -> bool:
    served, replica = s.last_service[p], s.processes[process].replicas[p]
    if replica.leadership is None or replica.leader_epoch is None:
        return True
    return served is not None and replica.leader_epoch <= served.leader_epoch


@witness
def another_process_leads(s: Cluster) -> bool:
    """A process other than the first leads at the newest leader epoch."""
    return any(
        process != Process(0) and leads_now(s, s.processes[process].replicas[p], p)
        for process in Process
        for p in TopicPartition
    )


def leads_now(s: Cluster, replica: Replica, p: TopicPartition) -> bool:
    partition = committed(s).partitions[p]
    return partition is not None and replica.leadership is not None and is_at_epoch(committed(s), partition, replica)
