"""What a broker of ours forwards for clients: a controller reads it in its one version, and the client the answer."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode as WireErrorCode
from kio.static.primitive import i32Timedelta

from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    ElectPreferredLeaderRequest,
    ElectPreferredLeaderResponse,
    Request,
    Response,
)
from impl.kraft.security.principals import Principal
from impl.kraft.server import admin_wire, envelope
from impl.kraft.server.connections import Caller
from impl.kraft.server.controller_channel import FORWARDED, ControllerChannel
from impl.kraft.server.entities import NO_TAGS, without_tags
from impl.kraft.server.versions import made, request_kind, response_kind
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import RequestHeader, WireError

CALLER = Caller(Principal("User", "ann"), "127.0.0.2")
TIMEOUT = i32Timedelta.parse(timedelta(seconds=1))


class Controller(ControllerChannel):
    """Reads as a controller of ours. refusals: what it says before it answers."""

    def __init__(self, *responses: Response, refusals: tuple[ErrorCode, ...] = ()) -> None:
        super().__init__({}, "test", 1_000, 1 << 20, lambda: None)
        self._responses, self._refusals = responses, list(refusals)
        self.requests: tuple[Request, ...] = ()

    async def ask(self, key: int, version: int, body: bytes) -> bytes:
        assert (key, version) == (envelope.KEY, envelope.VERSION)
        if self._refusals:
            return envelope.refusal(self._refusals.pop(0))
        header, within, self.caller = envelope.read_envelope(body)
        assert header.api_version == FORWARDED[header.api_key][1] == admin_wire.VERSIONS[header.api_key]
        parts = admin_wire.read_parts(header.api_key, within, Image())
        self.requests = parts.requests
        return envelope.enveloped(header, parts.response_bytes(self._responses))


def forwarded(controller: Controller, key: int, version: int, given: dict[str, Any]) -> Any:
    """What a client is answered, by the schemas of its version."""
    kind, answered = request_kind(key, version), response_kind(key, version)
    body = (NO_TAGS if kind.__flexible__ else b"") + entity_bytes(made(kind, given))
    answer = asyncio.run(controller.forward(RequestHeader(key, version, 5, "client"), body, CALLER))
    return read_entity(answered, without_tags(answer) if answered.__flexible__ else answer)


@pytest.mark.parametrize("version", [2, 4, 7])
def test_topics_are_created_in_old_and_new_versions(version: int) -> None:
    controller = Controller(CreateTopicResponse(ErrorCode.TOPIC_ALREADY_EXISTS))
    topic = {"name": "orders", "num_partitions": 2, "replication_factor": 3, "assignments": (), "configs": ()}
    answer = forwarded(controller, 19, version, {"topics": [topic], "timeout": TIMEOUT, "validate_only": False})
    (asked,) = controller.requests
    assert isinstance(asked, CreateTopicRequest) and controller.caller == CALLER
    assert (asked.name, asked.num_partitions, asked.replication_factor) == ("orders", 2, 3)
    assert [one.error_code for one in answer.topics] == [WireErrorCode.topic_already_exists]


@pytest.mark.parametrize("version", [1, 6])
def test_topics_are_deleted_by_name_in_all_versions(version: int) -> None:
    controller = Controller(DeleteTopicResponse(ErrorCode.NONE))
    given = {"topic_names": ["orders"], "topics": [{"name": "orders", "topic_id": None}], "timeout": TIMEOUT}
    answer = forwarded(controller, 20, version, given)
    assert controller.requests == (DeleteTopicRequest(None, "orders"),)
    assert [(one.name, one.error_code) for one in answer.responses] == [("orders", WireErrorCode.none)]


@pytest.mark.parametrize("version", [0, 2])
def test_the_first_version_elects_preferred_leaders(version: int) -> None:
    controller = Controller(ElectPreferredLeaderResponse(ErrorCode.ELECTION_NOT_NEEDED))
    named = [{"topic": "orders", "partitions": [1]}]
    answer = forwarded(controller, 43, version, {"election_type": 0, "topic_partitions": named, "timeout": TIMEOUT})
    assert controller.requests == (ElectPreferredLeaderRequest("orders", 1),)
    (of_topic,) = answer.replica_election_results
    assert of_topic.partition_result[0].error_code is WireErrorCode.election_not_needed


def test_another_controller_is_asked_where_one_is_not_active_any_more() -> None:
    controller = Controller(DeleteTopicResponse(ErrorCode.NONE), refusals=(ErrorCode.NOT_CONTROLLER,))
    answer = forwarded(controller, 20, 5, {"topic_names": ["orders"], "timeout": TIMEOUT})
    assert answer.responses[0].error_code is WireErrorCode.none


def test_an_envelope_that_is_refused_costs_its_client_the_connection() -> None:
    controller = Controller(refusals=(ErrorCode.UNSUPPORTED_VERSION,))
    with pytest.raises(WireError, match="refuses the envelope"):
        forwarded(controller, 20, 5, {"topic_names": ["orders"], "timeout": TIMEOUT})
