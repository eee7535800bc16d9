"""Reassignment of replicas (S10, L5): how it ends, is cancelled or replaced, and what it leaves in the ISR."""

from __future__ import annotations

from checker.lang import Option, Set, invariant, leads_to, transition_invariant, witness
from spec.kraft.actions.administration import may_be_cancelled
from spec.kraft.decisions.partition import is_reassigned, original_replicas, replica_set, target_replicas, those_in
from spec.kraft.design import Design
from spec.kraft.metadata import Moving, Partition, active_brokers
from spec.kraft.processes import Replica, is_alive, proposed_isr
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, Error, Process, TopicPartition, node_id


@invariant(source="KIP-455, AlterPartitionReassignments")
def reassignment_ends_as_last_requested(s: Cluster) -> bool:
    """A partition has, or will have once its reassignment completes, the replicas that were last asked for."""
    return all(ends_as_requested(committed(s).partitions[p], s.last_target[p]) for p in TopicPartition)


def ends_as_requested(partition: Option[Partition], target: Moving) -> bool:
    if partition is None:
        return True
    if len(target) == 0:
        return not is_reassigned(partition)
    return those_in(partition.replicas, target_replicas(partition)) == target


@transition_invariant(source="KIP-455; Kafka, ReplicationControlManager.validateManualPartitionAssignment")
def target_is_registered(before: Cluster, after: Cluster) -> bool:
    """Who is asked for as a replica is registered."""
    return all(
        before.last_target[p] == after.last_target[p]
        or all(committed(before).registrations[broker] is not None for broker in after.last_target[p])
        for p in TopicPartition
    )


