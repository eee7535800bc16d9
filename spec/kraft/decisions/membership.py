"""Pure decisions about a broker: what fencing, unfencing and controlled shutdown leave of the metadata.

Each has the name of the method of Kafka's ReplicationControlManager that writes its records (handleBrokerFenced,
handleBrokerUnfenced, handleBrokerInControlledShutdown). Nothing here changes the state.
"""

from __future__ import annotations

from checker.lang import Map, Option, Set, replace
from spec.kraft.decisions.partition import replayed_both, with_broker_unfenced, without_broker
from spec.kraft.metadata import (
    Metadata,
    Partition,
    Partitions,
    Registration,
    Registrations,
    active_brokers,
    is_unfenced,
)
from spec.kraft.state import Cluster
from spec.kraft.types import Broker, MetadataOffset, TopicPartition


def broker_fenced(s: Cluster, image: Metadata, broker: Broker) -> Metadata:
    """The image once `broker` is fenced: it leads nothing, and is in no ISR but as its last member."""
    return broker_fenced_again(s, image, broker) if is_unfenced(image, broker) else replace(image)


def broker_fenced_again(s: Cluster, image: Metadata, broker: Broker) -> Metadata:
    """As `broker_fenced`, of one that may be fenced, and may still lead: it registered over a session that lapsed."""
    registration = image.registrations[broker]
    if registration is None:
        return replace(image)
    return replace(
        image,
        registrations=with_registration(image, broker, replace(registration, fenced=True)),
        partitions=partitions_without_broker(s, image, broker, active_brokers(image) - {broker}),
    )


def broker_unfenced(s: Cluster, image: Metadata, broker: Broker) -> Metadata:
    """The image once `broker` is unfenced: it leads what has no leader and has it in its ISR."""
    registration = image.registrations[broker]
    if registration is None or not registration.fenced:
        return replace(image)
    return replace(
        image,
        registrations=with_registration(image, broker, replace(registration, fenced=False)),
        partitions=partitions_with_broker_unfenced(s, image, broker),
    )


def broker_in_controlled_shutdown(s: Cluster, image: Metadata, broker: Broker, offset: MetadataOffset) -> Metadata:
    """The image once `broker` is in controlled shutdown, at `offset`: as a fenced one it leads nothing."""
    registration = image.registrations[broker]
    if registration is None:
        return replace(image)
    others = active_brokers(image) - {broker}
    return replace(
        image,
        registrations=with_registration(image, broker, replace(registration, in_controlled_shutdown=True)),
        partitions=image.partitions if registration.fenced else partitions_without_broker(s, image, broker, others),
        offset=offset,
    )


def with_registration(image: Metadata, broker: Broker, registration: Registration) -> Registrations:
    return Map({b: registration if b == broker else image.registrations[b] for b in Broker})


def both_replayed(before: Metadata, first: Metadata, second: Metadata) -> Metadata:
    """The image once the records of two decisions are replayed that were both computed from `before`."""
    return replace(
        first,
        registrations=Map({b: replayed_second(before, first, second, b) for b in Broker}),
        partitions=Map(
            {p: replayed_both(before.partitions[p], first.partitions[p], second.partitions[p]) for p in TopicPartition}
        ),
    )


def replayed_second(before: Metadata, first: Metadata, second: Metadata, broker: Broker) -> Option[Registration]:
    is_changed = second.registrations[broker] != before.registrations[broker]
    return second.registrations[broker] if is_changed else first.registrations[broker]


def partitions_without_broker(s: Cluster, image: Metadata, broker: Broker, active: Set[Broker]) -> Partitions:
    """Every partition once `broker` no longer serves. active: the brokers that stay unfenced."""
    return Map({p: partition_without_broker(s, image.partitions[p], broker, active) for p in TopicPartition})


def partition_without_broker(
    s: Cluster, partition: Option[Partition], broker: Broker, active: Set[Broker]
) -> Option[Partition]:
    return None if partition is None else without_broker(s, partition, broker, active)


def partitions_with_broker_unfenced(s: Cluster, image: Metadata, broker: Broker) -> Partitions:
    """Every partition once `broker` is unfenced."""
    return Map({p: partition_with_broker_unfenced(s, image, image.partitions[p], broker) for p in TopicPartition})


def partition_with_broker_unfenced(
    s: Cluster, image: Metadata, partition: Option[Partition], broker: Broker
) -> Option[Partition]:
    return None if partition is None else with_broker_unfenced(s, image, partition, broker)
