"""What cannot follow an image is found before anything of it is replayed."""

from __future__ import annotations

from uuid import UUID

import pytest

from impl.kraft.continuity import check_batches, check_records
from impl.kraft.fields import InvalidFieldError
from impl.kraft.image import Image, ReplayError
from impl.kraft.records import (
    AbortTransactionRecord,
    Batch,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    EndTransactionRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from tests.impl.test_image import OTHER, TOPIC, image


@pytest.mark.parametrize("base_offset", [2, 4])
def test_a_batch_that_does_not_follow_is_refused(base_offset: int) -> None:
    with pytest.raises(ReplayError, match=f"offset {base_offset} cannot be replayed after offset 2"):
        check_batches(image(), [Batch(base_offset, 1, (NoOpRecord(),))])


ABOUT_NOTHING: list[Record] = [
    FenceBrokerRecord(1, 0),
    FenceBrokerRecord(0, 7),
    UnfenceBrokerRecord(0, 7),
    BrokerRegistrationChangeRecord(0, 7, in_controlled_shutdown=True),
    UnregisterBrokerRecord(0, 7),
    PartitionRecord(0, OTHER, replicas=(0,), isr=(0,)),
    PartitionChangeRecord(1, TOPIC),
    PartitionChangeRecord(0, OTHER),
    RemoveTopicRecord(OTHER),
]


@pytest.mark.parametrize("record", ABOUT_NOTHING, ids=str)
def test_a_record_about_what_is_not_there_is_refused(record: Record) -> None:
    with pytest.raises(ReplayError, match="offset 4"):
        check_batches(image(), [Batch(3, 1, (NoOpRecord(), record))])


AGAIN = [TopicRecord("orders", OTHER), TopicRecord("invoices", TOPIC)]


@pytest.mark.parametrize("record", AGAIN, ids=str)
def test_a_topic_that_there_is_is_not_made_again(record: Record) -> None:
    with pytest.raises(ReplayError, match=r"offset 3 makes topic .* again"):
        check_batches(image(), [Batch(3, 1, (record,))])


FOLLOWING: list[tuple[Record, ...]] = [
    (RegisterBrokerRecord(0, UUID(int=9), broker_epoch=3), UnfenceBrokerRecord(0, 3)),
    (TopicRecord("invoices", OTHER), PartitionRecord(0, OTHER, (0,), (0,)), PartitionChangeRecord(0, OTHER, isr=(0,))),
    (RemoveTopicRecord(TOPIC), TopicRecord("orders", OTHER)),
    (RemoveTopicRecord(TOPIC), TopicRecord("orders", TOPIC), PartitionRecord(0, TOPIC, (0,), (0,))),
]


@pytest.mark.parametrize("records", FOLLOWING, ids=lambda records: type(records[0]).__name__)
@pytest.mark.parametrize("in_one", [True, False])
def test_a_record_may_be_about_what_one_before_it_makes(records: tuple[Record, ...], in_one: bool) -> None:
    batches = [Batch(3, 1, records)] if in_one else [Batch(3 + at, 1, (one,)) for at, one in enumerate(records)]
    check_batches(image(), batches)
    untouched = image()
    for batch in batches:
        untouched.replay(batch)


BROKEN: list[tuple[Record, ...]] = [
    (UnregisterBrokerRecord(0, 0), FenceBrokerRecord(0, 0)),
    (RegisterBrokerRecord(0, UUID(int=9), broker_epoch=3), UnfenceBrokerRecord(0, 0)),
    (RemoveTopicRecord(TOPIC), PartitionChangeRecord(0, TOPIC)),
    (RemoveTopicRecord(TOPIC), TopicRecord("orders", TOPIC), PartitionChangeRecord(0, TOPIC)),
    (TopicRecord("invoices", OTHER), RemoveTopicRecord(OTHER), PartitionRecord(0, OTHER, (0,), (0,))),
]


@pytest.mark.parametrize("records", BROKEN, ids=lambda records: type(records[-1]).__name__)
def test_a_record_may_not_be_about_what_one_before_it_removes(records: tuple[Record, ...]) -> None:
    with pytest.raises(ReplayError, match=f"offset {2 + len(records)} is about"):
        check_batches(image(), [Batch(3, 1, records)])


def made(*partition_ids: int) -> tuple[Record, ...]:
    return tuple(PartitionRecord(number, TOPIC, (0,), (0,)) for number in partition_ids)


@pytest.mark.parametrize("partition_ids", [(1,), (2, 1), (0,), (0, 1), (3, 2, 1)], ids=str)
def test_partitions_of_a_batch_come_in_any_order_and_again(partition_ids: tuple[int, ...]) -> None:
    check_batches(image(), [Batch(3, 1, made(*partition_ids))])
    check_batches(image(), [Batch(3, 1, made(1)), Batch(4, 1, made(2))])
    check_batches(image(), [Batch(3, 1, (RemoveTopicRecord(TOPIC), TopicRecord("orders", TOPIC), *made(1, 0)))])


@pytest.mark.parametrize("partition_ids", [(2,), (-1,), (-1, 0, 1), (1, 3), ((1 << 31) - 1,)], ids=str)
def test_partitions_with_gaps_are_refused(partition_ids: tuple[int, ...]) -> None:
    """Nobody could list the partitions of such a topic, in time, or at all."""
    end = 2 + len(partition_ids)
    with pytest.raises(ReplayError, match=f"up to offset {end} partitions from .* are made, some of those from 1 on"):
        check_batches(image(), [Batch(3, 1, made(*partition_ids))])


def test_a_topic_begins_with_partition_0() -> None:
    recreated = RemoveTopicRecord(TOPIC), TopicRecord("orders", TOPIC), *made(1)
    with pytest.raises(ReplayError, match="those from 0 on left out"):
        check_batches(image(), [Batch(3, 1, recreated)])
    with pytest.raises(ReplayError, match="those from 0 on left out"):
        check_records([TopicRecord("orders", TOPIC), *made(1)], 9)


def test_records_of_a_snapshot_are_looked_at_too() -> None:
    with pytest.raises(ReplayError, match="offset 9 is about partition 0"):
        check_records([PartitionChangeRecord(0, TOPIC)], 9)


def test_a_batch_has_a_record() -> None:
    with pytest.raises(InvalidFieldError, match=r"Batch\.records must be at least one record"):
        check_batches(image(), [Batch(3, 1, ())])


def test_a_field_of_a_record_is_named() -> None:
    wanted = r"Batch\.records\[0\]\.broker_epoch must be a number of 64 bits, not 'x'"
    with pytest.raises(InvalidFieldError, match=wanted):
        # the type of a field is what is wrong here
        check_batches(image(), [Batch(3, 1, (FenceBrokerRecord(0, "x"),))])  # type: ignore[arg-type]  # the wrong type


def test_producer_ids_are_given_away_once() -> None:
    first, next_ones = ProducerIdsRecord(0, 0, 1_000), ProducerIdsRecord(0, 0, 2_000)
    check_batches(image(), [Batch(3, 1, (first, next_ones))])
    for second in (first, ProducerIdsRecord(0, 0, 999)):
        with pytest.raises(ReplayError, match="offset 4 gives producer ids below"):
            check_batches(image(), [Batch(3, 1, (first, second))])
    given = image()
    given.replay(Batch(3, 1, (first,)))
    with pytest.raises(ReplayError, match="offset 4 gives producer ids below 1000 away"):
        check_batches(given, [Batch(4, 1, (first,))])


def test_a_transaction_is_checked_as_it_ends() -> None:
    topic = TopicRecord("orders", UUID(int=5))
    partition = PartitionRecord(0, UUID(int=5), (1,), (1,), leader=1)
    image = Image()
    begun = Batch(0, 1, (BeginTransactionRecord(), topic, partition))
    check_batches(image, [begun])
    image.replay(begun)
    check_batches(image, [Batch(3, 1, (EndTransactionRecord(), PartitionChangeRecord(0, UUID(int=5), leader=1)))])
    check_batches(image, [Batch(3, 1, (AbortTransactionRecord(), topic))])
    with pytest.raises(ReplayError, match="partition 0"):
        change = PartitionChangeRecord(0, UUID(int=5), leader=1)
        check_batches(image, [Batch(3, 1, (AbortTransactionRecord(), change))])


@pytest.mark.parametrize(
    "records",
    [
        (EndTransactionRecord(),),
        (AbortTransactionRecord(),),
        (BeginTransactionRecord(), BeginTransactionRecord()),
    ],
)
def test_a_transaction_ends_once_and_begins_before(records: tuple[Record, ...]) -> None:
    with pytest.raises(ReplayError, match="transaction"):
        check_batches(Image(), [Batch(0, 1, records)])