@transition_invariant(source="KIP-455, Cancellation")
def reassignment_can_be_taken_back(before: Cluster, after: Cluster) -> bool:
    """However often a reassignment is replaced, a cancel leads back to the replicas before the first of them."""
    return all(keeps_original(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition)


def keeps_original(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None or not is_reassigned(new):
        return True
    return original_replicas(old) == original_replicas(new)


@transition_invariant(source="KIP-455, Cancellation (NO_REASSIGNMENT_IN_PROGRESS)")
def only_what_is_under_way_is_cancelled(before: Cluster, after: Cluster) -> bool:
    """A request is forgotten where its reassignment is cancelled, or its topic deleted, and nowhere else."""
    return all(is_forgotten_for_cause(before, after, p) for p in TopicPartition)


def is_forgotten_for_cause(before: Cluster, after: Cluster, p: TopicPartition) -> bool:
    old, new = committed(before).partitions[p], committed(after).partitions[p]
    if after.last_target[p] == before.last_target[p] or len(after.last_target[p]) > 0 or new is None:
        return True
    return old is not None and is_reassigned(old) and not is_reassigned(new)


@transition_invariant(source="KIP-455; KAFKA-15665; KAFKA-19975 (S10)")
def reassignment_completes_in_sync(before: Cluster, after: Cluster) -> bool:
    """A reassignment completes only with all that it adds in the ISR and, where it leaves fewer, with all that stay.

    No more than one of them, who was asked for, joins the ISR in that step.
    """
    return all(
        completes_in_sync(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition
    )


def completes_in_sync(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None or is_reassigned(new) or replica_set(new.replicas) == original_replicas(old):
        return True
    added = replica_set(new.replicas) - original_replicas(old)
    shrinks = len(new.replicas) < len(original_replicas(old))
    in_sync = added <= new.isr and (not shrinks or replica_set(new.replicas) <= new.isr)
    return in_sync and len(new.isr - old.isr) <= 1


@transition_invariant(source="KIP-455; KAFKA-15665 (S10)")
def reassignment_keeps_min_isr(before: Cluster, after: Cluster) -> bool:
    """No step of a reassignment (asked for, replaced, completed, cancelled) takes the ISR below min.insync.replicas
    when it was not below.
    """
    return all(keeps_min_isr(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition)


def keeps_min_isr(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None or not is_reassigned_further(old, new):
        return True
    return len(old.isr) < Design.min_insync_replicas or len(new.isr) >= Design.min_insync_replicas


def is_reassigned_further(old: Partition, new: Partition) -> bool:
    """The reassignment of a partition begins, goes on to another target, or ends."""
    return old.replicas != new.replicas or old.adding != new.adding or old.removing != new.removing


@transition_invariant(source="KIP-455; KAFKA-14616")
def removed_replica_keeps_nothing(before: Cluster, after: Cluster) -> bool:
    """A broker that hears that it is not a replica any more stops being one, and deletes its log."""
    return all(
        keeps_nothing(before.processes[process].replicas[p], after.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
        if is_alive(after.processes[process]) and is_no_replica(committed(after).partitions[p], node_id(process))
    )


def is_no_replica(partition: Option[Partition], broker: Broker) -> bool:
    return partition is not None and broker not in partition.replicas


def keeps_nothing(old: Replica, new: Replica) -> bool:
    return old.leader_epoch == new.leader_epoch or (new.leader_epoch is None and not new.has_record)


@leads_to(source="KIP-455; KAFKA-19975 (L5)")
def reassignment_completes(s: Cluster, p: TopicPartition) -> tuple[bool, bool]:
    """A reassignment completes, is cancelled, or waits for a broker that it adds, for a leader, or for as many brokers
    as min.insync.replicas.

    One that leaves fewer replicas than there were may wait for any of these, too.
    """
    partition = committed(s).partitions[p]
    return partition is not None and is_reassigned(partition), partition is None or not is_held_up(s, partition)


def is_held_up(s: Cluster, partition: Partition) -> bool:
    """A reassignment is under way although all that it needs is there."""
    active, target = active_brokers(committed(s)), target_replicas(partition)
    if not is_reassigned(partition) or partition.leader is None or not target - original_replicas(partition) <= active:
        return False
    if len(target & active) < Design.min_insync_replicas:
        return False
    return len(target) >= len(original_replicas(partition)) or target <= active


# Witnesses.


@witness
def reassignment_under_way(s: Cluster) -> bool:
    """A reassignment adds replicas and removes others."""
    return any(adds_and_removes(committed(s).partitions[p]) for p in TopicPartition)


def adds_and_removes(partition: Option[Partition]) -> bool:
    return partition is not None and len(partition.adding) > 0 and len(partition.removing) > 0


@witness
def reassignment_completed(s: Cluster) -> bool:
    """Broker 2, which was spare, leads, and nothing is being moved any more."""
    return any(is_led_by_added(committed(s).partitions[p]) for p in TopicPartition)


def is_led_by_added(partition: Option[Partition]) -> bool:
    return partition is not None and not is_reassigned(partition) and partition.leader == Broker(2)


@witness
def reassigned_to_fewest(s: Cluster) -> bool:
    """A reassignment has left as few replicas as min.insync.replicas."""
    return any(has_fewest(committed(s).partitions[p]) for p in TopicPartition)


def has_fewest(partition: Option[Partition]) -> bool:
    if partition is None or is_reassigned(partition):
        return False
    return len(partition.replicas) == Design.min_insync_replicas


@witness
def cancel_refused(s: Cluster) -> bool:
    """A reassignment has come so far that a cancel is refused."""
    return any(refuses_cancel(committed(s).partitions[p]) for p in TopicPartition)


def refuses_cancel(partition: Option[Partition]) -> bool:
    return partition is not None and is_reassigned(partition) and not may_be_cancelled(partition)


@witness
def cancelled_with_one_in_sync(s: Cluster) -> bool:
    """A cancel was accepted of a leader alone in the ISR, who still asks to add whom the cancel took away."""
    return s.faults.reassignments == 1 and any(
        len(s.last_target[p]) == 0 and is_alone(committed(s).partitions[p], s.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


def is_alone(partition: Option[Partition], leader: Replica) -> bool:
    if (
        partition is None
        or is_reassigned(partition)
        or leader.leadership is None
        or leader.leadership.pending_change is None
    ):
        return False
    asks_for_another = leader.leadership.pending_change.member not in partition.replicas
    return len(partition.isr) == 1 and len(leader.leadership.isr) == 1 and asks_for_another


@witness
def replica_only_added(s: Cluster) -> bool:
    """A reassignment is complete that has added broker 2 and removed nobody."""
    return s.faults.reassignments == 1 and any(
        consists_of(committed(s).partitions[p], frozenset({Broker(0), Broker(1), Broker(2)})) for p in TopicPartition
    )


@witness
def replica_only_removed(s: Cluster) -> bool:
    """A reassignment is complete that has removed broker 1 and added nobody."""
    return s.faults.reassignments == 1 and any(
        consists_of(committed(s).partitions[p], frozenset({Broker(0)})) for p in TopicPartition
    )


def consists_of(partition: Option[Partition], replicas: Set[Broker]) -> bool:
    return partition is not None and not is_reassigned(partition) and replica_set(partition.replicas) == replicas


@witness
def preferred_replica_elected(s: Cluster) -> bool:
    """One reassignment has put broker 1 before broker 0; it leads, though broker 0 could continue."""
    asked_once = s.faults.reassignments == 1 and s.faults.early_expiries == 0
    return asked_once and any(prefers_second(committed(s).partitions[p]) for p in TopicPartition)


def prefers_second(partition: Option[Partition]) -> bool:
    if partition is None or partition.replicas[0] != Broker(1):
        return False
    return partition.leader == Broker(1) and Broker(0) in partition.isr


@witness
def leader_reassigned_away(s: Cluster) -> bool:
    """The change that a leader asked for completed a reassignment and took it out: NEW_LEADER_ELECTED."""
    return any(gets_new_leader_elected(s.processes[process].replicas[p]) for process in Process for p in TopicPartition)


def gets_new_leader_elected(replica: Replica) -> bool:
    leadership = replica.leadership
    if leadership is None or leadership.reply is None:
        return False
    return leadership.reply.error == Error.NEW_LEADER_ELECTED


@witness
def another_isr_than_requested(s: Cluster) -> bool:
    """A leader that stays hears of another ISR than it asked for: its change completed a reassignment."""
    return any(gets_another_isr(s.processes[process].replicas[p]) for process in Process for p in TopicPartition)


def gets_another_isr(replica: Replica) -> bool:
    leadership = replica.leadership
    if leadership is None or leadership.reply is None or leadership.reply.error != Error.NONE:
        return False
    return leadership.reply.isr != proposed_isr(leadership)
