"""A broker's core without its I/O: control requests that are not for it, a fence that also keeps it from fetching."""

from __future__ import annotations

import pytest

from impl.heartbeat.broker import Broker, BrokerSettings
from impl.heartbeat.control_requests import (
    ANY_INCARNATION,
    Endpoint,
    LeaderAndIsrRequest,
    PartitionState,
    TopicPartition,
    UpdateMetadataRequest,
)
from impl.heartbeat.design import DRAFT, REPAIRED
from impl.heartbeat.effects import Effects, Timer
from impl.heartbeat.messages import BrokerState, ErrorCode, MetadataHeartbeatResponse
from impl.heartbeat.scripts import Context, Scripts
from impl.heartbeat.znodes import id_path
from impl.runtime.effects import Did
from impl.zookeeper import Connected, Created, Result, Stat, Submit

PARTITION = TopicPartition("t", 0)
INCARNATION = 7
STATE = PartitionState(PARTITION, 1, 0, 0, (0, 1), 0, (0, 1))


def registered() -> Broker:
    """A broker whose create was answered, and that has sent its first heartbeat."""
    core = Broker(BrokerSettings(1, interval_ms=300, timeout_ms=1_000), REPAIRED)
    core.on_event(Connected(5, is_new=True), 0)
    (submit,) = (one for one in core.advance(0) if isinstance(one, Submit))
    stat = Stat(INCARNATION, INCARNATION, 0, 5)
    core.on_event(Result(submit.id, Created(id_path(1), stat), INCARNATION), 0)
    core.advance(0)
    core.on_timer(Timer.HEARTBEAT, 0)
    return core


def told(incarnation: int, epoch: int = 1) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(2, epoch, (STATE,), (Endpoint(0, "h", 1),), incarnation)


def answered(core: Broker, state: BrokerState, now_ms: int) -> Effects:
    response = MetadataHeartbeatResponse(ErrorCode.NONE, state, None, core.settings.broker, INCARNATION, 1)
    return core.on_response(core.number, response, now_ms)


@pytest.mark.parametrize("incarnation", [INCARNATION - 1, INCARNATION + 1])
def test_what_is_for_another_incarnation_is_not_taken(incarnation: int) -> None:
    """A process in the place of another, at its address, is not to acknowledge what the other was sent."""
    core = registered()
    response, effects = core.on_leader_and_isr(told(incarnation), 10)
    assert response.error_code == ErrorCode.INVALID_INCARNATION_ID and not core.replicas
    assert not any(isinstance(one, Did) for one in effects)
    shown, _ = core.on_update_metadata(UpdateMetadataRequest(2, 1, (STATE,), (), incarnation), 10)
    assert shown.error_code == ErrorCode.INVALID_INCARNATION_ID and not core.shown
    assert core.controller is None, "nor is the controller known by it"


@pytest.mark.parametrize("incarnation", [INCARNATION, ANY_INCARNATION])
def test_what_is_for_it_is_taken(incarnation: int) -> None:
    core = registered()
    response, _ = core.on_leader_and_isr(told(incarnation), 10)
    assert response.error_code == ErrorCode.NONE and core.replicas[PARTITION].leader == 0
    former, _ = core.on_leader_and_isr(told(incarnation, epoch=0), 10)
    assert former.error_code == ErrorCode.STALE_CONTROLLER_EPOCH


def test_a_fenced_follower_does_not_fetch() -> None:
    """Else its leader would want it in the ISR again and again, and be refused each time."""
    core = registered()
    core.on_leader_and_isr(told(INCARNATION), 10)
    assert core.fence.is_fenced and core.fetch_requests() == {}
    answered(core, BrokerState.ACTIVE, 20)
    assert list(core.fetch_requests()) == [0]
    core.check_fence(1_000)
    assert core.fence.is_fenced and core.fetch_requests() == {}


def test_in_the_draft_it_does() -> None:
    core = Broker(BrokerSettings(1), DRAFT)
    core.registration.incarnation = INCARNATION
    core.on_leader_and_isr(told(ANY_INCARNATION), 10)
    assert core.fence.is_fenced and list(core.fetch_requests()) == [0]


def test_it_records_how_late_it_noticed_the_end_of_its_lease() -> None:
    """Its timer was due at 1,000 ms, and it was paused."""
    core = registered()
    answered(core, BrokerState.ACTIVE, 20)
    (fenced,) = (one for one in core.on_timer(Timer.FENCE, 4_000) if isinstance(one, Did))
    assert (fenced.action, fenced.facts["late_ms"]) == ("fenced", 3_000)


def test_an_item_that_is_to_be_first_is_so_where_it_waits_already() -> None:
    """A controller writes what the end of a lease asks for before it takes the next lease for over."""
    scripts = Scripts[str](0, Context())
    for item in ("expire 1", "expire 2", "settle"):
        scripts.add(item)
    scripts.add("settle", first=True)
    assert list(scripts.queue) == ["settle", "expire 1", "expire 2"]
    scripts.add("expire 1")
    assert len(scripts.queue) == 3
