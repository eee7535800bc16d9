"""Properties of AlterIsr and its replies, and of a leader's memory within its leader epoch.

A reply is judged as in `properties_protocol`: by the states before and after the step that gave it.
Leaves out: that a reply comes at all.
"""

from __future__ import annotations

from checker.lang import Option, Set, invariant, transition_invariant, witness
from spec.kraft.decisions.partition import everyone
from spec.kraft.messages import AlterIsr, AlterIsrReply
from spec.kraft.properties.core import is_at_epoch
from spec.kraft.properties.protocol import is_active_throughout
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
    proposed_isr,
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
    """An AlterIsr is answered once, to the leader that sent it, leads on, and still asks for this change.

    The reply has the ISR as it is now, or an error that is the case.
    """
    return all(
        not gets_reply(before.processes[process].replicas[p], after.processes[process].replicas[p])
        or any(
            m.sender == process
            and m.partition == p
            and after.alterations.count(m) < before.alterations.count(m)
            and asks(before.processes[process].replicas[p], m)
            and is_waited_for(before.processes[process].replicas[p].leadership, m)
            and answers_alter_isr(
                before.controllers[m.to], after.controllers[m.to], m, after.processes[process].replicas[p].leadership
            )
            for m in before.alterations
        )
        for process in Process
        for p in TopicPartition
    )


def is_waited_for(leadership: Option[Leadership], request: AlterIsr) -> bool:
    """The request is for the change that the leader asks for, of the partition as it knows it."""
    if leadership is None or leadership.asked is None or leadership.partition_epoch != request.partition_epoch:
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


@transition_invariant(source="KIP-497; KIP-631, FenceBrokerRecord")
def isr_gains_only_by_request(before: Cluster, after: Cluster) -> bool:
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
    partition epoch. Who is at no leader epoch, or follows, remembers nothing of a leader. Nobody hears of a change
    that it does not ask for.
    """
    return all(leads_rightly(s, process, p) for process in Process for p in TopicPartition)


def leads_rightly(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    if replica.leadership is None and is_deferred(replica.deferral):
        return False
    if is_answered(replica) and replica.leadership is not None and replica.leadership.asked is None:
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
    partition epoch only rises, by a success that it hears of or by the metadata, which settles what it has asked for,
    and its ISR changes with it. Until then it asks for no other change; and only of a candidate that it joins, of a
    member that lacks the record that it leaves.
    """
    return all(
        leads_on(after, p, before.processes[process].replicas[p], after.processes[process].replicas[p])
        or begins_afresh(after, process, p)
        for process in Process
        for p in TopicPartition
    )


def leads_on(after: Cluster, p: TopicPartition, old: Replica, new: Replica) -> bool:
    if new.leadership is None:
        return True
    if old.leadership is None or old.topic != new.topic or old.leader_epoch != new.leader_epoch:
        return False
    was, now = old.leadership, new.leadership
    if was.partition_epoch == now.partition_epoch:
        return was.isr == now.isr and asks_on(old, was, now)
    if was.partition_epoch > now.partition_epoch or now.asked is not None or now.reply is not None:
        return False
    is_told = was.reply is not None and was.reply.error == Error.NONE
    return is_told or knows_partition(after, p, new, now)


def knows_partition(s: Cluster, p: TopicPartition, replica: Replica, leadership: Leadership) -> bool:
    """A leader knows the partition as it is, at its own leader epoch."""
    partition = committed(s).partitions[p]
    if partition is None or not is_at_epoch(committed(s), partition, replica):
        return False
    return leadership.partition_epoch == partition.partition_epoch


