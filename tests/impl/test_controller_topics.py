"""Topics, placement over racks, configs, feature levels."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.kraft.controller import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.levels import SUPPORTED
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    UpdateFeatureRequest,
    UpdateFeatureResponse,
)
from impl.kraft.records import ConfigRecord, PartitionRecord, RemoveTopicRecord, SupportedFeature, TopicRecord
from tests.impl.controller_runtime import CLUSTER, ControllerRuntime

ID = UUID(int=77)


def create(runtime: ControllerRuntime, name: str = "orders", **changes: Any) -> CreateTopicResponse:
    response = runtime.ask(CreateTopicRequest(name, changes.pop("topic_id", ID), **changes))
    assert isinstance(response, CreateTopicResponse)
    return response


def office_of(*brokers: int, racks: dict[int, str] | None = None) -> ControllerRuntime:
    runtime = ControllerRuntime()
    runtime.activate(*brokers, racks=racks)
    return runtime


def placed(runtime: ControllerRuntime) -> list[tuple[int, ...]]:
    return [partition.replicas for _, partition in runtime.image.of_topic(ID)]


# Create.


def test_a_topic_and_its_partitions_are_one_batch() -> None:
    runtime = office_of(0, 1)
    response = create(runtime, num_partitions=2, replication_factor=2, configs=(("retention.ms", "5"),))
    assert (response.error, response.topic_id) == (ErrorCode.NONE, ID)
    [batch] = runtime.appended
    assert [type(record) for record in batch.records] == [TopicRecord, ConfigRecord, PartitionRecord, PartitionRecord]


def test_fenced_brokers_get_replicas_and_active_ones_make_the_isr() -> None:
    runtime = office_of(0, 1, 2)
    runtime.heartbeat(1, want_fence=True)
    runtime.heartbeat(2, want_shut_down=True)
    assert create(runtime, replication_factor=3).error is ErrorCode.NONE
    [partition] = [partition for _, partition in runtime.image.of_topic(ID)]
    assert set(partition.replicas) == {0, 1, 2} and partition.replicas[0] == 0
    assert (partition.isr, partition.leader) == ((0,), 0)


def test_manual_assignments_keep_their_order_and_the_first_active_replica_leads() -> None:
    runtime = office_of(0, 1, 2)
    runtime.heartbeat(2, want_fence=True)
    response = create(runtime, assignments=((2, 1, 0), (1, 0, 2)), num_partitions=-1, replication_factor=-1)
    assert response.error is ErrorCode.NONE
    partitions = [partition for _, partition in runtime.image.of_topic(ID)]
    assert [(p.replicas, p.isr, p.leader) for p in partitions] == [((2, 1, 0), (1, 0), 1), ((1, 0, 2), (1, 0), 1)]


REFUSED: list[tuple[dict[str, Any], ErrorCode]] = [
    ({"name": ""}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ({"name": ".."}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ({"name": "a b"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ({"name": "a\n"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ({"name": "x" * 250}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ({"name": "taken"}, ErrorCode.TOPIC_ALREADY_EXISTS),
    ({"name": "taken", "topic_id": UUID(int=1)}, ErrorCode.TOPIC_ALREADY_EXISTS),
    ({"topic_id": UUID(int=1)}, ErrorCode.INVALID_REQUEST),
    ({"num_partitions": 0}, ErrorCode.INVALID_PARTITIONS),
    ({"assignments": ()}, ErrorCode.INVALID_PARTITIONS),
    ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
    ({"replication_factor": 4}, ErrorCode.INVALID_REPLICATION_FACTOR),
    ({"assignments": ((),)}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ({"assignments": ((0, 0),)}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ({"assignments": ((0, 9),)}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ({"assignments": ((0,), (0, 1))}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ({"assignments": ((2,),)}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ({"configs": (("", "1"),)}, ErrorCode.INVALID_CONFIG),
    ({"configs": (("min.insync.replicas", "0"),)}, ErrorCode.INVALID_CONFIG),
]


@pytest.mark.parametrize("changes, error", REFUSED, ids=str)
def test_what_cannot_be_created(changes: dict[str, Any], error: ErrorCode) -> None:
    """Three brokers, of which 2 is fenced, and a topic `taken`."""
    runtime = office_of(0, 1, 2)
    runtime.heartbeat(2, want_fence=True)
    runtime.create((0, 1), name="taken")
    response = create(runtime, **changes)
    assert response.error is error and response.message
    assert not runtime.records()


@pytest.mark.parametrize("name", [".x", "...", "a.b_c-D9", "x" * 249])
def test_names_that_are_legal(name: str) -> None:
    assert create(office_of(0), name).error is ErrorCode.NONE


def test_no_topic_where_every_broker_is_fenced() -> None:
    runtime = office_of(0)
    runtime.heartbeat(0, want_fence=True)
    assert create(runtime).error is ErrorCode.INVALID_REPLICATION_FACTOR


# Delete.


def test_a_topic_is_deleted_by_one_record_with_all_that_is_its() -> None:
    runtime = office_of(0, 1)
    create(runtime, num_partitions=3, replication_factor=2, configs=(("a", "1"),))
    assert runtime.ask(DeleteTopicRequest(topic_id=ID)).error is ErrorCode.NONE
    assert runtime.records() == [RemoveTopicRecord(topic_id=ID)]
    image = runtime.image
    assert not (image.topics or image.topic_ids or image.partitions or image.configs or image.partition_counts)
    assert not any(image.in_isr.values())
    assert create(runtime, topic_id=UUID(int=78)).error is ErrorCode.NONE, "its name is free again"


def test_what_cannot_be_deleted() -> None:
    runtime = office_of(0)
    create(runtime)
    assert runtime.ask(DeleteTopicRequest(topic_id=UUID(int=5))).error is ErrorCode.UNKNOWN_TOPIC_ID
    assert runtime.ask(DeleteTopicRequest(name="nothing")).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert runtime.ask(DeleteTopicRequest()).error is ErrorCode.INVALID_REQUEST
    assert runtime.ask(DeleteTopicRequest(topic_id=ID, name="orders")).error is ErrorCode.INVALID_REQUEST
    assert not runtime.records()


# Placement.


@settings(deadline=None)
@given(
    racks=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=8),
    fenced=st.sets(st.integers(0, 7)),
    replication_factor=st.integers(1, 8),
    start=st.integers(0, 2**128 - 1),
)
def test_replicas_are_spread_over_the_racks(
    racks: list[str | None], fenced: set[int], replication_factor: int, start: int
) -> None:
    runtime = ControllerRuntime()
    for broker_id, rack in enumerate(racks):
        runtime.register(broker_id, rack=rack)
        if broker_id not in fenced:
            runtime.heartbeat(broker_id)
    active = set(range(len(racks))) - fenced
    if not active or replication_factor > len(racks):
        assert create(runtime, replication_factor=replication_factor).error is ErrorCode.INVALID_REPLICATION_FACTOR
        return
    create(runtime, num_partitions=6, replication_factor=replication_factor, topic_id=UUID(int=start))
    for _, partition in runtime.image.of_topic(UUID(int=start)):
        replicas = partition.replicas
        assert len(set(replicas)) == replication_factor and replicas[0] in active
        used = Counter(racks[broker_id] for broker_id in replicas)
        sizes = Counter(racks)
        assert all(used[rack] >= min(most - 1, sizes[rack]) for rack in sizes for most in used.values())
        for rack in sizes:
            idle = {b for b in active if racks[b] == rack} - set(replicas)
            assert not (idle and any(b in fenced and racks[b] == rack for b in replicas)), "active ones come first"


def test_leaderships_go_round_and_their_second_replicas_too() -> None:
    runtime = office_of(*range(6), racks={b: "abc"[b % 3] for b in range(6)})
    create(runtime, num_partitions=60, replication_factor=3)
    leads = Counter(replicas[0] for replicas in placed(runtime))
    assert set(leads.values()) == {10}
    behind_0 = Counter(replicas[1] for replicas in placed(runtime) if replicas[0] == 0)
    assert len(behind_0) == 2, "both brokers of the next rack"


def test_leaderships_go_round_also_where_each_rack_has_as_many_brokers_as_there_are_racks() -> None:
    runtime = office_of(*range(4), racks={b: "ab"[b % 2] for b in range(4)})
    create(runtime, num_partitions=40, replication_factor=2)
    assert set(Counter(replicas[0] for replicas in placed(runtime)).values()) == {10}


@pytest.mark.parametrize("racks", ["a", "ab", "aab"])
def test_no_broker_is_named_twice(racks: str) -> None:
    runtime = office_of(*range(6), racks={b: racks[b % len(racks)] for b in range(6)})
    create(runtime, num_partitions=60, replication_factor=6)
    assert all(set(replicas) == set(range(6)) for replicas in placed(runtime))


def test_where_replicas_go_does_not_depend_on_who_came_first() -> None:
    racks = {b: "abc"[b % 3] for b in range(6)}
    offices = office_of(*range(6), racks=racks), office_of(*reversed(range(6)), racks=racks)
    for runtime in offices:
        create(runtime, num_partitions=12, replication_factor=3)
    assert placed(offices[0]) == placed(offices[1])


def test_without_racks_every_other_broker_is_a_second_replica() -> None:
    runtime = office_of(*range(5))
    create(runtime, num_partitions=20, replication_factor=2)
    assert len(set(placed(runtime))) == 20


@pytest.mark.parametrize("changes", [
    {"configs": tuple((f"a{number}", "1") for number in range(9_999))},
    {"num_partitions": 10_000},
    {"assignments": ((0,),) * 10_000},
    {"num_partitions": 9_998, "configs": (("a", "1"), ("b", "1"))},
], ids="+".join)  # fmt: skip
def test_no_topic_takes_more_records_than_one_request_may_ask_for(changes: dict[str, Any]) -> None:
    """The record of the topic counts, and those of its configs and partitions together."""
    runtime = office_of(0)
    response = create(runtime, **changes)
    assert response.error is ErrorCode.POLICY_VIOLATION and "10001" in response.message
    assert not runtime.records()


def test_the_largest_topic_has_9_999_partitions() -> None:
    runtime = office_of(0)
    assert create(runtime, num_partitions=9_999).error is ErrorCode.NONE
    assert len(runtime.records()) == 10_000


# Configs.


def alter(runtime: ControllerRuntime, type_: int, resource: str, name: str, value: str | None) -> ErrorCode:
    response = runtime.ask(AlterConfigsRequest.of_one(type_, resource, name, value))
    assert isinstance(response, AlterConfigsResponse)
    assert bool(response.message) == (response.error is not ErrorCode.NONE)
    return response.error


def test_configs_are_set_and_deleted() -> None:
    runtime = office_of(0)
    create(runtime)
    assert alter(runtime, 2, "orders", "retention.ms", "5") is ErrorCode.NONE
    assert runtime.image.configs == {(2, "orders"): {"retention.ms": "5"}}
    assert alter(runtime, 2, "orders", "retention.ms", "5") is ErrorCode.NONE and not runtime.records()
    assert alter(runtime, 2, "orders", "retention.ms", None) is ErrorCode.NONE
    assert runtime.image.configs == {}
    assert alter(runtime, 2, "orders", "retention.ms", None) is ErrorCode.NONE and not runtime.records()
    assert alter(runtime, 4, "0", "a", "1") is ErrorCode.NONE
    assert alter(runtime, 4, "", "min.insync.replicas", "1") is ErrorCode.NONE
    assert alter(runtime, 4, "", "min.insync.replicas", None) is ErrorCode.NONE
    assert runtime.image.configs == {(4, "0"): {"a": "1"}}


@pytest.mark.parametrize(
    "type_, resource, name, value, error",
    [
        (2, "nothing", "a", "1", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (4, "9", "a", "1", ErrorCode.BROKER_ID_NOT_REGISTERED),
        (4, "x", "a", "1", ErrorCode.INVALID_REQUEST),
        (3, "0", "a", "1", ErrorCode.INVALID_REQUEST),
        (2, "orders", "", "1", ErrorCode.INVALID_CONFIG),
        (2, "orders", "min.insync.replicas", "many", ErrorCode.INVALID_CONFIG),
        (4, "", "min.insync.replicas", "-1", ErrorCode.INVALID_CONFIG),
    ],
)
def test_configs_that_are_refused(type_: int, resource: str, name: str, value: str, error: ErrorCode) -> None:
    runtime = office_of(0)
    create(runtime)
    assert alter(runtime, type_, resource, name, value) is error
    assert not runtime.records()


# Features.

VERSIONS = SupportedFeature("metadata.version", 1, 5)
NEWER = SupportedFeature("group.version", 2, 3)


@pytest.fixture
def versioned() -> ControllerRuntime:
    """A controller and a broker that support levels 1 to 5, and a fenced broker that supports 1 to 4.

    The brokers support levels 2 to 4 of another feature, the controller 2 and 3.
    """
    runtime = ControllerRuntime(ControllerSettings(CLUSTER, supported_features=(VERSIONS, NEWER)))
    group = SupportedFeature("group.version", 2, 4)
    runtime.register(0, features=(VERSIONS, group))
    runtime.heartbeat(0)
    runtime.register(1, features=(SupportedFeature("metadata.version", 1, 4), group))
    return runtime


def update(
    runtime: ControllerRuntime, level: int, name: str = "metadata.version", allow_downgrade: bool = False
) -> ErrorCode:
    response = runtime.ask(UpdateFeatureRequest(name, level, allow_downgrade))
    assert isinstance(response, UpdateFeatureResponse)
    assert bool(response.message) == (response.error is not ErrorCode.NONE)
    return response.error


def test_the_lowest_level_is_a_level_too(versioned: ControllerRuntime) -> None:
    assert update(versioned, 0, "group.version") is ErrorCode.NONE and not versioned.records()
    assert update(versioned, 1) is ErrorCode.NONE
    assert versioned.image.features == {"metadata.version": (1, 1)}


def test_a_feature_is_raised_lowered_and_removed(versioned: ControllerRuntime) -> None:
    name = "group.version"
    assert update(versioned, 3, name) is ErrorCode.NONE
    assert versioned.image.features == {name: (3, 3)}
    assert update(versioned, 3, name) is ErrorCode.NONE and not versioned.records()
    assert update(versioned, 2, name) is ErrorCode.INVALID_UPDATE_VERSION
    assert update(versioned, 2, name, allow_downgrade=True) is ErrorCode.NONE
    assert update(versioned, 3, name, allow_downgrade=True) is ErrorCode.INVALID_UPDATE_VERSION, "it raises the level"
    assert update(versioned, 0, name) is ErrorCode.INVALID_UPDATE_VERSION
    assert update(versioned, 0, name, allow_downgrade=True) is ErrorCode.NONE
    assert versioned.image.features == {}


def test_the_level_of_metadata_goes_down_where_none_is_lost() -> None:
    runtime = ControllerRuntime(ControllerSettings(CLUSTER, supported_features=SUPPORTED))
    for level, lower, error in (
        (7, 0, ErrorCode.INVALID_UPDATE_VERSION),
        (10, 9, ErrorCode.NONE),
        (12, 11, ErrorCode.NONE),
        (12, 10, ErrorCode.INVALID_UPDATE_VERSION),
    ):
        assert update(runtime, level) is ErrorCode.NONE
        assert update(runtime, lower, allow_downgrade=True) is error


def test_a_level_is_only_validated(versioned: ControllerRuntime) -> None:
    asked = UpdateFeatureRequest("metadata.version", 3, validate_only=True)
    assert versioned.ask(asked) == UpdateFeatureResponse(ErrorCode.NONE) and not versioned.records()
    assert versioned.ask(replace(asked, max_feature_level=6)).error is ErrorCode.INVALID_UPDATE_VERSION


REFUSED_LEVELS = [
    (6, "metadata.version"), (5, "metadata.version"), (1, "group.version"), (4, "group.version"), (1, "other"),
    (-1, "other"),
]  # fmt: skip


@pytest.mark.parametrize("level, name", REFUSED_LEVELS)
def test_a_level_that_somebody_does_not_support_is_refused(versioned: ControllerRuntime, level: int, name: str) -> None:
    assert update(versioned, level, name) is ErrorCode.INVALID_UPDATE_VERSION
    assert not versioned.records()
