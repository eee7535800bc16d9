"""The state that models start from: broker 0 is the coordinator, and nobody has registered."""

from __future__ import annotations

from checker.lang import Map, init
from spec.group.decisions.assignment import unowned
from spec.group.decisions.channels import unconnected
from spec.group.decisions.registry import empty_registry, idle
from spec.group.design import Design
from spec.group.state import BrokerProcess, Cluster, ConsumerProcess, Consumption, Faults, GroupNodes, ZooKeeper
from spec.group.types import (
    Broker,
    Consumer,
    ConsumerState,
    CoordinatorEpoch,
    Group,
    Handler,
    Partition,
    Topic,
    number,
    topic_of,
)


@init
def nobody_registered() -> Cluster:
    """Broker 0 was elected, every consumer starts, and nobody owns anything."""
    first = CoordinatorEpoch(0)
    return Cluster(
        zookeeper=ZooKeeper(
            coordinator=Broker(0),
            epoch=first,
            partitions=frozenset(p for p in Partition if number(p) < Design.partitions - Design.new_partitions),
            groups=Map({g: GroupNodes(unowned(), Map({p: 0 for p in Partition}), frozenset()) for g in Group}),
        ),
        brokers=Map({b: broker_at_start(b) for b in Broker}),
        consumers=Map({c: ConsumerProcess(ConsumerState.STARTING, None, False, frozenset(), 0) for c in Consumer}),
        channels=Map({c: unconnected() for c in Consumer}),
        consumed=Map({g: Consumption(Map({p: 0 for p in Partition})) for g in Group}),
        former_wrote=False,
        faults=Faults(0, 0, 0, 0, 0, 0, 0, 0),
    )


def is_at_start(topic: Topic) -> bool:
    """A topic has a partition that is there at the start."""
    return any(topic_of(p) == topic and number(p) < Design.partitions - Design.new_partitions for p in Partition)


def broker_at_start(broker: Broker) -> BrokerProcess:
    """A broker that runs; broker 0 is the coordinator."""
    return BrokerProcess(
        is_up=True,
        expired=False,
        epoch=CoordinatorEpoch(0) if broker == Broker(0) else None,
        waits_out=False,
        starts_up=False,
        topics=frozenset(t for t in Topic if broker == Broker(0) and is_at_start(t)),
        watches_topics=broker == Broker(0),
        watched=frozenset(t for t in Topic if broker == Broker(0) and is_at_start(t)),
        new_topics=False,
        new_partitions=frozenset(),
        registries=Map({g: empty_registry() for g in Group}),
        handlers=Map({h: idle(frozenset()) for h in Handler}),
    )