def asks_on(old: Replica, was: Leadership, now: Leadership) -> bool:
    if was.asked == now.asked or now.asked is None:
        return True
    if was.asked is not None:
        return False
    if now.asked.epoch is not None:
        return now.asked.member in now.candidates
    return now.asked.member in now.isr - now.holders and old.has_record


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
    """A leader epoch ends only with a change of leader or where a replica goes, and there it does."""
    return all(is_led_on(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition)


def is_led_on(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None or old.leader != new.leader:
        return True
    return (old.leader_epoch < new.leader_epoch) == (not everyone(old.replicas) <= everyone(new.replicas))


# Copies of the record.


@transition_invariant(source="KIP-320; KIP-101")
def record_comes_from_its_leader(before: Cluster, after: Cluster) -> bool:
    """Within a leader epoch, a follower's log and high watermark become those of a leader of this epoch."""
    return all(
        goes_on_as_before(before.processes[process].replicas[p], after.processes[process].replicas[p])
        or any(
            is_copy_of(after.processes[process].replicas[p], before.processes[leader].replicas[p]) for leader in Process
        )
        for process in Process
        for p in TopicPartition
    )


def goes_on_as_before(old: Replica, new: Replica) -> bool:
    """The replica does not follow at the same leader epoch throughout, or it has the same log."""
    follows = old.leadership is None and new.leadership is None and old.leader_epoch is not None
    if not follows or old.leader_epoch != new.leader_epoch or old.topic != new.topic:
        return True
    return old.has_record == new.has_record and old.high_watermark == new.high_watermark


def is_copy_of(copy: Replica, leader: Replica) -> bool:
    if leader.leadership is None or leader.topic != copy.topic or leader.leader_epoch != copy.leader_epoch:
        return False
    return copy.has_record == leader.has_record and copy.high_watermark == leader.high_watermark


@transition_invariant(source="Kafka, Partition.updateFollowerFetchState")
def holders_were_seen(before: Cluster, after: Cluster) -> bool:
    """A leader takes a follower to have the record when both have it, and the follower is at its leader epoch."""
    return all(
        any(is_seen(before.processes[q].replicas[p], before.processes[process].replicas[p])
            for q in Process if node_id(q) == member)
        for process in Process
        for p in TopicPartition
        for member in holders(after, process, p) - holders(before, process, p)
    )  # fmt: skip


def holders(s: Cluster, process: Process, p: TopicPartition) -> Set[Broker]:
    leadership = s.processes[process].replicas[p].leadership
    nobody: Set[Broker] = frozenset()
    return nobody if leadership is None else leadership.holders


def is_seen(follower: Replica, leader: Replica) -> bool:
    has_it = follower.has_record and leader.has_record
    return has_it and follower.topic == leader.topic and follower.leader_epoch == leader.leader_epoch


@witness
def high_watermark_spreads(s: Cluster) -> bool:
    """A follower knows that the record is below the high watermark, and nobody else has ever led."""
    return (
        s.faults.crashes == 0
        and s.faults.unregistrations == 0
        and any(
            s.processes[process].replicas[p].high_watermark and s.processes[process].replicas[p].leadership is None
            for process in Process
            for p in TopicPartition
        )
    )


@witness
def follower_with_record_joins(s: Cluster) -> bool:
    """A leader whose leader epoch starts with the record asks to add a follower, which must have it, too."""
    return any(adds_with_record(s.processes[process].replicas[p]) for process in Process for p in TopicPartition)


def adds_with_record(replica: Replica) -> bool:
    leadership = replica.leadership
    if leadership is None or leadership.asked is None:
        return False
    return leadership.starts_with_record and leadership.asked.epoch is not None


@witness
def follower_falls_behind(s: Cluster) -> bool:
    """A leader asks to remove a follower from the ISR."""
    return any(removes(s.processes[process].replicas[p].leadership) for process in Process for p in TopicPartition)


def removes(leadership: Option[Leadership]) -> bool:
    return leadership is not None and leadership.asked is not None and leadership.asked.epoch is None


@witness
def acknowledged_by_lone_successor(s: Cluster) -> bool:
    """Broker 1 leads alone with an acknowledged record, which nobody else ever had, and no other has joined it."""
    return s.faults.crashes == 0 and any(
        s.produced[p] == RecordStatus.ACKNOWLEDGED
        and leads_alone(s, process, p)
        and not any(q != process and s.processes[q].replicas[p].has_record for q in Process)
        for process in Process
        for p in TopicPartition
        if node_id(process) == Broker(1)
    )


def leads_alone(s: Cluster, process: Process, p: TopicPartition) -> bool:
    replica = s.processes[process].replicas[p]
    return replica.has_record and replica.leadership is not None and replica.leadership.isr == {node_id(process)}


@witness
def reply_of_registration_lost(s: Cluster) -> bool:
    """A process is registered and does not know it, and no message under way informs it (KAFKA-16952)."""
    return any(is_registered_unheard(s, process) for process in Process)


def is_registered_unheard(s: Cluster, process: Process) -> bool:
    registration, broker = committed(s).registrations[node_id(process)], s.processes[process]
    if registration is None or broker.incarnation is None or broker.reply is not None:
        return False
    return registration.incarnation == broker.incarnation and not any(m.sender == process for m in s.lifecycle)


@witness
def reply_of_change_lost(s: Cluster) -> bool:
    """The member that a leader asks to add is in the ISR, and no message under way informs the leader."""
    return any(is_changed_unheard(s, process, p) for process in Process for p in TopicPartition)


def is_changed_unheard(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    leadership = replica.leadership
    if partition is None or leadership is None or leadership.asked is None or leadership.reply is not None:
        return False
    is_made = leadership.asked.member in partition.isr - leadership.isr
    return is_made and leads_now(s, replica, p) and not any(m.sender == process for m in s.alterations)


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
        or (
            before.produced[p] == RecordStatus.ACKNOWLEDGED
            and after.produced[p] == RecordStatus.FORFEITED
            and after.faults.disk_losses > 0
        )
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


@transition_invariant(source="KIP-497; Kafka, Partition.makeLeader")
def new_leader_starts_fresh(before: Cluster, after: Cluster) -> bool:
    """A process that leads in another leader epoch than before has asked for nothing, and seen nobody fetch."""
    return all(
        starts_fresh(before.processes[process].replicas[p], after.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


def starts_fresh(old: Replica, new: Replica) -> bool:
    if new.leadership is None or old.leader_epoch == new.leader_epoch:
        return True
    return new.leadership.asked is None and new.leadership.reply is None and len(new.leadership.holders) == 0
