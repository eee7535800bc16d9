"""Who may ask for what: ALTER for a request to move the controller, DESCRIBE for what is known of it."""

from __future__ import annotations

import asyncio

import pytest

from impl.pinning.messages import (
    DESCRIBE_CONTROLLER,
    PIN_CONTROLLER,
    VERSION,
    DescribeControllerRequest,
    ErrorCode,
    PinControllerRequest,
    read_describe_response,
    read_pin_response,
)
from impl.pinning.process import Process
from impl.pinning.settings import parse
from impl.runtime.wire import RequestHeader

LISTS = {"controller.pinning.alter.clients": "ops", "controller.pinning.describe.clients": "ops, monitor"}


def process() -> Process:
    return Process(parse({"broker.id": "1", "zookeeper.connect": "127.0.0.1:1", **LISTS}))


def header(api_key: int, client: str | None) -> RequestHeader:
    return RequestHeader(api_key, VERSION, 7, client)


@pytest.mark.parametrize("client", ["monitor", "guest", None])
def test_a_client_that_may_not_alter_moves_nobody(client: str | None) -> None:
    asked = process()
    body = asyncio.run(asked._answer(header(PIN_CONTROLLER, client), PinControllerRequest(2, 1000).body()))
    answer = read_pin_response(body)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert answer.error_message == f"client {client!r} may not do that"
    outcome = {"outcome": "CLUSTER_AUTHORIZATION_FAILED"}
    assert asked._registry.get_sample_value("PinRequests_total", outcome) == 1


def test_a_client_that_may_not_describe_is_told_nothing() -> None:
    body = asyncio.run(process()._answer(header(DESCRIBE_CONTROLLER, "guest"), DescribeControllerRequest().body()))
    answer = read_describe_response(body)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED and answer.controller_id == -1


@pytest.mark.parametrize(("api_key", "client"), [(PIN_CONTROLLER, "ops"), (DESCRIBE_CONTROLLER, "monitor")])
def test_who_is_listed_may(api_key: int, client: str) -> None:
    assert process()._allows(header(api_key, client))
