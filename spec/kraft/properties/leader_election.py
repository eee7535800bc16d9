"""Leaders of partitions in the metadata (S3, S5, L7): who may lead, who is elected, and the epochs."""

from __future__ import annotations

from checker.lang import Option, Set, invariant, leads_to, transition_invariant, witness
from spec.kraft.actions.shutdown import leads_partition
from spec.kraft.decisions.partition import replica_set
from spec.kraft.metadata import Metadata, Partition, Replicas, active_brokers, is_active
from spec.kraft.properties.heartbeat import is_ready
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, Process, TopicPartition, node_id


@invariant(source="KIP-631, Three Cluster Membership States (S3)")
def leader_may_lead(s: Cluster) -> bool:
    """A leader, where there is one, is in the ISR, registered, unfenced and not shutting down."""
    image = committed(s)
    return all(has_fit_leader(image, image.partitions[p]) for p in TopicPartition)


def has_fit_leader(image: Metadata, partition: Option[Partition]) -> bool:
    if partition is None or partition.leader is None:
        return True
    return partition.leader in partition.isr and is_active(image, partition.leader)


@invariant(source="KIP-631, Three Cluster Membership States; Kafka, ReplicationControlManager.handleBrokerUnfenced")
def leaderless_only_without_candidates(s: Cluster) -> bool:
    """A partition is without a leader only while no member of its ISR is active."""
    image = committed(s)
    return all(is_led_if_possible(image, image.partitions[p]) for p in TopicPartition)


def is_led_if_possible(image: Metadata, partition: Option[Partition]) -> bool:
    if partition is None or partition.leader is not None:
        return True
    return not any(is_active(image, member) for member in partition.isr)


@transition_invariant(source="Kafka, PartitionChangeBuilder.electLeader")
def leader_changes_in_replica_order(before: Cluster, after: Cluster) -> bool:
    """A leader is replaced only when it may no longer lead, and then by the first member in replica order that may."""
    return all(changes_leader_in_order(before, after, p) for p in TopicPartition)


def changes_leader_in_order(before: Cluster, after: Cluster, p: TopicPartition) -> bool:
    old, new = committed(before).partitions[p], committed(after).partitions[p]
    if old is None or new is None or new.leader is None or old.leader == new.leader:
        return True
    candidates = new.isr & active_brokers(committed(after))
    return old.leader not in candidates and comes_first(new.replicas, candidates, new.leader)


def comes_first(replicas: Replicas, candidates: Set[Broker], leader: Broker) -> bool:
    for replica in replicas:
        if replica == leader:
            return True
        if replica in candidates:
            return False
    return False


@transition_invariant(source="Kafka, PartitionChangeBuilder.electLeader")
def leader_changes_for_cause(before: Cluster, after: Cluster) -> bool:
    """A leader that could continue is replaced only by the preferred one."""
    return all(changes_for_cause(after, before, p) for p in TopicPartition)


def changes_for_cause(after: Cluster, before: Cluster, p: TopicPartition) -> bool:
    old, new = committed(before).partitions[p], committed(after).partitions[p]
    if old is None or new is None or old.leader is None or old.leader == new.leader:
        return True
    return old.leader not in new.isr & active_brokers(committed(after)) or new.leader == new.replicas[0]


@transition_invariant(source="KIP-631, PartitionRecord, LeaderEpoch; KIP-497 (S5)")
def epochs_never_go_back(before: Cluster, after: Cluster) -> bool:
    """Epochs never go back. Each change of leader raises the leader epoch, each change the partition epoch."""
    return all(epochs_follow(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition)


def epochs_follow(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None:
        return True
    leader_epoch_follows = old.leader_epoch < new.leader_epoch or (
        old.leader_epoch == new.leader_epoch and old.leader == new.leader
    )
    partition_epoch_follows = old.partition_epoch < new.partition_epoch or old == new
    return leader_epoch_follows and partition_epoch_follows


@transition_invariant(source="Kafka, PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded")
def leader_epoch_rises_for_cause(before: Cluster, after: Cluster) -> bool:
    """A leader epoch ends only with a change of leader or where a replica goes, and there it does."""
    return all(is_led_on(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition)


def is_led_on(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None or old.leader != new.leader:
        return True
    return (old.leader_epoch < new.leader_epoch) == (not replica_set(old.replicas) <= replica_set(new.replicas))


@leads_to(source="KIP-631, Three Cluster Membership States (L7)")
def leaderless_partition_gets_leader(s: Cluster, p: TopicPartition) -> tuple[bool, bool]:
    """A partition without a leader, of which a member of the ISR is ready, gets a leader."""
    partition = committed(s).partitions[p]
    if partition is None or partition.leader is not None:
        return False, True
    waits = any(is_ready(s, process) and node_id(process) in partition.isr for process in Process)
    return waits, not waits


# Witnesses.


@witness
def elected_after_fencing(s: Cluster) -> bool:
    """Broker 0 is fenced, and broker 1 leads in its place."""
    return not is_active(committed(s), Broker(0)) and any(leads_broker_1(s, p) for p in TopicPartition)


def leads_broker_1(s: Cluster, p: TopicPartition) -> bool:
    return leads_partition(committed(s), Broker(1), p)


@witness
def leaderless_partition(s: Cluster) -> bool:
    """The partition has no leader although a broker is active."""
    return any(is_leaderless(committed(s).partitions[p]) for p in TopicPartition) and any(
        is_active(committed(s), broker) for broker in Broker
    )


def is_leaderless(partition: Option[Partition]) -> bool:
    return partition is not None and partition.leader is None
