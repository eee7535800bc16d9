"""Several configs of one resource: all of them, or none; members of lists (KIP-339)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.fields import MOST_STRING_BYTES
from impl.kraft.messages import AlterConfigsRequest, AlterConfigsResponse, ConfigChange, ConfigOperation
from impl.kraft.records import ConfigRecord
from tests.impl.controller_runtime import ControllerRuntime

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
TOPIC, BROKER = 2, 4
POLICY = "cleanup.policy"
Change = tuple[str, ConfigOperation, str | None]


@pytest.fixture
def runtime() -> ControllerRuntime:
    """Broker 0, and a topic `orders`."""
    found = ControllerRuntime()
    found.activate(0)
    found.create((0,))
    found.records()
    return found


def request(*changes: Change, validate_only: bool = False) -> AlterConfigsRequest:
    return AlterConfigsRequest(TOPIC, "orders", tuple(ConfigChange(*change) for change in changes), validate_only)


def altered(runtime: ControllerRuntime, *changes: Change) -> ErrorCode:
    response = runtime.ask(request(*changes))
    assert isinstance(response, AlterConfigsResponse)
    assert bool(response.message) == (response.error is not ErrorCode.NONE)
    return response.error


def test_several_are_changed_in_one_batch(runtime: ControllerRuntime) -> None:
    assert altered(runtime, ("a", SET, "1"), ("b", SET, "2")) is ErrorCode.NONE
    assert altered(runtime, ("a", DELETE, "whatever"), ("b", SET, "2"), ("c", SET, "")) is ErrorCode.NONE
    (batch,) = runtime.appended
    assert batch.records == (ConfigRecord(TOPIC, "orders", "a", None), ConfigRecord(TOPIC, "orders", "c", ""))
    assert runtime.image.configs == {(TOPIC, "orders"): {"b": "2", "c": ""}}


def test_what_is_not_named_is_deleted_where_all_are_replaced(runtime: ControllerRuntime) -> None:
    assert altered(runtime, ("a", SET, "1"), ("c", SET, "3"), ("b", SET, "2")) is ErrorCode.NONE
    assert runtime.ask(replace(request(("a", SET, "1"), ("d", SET, "4")), replaces=True)).error is ErrorCode.NONE
    assert runtime.image.configs == {(TOPIC, "orders"): {"a": "1", "d": "4"}}
    assert runtime.ask(replace(request(), replaces=True, validate_only=True)).error is ErrorCode.NONE
    assert runtime.image.configs == {(TOPIC, "orders"): {"a": "1", "d": "4"}}
    assert runtime.ask(replace(request(("a", SET, None)), replaces=True)).error is ErrorCode.INVALID_REQUEST
    assert runtime.ask(replace(request(), replaces=True)).error is ErrorCode.NONE
    assert runtime.image.configs == {}


@pytest.mark.parametrize("change, error", [
    (("min.insync.replicas", SET, "0"), ErrorCode.INVALID_CONFIG),
    (("", SET, "0"), ErrorCode.INVALID_CONFIG),
    (("retention.ms", APPEND, "0"), ErrorCode.INVALID_CONFIG),
    (("log.cleanup.policy", SUBTRACT, "0"), ErrorCode.INVALID_CONFIG),
    (("b", SET, None), ErrorCode.INVALID_REQUEST),
    ((POLICY, APPEND, None), ErrorCode.INVALID_REQUEST),
    (("a", DELETE, None), ErrorCode.INVALID_REQUEST),
], ids=str)  # fmt: skip
def test_one_that_is_wrong_keeps_the_others_as_they_are(
    runtime: ControllerRuntime, change: Change, error: ErrorCode
) -> None:
    assert altered(runtime, ("a", SET, "1"), change) is error
    assert not runtime.records() and not runtime.image.configs


@pytest.mark.parametrize("held, operation, given, after", [
    (None, APPEND, "compact", "delete,compact"),
    ("", APPEND, "compact", "compact"),
    ("compact", APPEND, "delete,compact,delete", "compact,delete"),
    (None, SUBTRACT, "delete", ""),
    ("compact,delete", SUBTRACT, "compact,other", "delete"),
], ids=str)  # fmt: skip
def test_members_of_a_list_come_and_go(
    runtime: ControllerRuntime, held: str | None, operation: ConfigOperation, given: str, after: str
) -> None:
    """One that is not set has its default before."""
    if held is not None:
        altered(runtime, (POLICY, SET, held))
    assert altered(runtime, (POLICY, operation, given)) is ErrorCode.NONE
    assert runtime.records() == [ConfigRecord(TOPIC, "orders", POLICY, after)]


def test_a_list_without_a_default_begins_empty(runtime: ControllerRuntime) -> None:
    change = ConfigChange("log.dirs", APPEND, "/data")
    assert runtime.ask(AlterConfigsRequest(BROKER, "0", (change,))).error is ErrorCode.NONE
    assert runtime.records() == [ConfigRecord(BROKER, "0", "log.dirs", "/data")]


def test_a_list_grows_no_longer_than_a_record_can_have(runtime: ControllerRuntime) -> None:
    half = "x" * (MOST_STRING_BYTES // 2)
    assert altered(runtime, (POLICY, SET, half)) is ErrorCode.NONE
    assert altered(runtime, (POLICY, APPEND, "y" * (MOST_STRING_BYTES // 2 + 1))) is ErrorCode.INVALID_CONFIG
    assert altered(runtime, (POLICY, APPEND, "y" * (MOST_STRING_BYTES // 2))) is ErrorCode.NONE


def test_one_request_changes_10_000_configs_at_most(runtime: ControllerRuntime) -> None:
    changes: list[Change] = [(f"{number}", SET, "1") for number in range(10_001)]
    assert altered(runtime, *changes) is ErrorCode.POLICY_VIOLATION and not runtime.records()
    assert altered(runtime, *changes[1:]) is ErrorCode.NONE and len(runtime.records()) == 10_000


def test_what_is_only_validated_is_not_done(runtime: ControllerRuntime) -> None:
    before = runtime.image.offset
    for change, error in ((("a", SET, "1"), ErrorCode.NONE), (("a", SET, None), ErrorCode.INVALID_REQUEST)):
        response = runtime.ask(request(change, validate_only=True))
        assert isinstance(response, AlterConfigsResponse) and response.error is error
    assert runtime.image.offset == before and not runtime.image.configs


def test_what_is_only_validated_waits_for_what_it_rests_on(runtime: ControllerRuntime) -> None:
    runtime.commits = False
    runtime.call(request(("a", SET, "1")))
    call = runtime.call(request(("b", SET, "1"), validate_only=True))
    assert call not in runtime.replies
    runtime.commit()
    assert runtime.replies[call] == AlterConfigsResponse(ErrorCode.NONE)
