"""A process: a controller that may be, and a broker, with one session. All that needs no waiting is done at once."""

from __future__ import annotations

from collections.abc import Callable

from impl.heartbeat.broker import Broker, BrokerSettings
from impl.heartbeat.control_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from impl.heartbeat.controller import Controller
from impl.heartbeat.design import Design
from impl.heartbeat.effects import ControlRequest, Effects, Timer
from impl.heartbeat.replica import OpenLog, in_memory
from impl.zookeeper import Event

_OF_CONTROLLER = (Timer.LEASES, Timer.MOVE_LEADERS)


class Node:
    """Both cores of one process."""

    def __init__(
        self, settings: BrokerSettings, design: Design, controller_timeout_ms: int, open_log: OpenLog = in_memory
    ) -> None:
        handles = not settings.is_legacy
        self.controller = Controller(settings.broker, design, controller_timeout_ms, sends_heartbeats=handles)
        self.broker = Broker(settings, design, open_log)

    def on_event(self, event: Event, now_ms: int) -> Effects:
        """Take in the next event of ZooKeeper's stream."""
        seen = self.controller.seen
        effects = self.controller.on_event(event, now_ms)
        if self.controller.seen != seen:
            self.broker.on_controller(self.controller.seen)
        return effects + self.broker.on_event(event, now_ms) + self.advance(now_ms)

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        """A timer that was set is due."""
        core: Controller | Broker = self.controller if timer in _OF_CONTROLLER else self.broker
        return core.on_timer(timer, now_ms) + self.advance(now_ms)

    def advance(self, now_ms: int) -> Effects:
        """Do what waits and can be done."""
        effects: Effects = []
        while self.controller.can_advance:
            effects += self.controller.advance(now_ms)
        while self.broker.can_advance:
            effects += self.broker.advance(now_ms)
        return effects + self.broker.complete(now_ms)

    def then(self, step: Callable[[], Effects], now_ms: int) -> Effects:
        """A step of one of the cores, and what can be done after it."""
        return step() + self.advance(now_ms)

    def on_control_request(
        self, request: ControlRequest, now_ms: int
    ) -> tuple[LeaderAndIsrResponse | UpdateMetadataResponse, Effects]:
        """A controller says what is."""
        match request:
            case LeaderAndIsrRequest():
                response, effects = self.broker.on_leader_and_isr(request, now_ms)
                return response, effects + self.advance(now_ms)
            case UpdateMetadataRequest():
                return self.broker.on_update_metadata(request, now_ms)
