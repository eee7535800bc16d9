"""The in-sync replicas (S4, S12): members of the committed ISR, and the maximal ISR that a leader waits for."""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant, witness
from spec.kraft.decisions.partition import replica_set
from spec.kraft.messages import AlterIsr
from spec.kraft.metadata import Metadata, Partition, is_active, is_fenced
from spec.kraft.processes import Replica, maximal_isr
from spec.kraft.properties.registration import is_active_throughout
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, Process, TopicPartition, Voter, node_id


@invariant(source="KIP-631, FenceBrokerRecord; KIP-841 (S4)")
def isr_is_never_empty(s: Cluster) -> bool:
    """The ISR has a member, so that somebody may lead again."""
    return all(has_isr(committed(s).partitions[p]) for p in TopicPartition)


def has_isr(partition: Option[Partition]) -> bool:
    return partition is None or len(partition.isr) > 0


@invariant(source="KIP-455; KIP-497 (S4)")
def isr_is_within_replicas(s: Cluster) -> bool:
    """Every member of the ISR is a replica."""
    return all(has_isr_within(committed(s).partitions[p]) for p in TopicPartition)


def has_isr_within(partition: Option[Partition]) -> bool:
    return partition is None or partition.isr <= replica_set(partition.replicas)


@invariant(source="KIP-631, FenceBrokerRecord; KIP-841 (S4)")
def fenced_broker_is_out_of_isr(s: Cluster) -> bool:
    """A broker that is fenced or shutting down is in the ISR only as its last member, without being leader."""
    image = committed(s)
    return all(fenced_are_out(image, image.partitions[p]) for p in TopicPartition)


def fenced_are_out(image: Metadata, partition: Option[Partition]) -> bool:
    return partition is None or all(
        is_active(image, member) or (len(partition.isr) == 1 and partition.leader is None) for member in partition.isr
    )


@transition_invariant(source="KIP-497; KIP-631, FenceBrokerRecord")
def isr_gains_only_by_request(before: Cluster, after: Cluster) -> bool:
    """An ISR gains a member only by a request for it from the leader of the partition as it is."""
    return all(
        not is_active_throughout(before, after, voter)
        or not gains(before.controllers[voter].image.partitions[p], after.controllers[voter].image.partitions[p])
        or any(
            after.alterations.count(m) < before.alterations.count(m)
            and grants_request(
                before.controllers[voter].image.partitions[p], after.controllers[voter].image.partitions[p], m
            )
            for m in before.alterations
        )
        for voter in Voter
        for p in TopicPartition
    )


def gains(old: Option[Partition], new: Option[Partition]) -> bool:
    return old is not None and new is not None and not new.isr <= old.isr


def grants_request(old: Option[Partition], new: Option[Partition], request: AlterIsr) -> bool:
    if old is None or new is None:
        return False
    return (
        old.leader == node_id(request.sender)
        and old.leader_epoch == request.leader_epoch
        and old.partition_epoch == request.partition_epoch
        and new.isr <= request.isr
    )


@invariant(source="KIP-497, maximal ISR (S12)")
def maximal_isr_covers_committed(s: Cluster) -> bool:
    """A leader at the controller's leader epoch waits for every member of the committed ISR."""
    return all(
        waits_for_isr(committed(s), p, s.processes[process].replicas[p]) for process in Process for p in TopicPartition
    )


def waits_for_isr(image: Metadata, p: TopicPartition, replica: Replica) -> bool:
    partition = image.partitions[p]
    if partition is None or replica.leadership is None or not is_at_epoch(image, partition, replica):
        return True
    return partition.isr <= maximal_isr(replica.leadership)


def is_at_epoch(image: Metadata, partition: Partition, replica: Replica) -> bool:
    return replica.topic == image.topic and replica.leader_epoch == partition.leader_epoch


# Witnesses.


@witness
def whole_isr_follows_broker_1(s: Cluster) -> bool:
    """Broker 1 leads, and all brokers are unfenced and in the ISR."""
    return any(follows_broker_1(committed(s), committed(s).partitions[p]) for p in TopicPartition)


def follows_broker_1(image: Metadata, partition: Option[Partition]) -> bool:
    if partition is None or partition.leader != Broker(1):
        return False
    return all(is_active(image, broker) and broker in partition.isr for broker in Broker)


@witness
def fenced_last_isr_member(s: Cluster) -> bool:
    """The last member of the ISR is registered and fenced, and stays."""
    return any(has_fenced_last_member(s, committed(s).partitions[p]) for p in TopicPartition)


def has_fenced_last_member(s: Cluster, partition: Option[Partition]) -> bool:
    if partition is None or len(partition.isr) != 1:
        return False
    return any(is_fenced(committed(s), member) for member in partition.isr)


@witness
def maximal_isr_beyond_committed(s: Cluster) -> bool:
    """A leader waits for a follower that the committed ISR does not have yet."""
    return any(
        waits_beyond(committed(s).partitions[p], s.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


def waits_beyond(partition: Option[Partition], replica: Replica) -> bool:
    if partition is None or replica.leadership is None:
        return False
    return not maximal_isr(replica.leadership) <= partition.isr
