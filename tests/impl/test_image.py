"""The replay of records into an image, and logs that no image can be made of."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from impl.kraft.image import Image
from impl.kraft.records import (
    NO_LEADER,
    AbortTransactionRecord,
    Batch,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)

TOPIC, OTHER = UUID(int=1), UUID(int=2)


def image() -> Image:
    """Broker 0 at epoch 0, and a topic of one partition."""
    image = Image()
    records: tuple[Record, ...] = (
        RegisterBrokerRecord(0, UUID(int=9), broker_epoch=0),
        TopicRecord("orders", TOPIC),
        PartitionRecord(0, TOPIC, replicas=(0, 1), isr=(0, 1), leader=0),
    )
    image.replay(Batch(0, 1, records))
    return image


def contents(image: Image) -> dict[str, object]:
    return vars(image)


CHANGES: list[Record] = [
    RegisterBrokerRecord(1, UUID(int=8), broker_epoch=3),
    UnfenceBrokerRecord(0, 0),
    TopicRecord("invoices", OTHER),
    PartitionRecord(1, TOPIC, replicas=(0,), isr=(0,), leader=NO_LEADER),
    PartitionChangeRecord(0, TOPIC, isr=(1,), leader=1, adding_replicas=(1,)),
    RemoveTopicRecord(TOPIC),
    ConfigRecord(2, "orders", "retention.ms", "2"),
    FeatureLevelRecord("metadata.version", 1, 2),
    ProducerIdsRecord(0, 0, 1_000),
]


@pytest.mark.parametrize("record", CHANGES, ids=str)
def test_a_copy_and_what_it_was_made_of_change_on_their_own(record: Record) -> None:
    first, untouched = image(), contents(image())
    second = first.copy()
    third = second.copy()
    second.replay(Batch(first.offset + 1, 1, (record,)))
    assert contents(second) != untouched
    assert contents(first) == contents(third) == untouched
    first.replay(Batch(first.offset + 1, 1, (record,)))
    assert contents(first) == contents(second) and contents(third) == untouched


def changed(**fields: Any) -> tuple[int, int]:
    """(leader epoch, partition epoch) after a change of the partition."""
    after = image()
    after.replay(Batch(3, 1, (PartitionChangeRecord(0, TOPIC, **fields),)))
    partition = after.partitions[TOPIC, 0]
    return partition.leader_epoch, partition.partition_epoch


def test_which_epochs_a_change_raises() -> None:
    assert changed() == (0, 1)
    assert changed(isr=(0,)) == (0, 1)
    assert changed(replicas=(1, 0, 2), adding_replicas=(2,)) == (0, 1)
    assert changed(leader=1) == (1, 1)
    assert changed(leader=0) == (1, 1), "a leader that is named leads again"
    assert changed(replicas=(0,), isr=(0,)) == (0, 1), "as Kafka's PartitionRegistration.merge: a record says all"
    assert changed(replicas=(0,), isr=(0,), leader=0) == (1, 1)


def test_a_topic_may_have_no_partition() -> None:
    after = image()
    after.replay(Batch(3, 1, (TopicRecord("empty", OTHER),)))
    assert list(after.of_topic(OTHER)) == []
    after.replay(Batch(4, 1, (RemoveTopicRecord(OTHER),)))
    assert OTHER not in after.topics


def test_a_topic_that_is_not_there_has_no_partitions() -> None:
    assert list(image().of_topic(OTHER)) == []
    assert [key for key, _ in image().of_topic(TOPIC)] == [(TOPIC, 0)]


def test_a_copy_that_changes_keeps_what_does_not_change() -> None:
    original = image()
    original.replay(Batch(3, 1, (PartitionChangeRecord(0, TOPIC, adding_replicas=(1,)),)))
    before = contents(original.copy())
    copy = original.copy()
    copy.replay(Batch(4, 1, (TopicRecord("empty", OTHER),)))
    assert copy.in_isr == original.in_isr and list(copy.reassigning) == list(original.reassigning) == [(TOPIC, 0)]
    assert OTHER in copy.topics and contents(original) == before and OTHER not in original.topics


def test_a_transaction_counts_as_it_ends() -> None:
    """KIP-868. Within one, nothing is seen of it; a copy goes its own way."""
    image, level = Image(), FeatureLevelRecord("metadata.version", 13, 13)
    image.replay(Batch(0, 1, (BeginTransactionRecord("bootstrap"), level)))
    before = image.copy()
    assert image.features == {} and image.offset == 1
    image.replay(Batch(2, 1, (EndTransactionRecord(),)))
    assert image.features == {"metadata.version": (13, 13)} and image.transaction is None
    before.replay(Batch(2, 1, (AbortTransactionRecord(), NoOpRecord())))
    assert before.features == {} and before.transaction is None
