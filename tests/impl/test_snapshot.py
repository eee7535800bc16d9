"""Contents of a snapshot: everything in the image, complete, in an order that is always the same."""

from __future__ import annotations

from uuid import UUID

from impl.kraft.image import Image
from impl.kraft.records import (
    Batch,
    ConfigRecord,
    Endpoint,
    FeatureLevelRecord,
    KeptRecord,
    PartitionRecord,
    ProducerIdsRecord,
    Record,
    RegisterBrokerRecord,
    SupportedFeature,
    TopicRecord,
)
from impl.kraft.snapshot import Snapshot, load_snapshot, write_snapshot

FIRST, SECOND = UUID(int=2), UUID(int=1)
LISTENERS = (Endpoint("plain", "host", 9092, 0),)
SUPPORTED = (SupportedFeature("metadata.version", 1, 5),)
RECORDS: tuple[Record, ...] = (
    FeatureLevelRecord("group.version", 1, 1),
    FeatureLevelRecord("metadata.version", 2, 3),
    RegisterBrokerRecord(1, UUID(int=11), 7, LISTENERS, SUPPORTED, "a", fenced=False, in_controlled_shutdown=True),
    RegisterBrokerRecord(2, UUID(int=12), 4),
    TopicRecord("orders", FIRST),
    PartitionRecord(0, FIRST, (1, 2, 3), (1, 2), (3,), (2,), leader=1, leader_epoch=4, partition_epoch=9),
    PartitionRecord(1, FIRST, (2, 1), (2,), leader=-1),
    TopicRecord("payments", SECOND),
    ConfigRecord(2, "orders", "cleanup.policy", "compact"),
    ConfigRecord(2, "orders", "retention.ms", "5"),
    ConfigRecord(4, "", "a", "1"),
    ProducerIdsRecord(-1, -1, 3_000),
    KeptRecord(b"a", b"1"),
    KeptRecord(b"b", b"2"),
)
"""As a snapshot has them."""


def in_another_order() -> Image:
    """Topics come before what is about them, and all else the other way round."""
    image = Image()
    topics = [record for record in reversed(RECORDS) if isinstance(record, TopicRecord)]
    others = [record for record in reversed(RECORDS) if not isinstance(record, TopicRecord)]
    image.replay(Batch(0, 3, (*topics, *others)))
    return image


def test_a_snapshot_holds_everything_in_order_whatever_came_first() -> None:
    snapshot = write_snapshot(in_another_order())
    assert snapshot == Snapshot(len(RECORDS) - 1, 3, RECORDS)
    assert write_snapshot(load_snapshot(snapshot)) == snapshot


def test_of_nothing_there_is_a_snapshot_too() -> None:
    assert write_snapshot(Image()) == Snapshot(-1, 0, ())
    assert load_snapshot(Snapshot(-1, 0, ())).offset == -1
