"""Records and topic ids are the same after they were Kafka's JSON."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.apache.wire import batch_of, record_json, record_of, topic_json, topic_of
from impl.kraft.records import (
    Batch,
    BrokerRegistrationChangeRecord,
    Endpoint,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    SupportedFeature,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

TOPIC = UUID(int=7)
RECORDS: list[Record] = [
    RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=UUID(int=5),
        broker_epoch=9,
        endpoints=(Endpoint("PLAINTEXT", "host", 9092, 0),),
        features=(SupportedFeature("metadata.version", 1, 20),),
        rack="a",
    ),
    UnregisterBrokerRecord(1, 9),
    TopicRecord("topic", TOPIC),
    RemoveTopicRecord(TOPIC),
    PartitionRecord(0, TOPIC, replicas=(0, 1), isr=(1,), leader=1, leader_epoch=3, partition_epoch=4),
    PartitionChangeRecord(0, TOPIC, isr=(0,)),
    PartitionChangeRecord(0, TOPIC, leader=1, replicas=(1,), removing_replicas=(), adding_replicas=(1,)),
    FenceBrokerRecord(1, 9),
    UnfenceBrokerRecord(1, 9),
    BrokerRegistrationChangeRecord(1, 9, in_controlled_shutdown=True),
    NoOpRecord(),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_comes_back(record: Record) -> None:
    json = record_json(record)
    assert record_of(json["type"], json["data"]) == record


@given(st.integers(0, 1 << 63))
def test_a_topic_id_comes_back_and_is_none_that_kafka_keeps(number: int) -> None:
    id_ = UUID(int=number)
    assert topic_of(topic_json(id_)) == id_
    assert len(topic_json(id_)) == 22 and not topic_json(id_).startswith("AAAAAAAAAAAAAAA")


@pytest.mark.parametrize(("fenced", "kind"), [(1, FenceBrokerRecord), (-1, UnfenceBrokerRecord)])
def test_a_change_of_a_registration_that_fences_is_read_as_such(fenced: int, kind: type) -> None:
    data = {"brokerId": 1, "brokerEpoch": 9, "fenced": fenced, "inControlledShutdown": 0}
    assert record_of(17, data) == kind(1, 9)


def test_a_batch_without_records_begins_an_epoch() -> None:
    assert batch_of({"baseOffset": 4, "epoch": 2, "records": []}) == Batch(4, 2, (NoOpRecord(),))
