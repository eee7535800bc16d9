"""Pure decisions about a partition: who may lead, who leads, what becomes of the ISR, when a reassignment is complete.

Nothing here changes the state: each function returns the partition as the controller's records would leave
it. Every change goes through `build_change`, as every change of Kafka's goes through PartitionChangeBuilder.build.
Leaves out: unclean election, ELR (KIP-966).
"""

from __future__ import annotations

from checker.lang import Option, Set, choose, fresh, replace
from spec.kraft.design import Design
from spec.kraft.metadata import Metadata, Moving, Partition, Replicas, active_brokers
from spec.kraft.state import Cluster
from spec.kraft.types import Broker, LeaderEpoch, PartitionEpoch


def first_replica_among(replicas: Replicas, candidates: Set[Broker]) -> Option[Broker]:
    """The first of `candidates` in replica order."""
    for replica in replicas:
        if replica in candidates:
            return replica
    return None


def elect_leader(partition: Partition, isr: Set[Broker], active: Set[Broker]) -> Option[Broker]:
    """The leader for a new ISR: the present one while it may lead, else the first active member in replica order."""
    if partition.leader is not None and partition.leader in isr & active:
        return partition.leader
    return first_replica_among(partition.replicas, isr & active)


def build_change(s: Cluster, partition: Partition, wanted: Partition, active: Set[Broker]) -> Partition:
    """The partition changed to be as `wanted`: completed where it can be, with a leader and epochs.

    Each change raises the partition epoch; a new leader, or a replica less, the leader epoch.
    """
    after = completed(wanted, least_isr(partition))
    leader = elect_leader(after, after.isr, active)
    if leader != partition.leader or not replica_set(partition.replicas) <= replica_set(after.replicas):
        return replace(
            after, leader=leader, leader_epoch=fresh(s, LeaderEpoch), partition_epoch=fresh(s, PartitionEpoch)
        )
    if after != partition:
        return replace(after, partition_epoch=fresh(s, PartitionEpoch))
    return replace(partition)


def without_broker(s: Cluster, partition: Partition, broker: Broker, active: Set[Broker]) -> Partition:
    """The partition once `broker` no longer serves: out of the ISR unless it is the last there, and not its leader.

    active: the brokers that stay unfenced.
    """
    if broker not in partition.isr:
        return replace(partition)
    rest = partition.isr - {broker}
    isr = partition.isr if Design.last_member_stays and not rest else rest
    return build_change(s, partition, replace(partition, isr=isr), active)


def with_broker_unfenced(s: Cluster, image: Metadata, partition: Partition, broker: Broker) -> Partition:
    """The partition once `broker` is unfenced: no ISR gains a member, but one without a leader may get one."""
    active = active_brokers(image) | {broker}
    joins = not Design.unfencing_joins_no_isr and broker in partition.adding
    if partition.leader is not None and not joins:
        return replace(partition)
    isr = partition.isr | {broker} if joins else partition.isr
    return build_change(s, partition, replace(partition, isr=isr), active)


# Reassignment.


def replica_set(replicas: Replicas) -> Set[Broker]:
    return frozenset(replica for replica in replicas)


def those_in(replicas: Replicas, brokers: Set[Broker]) -> Replicas:
    """The replicas that are among `brokers`, in the same order."""
    found: Replicas = ()
    for replica in replicas:
        if replica in brokers:
            found = found + (replica,)
    return found


def by_id(brokers: Set[Broker]) -> Replicas:
    """The brokers in the order of their ids."""
    found: Replicas = ()
    for _ in range(Design.brokers):
        rest = brokers - replica_set(found)
        if rest:
            found = found + (choose(rest),)
    return found


def is_reassigned(partition: Partition) -> bool:
    """A reassignment is under way."""
    return len(partition.adding) > 0 or len(partition.removing) > 0


def target_replicas(partition: Partition) -> Set[Broker]:
    """The replicas that the reassignment under way is to end with."""
    return replica_set(partition.replicas) - replica_set(partition.removing)


def original_replicas(partition: Partition) -> Set[Broker]:
    """The replicas that it started from."""
    return replica_set(partition.replicas) - replica_set(partition.adding)


def least_isr(partition: Partition) -> int:
    """Members that a reassignment must leave in the ISR of a partition: min.insync.replicas unless it has fewer."""
    enough = len(partition.isr) >= Design.min_insync_replicas
    return Design.min_insync_replicas if Design.completion_keeps_min_isr and enough else 1


def is_complete(partition: Partition, fewest: int) -> bool:
    """True when the ISR allows the reassignment to end. fewest: members that it must have then."""
    target = target_replicas(partition)
    added = replica_set(partition.adding)
    if Design.removed_addition_is_dropped:
        added = added & target
    in_sync = partition.isr & target
    if len(in_sync) < fewest or not added <= in_sync:
        return False
    shrinks = len(target) < len(original_replicas(partition))
    return not Design.kafka_15665 or (Design.kafka_19975 and not shrinks) or target <= in_sync


def completed(partition: Partition, fewest: int) -> Partition:
    """The partition without what its reassignment removes, if this can be complete. Every change tries."""
    if not is_reassigned(partition) or not is_complete(partition, fewest):
        return replace(partition)
    target = target_replicas(partition)
    replicas = those_in(partition.replicas, target)
    return replace(partition, replicas=replicas, isr=partition.isr & target, adding=(), removing=())


def reassigned(partition: Partition, target: Replicas) -> Partition:
    """The partition with the reassignment to `target` under way: its replicas first, then those that are to go."""
    before, wanted = replica_set(partition.replicas), replica_set(target)
    gone = those_in(partition.replicas, before - wanted)
    replicas = target + (gone if Design.removed_keep_order else by_id(before - wanted))
    adding: Moving = those_in(replicas, wanted - before)
    removing: Moving = those_in(replicas, before - wanted)
    if Design.reassignment_replaced:
        adding = those_in(replicas, (before | wanted) - original_replicas(partition))
    else:
        adding = adding if len(adding) > 0 else partition.adding
        removing = removing if len(removing) > 0 else partition.removing
    return replace(partition, replicas=replicas, adding=adding, removing=removing)


def cancelled(partition: Partition) -> Partition:
    """The partition as it was before the reassignment under way, and what was added out of its ISR."""
    original = original_replicas(partition)
    replicas = those_in(partition.replicas, original)
    return replace(partition, replicas=replicas, isr=partition.isr & original, adding=(), removing=())


def replayed_both(before: Option[Partition], first: Option[Partition], second: Option[Partition]) -> Option[Partition]:
    """The replay of two records that were both computed from `before`: a record holds only what it changes."""
    if before is None or first is None or second is None or second == before:
        return first
    return replace(
        second,
        isr=first.isr if second.isr == before.isr else second.isr,
        leader=first.leader if second.leader == before.leader else second.leader,
        leader_epoch=first.leader_epoch if second.leader == before.leader else second.leader_epoch,
    )
