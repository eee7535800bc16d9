"""Pure decisions about a partition: who may lead, who leads, and what becomes of the ISR when a broker goes.

Nothing here changes the state: each function returns the partition as the controller's records would leave
it.
Leaves out: unclean election, preferred leader election, reassignment, ELR (KIP-966).
"""

from __future__ import annotations

from checker.lang import Option, Set, fresh, replace
from spec.kraft.design import Design
from spec.kraft.state import Cluster, Metadata, Partition, Replicas, active_brokers
from spec.kraft.types import Broker, LeaderEpoch, PartitionEpoch


def first_replica_among(replicas: Replicas, candidates: Set[Broker]) -> Option[Broker]:
    """The first of `candidates` in replica order."""
    for replica in replicas:
        if replica in candidates:
            return replica
    return None


def elect(partition: Partition, isr: Set[Broker], active: Set[Broker]) -> Option[Broker]:
    """The leader for a new ISR: the present one while it may lead, else the first active member in replica order."""
    if partition.leader is not None and partition.leader in isr & active:
        return partition.leader
    return first_replica_among(partition.replicas, isr & active)


def changed(s: Cluster, partition: Partition, isr: Set[Broker], leader: Option[Broker]) -> Partition:
    """The partition with this ISR and leader. Each change raises the partition epoch, a new leader the leader epoch."""
    if leader != partition.leader:
        return replace(
            partition,
            isr=isr,
            leader=leader,
            leader_epoch=fresh(s, LeaderEpoch),
            partition_epoch=fresh(s, PartitionEpoch),
        )
    if isr != partition.isr:
        return replace(partition, isr=isr, partition_epoch=fresh(s, PartitionEpoch))
    return replace(partition)


def without(s: Cluster, partition: Partition, broker: Broker, active: Set[Broker]) -> Partition:
    """The partition once `broker` no longer serves: out of the ISR unless it is the last there, and not its leader.

    active: the brokers that stay unfenced.
    """
    rest = partition.isr - {broker}
    isr = partition.isr if Design.last_member_stays and not rest else rest
    return changed(s, partition, isr, elect(partition, isr, active))


def with_unfenced(s: Cluster, image: Metadata, partition: Partition, broker: Broker) -> Partition:
    """The partition once `broker` is unfenced: no ISR gains a member, but one without a leader may get one."""
    active = active_brokers(image) | {broker}
    return changed(s, partition, partition.isr, elect(partition, partition.isr, active))


def replayed(
    before: Option[Partition], first: Option[Partition], second: Option[Partition]
) -> Option[Partition]:
    """What two records leave that were both computed from `before`: a record holds only what it changes."""
    if before is None or first is None or second is None or second == before:
        return first
    return replace(
        second,
        isr=first.isr if second.isr == before.isr else second.isr,
        leader=first.leader if second.leader == before.leader else second.leader,
        leader_epoch=first.leader_epoch if second.leader == before.leader else second.leader_epoch,
    )
