"""A released broker's dealings with the controller about itself (`BrokerLifecycleManager`), in the place of ours.

One whose id was given to another, or taken away, asks for ever; here somebody ends it then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from impl.apache.jvm import Jvm
from impl.kraft.broker import Broker, BrokerState, Lifecycle
from impl.kraft.broker.lifecycle import LifecycleRequest, LifecycleResponse
from impl.kraft.broker.timers import Due, Timer, due
from impl.kraft.effects import Effects, Send
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationResponse

DUES: Mapping[str, Due] = {"communication": Due.COMMUNICATION, "initialRegistrationTimeout": Due.INITIAL_REGISTRATION}
TAGS = {what: tag for tag, what in DUES.items()}


class KafkaLifecycle(Lifecycle):
    """Of a broker that is open in the JVM. clock_ms: of its machine."""

    def __init__(self, jvm: Jvm, broker: Broker, clock_ms: Callable[[], int]) -> None:
        super().__init__(broker.settings, broker.lifecycle.incarnation_id)
        self._jvm, self._broker, self._clock_ms = jvm, broker, clock_ms
        self._numbers: dict[int, int] = {}

    def start(self, now_ms: int) -> Effects:
        return self._step("start")

    def caught_up(self) -> None:
        """It goes by what the controller says of it."""

    def recovered(self, now_ms: int) -> Effects:
        self.wants_fence = False
        return self._step("ready")

    def shut_down(self, now_ms: int) -> Effects:
        """Its process waits for the controller no longer than ours."""
        after_ms = now_ms + self.settings.controlled_shutdown_timeout_ms
        return [*self._step("shut down"), due(Due.CONTROLLED_SHUTDOWN, after_ms)]

    def on_timer(self, timer: Timer, applied_offset: int) -> Effects:
        if timer == (Due.CONTROLLED_SHUTDOWN,):
            self.state = BrokerState.SHUTTING_DOWN
            return []
        return self._step("timer", tag=TAGS[Due(str(timer[0]))])

    def on_response(self, request: LifecycleRequest, response: LifecycleResponse | None, now_ms: int) -> Effects:
        number = self._numbers.pop(id(request))
        self.in_flight = None
        if response is not None and response.error is ErrorCode.STALE_BROKER_EPOCH:
            self.state = BrokerState.SHUTTING_DOWN
            return []
        return self._step("response", number=number, response=_told(response))

    def _step(self, kind: str, **more: Any) -> Effects:
        """Raises ApacheError for what is thrown."""
        command = {"kind": kind, "node": self.settings.broker_id, "nowMs": self._clock_ms()}
        answer = self._jvm.ask({**command, "appliedOffset": self._broker.image.offset, **more})
        self.state = BrokerState(answer["state"])
        self.broker_epoch = None if answer["brokerEpoch"] < 0 else answer["brokerEpoch"]
        effects: Effects = [due(DUES[tag], at_ms) for tag, at_ms in answer["timers"].items()]
        for told in answer["requests"]:
            request = self._request(told)
            self.in_flight = request
            self._numbers[id(request)] = told["number"]
            effects.append(Send(request))
        return effects

    def _request(self, told: Mapping[str, Any]) -> LifecycleRequest:
        if "brokerEpoch" not in told:
            return self.registration()
        return BrokerHeartbeatRequest(
            self.settings.broker_id, told["brokerEpoch"], told["metadataOffset"], told["wantFence"],
            told["wantShutDown"],
        )  # fmt: skip


def _told(response: LifecycleResponse | None) -> Mapping[str, Any] | None:
    match response:
        case BrokerRegistrationResponse():
            return {"error": int(response.error), "brokerEpoch": response.broker_epoch}
        case BrokerHeartbeatResponse():
            return {
                "error": int(response.error), "isCaughtUp": response.is_caught_up, "isFenced": response.is_fenced,
                "shouldShutDown": response.should_shut_down,
            }  # fmt: skip
        case None:
            return None
