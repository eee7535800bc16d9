"""The memory of a leader within its leader epoch: how it begins, and what changes it."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant, witness
from spec.kraft.decisions.partition import replica_set
from spec.kraft.metadata import active_brokers
from spec.kraft.processes import Leadership, Replica, is_answered, is_deferred
from spec.kraft.properties.isr import is_at_epoch
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Error, Process, TopicPartition, node_id


@invariant(source="Kafka, Partition.makeLeader, Partition.makeFollower")
def leads_as_elected(s: Cluster) -> bool:
    """At the leader epoch of the metadata a process leads if its id is the leader there, and knows the ISR of its
    partition epoch. Who is at no leader epoch, or follows, remembers nothing of a leader. Nobody hears of a change
    that it does not ask for.
    """
    return all(leads_as_its_metadata_says(s, process, p) for process in Process for p in TopicPartition)


def leads_as_its_metadata_says(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    if replica.leadership is None and is_deferred(replica.deferral):
        return False
    if is_answered(replica) and replica.leadership is not None and replica.leadership.pending_change is None:
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
def leader_state_changes_for_cause(before: Cluster, after: Cluster) -> bool:
    """A leader begins its leader epoch with the partition of the metadata, and has asked for nothing. From then on its
    partition epoch only rises, by a success that it hears of or by the metadata, which settles what it has asked for,
    and its ISR changes with it. Until then it asks for no other change; and only of a candidate that it joins, of a
    member that lacks the record that it leaves.
    """
    return all(
        continues_leader_epoch(after, p, before.processes[process].replicas[p], after.processes[process].replicas[p])
        or starts_leader_epoch(after, process, p)
        for process in Process
        for p in TopicPartition
    )


def continues_leader_epoch(after: Cluster, p: TopicPartition, old: Replica, new: Replica) -> bool:
    if new.leadership is None:
        return True
    if old.leadership is None or old.topic != new.topic or old.leader_epoch != new.leader_epoch:
        return False
    was, now = old.leadership, new.leadership
    if was.partition_epoch == now.partition_epoch:
        return was.isr == now.isr and keeps_or_starts_a_change(old, was, now)
    if was.partition_epoch > now.partition_epoch or now.pending_change is not None or now.reply is not None:
        return False
    is_told = was.reply is not None and was.reply.error == Error.NONE
    return is_told or knows_partition(after, p, new, now)


def knows_partition(s: Cluster, p: TopicPartition, replica: Replica, leadership: Leadership) -> bool:
    """A leader knows the partition as it is, at its own leader epoch."""
    partition = committed(s).partitions[p]
    if partition is None or not is_at_epoch(committed(s), partition, replica):
        return False
    return leadership.partition_epoch == partition.partition_epoch


def keeps_or_starts_a_change(old: Replica, was: Leadership, now: Leadership) -> bool:
    if was.pending_change == now.pending_change or now.pending_change is None:
        return True
    if was.pending_change is not None:
        return False
    if now.pending_change.epoch is not None:
        return now.pending_change.member in now.candidates
    return now.pending_change.member in now.isr - now.replicas_with_record and old.has_record


def starts_leader_epoch(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    if partition is None or replica.leadership is None or not is_at_epoch(committed(s), partition, replica):
        return False
    started = replica.leadership
    is_new = started.pending_change is None and started.reply is None and len(started.replicas_with_record) == 0
    candidates = active_brokers(committed(s)) & replica_set(partition.replicas)
    return (
        is_new
        and started.partition_epoch == partition.partition_epoch
        and started.candidates == candidates
        and started.starts_with_record == replica.has_record
    )


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
    return (
        new.leadership.pending_change is None
        and new.leadership.reply is None
        and len(new.leadership.replicas_with_record) == 0
    )


@invariant(source="KIP-631, Broker Registration (S1)")
def service_is_remembered(s: Cluster) -> bool:
    """No leader is at a newer leader epoch than the one that is remembered as the newest."""
    return all(is_remembered(s, process, p) for process in Process for p in TopicPartition)


def is_remembered(s: Cluster, process: Process, p: TopicPartition) -> bool:
    served, replica = s.last_service[p], s.processes[process].replicas[p]
    if replica.leadership is None:
        return True
    return served is not None and replica.leader_epoch is not None and replica.leader_epoch <= served.leader_epoch


# Witnesses.


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
