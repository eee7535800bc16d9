"""Requests about several topics or partitions become the core's, and its answers theirs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.alter_partition.v3 import request as isr_request
from kio.schema.alter_partition.v3.response import AlterPartitionResponse as WireIsrResponse
from kio.schema.alter_partition_reassignments.v0 import request as moves_request
from kio.schema.alter_partition_reassignments.v0.response import AlterPartitionReassignmentsResponse
from kio.schema.create_topics.v7 import request as create_request
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.delete_topics.v6 import request as delete_request
from kio.schema.delete_topics.v6.response import DeleteTopicsResponse
from kio.schema.elect_leaders.v2 import request as elect_request
from kio.schema.elect_leaders.v2.response import ElectLeadersResponse
from kio.schema.incremental_alter_configs.v1 import request as config_request
from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse
from kio.schema.list_partition_reassignments.v0 import request as list_request
from kio.schema.list_partition_reassignments.v0.response import ListPartitionReassignmentsResponse as WireListResponse
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i16, i32, i64

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterConfigRequest,
    AlterConfigResponse,
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    ElectPreferredLeaderRequest,
    ElectPreferredLeaderResponse,
    IsrMember,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
)
from impl.kraft.server.admin_wire import VERSIONS, Parts, read_parts
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError

ORDERS, BILLS = TopicName("orders"), TopicName("bills")
TOPIC_ID = UUID(int=7)


def parts_of(key: int, entity: Any) -> Parts:
    return read_parts(key, entity_bytes(entity))


# Topics.


def topic(name: TopicName, *assignments: tuple[int, ...], partitions: int = -1, factor: int = -1) -> Any:
    given_replicas = tuple(
        create_request.CreatableReplicaAssignment(partition_index=i32(index), broker_ids=tuple(map(BrokerId, replicas)))
        for index, replicas in enumerate(assignments)
    )
    config = create_request.CreatableTopicConfig(name="retention.ms", value="1")
    return create_request.CreatableTopic(
        name=name, num_partitions=i32(partitions), replication_factor=i16(factor), assignments=given_replicas,
        configs=(config,),
    )  # fmt: skip


def created(topics: tuple[Any, ...], *, validate_only: bool = False) -> Parts:
    return parts_of(19, create_request.CreateTopicsRequest(topics=topics, validate_only=validate_only))


def test_topics_are_created_one_by_one() -> None:
    parts = created((topic(ORDERS, partitions=3, factor=2), topic(BILLS, (1, 2), (2, 1))))
    first, second = parts.requests
    assert isinstance(first, CreateTopicRequest) and isinstance(second, CreateTopicRequest)
    assert (first.name, first.num_partitions, first.replication_factor, first.assignments) == ("orders", 3, 2, None)
    assert first.configs == (("retention.ms", "1"),) and first.topic_id != second.topic_id
    assert second.assignments == ((1, 2), (2, 1))
    replies = (CreateTopicResponse(ErrorCode.NONE, TOPIC_ID), CreateTopicResponse(ErrorCode.TOPIC_ALREADY_EXISTS))
    answer: Any = read_entity(CreateTopicsResponse, parts.response_bytes(replies))
    assert [(one.name, int(one.error_code), one.topic_id, one.num_partitions) for one in answer.topics] == [
        (ORDERS, 0, TOPIC_ID, 3), (BILLS, 36, None, -1)
    ]  # fmt: skip
    assert answer.topics[0].replication_factor == 2 and answer.topics[0].configs == ()


def test_a_topic_has_one_partition_and_one_replica_unless_it_is_said() -> None:
    (request,) = created((topic(ORDERS),)).requests
    assert isinstance(request, CreateTopicRequest)
    assert (request.num_partitions, request.replication_factor) == (1, 1)


def test_what_the_core_has_not_is_refused_for_its_topic_alone() -> None:
    gap = topic(BILLS, (1,))
    gap = create_request.CreatableTopic(
        name=BILLS, num_partitions=i32(-1), replication_factor=i16(-1), configs=(),
        assignments=(create_request.CreatableReplicaAssignment(partition_index=i32(1), broker_ids=(BrokerId(1),)),),
    )  # fmt: skip
    parts = created((gap, topic(ORDERS)))
    assert len(parts.requests) == 1
    answer: Any = read_entity(CreateTopicsResponse, parts.response_bytes((CreateTopicResponse(ErrorCode.NONE),)))
    assert [(one.name, int(one.error_code)) for one in answer.topics] == [(BILLS, 39), (ORDERS, 0)]

    checked = created((topic(ORDERS),), validate_only=True)
    assert checked.requests == ()
    answer = read_entity(CreateTopicsResponse, checked.response_bytes(()))
    assert int(answer.topics[0].error_code) == 42 and "validateOnly" in answer.topics[0].error_message


def test_topics_are_deleted_by_name_or_id() -> None:
    named = delete_request.DeleteTopicState(name=ORDERS, topic_id=None)
    by_id = delete_request.DeleteTopicState(name=None, topic_id=TOPIC_ID)
    parts = parts_of(20, delete_request.DeleteTopicsRequest(topics=(named, by_id), timeout=_timeout()))
    assert parts.requests == (DeleteTopicRequest(None, "orders"), DeleteTopicRequest(TOPIC_ID, None))
    replies = (DeleteTopicResponse(ErrorCode.NONE), DeleteTopicResponse(ErrorCode.UNKNOWN_TOPIC_ID))
    answer: Any = read_entity(DeleteTopicsResponse, parts.response_bytes(replies))
    assert [(one.name, one.topic_id, int(one.error_code)) for one in answer.responses] == [
        (ORDERS, None, 0), (None, TOPIC_ID, 100)
    ]  # fmt: skip


def _timeout() -> Any:
    return create_request.CreateTopicsRequest(topics=()).timeout


# Configs.

SET, DELETE, APPEND = range(3)


def configs_of(name: str, *changes: tuple[int, str | None]) -> Any:
    """Changes of a topic's configs: the operation, and the value."""
    configs = tuple(
        config_request.AlterableConfig(name=f"config{number}", config_operation=i8(operation), value=value)
        for number, (operation, value) in enumerate(changes)
    )
    return config_request.AlterConfigsResource(resource_type=i8(2), resource_name=name, configs=configs)


