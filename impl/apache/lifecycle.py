"""A released broker's dealings with the controller about itself (`BrokerLifecycleManager`), in the place of ours.

One whose id was given to another, or taken away, asks for ever; in simulations somebody ends it then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from impl.apache.jvm import Jvm, State, jvm
from impl.kraft.broker import Broker, BrokerSettings, BrokerState, Lifecycle, ReplicaLog
from impl.kraft.broker.lifecycle import LifecycleRequest, LifecycleResponse
from impl.kraft.broker.timers import Due, Timer, due
from impl.kraft.effects import Effects, Send
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationResponse

DUES: Mapping[str, Due] = {"communication": Due.COMMUNICATION, "initialRegistrationTimeout": Due.INITIAL_REGISTRATION}
TAGS = {what: tag for tag, what in DUES.items()}
NOWHERE = Path("/nowhere")
"""The logs of a broker that has none."""
SESSION_MS = 9_000
"""No broker goes by it."""
LONGEST_MS = (1 << 31) - 1


class KafkaLifecycle(Lifecycle):
    """However its steps are taken. number: of the request in flight."""

    STARTS_BY_REPLY = True
    number: int

    def _asked(self, kind: str, now_ms: int | None, applied_offset: int, more: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take a step, and return what it tells. now_ms: None where a timer has fired. Raises ApacheError."""
        raise NotImplementedError

    def start(self, now_ms: int) -> Effects:
        return self._step("start", now_ms)

    def caught_up(self) -> None:
        """It goes by what the controller says of it."""

    def recovered(self, now_ms: int) -> Effects:
        self.wants_fence = False
        return self._step("ready", now_ms)

    def shut_down(self, now_ms: int) -> Effects:
        """Its process waits for the controller no longer than ours."""
        after_ms = now_ms + self.settings.controlled_shutdown_timeout_ms
        return [*self._step("shut down", now_ms), due(Due.CONTROLLED_SHUTDOWN, after_ms)]

    def on_timer(self, timer: Timer, applied_offset: int) -> Effects:
        if timer == (Due.CONTROLLED_SHUTDOWN,):
            self.state = BrokerState.SHUTTING_DOWN
            return []
        return self._step("timer", applied_offset=applied_offset, tag=TAGS[Due(str(timer[0]))])

    def on_response(self, request: LifecycleRequest, response: LifecycleResponse | None, now_ms: int) -> Effects:
        self.in_flight = None
        return self._step("response", now_ms, number=self.number, response=_told(response))

    def _step(self, kind: str, now_ms: int | None = None, applied_offset: int = -1, **more: Any) -> Effects:
        answer = self._asked(kind, now_ms, applied_offset, more)
        self.state = BrokerState(answer["brokerState"])
        self.broker_epoch = None if answer["brokerEpoch"] < 0 else answer["brokerEpoch"]
        effects: Effects = [due(DUES[tag], at_ms) for tag, at_ms in answer["timers"].items()]
        for told in answer["requests"]:
            request = self._request(told)
            self.in_flight, self.number = request, told["number"]
            effects.append(Send(request))
        return effects

    def _request(self, told: Mapping[str, Any]) -> LifecycleRequest:
        if "brokerEpoch" not in told:
            return self.registration()
        return BrokerHeartbeatRequest(
            self.settings.broker_id, told["brokerEpoch"], told["metadataOffset"], told["wantFence"],
            told["wantShutDown"],
        )  # fmt: skip


class OpenLifecycle(KafkaLifecycle):
    """Of a broker that is open in the JVM, in a simulation. clock_ms: of its machine."""

    def __init__(self, jvm: Jvm, broker: Broker, clock_ms: Callable[[], int]) -> None:
        super().__init__(broker.settings, broker.lifecycle.incarnation_id)
        self._jvm, self._broker, self._clock_ms = jvm, broker, clock_ms

    def _asked(self, kind: str, now_ms: int | None, applied_offset: int, more: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its image is told of however far it has replayed the log, as the loader's is."""
        command = {"kind": kind, "node": self.settings.broker_id, "nowMs": self._clock_ms()}
        return self._jvm.ask({**command, "appliedOffset": self._broker.image.offset, **more})

    def on_response(self, request: LifecycleRequest, response: LifecycleResponse | None, now_ms: int) -> Effects:
        if response is None or response.error is not ErrorCode.STALE_BROKER_EPOCH:
            return super().on_response(request, response, now_ms)
        self.in_flight, self.state = None, BrokerState.SHUTTING_DOWN
        return []


@dataclass
class KeptLifecycle(KafkaLifecycle):
    """As a value: a step makes a new state in the JVM. in_jvm: None where it has yet to start."""

    version: str = ""
    in_jvm: State | None = None
    number: int = 0

    def _asked(self, kind: str, now_ms: int | None, applied_offset: int, more: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.in_jvm is None:
            configs = configs_of(self.settings, NOWHERE, SESSION_MS)
            self.in_jvm = jvm(self.version).first({"kind": "create lifecycle", "configs": configs})
        self.in_jvm = self.in_jvm.after({"kind": kind, "nowMs": now_ms or 0, "appliedOffset": applied_offset, **more})
        return self.in_jvm.answer


class BrokerOfKafkas(Broker):
    """A broker of ours, whose dealings with the controller about itself are those of a released one.

    Its replicas do what the image says while it is STARTING, too, where Kafka's begin behind that. It reports the
    offset up to which they do.
    """

    def __init__(
        self, version: str, settings: BrokerSettings, incarnation_id: UUID,
        disk: Mapping[PartitionKey, ReplicaLog] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(settings, incarnation_id, disk)
        self.lifecycle = KeptLifecycle(settings, incarnation_id, version=version)

    def _publish(self, changed: Iterable[PartitionKey], now_ms: int) -> Effects:
        return self._act_on_image(changed, now_ms)


def configs_of(settings: BrokerSettings, folder: Path, session_ms: int) -> Mapping[str, Any]:
    """What Kafka's broker is configured with. folder: of its logs."""
    return {
        "process.roles": "broker",
        "node.id": settings.broker_id,
        "controller.quorum.voters": "3000@localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "listeners": "PLAINTEXT://localhost:9092",
        "log.dirs": str(folder),
        "log.index.size.max.bytes": 4096,
        "broker.heartbeat.interval.ms": settings.heartbeat_interval_ms,
        "broker.session.timeout.ms": session_ms,
        "initial.broker.registration.timeout.ms": min(settings.initial_registration_timeout_ms, LONGEST_MS),
        "replica.lag.time.max.ms": settings.replica_lag_time_max_ms,
        "replica.fetch.backoff.ms": 0,
    }


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
