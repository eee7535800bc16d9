"""One decision is one batch, and what is asked for is refused where that would be too large, whatever it is."""

from __future__ import annotations

from uuid import UUID

import pytest

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.limits import MOST_BYTES, MOST_RECORDS, in_one_batch
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AllocateProducerIdsRequest,
    AlterConfigsRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    CreatePartitionsRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
    DeleteTopicResponse,
    ElectPreferredLeaderRequest,
    IsrMember,
    Request,
    UnregisterBrokerRequest,
    UpdateFeatureRequest,
)
from impl.kraft.records import TOPIC_RESOURCE, FenceBrokerRecord, NoOpRecord, SupportedFeature
from tests.impl.controller_runtime import CLUSTER, TIMEOUT_MS, ControllerRuntime, incarnation

ID = UUID(int=77)
REFUSED: dict[str, Request] = {
    "AlterPartition": AlterPartitionRequest(0, 1, ID, 0, 0, 1, (IsrMember(0, 1),)),
    "AlterPartitionReassignments": AlterPartitionReassignmentRequest("orders", 0, (1, 2)),
    "CreateTopics": CreateTopicRequest("bills", UUID(int=8)),
    "CreatePartitions": CreatePartitionsRequest("orders", 3),
    "DeleteTopics": DeleteTopicRequest(ID),
    "ElectLeaders": ElectPreferredLeaderRequest("orders", 1),
    "IncrementalAlterConfigs": AlterConfigsRequest.of_one(TOPIC_RESOURCE, "orders", "retention.ms", "5"),
    "UpdateFeatures": UpdateFeatureRequest("group.version", 1),
    "AllocateProducerIds": AllocateProducerIdsRequest(1, 3),
}
WITHOUT_MESSAGE = {"AlterPartition", "DeleteTopics", "ElectLeaders", "AllocateProducerIds"}


def runtime_of() -> ControllerRuntime:
    """Three brokers, and a topic one of whose partitions is not led by its preferred leader."""
    runtime = ControllerRuntime()
    features = (SupportedFeature("group.version", 0, 1),)
    runtime.controller.settings = type(runtime.controller.settings)(CLUSTER, supported_features=features)
    for broker_id in range(3):
        runtime.register(broker_id, features=features)
    runtime.activate(*range(3))
    assert runtime.ask(CreateTopicRequest("orders", ID, assignments=((0, 1), (1, 2)))).error is ErrorCode.NONE
    runtime.heartbeat(1, want_fence=True)
    runtime.heartbeat(1)
    member = IsrMember(1, runtime.image.registrations[1].broker_epoch)
    for partition_id, leader in ((0, 0), (1, 2)):
        held = runtime.image.partitions[ID, partition_id]
        epoch = runtime.image.registrations[leader].broker_epoch
        isr = IsrMember(leader, epoch), member
        asked = AlterPartitionRequest(leader, epoch, ID, partition_id, held.leader_epoch, held.partition_epoch, isr)
        assert runtime.ask(asked).error is ErrorCode.NONE
    return runtime


def fitting(runtime: ControllerRuntime, request: Request) -> Request:
    """With the epochs that the cluster has."""
    epochs = {number: one.broker_epoch for number, one in runtime.image.registrations.items()}
    match request:
        case AlterPartitionRequest():
            held = runtime.image.partitions[ID, 0]
            isr = (IsrMember(0, epochs[0]),)
            return AlterPartitionRequest(0, epochs[0], ID, 0, held.leader_epoch, held.partition_epoch, isr)
        case AllocateProducerIdsRequest():
            return AllocateProducerIdsRequest(1, epochs[1])
    return request


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_asked_for_is_refused_where_its_batch_would_be_too_large(name: str) -> None:
    runtime = runtime_of()
    request, before = fitting(runtime, REFUSED[name]), runtime.image.offset
    runtime.controller.batch_bytes = lambda records: MOST_BYTES + 1
    response = runtime.ask(request)
    assert response.error is ErrorCode.POLICY_VIOLATION and runtime.image.offset == before
    said = f"it takes a batch of {MOST_BYTES + 1} bytes: one request may ask for {MOST_BYTES}"
    assert (getattr(response, "message", said) == said) and hasattr(response, "message") != (name in WITHOUT_MESSAGE)
    runtime.controller.batch_bytes = lambda records: MOST_BYTES
    assert runtime.ask(request).error is ErrorCode.NONE and runtime.image.offset > before


def test_what_takes_a_broker_out_of_its_partitions_is_not() -> None:
    """A dead broker would go on leading them, and one that is to end would not."""
    runtime = runtime_of()
    runtime.controller.batch_bytes = lambda records: MOST_BYTES + 1
    epoch = runtime.image.registrations[0].broker_epoch
    beat = BrokerHeartbeatRequest(0, epoch, runtime.image.offset, want_fence=True, want_shut_down=False)
    assert runtime.ask(beat).error is ErrorCode.NONE and runtime.records()
    again = BrokerRegistrationRequest(0, CLUSTER, incarnation(0, 2))
    assert runtime.ask(again).error is ErrorCode.NONE and runtime.records()
    assert runtime.ask(UnregisterBrokerRequest(2)).error is ErrorCode.NONE and runtime.records()
    runtime.pass_time(TIMEOUT_MS)
    assert any(isinstance(record, FenceBrokerRecord) for record in runtime.records())


def test_so_many_records_are_refused_whatever_they_are_of() -> None:
    response = DeleteTopicResponse(ErrorCode.NONE)
    most = Decision(response, (NoOpRecord(),) * MOST_RECORDS)
    assert in_one_batch(most, None) is most and in_one_batch(most, lambda records: MOST_BYTES) is most
    more = Decision(response, (NoOpRecord(),) * (MOST_RECORDS + 1))
    assert in_one_batch(more, None) == Decision(DeleteTopicResponse(ErrorCode.POLICY_VIOLATION))


def test_what_writes_nothing_is_not_measured() -> None:
    decision = Decision(DeleteTopicResponse(ErrorCode.UNKNOWN_TOPIC_ID))
    assert in_one_batch(decision, lambda records: MOST_BYTES + 1) is decision