def altered(*resources: Any, validate_only: bool = False) -> Parts:
    entity = config_request.IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
    return parts_of(44, entity)


def test_configs_are_set_and_deleted() -> None:
    parts = altered(configs_of("orders", (SET, "1")), configs_of("bills", (DELETE, "1")))
    assert parts.requests == (
        AlterConfigRequest(2, "orders", "config0", "1"), AlterConfigRequest(2, "bills", "config0", None)
    )  # fmt: skip
    replies = (AlterConfigResponse(ErrorCode.NONE), AlterConfigResponse(ErrorCode.INVALID_CONFIG, "wrong"))
    answer: Any = read_entity(IncrementalAlterConfigsResponse, parts.response_bytes(replies))
    assert [
        (one.resource_type, one.resource_name, int(one.error_code), one.error_message) for one in answer.responses
    ] == [(2, "orders", 0, None), (2, "bills", 40, "wrong")]


@pytest.mark.parametrize("changes", [(), ((SET, "1"), (SET, "2")), ((APPEND, "1"),), ((SET, None),)], ids=str)
def test_what_is_no_change_of_one_config_is_refused_alone(changes: tuple[tuple[int, str | None], ...]) -> None:
    parts = altered(configs_of("orders", *changes), configs_of("bills", (SET, "1")))
    assert parts.requests == (AlterConfigRequest(2, "bills", "config0", "1"),)
    replies = (AlterConfigResponse(ErrorCode.NONE),)
    answer: Any = read_entity(IncrementalAlterConfigsResponse, parts.response_bytes(replies))
    first, second = answer.responses
    assert (first.resource_name, int(first.error_code)) == ("orders", 42) and first.error_message
    assert (second.resource_name, int(second.error_code)) == ("bills", 0)


def test_configs_are_not_only_checked() -> None:
    assert altered(configs_of("orders", (SET, "1")), validate_only=True).requests == ()


# Partitions.


def isr_of_two_partitions() -> Parts:
    partitions = tuple(
        isr_request.PartitionData(
            partition_index=i32(index), leader_epoch=i32(4), partition_epoch=i32(5),
            new_isr_with_epochs=(isr_request.BrokerState(broker_id=BrokerId(1), broker_epoch=i64(9)),),
        )
        for index in range(2)
    )  # fmt: skip
    of_topic = isr_request.TopicData(topic_id=TOPIC_ID, partitions=partitions)
    entity = isr_request.AlterPartitionRequest(broker_id=BrokerId(1), broker_epoch=i64(8), topics=(of_topic,))
    return parts_of(56, entity)


