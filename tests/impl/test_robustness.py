"""Whatever reaches an entry point: an error code, or a ValueError that names the field, and nothing has changed.

Messages come in any order, of any type and size, to a controller and to a broker in any state that these lead to.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from impl.kraft.broker import Broker, BrokerSettings, Due, FetchRequest, FetchResponse, InMemoryReplicaLog
from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.effects import Append, Effects, Reply
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import InvalidFieldError
from impl.kraft.image import PartitionKey
from impl.kraft.log import InMemoryLog
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    CreateTopicRequest,
    IsrMember,
    ListPartitionReassignmentsRequest,
    Request,
)
from impl.kraft.records import Batch, NoOpRecord
from impl.kraft.snapshot import Snapshot, write_snapshot
from tests.impl import arbitrary
from tests.impl.broker_parts import World
from tests.impl.controller_runtime import CLUSTER, ControllerRuntime

NAMED = re.compile(r"[\w.\[\]]+ must be .", re.DOTALL)
Call = Callable[[], Any]


def state(value: Any) -> Hashable:
    """All that an object holds, field by field. Two images that share what they hold are as two that do not."""
    if value is None or isinstance(value, int | float | str | bytes | UUID | type):
        return (type(value), value)
    if isinstance(value, Mapping):
        return frozenset((state(key), state(one)) for key, one in value.items())
    if isinstance(value, set | frozenset):
        return frozenset(map(state, value))
    if is_dataclass(value):
        return (type(value), *(state(getattr(value, one.name)) for one in fields(value)))
    if hasattr(value, "__dict__"):
        return (type(value), *(state(one) for name, one in sorted(vars(value).items())))
    return tuple(map(state, value))


def attempted(subject: object, call: Call) -> tuple[Any, bool]:
    """(what a call returns, whether it changed the subject). One that is refused changes nothing, and says why."""
    before = state(subject)
    try:
        outcome = call()
    except InvalidFieldError as error:
        assert NAMED.match(str(error)) and len(str(error)) < 400, error
        outcome = None
        assert state(subject) == before
    except ValueError as error:
        assert 0 < len(str(error)) < 400, error
        outcome = None
        assert state(subject) == before
    return outcome, state(subject) != before


# The controller.


def a_controller() -> Controller:
    """Three brokers of which one is fenced, a topic, a reassignment, and replies that wait for a commit."""
    runtime = ControllerRuntime()
    runtime.activate(0, 1, 2)
    runtime.create((0, 1), (1, 2))
    runtime.heartbeat(2, want_fence=True)
    runtime.commits = False
    runtime.call(CreateTopicRequest("payments", UUID(int=9), assignments=((0, 1),)))
    return runtime.controller


def refusals(effects: Effects) -> list[ErrorCode]:
    """The errors in replies that leave, where nothing is written with them."""
    return [] if any(isinstance(effect, Append) for effect in effects) else [
        effect.response.error for effect in effects if isinstance(effect, Reply)
    ]  # fmt: skip


NOW = arbitrary.of(int)
TIMERS = st.tuples() | st.tuples(st.sampled_from(["lease", "no-op", *Due]), NOW) | st.tuples(
    st.sampled_from([*Due]), NOW, NOW
)  # fmt: skip
CONTROLLER_CALLS = st.one_of(
    *[st.tuples(st.just("handle"), NOW, arbitrary.of(one), NOW) for one in Request.__args__] * 2,
    st.tuples(st.just("on_timer"), TIMERS, NOW),
    st.tuples(st.just("on_commit"), NOW, NOW),
    st.tuples(st.just("replay"), arbitrary.of(Batch)),
    st.tuples(st.just("claim"), NOW, NOW),
    st.tuples(st.just("renounce"), NOW),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(CONTROLLER_CALLS, min_size=1, max_size=6))
def test_a_controller_survives_what_it_is_sent(calls: list[tuple[Any, ...]]) -> None:
    controller = a_controller()
    for name, *arguments in calls:
        effects, has_changed = attempted(controller, lambda: getattr(controller, name)(*arguments))  # noqa: B023
        if name == "handle" and effects and refusals(effects) and ErrorCode.NONE not in refusals(effects):
            assert not has_changed, "a request that is refused at once changes nothing"
        assert state(controller.copy()) == state(controller)


@settings(max_examples=100, deadline=None)
@given(arbitrary.of(Snapshot))
@example(Snapshot(0, 0, (None,)))  # type: ignore[arg-type]
def test_a_snapshot_is_loaded_or_refused(snapshot: Any) -> None:
    loaded, _ = attempted(None, lambda: Controller.load(ControllerSettings(CLUSTER), snapshot))
    if loaded is not None:
        assert state(Controller.load(loaded.settings, loaded.snapshot()).committed) == state(loaded.committed)


# Each argument of each method.

KEY, TOPIC = (UUID(int=1), 0), UUID(int=1)
LIFE = BrokerHeartbeatRequest(1, 0, 0, False, False)
ARGUMENTS: dict[type, dict[str, tuple[Any, ...]]] = {
    Controller: {
        "handle": (0, LIFE, 0), "on_timer": (("lease", 0), 0), "on_commit": (0, 0), "claim": (9, 0),
        "renounce": (0,), "replay": (Batch(0, 1, (NoOpRecord(),)),), "has_valid_session": (0, 0),
        "load": (), "snapshot": (), "copy": (),
    },
    Broker: {
        "start": (0,), "recovered": (0,), "shut_down": (0,), "stopped": (), "copy": (), "alive_brokers": (),
        "on_timer": (("publication",), 0), "on_response": (LIFE, BrokerHeartbeatResponse(ErrorCode.NONE), 0),
        "replay": ((), 0, 0), "load": (Snapshot(-1, 0, ()), 0, 0), "min_insync_replicas": (TOPIC,),
        "append": (KEY, b""), "acknowledgement": (KEY, 0), "on_fetch": (FetchRequest(2, 0, *KEY, 1, 0, 0), 0),
        "fetch_error": (FetchRequest(2, 0, *KEY, 1, 0, 0),), "expand_isr": (KEY, 2, 0), "expire_isr": (0,),
        "alter_partition": (KEY,), "advance_high_watermark": (KEY,), "fetch_request": (KEY,),
        "on_fetch_response": (FetchRequest(2, 0, *KEY, 1, 0, 0), FetchResponse(ErrorCode.NONE)),
    },
    InMemoryLog: {"append": (Batch(0, 1, (NoOpRecord(),)),), "commit": (0,), "truncate": (0,), "read": (0,)},
}  # fmt: skip
MAKE: dict[type, Callable[[], Any]] = {
    Controller: lambda: a_controller(), Broker: lambda: a_broker(), InMemoryLog: InMemoryLog
}  # fmt: skip


@pytest.mark.parametrize("subject", ARGUMENTS)
def test_no_method_is_missing_here(subject: type) -> None:
    public = {name for name, one in vars(subject).items() if not name.startswith("_") and not isinstance(one, property)}
    assert public == set(ARGUMENTS[subject])


@pytest.mark.parametrize("subject", ARGUMENTS)
def test_an_argument_may_be_of_any_type(subject: type) -> None:
    """One at a time, or one field of it, beside others that are right."""
    one = MAKE[subject]()
    for name, arguments in ARGUMENTS[subject].items():
        for place, right in enumerate(arguments):
            for wrong in (*arbitrary.OTHERS, *with_another_field(right)):
                varied = (*arguments[:place], wrong, *arguments[place + 1 :])
                if attempted(one, lambda: getattr(one, name)(*varied))[1]:  # noqa: B023
                    one = MAKE[subject]()


def with_another_field(value: Any) -> list[Any]:
    names = [one.name for one in fields(value)] if is_dataclass(value) else []
    return [replace(value, **{name: other}) for name in names for other in arbitrary.OTHERS]


@pytest.mark.parametrize("check", ["check", "check_as"])
@pytest.mark.parametrize("subject", ARGUMENTS)
def test_a_core_that_does_not_look_is_found(subject: type, check: str) -> None:
    with (
        patch(f"{subject.__module__}.{check}", lambda *_: None),
        pytest.raises((AssertionError, AttributeError, LookupError, TypeError)),
    ):
        test_an_argument_may_be_of_any_type(subject)


@pytest.mark.parametrize("right", [ControllerSettings(CLUSTER), BrokerSettings(1, CLUSTER)])
def test_a_setting_of_another_type_is_refused(right: Any) -> None:
    for one in fields(right):
        wrong = [object(), -1, 1 << 70] if type(getattr(right, one.name)) is int else [object(), 1]
        for other in wrong:
            with pytest.raises(InvalidFieldError, match=rf"{type(right).__name__}\.{one.name} must be "):
                replace(right, **{one.name: other})


def test_a_core_is_made_of_its_settings() -> None:
    nothing: Any = None
    with pytest.raises(InvalidFieldError, match="settings must be ControllerSettings, not None"):
        Controller(nothing)
    with pytest.raises(InvalidFieldError, match="settings must be BrokerSettings, not None"):
        Broker(nothing, UUID(int=1))
    with pytest.raises(InvalidFieldError, match="incarnation_id must be UUID, not None"):
        Broker(BrokerSettings(1, CLUSTER), nothing)


REFUSED: list[Request] = [
    BrokerRegistrationRequest(7, "another cluster", UUID(int=7)),
    BrokerRegistrationRequest(-1, CLUSTER, UUID(int=7)),
    BrokerHeartbeatRequest(7, 1, 1, False, False),
    BrokerHeartbeatRequest(0, 1 << 40, 1, False, False),
    AlterPartitionRequest(7, 1, UUID(int=1), 0, 0, 0, ()),
    CreateTopicRequest("t", UUID(int=8), num_partitions=(1 << 31) - 1),
    CreateTopicRequest("orders", UUID(int=8)),
]


@pytest.mark.parametrize("request_", REFUSED, ids=str)
def test_refusals_leave_nothing_behind(request_: Request) -> None:
    """However often: nothing grows."""
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.create((0,))
    before = state(runtime.controller)
    for call in range(200):
        (reply,) = runtime.controller.handle(call, request_, 0)
        assert isinstance(reply, Reply) and reply.response.error is not ErrorCode.NONE
    assert state(runtime.controller) == before


NOTHING_NEW: list[Callable[[Controller], Request]] = [
    lambda one: BrokerHeartbeatRequest(0, one.speculative.registrations[0].broker_epoch, 1, False, False),
    lambda one: BrokerRegistrationRequest(0, CLUSTER, one.speculative.registrations[0].incarnation_id),
    lambda one: AlterPartitionRequest(
        0, one.speculative.registrations[0].broker_epoch, *next(iter(one.speculative.partitions)), 0, 0, (IsrMember(0),)
    ),
    lambda one: AlterConfigsRequest.of_one(4, "", "retention.ms", None),
    lambda one: ListPartitionReassignmentsRequest(),
]


@pytest.mark.parametrize("number", range(len(NOTHING_NEW)))
def test_requests_that_change_nothing_leave_nothing_behind(number: int) -> None:
    """Those that are granted, however often: the second leaves no more than the first."""
    runtime = ControllerRuntime()
    runtime.activate(0)
    runtime.create((0,))
    controller = runtime.controller
    before = None
    for call in range(200):
        (reply,) = controller.handle(call, NOTHING_NEW[number](controller), 0)
        assert isinstance(reply, Reply) and reply.response.error is ErrorCode.NONE
        before = before or state(controller)
    assert state(controller) == before


# The broker.


def a_broker() -> Broker:
    """It leads one partition, follows in another, and has asked for a change of an ISR."""
    world = World().running().with_partition(isr=(1,), leader_epoch=1)
    world.broker.append(world_key(world), b"record")
    return world.broker


def world_key(world: World) -> PartitionKey:
    return next(iter(world.broker.leaders))


KEYS = arbitrary.of(PartitionKey)
REPLIES = {
    BrokerRegistrationRequest: BrokerRegistrationResponse,
    BrokerHeartbeatRequest: BrokerHeartbeatResponse,
    AlterPartitionRequest: AlterPartitionResponse,
}
BROKER_CALLS = st.one_of(
    *[st.tuples(st.just("on_response"), arbitrary.of(asks), arbitrary.of(answer), NOW) for asks in REPLIES
      for answer in REPLIES.values()],
    st.tuples(st.just("replay"), st.lists(arbitrary.of(Batch), max_size=3), NOW, NOW),
    st.tuples(st.just("load"), arbitrary.of(Snapshot), NOW, NOW),
    st.tuples(st.just("on_fetch"), arbitrary.of(FetchRequest), NOW),
    st.tuples(st.just("on_fetch_response"), arbitrary.of(FetchRequest), arbitrary.of(FetchResponse)),
    st.tuples(st.just("on_timer"), TIMERS, NOW),
    st.tuples(st.just("append"), KEYS, arbitrary.of(bytes)),
    st.tuples(st.just("acknowledgement"), KEYS, NOW),
    st.tuples(st.just("fetch_request"), KEYS),
    st.tuples(st.just("expand_isr"), KEYS, NOW, NOW),
    st.tuples(st.just("alter_partition"), KEYS),
    st.tuples(st.just("advance_high_watermark"), KEYS),
    st.tuples(st.sampled_from(["start", "recovered", "shut_down", "expire_isr"]), NOW),
    st.tuples(st.just("stopped")),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(BROKER_CALLS, min_size=1, max_size=6))
def test_a_broker_survives_what_it_is_sent(calls: list[tuple[Any, ...]]) -> None:
    broker = a_broker()
    for name, *arguments in calls:
        attempted(broker, lambda: getattr(broker, name)(*arguments))  # noqa: B023
        assert state(broker.copy()) == state(broker)


def test_a_broker_remembers_no_follower_that_it_does_not_know() -> None:
    broker = a_broker()
    (key,) = broker.leaders
    before = state(broker)
    for replica_id in range(100, 300):
        request = FetchRequest(replica_id, 1 << 40, *key, 1, 0, -1)
        assert broker.on_fetch(request, 0)[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert state(broker) == before


def test_an_offset_before_the_log_is_refused() -> None:
    broker = a_broker()
    (key,) = broker.leaders
    assert broker.on_fetch(FetchRequest(2, 1 << 40, *key, 1, -5, -1), 0)[0].error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_log_that_a_follower_shares_is_not_touched_by_a_copy() -> None:
    log = InMemoryReplicaLog()
    assert state(copy.deepcopy(log)) == state(log.copy())


def test_a_batch_that_breaks_in_its_middle_changes_nothing() -> None:
    controller = Controller(ControllerSettings(CLUSTER))
    controller.replay(Batch(0, 1, (NoOpRecord(),)))
    before = write_snapshot(controller.committed)
    with pytest.raises(ValueError, match="offset 3 cannot be replayed after offset 0"):
        controller.replay(Batch(3, 1, (NoOpRecord(),)))
    assert controller.snapshot() == before
