"""AlterPartition: what is accepted, and which check refuses what."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from impl.kraft.controller import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    IsrMember,
    UnregisterBrokerRequest,
    UpdateFeatureRequest,
)
from impl.kraft.records import PartitionChangeRecord, SupportedFeature
from tests.impl.controller_runtime import CLUSTER, ControllerRuntime


@pytest.fixture
def runtime() -> ControllerRuntime:
    """Brokers 0 to 3, all active; a partition on 0, 1 and 2 whose ISR is 0, the leader, and 1."""
    runtime = ControllerRuntime()
    runtime.activate(0, 1, 2, 3)
    key = runtime.create((0, 1, 2))
    runtime.alter_isr(key, 0, 1)
    return runtime


@pytest.fixture
def key(runtime: ControllerRuntime) -> PartitionKey:
    [key] = runtime.image.partitions
    return key


def test_a_change_is_made_and_the_response_shows_it(runtime: ControllerRuntime, key: PartitionKey) -> None:
    response = runtime.alter_isr(key, 0, 1, 2)
    [record] = runtime.records()
    assert record == PartitionChangeRecord(0, key[0], isr=(0, 1, 2))
    assert (response.error, response.isr, response.leader) == (ErrorCode.NONE, (0, 1, 2), 0)
    assert (response.leader_epoch, response.partition_epoch) == (0, 2)
    assert runtime.partition(key).partition_epoch == 2


def test_the_same_isr_in_another_order_changes_nothing(runtime: ControllerRuntime, key: PartitionKey) -> None:
    response = runtime.alter_isr(key, 1, 0)
    assert runtime.records() == []
    assert (response.error, response.isr, response.partition_epoch) == (ErrorCode.NONE, (0, 1), 1)


REFUSED: dict[str, tuple[dict[str, Any], ErrorCode]] = {
    "another broker epoch": ({"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
    "no such broker": ({"broker_id": 9}, ErrorCode.STALE_BROKER_EPOCH),
    "no such topic": ({"topic_id": UUID(int=99)}, ErrorCode.UNKNOWN_TOPIC_ID),
    "no such partition": ({"partition_id": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    "leader epoch ahead": ({"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
    "partition epoch ahead": ({"partition_epoch": 2}, ErrorCode.NOT_CONTROLLER),
    "leader epoch behind": ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
    "partition epoch behind": ({"partition_epoch": 0}, ErrorCode.INVALID_UPDATE_VERSION),
    "not even the leader": ({"new_isr": ()}, ErrorCode.INVALID_REQUEST),
    "without the leader": ({"new_isr": (IsrMember(1),)}, ErrorCode.INVALID_REQUEST),
    "twice the leader": ({"new_isr": (IsrMember(0), IsrMember(0))}, ErrorCode.INVALID_REQUEST),
    "not a replica": ({"new_isr": (IsrMember(0), IsrMember(3))}, ErrorCode.INVALID_REQUEST),
}
"""In the order of the checks."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_is_refused(runtime: ControllerRuntime, key: PartitionKey, name: str) -> None:
    changes, error = REFUSED[name]
    before = runtime.partition(key)
    assert runtime.alter_isr(key, 0, 1, 2, **changes).error is error
    assert not runtime.records() and runtime.partition(key) == before


@pytest.mark.parametrize("earlier, later", [(a, b) for i, a in enumerate(REFUSED) for b in list(REFUSED)[i + 1 :]])
def test_the_earlier_check_is_the_one_that_answers(
    runtime: ControllerRuntime, key: PartitionKey, earlier: str, later: str
) -> None:
    (first, error), (second, _) = REFUSED[earlier], REFUSED[later]
    changes = {**second, **first}
    assert runtime.alter_isr(key, 0, 1, 2, **changes).error is error


def test_only_the_leader_may_ask(runtime: ControllerRuntime, key: PartitionKey) -> None:
    epoch = runtime.image.registrations[1].broker_epoch
    assert runtime.alter_isr(key, 0, 1, 2, broker_id=1, broker_epoch=epoch).error is ErrorCode.INVALID_REQUEST


def ineligible(runtime: ControllerRuntime, key: PartitionKey, *isr: int, **changes: Any) -> None:
    """The request is refused, and no copy of it can be accepted later."""
    request = runtime.alter_isr_request(key, *isr, **changes)
    assert runtime.ask(request).error is ErrorCode.INELIGIBLE_REPLICA
    assert runtime.records() == [PartitionChangeRecord(0, key[0])]
    assert runtime.ask(request).error is ErrorCode.INVALID_UPDATE_VERSION


