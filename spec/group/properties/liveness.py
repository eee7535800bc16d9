"""Liveness properties (L1 to L5). Fairness is given in the models, to what heals.

Perturbations are bounded, so that every behaviour has its last one: what must hold in the end holds after that.
"""

from __future__ import annotations

from checker.lang import eventually_always, leads_to
from spec.group.state import Cluster, is_fetching
from spec.group.types import Broker, Consumer, ConsumerState, Group, Handler, Partition, Phase, group_of


def has_live_consumer(s: Cluster, group: Group) -> bool:
    return any(group_of(c) == group and is_live(s, c) for c in Consumer)


def is_live(s: Cluster, consumer: Consumer) -> bool:
    return s.consumers[consumer].state not in {ConsumerState.SHUTTING_DOWN, ConsumerState.LEFT, ConsumerState.DOWN}


@leads_to(source="Consumer Coordinator, 2, 10 (L1, L4)")
def partition_is_fetched(s: Cluster, group: Group, partition: Partition) -> tuple[bool, bool]:
    """Each partition is fetched in the end, where a consumer of the group lives."""
    lives = has_live_consumer(s, group)
    return lives, not lives or any(group_of(c) == group and is_fetching(s, c, partition) for c in Consumer)


@eventually_always(source="Consumer Coordinator, 2, 10 (L1, L4)")
def every_group_fetches(s: Cluster, group: Group) -> bool:
    """From some time on, every partition is fetched, unless nobody of the group lives."""
    return not has_live_consumer(s, group) or all(
        p not in s.zookeeper.partitions or any(group_of(c) == group and is_fetching(s, c, p) for c in Consumer)
        for p in Partition
    )


@eventually_always(source="Consumer Coordinator, 2, 7 (handleAddedConsumer 4) (L2)")
def every_member_has_its_share(s: Cluster, consumer: Consumer) -> bool:
    """From some time on, every consumer that lives fetches a partition: there are as many as threads at least."""
    return not is_live(s, consumer) or any(is_fetching(s, consumer, p) for p in Partition)


@eventually_always(source="Consumer Coordinator, 8 (L3)")
def suspicions_end(s: Cluster, consumer: Consumer) -> bool:
    """From some time on, a consumer that lives has joined, and stays."""
    return not is_live(s, consumer) or s.consumers[consumer].state == ConsumerState.JOINED


@leads_to(source="Consumer Coordinator, 8 (L3)")
def dead_are_removed(s: Cluster, broker: Broker, consumer: Consumer) -> tuple[bool, bool]:
    """Who is dead is no member in the end, unless it starts again."""
    is_dead = s.consumers[consumer].state == ConsumerState.DOWN
    known = consumer in s.brokers[broker].registries[group_of(consumer)].members
    return is_dead and known, not is_dead or not known


@leads_to(source="Consumer Coordinator, 9 (4.2, 4.5, 5) (L5)")
def rebalance_ends(s: Cluster, broker: Broker, handler: Handler) -> tuple[bool, bool]:
    """A rebalance ends."""
    goes_on = s.brokers[broker].handlers[handler].phase != Phase.IDLE
    return goes_on, not goes_on


@leads_to(source="Consumer Coordinator, 9 (ConsumerRebalanceFailedException) (L5)")
def given_up_is_tried_again(s: Cluster, broker: Broker, group: Group) -> tuple[bool, bool]:
    """A group whose rebalance was given up is rebalanced again, unless it loses its members."""
    registry = s.brokers[broker].registries[group]
    stands = registry.gave_up and len(registry.members) > 0
    return stands, not stands


@leads_to(source="Consumer Coordinator, 6 (L6)")
def new_partition_is_owned(s: Cluster, group: Group, partition: Partition) -> tuple[bool, bool]:
    """A partition that is there is owned in the end, where a consumer of the group lives."""
    waits = partition in s.zookeeper.partitions and has_live_consumer(s, group)
    return waits, not waits or s.zookeeper.groups[group].owners[partition] is not None


@leads_to(source="Consumer Coordinator, 11 (handlePingRequest 1.1, 1.2) (L7)")
def shutdown_ends(s: Cluster, consumer: Consumer) -> tuple[bool, bool]:
    """A consumer that shuts down is gone in the end."""
    goes_on = s.consumers[consumer].state == ConsumerState.SHUTTING_DOWN
    return goes_on, not goes_on
