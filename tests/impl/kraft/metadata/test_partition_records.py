"""What is read and written without the tables is what the tables read and write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.kraft.metadata.core_records import to_core, to_metadata
from impl.kraft.metadata.encoding import MetadataRecord, decode, encode
from impl.kraft.metadata.partition_records import partition_bytes, partition_record
from impl.kraft.records import NoOpRecord, PartitionChangeRecord, PartitionRecord

TOPIC = UUID(int=1 << 100)
NEW = PartitionRecord(7, TOPIC, (11, 12, 13), (11, 12), (), (13,), 11, 3, 4)
CHANGE = PartitionChangeRecord(7, TOPIC, (11, 12), 12, (11, 12, 13), (), (13,))
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
LIST = st.lists(INT32, max_size=4).map(tuple) | st.just((1,) * 30) | st.just((2,) * 31) | st.just((3,) * 200)
OPTIONAL = st.none() | LIST
UUIDS = st.uuids()
NEWS = st.builds(PartitionRecord, INT32, UUIDS, LIST, LIST, LIST, LIST, INT32, INT32, INT32)
CHANGES = st.builds(
    PartitionChangeRecord, INT32, UUIDS, OPTIONAL, INT32 | st.just(-2), OPTIONAL, OPTIONAL, OPTIONAL
)  # fmt: skip


@given(NEWS | CHANGES)
def test_records_have_the_bytes_that_the_tables_give_them(record: Any) -> None:
    expected = encode(to_metadata(record))
    assert partition_bytes(record) in (expected, None)
    assert partition_record(expected) in (record, None)


@pytest.mark.parametrize("record", [NEW, CHANGE, PartitionChangeRecord(0, TOPIC), replace(CHANGE, leader=-2)])
def test_what_is_ordinary_is_not_left_to_the_tables(record: Any) -> None:
    data = partition_bytes(record)
    assert data is not None and partition_record(data) == record


@given(st.sampled_from([NEW, CHANGE]), st.data())
def test_bytes_that_are_damaged_are_read_as_by_the_tables_or_left_to_them(record: Any, data: st.DataObject) -> None:
    damaged = bytearray(encode(to_metadata(record)))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    value = bytes(damaged[: data.draw(st.integers(0, len(damaged)))] + data.draw(st.binary(max_size=2)))
    found = partition_record(value)
    assert found is None or found == to_core(decode(value))


@pytest.mark.parametrize(
    "record",
    [NoOpRecord(), replace(NEW, isr=(1,) * 31), replace(CHANGE, isr=(1,) * 31), replace(NEW, leader=1 << 31)],
)
def test_what_is_not_ordinary_is_left_to_the_tables(record: Any) -> None:
    assert partition_bytes(record) is None


@pytest.mark.parametrize(
    "fields",
    [{"leaderRecoveryState": 1}, {"isr": (1,) * 31}],
)
def test_fields_that_are_not_ordinary_are_left_to_the_tables(fields: dict[str, Any]) -> None:
    assert partition_record(encode(MetadataRecord("PARTITION_CHANGE_RECORD", 0, {
        "partitionId": 0, "topicId": TOPIC, **fields,
    }))) is None  # fmt: skip


@pytest.mark.parametrize("tags", [((1, 5), (1, -2)), ((1, 5), (0, None))])
def test_tagged_fields_that_do_not_rise_are_left_to_the_tables(tags: tuple[tuple[int, int | None], ...]) -> None:
    value = encode(to_metadata(PartitionChangeRecord(0, TOPIC)))[:-1] + bytes((len(tags),))
    for tag, number in tags:
        value += bytes((tag, 1, 1)) if number is None else bytes((tag, 4)) + number.to_bytes(4, "big", signed=True)
    assert partition_record(value) is None


def test_records_of_one_topic_share_its_id() -> None:
    """Images hold one UUID for all of its partitions, and compare it by identity."""
    first, second = (partition_record(encode(to_metadata(record))) for record in (NEW, CHANGE))
    assert first is not None and second is not None and first.topic_id is second.topic_id
