"""Snapshots (KIP-630): the fewest records that give the metadata up to an offset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from impl.kraft.continuity import check_records
from impl.kraft.fields import Int32, Int64, check
from impl.kraft.image import Image, entity_of
from impl.kraft.records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    KeptRecord,
    PartitionRecord,
    ProducerIdsRecord,
    Record,
    TopicRecord,
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """It stands for the log up to `offset` inclusive, -1 for an empty one. epoch: of the record at that offset."""

    offset: Int64
    epoch: Int32
    records: tuple[Record, ...]


def write_snapshot(image: Image) -> Snapshot:
    """The snapshot of an image, in an order that depends on nothing else."""
    return Snapshot(image.offset, image.epoch, tuple(snapshot_records(image)))


def snapshot_records(image: Image) -> Iterator[Record]:
    """Those of the snapshot, one after the other; meanwhile the image must not change."""
    yield from features(image)
    yield from registrations(image)
    yield from (image.controllers[controller_id] for controller_id in sorted(image.controllers))
    yield from topics(image)
    yield from configs(image)
    yield from producer_ids(image)
    yield from (image.acls[acl_id] for acl_id in sorted(image.acls))
    yield from (image.credentials[of] for of in sorted(image.credentials))
    yield from quotas(image)
    yield from kept(image)


def load_snapshot(snapshot: Snapshot) -> Image:
    """The image that a snapshot was written of. Raises ReplayError or InvalidFieldError where it is damaged."""
    check("snapshot", snapshot, Snapshot)
    check_records(snapshot.records, snapshot.offset)
    image = Image()
    for record in snapshot.records:
        image.replay_record(record)
    image.offset, image.epoch = snapshot.offset, snapshot.epoch
    return image


def features(image: Image) -> Iterator[Record]:
    for name, (lowest, highest) in sorted(image.features.items()):
        yield FeatureLevelRecord(name=name, min_feature_level=lowest, max_feature_level=highest)


def registrations(image: Image) -> Iterator[Record]:
    yield from (registration.to_record() for _, registration in sorted(image.registrations.items()))


def topics(image: Image) -> Iterator[Record]:
    for name, topic_id in sorted(image.topic_ids.items()):
        yield TopicRecord(name=name, topic_id=topic_id)
        for (_, partition_id), partition in image.of_topic(topic_id):
            yield PartitionRecord(
                partition_id=partition_id,
                topic_id=topic_id,
                replicas=partition.replicas,
                isr=partition.isr,
                removing_replicas=partition.removing_replicas,
                adding_replicas=partition.adding_replicas,
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                leader_recovery_state=partition.leader_recovery_state,
                directories=partition.directories,
            )


def configs(image: Image) -> Iterator[Record]:
    for (resource_type, resource_name), values in sorted(image.configs.items()):
        for name, value in sorted(values.items()):
            yield ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)


def producer_ids(image: Image) -> Iterator[Record]:
    """Whom the last ones were given to does not count any more: nobody, as in Kafka (ProducerIdsImage)."""
    if image.next_producer_id:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)


def quotas(image: Image) -> Iterator[Record]:
    for quota, value in sorted(image.quotas.items()):
        yield ClientQuotaRecord(entity_of(quota), quota[1], value)


def kept(image: Image) -> Iterator[Record]:
    for key, value in sorted(image.kept.items()):
        yield KeptRecord(key, value)
