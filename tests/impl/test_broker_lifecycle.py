"""The life of a broker: states, registration, heartbeats, back-off and time limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from uuid import UUID

import pytest

from impl.kraft.broker import NEXT_STATE, Broker, BrokerState, BrokerStateError, Due, Event, next_state
from impl.kraft.effects import Send
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from impl.kraft.records import Endpoint, RegisterBrokerRecord, SupportedFeature
from impl.kraft.snapshot import Snapshot
from tests.impl.broker_parts import SETTINGS, World, delay_ms, incarnation


def test_states_have_the_numbers_of_the_metrics() -> None:
    assert {state.name: int(state) for state in BrokerState} == {
        "NOT_RUNNING": 0,
        "STARTING": 1,
        "RECOVERY": 2,
        "RUNNING": 3,
        "PENDING_CONTROLLED_SHUTDOWN": 6,
        "SHUTTING_DOWN": 7,
    }


def test_what_is_not_in_the_table_changes_nothing() -> None:
    for state, event in product(BrokerState, Event):
        assert (next_state(state, event) == state) == ((state, event) not in NEXT_STATE)


def test_a_broker_always_passes_through_recovery() -> None:
    into_running = {state for (state, _), after in NEXT_STATE.items() if after == BrokerState.RUNNING}
    into_recovery = {state for (state, _), after in NEXT_STATE.items() if after == BrokerState.RECOVERY}
    assert (into_running, into_recovery) == ({BrokerState.RECOVERY}, {BrokerState.STARTING})


def answer(broker: Broker, response: BrokerHeartbeatResponse) -> None:
    """The controller answers the request in flight."""
    assert broker.lifecycle.in_flight is not None
    broker.on_response(broker.lifecycle.in_flight, response, 0)


def test_from_start_to_end() -> None:
    world, states = World(), []
    broker = world.broker
    broker.start(0)
    states.append(broker.state)
    request = world.communicate()
    assert request == BrokerRegistrationRequest(1, "c", incarnation(1))
    broker.on_response(request, BrokerRegistrationResponse(ErrorCode.NONE, 0), 0)
    world.replay(RegisterBrokerRecord(1, incarnation(1), 0))
    states.append(broker.state)
    assert world.communicate() == BrokerHeartbeatRequest(1, 0, 0, want_fence=True, want_shut_down=False)
    answer(broker, BrokerHeartbeatResponse(ErrorCode.NONE, True, True))
    assert delay_ms(broker.recovered(0), Due.COMMUNICATION, 0) == 0
    assert world.communicate() == BrokerHeartbeatRequest(1, 0, 0, want_fence=False, want_shut_down=False)
    answer(broker, BrokerHeartbeatResponse(ErrorCode.NONE, True, False))
    states.append(broker.state)
    broker.shut_down(0)
    states.append(broker.state)
    assert world.communicate() == BrokerHeartbeatRequest(1, 0, 0, want_fence=False, want_shut_down=True)
    response = BrokerHeartbeatResponse(ErrorCode.NONE, True, True, should_shut_down=True)
    answer(broker, response)
    states.append(broker.state)
    broker.stopped()
    states.append(broker.state)
    assert states == [1, 2, 3, 6, 7, 0]


def test_a_registration_says_what_the_broker_is() -> None:
    settings = replace(
        SETTINGS,
        listeners=(Endpoint("plain", "host", 9092, 0),),
        features=(SupportedFeature("metadata.version", 1, 5),),
        rack="a",
    )
    world = World(settings=settings)
    world.broker.start(0)
    request = world.communicate()
    assert isinstance(request, BrokerRegistrationRequest)
    assert (request.listeners, request.features, request.rack) == (settings.listeners, settings.features, "a")


def test_isrs_are_looked_at_from_the_start() -> None:
    effects = World().broker.start(3)
    assert delay_ms(effects, Due.ISR_EXPIRATION, 3) == SETTINGS.replica_lag_time_max_ms // 2


def test_one_request_is_under_way_at_a_time() -> None:
    world = World()
    world.broker.start(0)
    world.communicate()
    assert world.due(Due.COMMUNICATION) == []


def test_what_is_lost_is_sent_again_after_a_back_off() -> None:
    world = World()
    world.broker.start(0)
    request, delays = world.communicate(), []
    for _ in range(8):
        delays.append(delay_ms(world.broker.on_response(request, None, 0), Due.COMMUNICATION, 0))
        assert world.communicate() == request
    assert delays == [100, 200, 400, 800, 1600, 3200, 4500, 4500]
    world.broker.on_response(request, BrokerRegistrationResponse(ErrorCode.NONE, 0), 0)
    heartbeat = world.communicate()
    assert delay_ms(world.broker.on_response(heartbeat, None, 0), Due.COMMUNICATION, 0) == 100


@pytest.mark.parametrize("error", [ErrorCode.DUPLICATE_BROKER_REGISTRATION, ErrorCode.NOT_CONTROLLER])
def test_a_refused_registration_is_repeated_by_the_same_incarnation(error: ErrorCode) -> None:
    world = World()
    world.broker.start(0)
    request = world.communicate()
    effects = world.broker.on_response(request, BrokerRegistrationResponse(error), 5)
    assert len(effects) == 1, "nothing of the image is made without a broker epoch"
    assert delay_ms(effects, Due.COMMUNICATION, 5) == 100
    assert world.broker.broker_epoch is None
    assert world.communicate() == request


@pytest.mark.parametrize("caught_up", [False, True])
def test_a_broker_that_cannot_register_in_time_gives_up(caught_up: bool) -> None:
    world = World()
    assert delay_ms(world.broker.start(3), Due.INITIAL_REGISTRATION, 3) == 60_000
    if caught_up:
        world.replay()
    assert world.due(Due.INITIAL_REGISTRATION) == []
    assert world.broker.state == BrokerState.SHUTTING_DOWN
    assert world.due(Due.COMMUNICATION) == []


def test_a_registered_broker_does_not_give_up() -> None:
    world = World().registered()
    world.due(Due.INITIAL_REGISTRATION)
    assert world.broker.state == BrokerState.STARTING


def test_the_first_heartbeat_follows_the_registration_at_once_and_the_next_an_interval_later() -> None:
    world = World()
    world.broker.start(0)
    request = world.communicate()
    effects = world.broker.on_response(request, BrokerRegistrationResponse(ErrorCode.NONE, 4), 7)
    assert delay_ms(effects, Due.COMMUNICATION, 7) == 0
    assert delay_ms(effects, Due.PUBLICATION, 7) == 0
    assert delay_ms(world.heartbeat(fenced=True), Due.COMMUNICATION, 0) == SETTINGS.heartbeat_interval_ms


def test_a_response_to_what_is_no_longer_in_flight_is_nothing() -> None:
    world = World().registered()
    first = world.communicate()
    world.broker.on_response(first, None, 0)
    world.replay(RegisterBrokerRecord(1, incarnation(1), 0))
    world.broker.recovered(0)
    second = world.communicate()
    assert second != first
    assert world.broker.on_response(first, BrokerHeartbeatResponse(ErrorCode.NONE, True, False), 0) == []
    assert world.broker.state == BrokerState.RECOVERY


def test_a_wish_that_came_up_while_a_heartbeat_was_under_way_is_reported_at_once() -> None:
    world = World().registered()
    world.replay(RegisterBrokerRecord(1, incarnation(1), 0))
    request = world.communicate()
    world.broker.recovered(0)
    assert world.due(Due.COMMUNICATION) == []
    effects = world.broker.on_response(request, BrokerHeartbeatResponse(ErrorCode.NONE, True, True), 0)
    assert delay_ms(effects, Due.COMMUNICATION, 0) == 0


def test_a_sigterm_that_came_while_a_heartbeat_was_under_way_is_reported_at_once() -> None:
    world = World().running()
    request = world.communicate()
    world.broker.shut_down(0)
    effects = world.broker.on_response(request, BrokerHeartbeatResponse(ErrorCode.NONE, True, False), 0)
    assert delay_ms(effects, Due.COMMUNICATION, 0) == 0


def test_starting_ends_once_the_image_reaches_the_high_watermark() -> None:
    world = World().registered()
    batches = [world.batch(RegisterBrokerRecord(id_, incarnation(id_), id_ - 1)) for id_ in (1, 2)]
    world.broker.replay(batches[:1], 2, 0)
    assert (world.broker.state, world.broker.applied_offset) == (BrokerState.STARTING, -1)
    world.broker.replay(batches[1:], 2, 0)
    assert (world.broker.state, world.broker.applied_offset) == (BrokerState.RECOVERY, 1)


def test_an_unregistered_broker_catches_up_and_reports_nothing_until_it_acts_as_registered() -> None:
    world = World()
    world.broker.start(0)
    world.replay(RegisterBrokerRecord(1, incarnation(1), 0))
    assert world.broker.state == BrokerState.RECOVERY
    request = world.communicate()
    world.broker.on_response(request, BrokerRegistrationResponse(ErrorCode.NONE, 0), 0)
    heartbeat = world.communicate()
    assert isinstance(heartbeat, BrokerHeartbeatRequest) and heartbeat.current_metadata_offset == -1
    world.broker.on_response(heartbeat, None, 0)
    world.due(Due.PUBLICATION)
    heartbeat = world.communicate()
    assert isinstance(heartbeat, BrokerHeartbeatRequest) and heartbeat.current_metadata_offset == 0


def test_logs_are_not_recovered_before_recovery_or_registration() -> None:
    world = World()
    world.broker.start(0)
    with pytest.raises(BrokerStateError, match="broker 1 cannot have recovered its logs: it is STARTING, without"):
        world.broker.recovered(0)
    world.replay()
    with pytest.raises(BrokerStateError, match="it is RECOVERY, without a broker epoch"):
        world.broker.recovered(0)
    with pytest.raises(BrokerStateError, match="it is STARTING, at broker epoch 0"):
        World().registered().broker.recovered(0)
    assert world.broker.lifecycle.wants_fence


def test_a_broker_starts_once() -> None:
    world = World().running()
    with pytest.raises(BrokerStateError, match="cannot start: it is RUNNING, at broker epoch 0"):
        world.broker.start(0)


def test_a_running_broker_goes_on_when_it_is_fenced_or_refused() -> None:
    world = World().running()
    world.heartbeat(fenced=True)
    request = world.communicate()
    world.broker.on_response(request, BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH), 0)
    assert world.broker.state == BrokerState.RUNNING
    assert world.communicate() == request


@pytest.mark.parametrize("runs", [False, True])
def test_a_broker_may_be_told_to_end_when_its_epoch_is_stale(runs: bool) -> None:
    world = World(settings=replace(SETTINGS, stops_when_stale=True))
    world = world.running() if runs else world.registered()
    request = world.communicate()
    assert world.broker.on_response(request, BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH), 0) == []
    assert world.broker.state == BrokerState.SHUTTING_DOWN
    assert world.broker.lifecycle.next_request(0) is None


@pytest.mark.parametrize("caught_up", [False, True])
def test_a_broker_that_does_not_run_yet_asks_nobody_to_stop(caught_up: bool) -> None:
    world = World().registered()
    if caught_up:
        world.replay()
    assert world.broker.shut_down(0) == []
    assert world.broker.state == BrokerState.SHUTTING_DOWN


def test_only_a_broker_that_asked_to_shut_down_is_released() -> None:
    world = World().running()
    world.heartbeat(should_shut_down=True)
    assert world.broker.state == BrokerState.RUNNING
    recovering = World().registered()
    recovering.replay(RegisterBrokerRecord(1, incarnation(1), 0))
    recovering.heartbeat(fenced=True, should_shut_down=True)
    assert recovering.broker.state == BrokerState.RECOVERY


def test_a_broker_that_is_not_released_waits() -> None:
    world = World().running()
    world.broker.shut_down(0)
    world.heartbeat(should_shut_down=False)
    assert world.broker.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN


def test_a_second_sigterm_changes_nothing() -> None:
    world = World().running()
    world.broker.shut_down(0)
    assert world.broker.shut_down(5) == []
    assert world.broker.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN


def test_a_controlled_shutdown_takes_no_longer_than_its_time_limit() -> None:
    world = World().running()
    effects = world.broker.shut_down(9)
    assert delay_ms(effects, Due.COMMUNICATION, 9) == 0
    assert delay_ms(effects, Due.CONTROLLED_SHUTDOWN, 9) == 300_000
    assert world.due(Due.CONTROLLED_SHUTDOWN) == []
    assert world.broker.state == BrokerState.SHUTTING_DOWN


def test_a_broker_stops_only_after_it_was_told_to() -> None:
    world = World().running()
    with pytest.raises(BrokerStateError, match="cannot have stopped"):
        world.broker.stopped()


def test_a_stopped_broker_does_nothing_any_more() -> None:
    world = World().running().with_partition()
    request = world.communicate()
    world.broker.shut_down(0)
    world.due(Due.CONTROLLED_SHUTDOWN)
    world.broker.stopped()
    assert world.broker.on_response(request, BrokerHeartbeatResponse(ErrorCode.NONE, True, False), 0) == []
    assert world.due(Due.COMMUNICATION) == world.due(Due.PUBLICATION) == world.due(Due.ISR_EXPIRATION) == []
    assert world.change(isr=(1,)) == world.broker.load(Snapshot(0, 1, ()), 1, 0) == []
    assert world.broker.leaders == {} and world.broker.state == BrokerState.NOT_RUNNING


def test_a_timer_that_no_broker_sets_is_refused() -> None:
    with pytest.raises(ValueError, match="sets no timer"):
        World().running().broker.on_timer(("lease", 1), 0)


def test_a_copy_lives_its_own_life() -> None:
    world = World().running()
    copy = world.broker.copy()
    sent = copy.on_timer((Due.COMMUNICATION,), 0)
    copy.shut_down(0)
    assert isinstance(sent[0], Send)
    assert world.broker.state == BrokerState.RUNNING and world.broker.lifecycle.in_flight is None
    assert world.broker.lifecycle.incarnation_id == UUID(int=1001)
