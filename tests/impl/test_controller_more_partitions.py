"""A topic that is there gets more partitions (KIP-195)."""

from __future__ import annotations

from uuid import UUID

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicRequest,
)
from impl.kraft.records import PartitionRecord, TopicRecord
from tests.impl.controller_runtime import ControllerRuntime

ID = UUID(int=77)


def runtime_of(partitions: int = 2, factor: int = 2, brokers: int = 3) -> ControllerRuntime:
    """Brokers, and a topic `orders`."""
    runtime = ControllerRuntime()
    runtime.activate(*range(brokers))
    created = CreateTopicRequest("orders", ID, num_partitions=partitions, replication_factor=factor)
    assert runtime.ask(created).error is ErrorCode.NONE
    return runtime


def more(
    runtime: ControllerRuntime, count: int, *assignments: tuple[int, ...], name: str = "orders"
) -> CreatePartitionsResponse:
    response = runtime.ask(CreatePartitionsRequest(name, count, assignments or None))
    assert isinstance(response, CreatePartitionsResponse)
    assert bool(response.message) == (response.error is not ErrorCode.NONE)
    return response


def test_partitions_go_on_where_those_of_a_larger_topic_would() -> None:
    runtime, larger = runtime_of(2), runtime_of(7)
    assert more(runtime, 7).error is ErrorCode.NONE
    (batch,) = runtime.appended
    assert [record.partition_id for record in batch.records if isinstance(record, PartitionRecord)] == [2, 3, 4, 5, 6]
    assert dict(runtime.image.of_topic(ID)) == dict(larger.image.of_topic(ID))


def test_replicas_that_are_given_are_kept_and_the_first_active_one_leads() -> None:
    runtime = runtime_of()
    runtime.heartbeat(2, want_fence=True)
    assert more(runtime, 4, (2, 0), (1, 2)).error is ErrorCode.NONE
    assert runtime.records() == [
        PartitionRecord(2, ID, (2, 0), (0,), leader=0), PartitionRecord(3, ID, (1, 2), (1,), leader=1)
    ]  # fmt: skip


def test_a_topic_whose_first_partition_is_moved_has_no_more_replicas_for_it() -> None:
    runtime = runtime_of(1, 1)
    ((key, held),) = runtime.image.of_topic(ID)
    target = tuple({0, 1, 2} - set(held.replicas))[:1]
    runtime.ask(AlterPartitionReassignmentRequest("orders", 0, target))
    assert len(runtime.image.partitions[key].replicas) == 2
    assert more(runtime, 2).error is ErrorCode.NONE
    assert len(runtime.image.partitions[ID, 1].replicas) == 1


REFUSED: list[tuple[int, tuple[tuple[int, ...], ...], ErrorCode]] = [
    (2, (), ErrorCode.INVALID_PARTITIONS),
    (1, (), ErrorCode.INVALID_PARTITIONS),
    (-1, (), ErrorCode.INVALID_PARTITIONS),
    (2, ((0, 1),), ErrorCode.INVALID_PARTITIONS),
    (10_003, (), ErrorCode.POLICY_VIOLATION),
    (4, ((0, 1),), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (3, ((0, 1), (0, 1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (3, ((),), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (3, ((0,),), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (3, ((0, 1, 2),), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (3, ((0, 0),), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (3, ((0, 9),), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
]


@pytest.mark.parametrize("count, assignments, error", REFUSED, ids=str)
def test_what_cannot_be_added(count: int, assignments: tuple[tuple[int, ...], ...], error: ErrorCode) -> None:
    """Two partitions with two replicas each are there, and three brokers."""
    runtime = runtime_of()
    assert more(runtime, count, *assignments).error is error
    assert not runtime.records()


def test_the_message_names_the_partition_that_is_wrong() -> None:
    assert "partition 3: " in more(runtime_of(), 4, (0, 1), (0, 0)).message


def test_a_topic_that_is_not_there_gets_none() -> None:
    assert more(runtime_of(), 9, name="bills").error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_some_log_has_without_a_partition_gets_none() -> None:
    runtime = runtime_of()
    runtime.controller.speculative.replay_record(TopicRecord("empty", UUID(int=5)))
    assert more(runtime, 1, name="empty").error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_where_nobody_serves_or_too_few_are_left_nothing_is_added() -> None:
    runtime = runtime_of()
    for broker_id in range(3):
        runtime.heartbeat(broker_id, want_fence=True)
    assert more(runtime, 3).error is ErrorCode.INVALID_REPLICATION_FACTOR
    assert more(runtime, 3, (0, 1)).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_what_is_only_validated_is_not_done() -> None:
    runtime = runtime_of()
    before = runtime.image.offset
    assert runtime.ask(CreatePartitionsRequest("orders", 3, validate_only=True)).error is ErrorCode.NONE
    created = CreateTopicRequest("bills", UUID(int=8), validate_only=True)
    assert runtime.ask(created).error is ErrorCode.NONE
    assert runtime.image.offset == before and runtime.image.partition_counts[ID] == 2
    assert "bills" not in runtime.image.topic_ids


@pytest.mark.parametrize("size_bytes, error", [(8 << 20, ErrorCode.NONE), ((8 << 20) + 1, ErrorCode.POLICY_VIOLATION)])
def test_a_batch_that_is_too_large_is_refused(size_bytes: int, error: ErrorCode) -> None:
    runtime = runtime_of()
    runtime.controller.batch_bytes = lambda records: size_bytes
    assert more(runtime, 3).error is error
