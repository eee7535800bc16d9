"""What a node asks of the active controller, in bytes: the counterpart of `controller_wire`, and AlterPartition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from impl.kraft.broker.core import BrokerRequest, BrokerResponse
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from impl.kraft.server.controller_wire import nested_replicas
from impl.kraft.server.versions import made, request_kind, response_kind
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError

Request = BrokerRequest | AllocateProducerIdsRequest | AssignReplicasToDirsRequest | ControllerRegistrationRequest
Response = BrokerResponse | AllocateProducerIdsResponse | AssignReplicasToDirsResponse | ControllerRegistrationResponse

_KEYS: Mapping[type[Request], tuple[int, int]] = {
    BrokerRegistrationRequest: (62, 4),
    BrokerHeartbeatRequest: (63, 1),
    AlterPartitionRequest: (56, 3),
    AllocateProducerIdsRequest: (67, 0),
    ControllerRegistrationRequest: (70, 0),
    AssignReplicasToDirsRequest: (73, 0),
}


def key_of(request: Request) -> tuple[int, int]:
    """The key of the API, and the version that is spoken."""
    return _KEYS[type(request)]


def request_bytes(request: Request) -> bytes:
    """The body of a request."""
    given: object = request
    if isinstance(request, AlterPartitionRequest):
        given = _isr_change(request)
    elif isinstance(request, AssignReplicasToDirsRequest):
        directories = nested_replicas((one, {}) for one in request.replicas)
        given = {"broker_id": request.broker_id, "broker_epoch": request.broker_epoch, "directories": directories}
    return entity_bytes(made(request_kind(*key_of(request)), given))


def _isr_change(request: AlterPartitionRequest) -> dict[str, Any]:
    partition = {
        "partition_index": request.partition_id,
        "leader_epoch": request.leader_epoch,
        "partition_epoch": request.partition_epoch,
        "new_isr_with_epochs": request.new_isr,
        "leader_recovery_state": request.leader_recovery_state,
    }
    topic = {"topic_id": request.topic_id, "partitions": [partition]}
    return {"broker_id": request.broker_id, "broker_epoch": request.broker_epoch, "topics": [topic]}


def read_response(request: Request, body: bytes) -> Response:
    """The response to a request. Raises WireError."""
    found = read_entity(response_kind(*key_of(request)), body)
    error = code_of(found.error_code)
    match request:
        case BrokerRegistrationRequest():
            return BrokerRegistrationResponse(error, int(found.broker_epoch))
        case BrokerHeartbeatRequest():
            return BrokerHeartbeatResponse(error, found.is_caught_up, found.is_fenced, found.should_shut_down)
        case AllocateProducerIdsRequest():
            return AllocateProducerIdsResponse(error, int(found.producer_id_start), int(found.producer_id_len))
        case AlterPartitionRequest():
            return _isr_changed(error, found)
        case ControllerRegistrationRequest():
            return ControllerRegistrationResponse(error)
        case AssignReplicasToDirsRequest():
            partitions = (one for by in found.directories for topic in by.topics for one in topic.partitions)
            return AssignReplicasToDirsResponse(error, tuple(code_of(one.error_code) for one in partitions))


def _isr_changed(error: ErrorCode, found: Any) -> AlterPartitionResponse:
    if error is not ErrorCode.NONE:
        return AlterPartitionResponse(error)
    partitions = [one for topic in found.topics for one in topic.partitions]
    if len(partitions) != 1:
        raise WireError(f"AlterPartition of one partition is answered with {len(partitions)}")
    (one,) = partitions
    return AlterPartitionResponse(
        code_of(one.error_code), int(one.leader_id), int(one.leader_epoch), tuple(map(int, one.isr)),
        int(one.partition_epoch), int(one.leader_recovery_state),
    )  # fmt: skip


def code_of(code: int) -> ErrorCode:
    """Raises WireError for an error that the cores do not know."""
    try:
        return ErrorCode(int(code))
    except ValueError:
        raise WireError(f"error code {int(code)}") from None
