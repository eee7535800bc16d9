"""What a broker of ours asks, a controller of ours reads, and the other way round."""

from __future__ import annotations

from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as WireErrorCode

from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
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
    IsrMember,
    ReplicaDirectory,
)
from impl.kraft.records import Endpoint, SupportedFeature
from impl.kraft.server import admin_wire, controller_wire
from impl.kraft.server.broker_wire import Request, Response, key_of, read_response, request_bytes
from impl.kraft.server.entities import NO_TIME
from impl.kraft.server.versions import made, response_kind
from impl.runtime.entities import entity_bytes
from impl.runtime.wire import WireError

REGISTRATION = BrokerRegistrationRequest(
    7, "cluster", UUID(int=9), (Endpoint("PLAINTEXT", "localhost", 9092, 0),),
    (SupportedFeature("metadata.version", 1, 14),), "rack", (UUID(int=30), UUID(int=31)),
)  # fmt: skip
HEARTBEAT = BrokerHeartbeatRequest(7, 5, 99, False, True, (UUID(int=30),))
ISR = AlterPartitionRequest(7, 5, UUID(int=3), 2, 4, 6, (IsrMember(7, 5), IsrMember(8, -1)))
IDS = AllocateProducerIdsRequest(7, 5)
CONTROLLER = ControllerRegistrationRequest(3, UUID(int=8), REGISTRATION.listeners, REGISTRATION.features)
PLACED = AssignReplicasToDirsRequest(7, 5, (
    ReplicaDirectory(UUID(int=30), UUID(int=3), 0), ReplicaDirectory(UUID(int=30), UUID(int=3), 2),
    ReplicaDirectory(UUID(int=30), UUID(int=4), 0), ReplicaDirectory(UUID(int=31), UUID(int=4), 1),
))  # fmt: skip


@pytest.mark.parametrize("request_", [REGISTRATION, HEARTBEAT, IDS, CONTROLLER, PLACED])
def test_requests_are_read_as_they_were_written(request_: Request) -> None:
    assert controller_wire.read_request(*key_of(request_), request_bytes(request_)) == request_


def test_so_is_a_change_of_an_isr() -> None:
    parts = admin_wire.read_parts(56, request_bytes(ISR), Image())
    assert parts.requests == (ISR,)
    for error in (ErrorCode.NONE, ErrorCode.INELIGIBLE_REPLICA):
        response = AlterPartitionResponse(error, 7, 4, (7, 8), 7)
        assert read_response(ISR, parts.response_bytes([response])) == response
    stale = parts.response_bytes([AlterPartitionResponse(ErrorCode.STALE_BROKER_EPOCH)])
    assert read_response(ISR, stale) == AlterPartitionResponse(ErrorCode.STALE_BROKER_EPOCH)


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (REGISTRATION, BrokerRegistrationResponse(ErrorCode.NONE, 12)),
        (REGISTRATION, BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION)),
        (HEARTBEAT, BrokerHeartbeatResponse(ErrorCode.NONE, True, False, True)),
        (IDS, AllocateProducerIdsResponse(ErrorCode.NONE, 1000, 1000)),
        (CONTROLLER, ControllerRegistrationResponse(ErrorCode.UNSUPPORTED_VERSION)),
        (PLACED, AssignReplicasToDirsResponse(ErrorCode.NONE, (ErrorCode.NONE,) * 3 + (ErrorCode.UNKNOWN_TOPIC_ID,))),
        (PLACED, AssignReplicasToDirsResponse(ErrorCode.STALE_BROKER_EPOCH)),
    ],
)
def test_responses_are_read_as_they_were_written(request_: Request, response: Response) -> None:
    assert read_response(request_, controller_wire.response_bytes(*key_of(request_), request_, response)) == response


def test_an_error_that_the_cores_do_not_know_is_refused() -> None:
    given = {"error_code": WireErrorCode.group_id_not_found, "broker_epoch": 1}
    body = entity_bytes(made(response_kind(62, 4), {"throttle_time": NO_TIME, **given}))
    with pytest.raises(WireError, match="error code 69"):
        read_response(REGISTRATION, body)