def test_isrs_are_changed_one_by_one() -> None:
    parts = isr_of_two_partitions()
    assert parts.requests == tuple(
        AlterPartitionRequest(1, 8, TOPIC_ID, index, 4, 5, (IsrMember(1, 9),)) for index in range(2)
    )
    replies = (
        AlterPartitionResponse(ErrorCode.NONE, 1, 4, (1,), 6), AlterPartitionResponse(ErrorCode.NOT_CONTROLLER)
    )  # fmt: skip
    answer: Any = read_entity(WireIsrResponse, parts.response_bytes(replies))
    assert int(answer.error_code) == 0 and answer.topics[0].topic_id == TOPIC_ID
    first, second = answer.topics[0].partitions
    assert (first.partition_index, first.leader_id, first.leader_epoch, first.isr, first.partition_epoch) == (
        0, 1, 4, (1,), 6
    )  # fmt: skip
    assert (second.partition_index, int(second.error_code)) == (1, 41)


@pytest.mark.parametrize("error", [ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_BROKER_EPOCH])
def test_what_is_wrong_with_the_sender_is_said_of_the_whole(error: ErrorCode) -> None:
    """Where Kafka's leaders look for it (AlterPartitionManager.handleAlterPartitionResponse)."""
    reply = AlterPartitionResponse(error)
    answer: Any = read_entity(WireIsrResponse, isr_of_two_partitions().response_bytes((reply, reply)))
    assert (int(answer.error_code), answer.topics) == (int(error), ())


def test_reassignments_are_asked_for_and_cancelled() -> None:
    moved = moves_request.ReassignablePartition(partition_index=i32(0), replicas=(BrokerId(2), BrokerId(3)))
    ended = moves_request.ReassignablePartition(partition_index=i32(1), replicas=None)
    topics = tuple(
        moves_request.ReassignableTopic(name=name, partitions=(one,)) for name, one in ((ORDERS, moved), (BILLS, ended))
    )
    parts = parts_of(45, moves_request.AlterPartitionReassignmentsRequest(topics=topics))
    assert parts.requests == (
        AlterPartitionReassignmentRequest("orders", 0, (2, 3)), AlterPartitionReassignmentRequest("bills", 1, None)
    )  # fmt: skip
    replies = (
        AlterPartitionReassignmentResponse(ErrorCode.NONE),
        AlterPartitionReassignmentResponse(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "nothing"),
    )
    answer: Any = read_entity(AlterPartitionReassignmentsResponse, parts.response_bytes(replies))
    assert [
        (one.name, each.partition_index, int(each.error_code), each.error_message)
        for one in answer.responses
        for each in one.partitions
    ] == [(ORDERS, 0, 0, None), (BILLS, 1, 85, "nothing")]


def test_reassignments_are_listed() -> None:
    everything = list_request.ListPartitionReassignmentsRequest(topics=None)
    some = list_request.ListPartitionReassignmentsTopics(name=ORDERS, partition_indexes=(i32(0), i32(2)))
    named = list_request.ListPartitionReassignmentsRequest(topics=(some,))
    assert parts_of(46, everything).requests == (ListPartitionReassignmentsRequest(None),)
    parts = parts_of(46, named)
    assert parts.requests == (ListPartitionReassignmentsRequest((("orders", 0), ("orders", 2))),)
    ongoing = tuple(OngoingReassignment("orders", index, (1, 2), (2,), (1,)) for index in (0, 2))
    reply = ListPartitionReassignmentsResponse(ErrorCode.NONE, ongoing)
    answer: Any = read_entity(WireListResponse, parts.response_bytes((reply,)))
    (of_topic,) = answer.topics
    assert [(one.partition_index, one.replicas, one.adding_replicas) for one in of_topic.partitions] == [
        (0, (1, 2), (2,)), (2, (1, 2), (2,))
    ]  # fmt: skip


def election(kind: int, named: bool) -> Parts:
    some = elect_request.TopicPartitions(topic=ORDERS, partitions=(i32(0), i32(1)))
    return parts_of(
        43, elect_request.ElectLeadersRequest(election_type=i8(kind), topic_partitions=(some,) if named else None)
    )


def test_preferred_leaders_are_elected_and_no_others() -> None:
    parts = election(0, named=True)
    assert parts.requests == tuple(ElectPreferredLeaderRequest("orders", index) for index in range(2))
    replies = tuple(map(ElectPreferredLeaderResponse, (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)))
    answer: Any = read_entity(ElectLeadersResponse, parts.response_bytes(replies))
    (result,) = answer.replica_election_results
    assert [(one.partition_id, int(one.error_code)) for one in result.partition_result] == [(0, 0), (1, 84)]
    for refused in (election(1, named=True), election(0, named=False)):
        answer = read_entity(ElectLeadersResponse, refused.response_bytes(()))
        assert refused.requests == () and int(answer.error_code) == 42


@given(st.sampled_from(sorted(VERSIONS)), st.binary(max_size=80))
def test_anything_else_is_refused(key: int, body: bytes) -> None:
    try:
        read_parts(key, body)
    except WireError:
        return