def test_a_fenced_member_is_refused(runtime: ControllerRuntime, key: PartitionKey) -> None:
    runtime.heartbeat(2, want_fence=True)
    ineligible(runtime, key, 0, 1, 2)


def test_a_member_that_is_not_registered_any_more_is_refused(runtime: ControllerRuntime, key: PartitionKey) -> None:
    runtime.ask(UnregisterBrokerRequest(2))
    ineligible(runtime, key, 0, 1, new_isr=(IsrMember(0), IsrMember(1), IsrMember(2, 1)))


def test_a_member_in_controlled_shutdown_is_refused(runtime: ControllerRuntime, key: PartitionKey) -> None:
    runtime.heartbeat(2, want_shut_down=True)
    ineligible(runtime, key, 0, 1, 2)


@pytest.mark.parametrize("seen", [-1, 0, 10**9])
def test_a_member_that_is_added_must_be_at_the_epoch_that_the_leader_saw(
    runtime: ControllerRuntime, key: PartitionKey, seen: int
) -> None:
    ineligible(runtime, key, 0, 1, new_isr=(IsrMember(0), IsrMember(1), IsrMember(2, seen)))


def test_a_member_that_is_there_already_need_not_be(runtime: ControllerRuntime, key: PartitionKey) -> None:
    assert runtime.alter_isr(key, 0, 1, new_isr=(IsrMember(0), IsrMember(1, -1))).error is ErrorCode.NONE
    ineligible(runtime, key, 0, 1, new_isr=(IsrMember(0), IsrMember(1, 0)))


def test_a_registration_since_the_leader_looked_counts(runtime: ControllerRuntime, key: PartitionKey) -> None:
    """KAFKA-14617: the broker may have lost its disk in between."""
    request = runtime.alter_isr_request(key, 0, 1, 2)
    runtime.heartbeat(2, want_fence=True)
    runtime.register(2, 2)
    runtime.heartbeat(2)
    assert runtime.ask(request).error is ErrorCode.INELIGIBLE_REPLICA


def test_a_change_may_complete_a_reassignment_and_take_more_out(runtime: ControllerRuntime, key: PartitionKey) -> None:
    runtime.ask(AlterPartitionReassignmentRequest("orders", 0, (0, 2)))
    response = runtime.alter_isr(key, 0, 1, 2)
    assert (response.error, response.isr) == (ErrorCode.NONE, (0, 2))
    assert response.leader_epoch == runtime.partition(key).leader_epoch == 1, "a replica went"
    assert runtime.partition(key).replicas == (0, 2)


def test_whom_its_own_change_takes_out_of_the_lead_waits_for_the_metadata(
    runtime: ControllerRuntime, key: PartitionKey
) -> None:
    runtime.ask(AlterPartitionReassignmentRequest("orders", 0, (2, 3)))
    assert runtime.alter_isr(key, 0, 1, 2).error is ErrorCode.NONE
    response = runtime.alter_isr(key, 0, 1, 2, 3)
    assert response.error is ErrorCode.NEW_LEADER_ELECTED
    partition = runtime.partition(key)
    assert (partition.replicas, partition.isr, partition.leader) == ((2, 3), (2, 3), 2)


VERSIONS = (SupportedFeature("metadata.version", 1, 21),)


@pytest.mark.parametrize(("level", "error"), [(9, ErrorCode.NONE), (10, ErrorCode.INELIGIBLE_REPLICA)])
def test_below_metadata_version_3_5_no_member_has_an_epoch(level: int, error: ErrorCode) -> None:
    """Leaders put -1 for all of them (KIP-903): were that refused, they would ask for ever."""
    runtime = ControllerRuntime(ControllerSettings(CLUSTER, supported_features=VERSIONS))
    for broker_id in (0, 1):
        runtime.register(broker_id, features=VERSIONS)
        runtime.heartbeat(broker_id)
    runtime.ask(UpdateFeatureRequest("metadata.version", level))
    key = runtime.create((0, 1))
    runtime.alter_isr(key, 0)
    response = runtime.alter_isr(key, new_isr=(IsrMember(0, -1), IsrMember(1, -1)))
    assert response.error is error
    assert runtime.partition(key).isr == ((0, 1) if level < 10 else (0,))
