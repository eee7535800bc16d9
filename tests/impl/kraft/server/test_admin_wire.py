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
from kio.schema.create_partitions.v3.response import CreatePartitionsResponse as WireGrowthResponse
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.delete_topics.v6 import request as delete_request
from kio.schema.delete_topics.v6.response import DeleteTopicsResponse
from kio.schema.elect_leaders.v2 import request as elect_request
from kio.schema.elect_leaders.v2.response import ElectLeadersResponse
from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse
from kio.schema.list_partition_reassignments.v0 import request as list_request
from kio.schema.list_partition_reassignments.v0.response import ListPartitionReassignmentsResponse as WireListResponse
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i64

from impl.kraft.controller.controller import RESPONSES
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    ConfigChange,
    ConfigOperation,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    ElectPreferredLeaderRequest,
    ElectPreferredLeaderResponse,
    ElectUncleanLeaderRequest,
    IsrMember,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
)
from impl.kraft.server.admin_wire import VERSIONS, read_parts
from impl.kraft.server.parts import Parts
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError
from tests.impl.controller_runtime import ControllerRuntime
from tests.impl.kraft.server.admin_requests import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    TIMEOUT,
    alteration,
    configs_of,
    creation,
    grown,
    growth,
    new_topic,
)

ORDERS, BILLS = TopicName("orders"), TopicName("bills")
TOPIC_ID = UUID(int=7)


def parts_of(key: int, entity: Any, image: Image | None = None) -> Parts:
    return read_parts(key, entity_bytes(entity), image or Image())


# Topics.


def created(*topics: Any, validate_only: bool = False) -> Parts:
    return parts_of(19, creation(*topics, validate_only=validate_only))


def test_topics_are_created_one_by_one() -> None:
    parts = created(
        new_topic("orders", partitions=3, factor=2, retention_ms="1"), new_topic("bills", (1, 2), (2, 1))
    )  # fmt: skip
    first, second = parts.requests
    assert isinstance(first, CreateTopicRequest) and isinstance(second, CreateTopicRequest)
    assert (first.name, first.num_partitions, first.replication_factor, first.assignments) == ("orders", 3, 2, None)
    assert first.configs == (("retention.ms", "1"),) and first.topic_id != second.topic_id
    assert second.assignments == ((1, 2), (2, 1)) and not second.validate_only
    replies = (CreateTopicResponse(ErrorCode.NONE, TOPIC_ID), CreateTopicResponse(ErrorCode.TOPIC_ALREADY_EXISTS))
    answer: Any = read_entity(CreateTopicsResponse, parts.response_bytes(replies))
    assert [(one.name, int(one.error_code), one.topic_id, one.num_partitions) for one in answer.topics] == [
        (ORDERS, 0, TOPIC_ID, 3), (BILLS, 36, None, -1)
    ]  # fmt: skip
    assert answer.topics[0].replication_factor == 2 and answer.topics[0].configs == ()


def test_of_a_topic_with_assignments_their_numbers_are_said() -> None:
    parts = created(new_topic("orders", (1, 2), (2, 1), (1, 2)))
    replies = (CreateTopicResponse(ErrorCode.NONE, TOPIC_ID),)
    answer: Any = read_entity(CreateTopicsResponse, parts.response_bytes(replies))
    assert (answer.topics[0].num_partitions, answer.topics[0].replication_factor) == (3, 2)


def test_a_topic_has_one_partition_and_one_replica_unless_it_is_said() -> None:
    parts = created(new_topic("orders"), validate_only=True)
    (request,) = parts.requests
    assert isinstance(request, CreateTopicRequest) and request.validate_only
    assert (request.num_partitions, request.replication_factor) == (1, 1)
    replies = (CreateTopicResponse(ErrorCode.NONE, TOPIC_ID),)
    answer: Any = read_entity(CreateTopicsResponse, parts.response_bytes(replies))
    assert (answer.topics[0].num_partitions, answer.topics[0].replication_factor) == (1, 1)


def test_what_the_core_has_not_is_refused_for_its_topic_alone() -> None:
    gap, twice = new_topic("bills", (1,), first=1), new_topic("twice")
    parts = created(gap, twice, new_topic("orders"), twice)
    assert len(parts.requests) == 1
    answer: Any = read_entity(CreateTopicsResponse, parts.response_bytes((CreateTopicResponse(ErrorCode.NONE),)))
    assert [(one.name, int(one.error_code)) for one in answer.topics] == [(BILLS, 39), ("twice", 42), (ORDERS, 0)]


@pytest.mark.parametrize("validate_only", [False, True])
def test_topics_get_more_partitions_one_by_one(validate_only: bool) -> None:
    topics = grown("orders", 3), grown("bills", 4, ((1, 2), (2, 1))), grown("twice", 2), grown("twice", 3)
    parts = parts_of(37, growth(*topics, validate_only=validate_only))
    assert parts.requests == (
        CreatePartitionsRequest("orders", 3, None, validate_only),
        CreatePartitionsRequest("bills", 4, ((1, 2), (2, 1)), validate_only),
    )
    replies = (CreatePartitionsResponse(ErrorCode.NONE), CreatePartitionsResponse(ErrorCode.INVALID_PARTITIONS, "no"))
    answer: Any = read_entity(WireGrowthResponse, parts.response_bytes(replies))
    assert [(one.name, int(one.error_code), one.error_message) for one in answer.results] == [
        (ORDERS, 0, None), (BILLS, 37, "no"), ("twice", 42, "the topic is named twice")
    ]  # fmt: skip


