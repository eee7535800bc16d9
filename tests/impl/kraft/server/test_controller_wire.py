"""What brokers ask of a controller is read as it was written, and anything else refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest as WireAllocation
from kio.schema.allocate_producer_ids.v0.response import AllocateProducerIdsResponse as WireAllocationResponse
from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest as WireHeartbeat
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse as WireHeartbeatResponse
from kio.schema.broker_registration.v4 import request as registration
from kio.schema.types import BrokerId
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest as WireUnregister
from kio.static.primitive import i16, i64, u16

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    UnregisterBrokerRequest,
)
from impl.kraft.records import Endpoint, SupportedFeature
from impl.kraft.server.controller_wire import SERVED, read_request, response_bytes
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError

INCARNATION = UUID(int=7)
REGISTRATION = registration.BrokerRegistrationRequest(
    broker_id=BrokerId(3), cluster_id="c", incarnation_id=INCARNATION,
    listeners=(registration.Listener(name="PLAINTEXT", host="h", port=u16(9092), security_protocol=i16(0)),),
    features=(
        registration.Feature(name="metadata.version", min_supported_version=i16(7), max_supported_version=i16(20)),
    ),
    rack="r", is_migrating_zk_broker=False, log_dirs=(UUID(int=9),), previous_broker_epoch=i64(-1),
)  # fmt: skip


def test_a_registration_is_read() -> None:
    assert read_request(62, 4, entity_bytes(REGISTRATION)) == BrokerRegistrationRequest(
        3, "c", INCARNATION, (Endpoint("PLAINTEXT", "h", 9092, 0),), (SupportedFeature("metadata.version", 7, 20),),
        "r", (UUID(int=9),),
    )  # fmt: skip


def test_a_heartbeat_is_read_and_answered() -> None:
    beat = WireHeartbeat(
        broker_id=BrokerId(3), broker_epoch=i64(5), current_metadata_offset=i64(8), want_fence=True,
        want_shut_down=False,
    )  # fmt: skip
    assert read_request(63, 1, entity_bytes(beat)) == BrokerHeartbeatRequest(3, 5, 8, True, False)
    body = response_bytes(
        63, 1, read_request(63, 1, entity_bytes(beat)), BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH)
    )
    answer: Any = read_entity(WireHeartbeatResponse, body)
    assert (int(answer.error_code), answer.is_fenced, answer.should_shut_down) == (77, True, False)


def test_an_unregistration_is_read() -> None:
    assert read_request(64, 0, entity_bytes(WireUnregister(broker_id=BrokerId(3)))) == UnregisterBrokerRequest(3)


def test_producer_ids_are_asked_for_and_given() -> None:
    asked = WireAllocation(broker_id=BrokerId(3), broker_epoch=i64(5))
    assert read_request(67, 0, entity_bytes(asked)) == AllocateProducerIdsRequest(3, 5)
    body = response_bytes(
        67, 0, read_request(67, 0, entity_bytes(asked)), AllocateProducerIdsResponse(ErrorCode.NONE, 1_000, 500)
    )
    answer: Any = read_entity(WireAllocationResponse, body)
    assert (int(answer.error_code), answer.producer_id_start, answer.producer_id_len) == (0, 1_000, 500)


def test_what_the_core_has_not_is_refused() -> None:
    migrating = replace(REGISTRATION, is_migrating_zk_broker=True)
    with pytest.raises(WireError, match="migrates"):
        read_request(62, 4, entity_bytes(migrating))


@given(st.sampled_from(sorted(SERVED)), st.sampled_from((0, 1)), st.binary(max_size=80))
def test_anything_else_is_refused(key: int, of: int, body: bytes) -> None:
    try:
        read_request(key, SERVED[key][of], body)
    except WireError:
        return