def test_topics_are_deleted_by_name_or_id() -> None:
    named = delete_request.DeleteTopicState(name=ORDERS, topic_id=None)
    by_id = delete_request.DeleteTopicState(name=None, topic_id=TOPIC_ID)
    parts = parts_of(20, delete_request.DeleteTopicsRequest(topics=(named, by_id), timeout=TIMEOUT))
    assert parts.requests == (DeleteTopicRequest(None, "orders"), DeleteTopicRequest(TOPIC_ID, None))
    replies = (DeleteTopicResponse(ErrorCode.NONE), DeleteTopicResponse(ErrorCode.UNKNOWN_TOPIC_ID))
    answer: Any = read_entity(DeleteTopicsResponse, parts.response_bytes(replies))
    assert [(one.name, one.topic_id, int(one.error_code)) for one in answer.responses] == [
        (ORDERS, None, 0), (None, TOPIC_ID, 100)
    ]  # fmt: skip


# Configs.


def altered(*resources: Any, validate_only: bool = False) -> Parts:
    return parts_of(44, alteration(*resources, validate_only=validate_only))


@pytest.mark.parametrize("validate_only", [False, True])
def test_configs_of_a_resource_are_changed_together(validate_only: bool) -> None:
    changes = ("a", SET, "1"), ("b", DELETE, None), ("c", APPEND, "2"), ("d", SUBTRACT, "3")
    parts = altered(
        configs_of(2, "orders", *changes), configs_of(4, "", ("a", SET, None)), validate_only=validate_only
    )  # fmt: skip
    made = tuple(ConfigChange(name, ConfigOperation(operation), value) for name, operation, value in changes)
    assert parts.requests == (
        AlterConfigsRequest(2, "orders", made, validate_only),
        AlterConfigsRequest(4, "", (ConfigChange("a", ConfigOperation.SET, None),), validate_only),
    )
    replies = (AlterConfigsResponse(ErrorCode.NONE), AlterConfigsResponse(ErrorCode.INVALID_CONFIG, "wrong"))
    answer: Any = read_entity(IncrementalAlterConfigsResponse, parts.response_bytes(replies))
    assert [
        (one.resource_type, one.resource_name, int(one.error_code), one.error_message) for one in answer.responses
    ] == [(2, "orders", 0, None), (4, "", 40, "wrong")]


def test_what_is_no_change_is_refused_alone() -> None:
    unknown, twice = configs_of(2, "bills", ("a", 4, "1")), configs_of(2, "twice", ("a", SET, "1"))
    other_kind = configs_of(4, "twice", ("a", SET, "1"))
    parts = altered(unknown, twice, configs_of(2, "orders", ("a", SET, "1")), twice, other_kind)
    assert parts.requests == (
        AlterConfigsRequest.of_one(2, "orders", "a", "1"), AlterConfigsRequest.of_one(4, "twice", "a", "1")
    )  # fmt: skip
    replies = (AlterConfigsResponse(ErrorCode.NONE),) * 2
    answer: Any = read_entity(IncrementalAlterConfigsResponse, parts.response_bytes(replies))
    assert [(one.resource_name, int(one.error_code)) for one in answer.responses] == [
        ("bills", 42), ("twice", 42), ("orders", 0), ("twice", 0)
    ]  # fmt: skip


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


def test_preferred_leaders_are_elected_and_unclean_ones() -> None:
    parts = election(0, named=True)
    assert parts.requests == tuple(ElectPreferredLeaderRequest("orders", index) for index in range(2))
    replies = tuple(map(ElectPreferredLeaderResponse, (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)))
    answer: Any = read_entity(ElectLeadersResponse, parts.response_bytes(replies))
    (result,) = answer.replica_election_results
    assert [(one.partition_id, int(one.error_code)) for one in result.partition_result] == [(0, 0), (1, 84)]
    assert election(1, named=True).requests == tuple(ElectUncleanLeaderRequest("orders", index) for index in range(2))
    for refused in (election(2, named=True), election(2, named=False)):
        answer = read_entity(ElectLeadersResponse, refused.response_bytes(()))
        assert refused.requests == () and int(answer.error_code) == 42


def test_of_all_partitions_those_are_elected_that_another_one_leads() -> None:
    """And a standby says that it is one, whatever there is to elect."""
    runtime = ControllerRuntime()
    runtime.activate(1, 2)
    runtime.create((1, 2), (2, 1), name="orders")
    assert election_of_all(runtime.image).requests == (ListPartitionReassignmentsRequest(()),)
    runtime.heartbeat(2, want_fence=True)
    parts = election_of_all(runtime.image)
    assert parts.requests == (ElectPreferredLeaderRequest("orders", 1), ListPartitionReassignmentsRequest(()))
    for of_standby in (election_of_all(Image()), parts):
        replies = tuple(RESPONSES[type(one)](ErrorCode.NOT_CONTROLLER) for one in of_standby.requests)
        answer: Any = read_entity(ElectLeadersResponse, of_standby.response_bytes(replies))
        assert int(answer.error_code) == 41
    listed = ListPartitionReassignmentsResponse(ErrorCode.NONE)
    for error, told in ((ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, [80]), (ErrorCode.ELECTION_NOT_NEEDED, [])):
        reply = ElectPreferredLeaderResponse(error)
        answer = read_entity(ElectLeadersResponse, parts.response_bytes((reply, listed)))
        results = [int(one.error_code) for topic in answer.replica_election_results for one in topic.partition_result]
        assert results == told and int(answer.error_code) == 0


def election_of_all(image: Image) -> Parts:
    return parts_of(43, elect_request.ElectLeadersRequest(election_type=i8(0), topic_partitions=None), image)


@given(st.sampled_from(sorted(VERSIONS)), st.binary(max_size=80))
def test_anything_else_is_refused(key: int, body: bytes) -> None:
    try:
        read_parts(key, body, Image())
    except WireError:
        return
