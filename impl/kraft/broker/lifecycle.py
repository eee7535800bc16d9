"""A broker's dealings with the controller about itself: registration, heartbeats, and the state that follows from them.

One registration or heartbeat is under way at a time. What is lost or refused is sent again, after a back-off
(KIP-631, Broker Registration and State Management). A broker that runs goes on when it is fenced. One that is told
STALE_BROKER_EPOCH goes on asking, too, as Kafka's does, or ends, as it is configured: its id has been registered by
another process or unregistered by an operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from impl.kraft.broker.settings import BrokerSettings
from impl.kraft.broker.states import BrokerState, Event, next_state
from impl.kraft.broker.timers import Due, Timer, due
from impl.kraft.effects import Effects, Send
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import shown
from impl.kraft.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

LifecycleRequest = BrokerRegistrationRequest | BrokerHeartbeatRequest
LifecycleResponse = BrokerRegistrationResponse | BrokerHeartbeatResponse


class BrokerStateError(ValueError):
    """An event that cannot occur in the broker's state."""


@dataclass(slots=True)
class Lifecycle:
    """The place of a broker in its life. wants_fence: until its logs are recovered. failures: in a row."""

    settings: BrokerSettings
    incarnation_id: UUID
    state: BrokerState = BrokerState.NOT_RUNNING
    broker_epoch: int | None = None
    wants_fence: bool = True
    in_flight: LifecycleRequest | None = None
    failures: int = 0

    @property
    def is_alive(self) -> bool:
        return self.state != BrokerState.NOT_RUNNING

    def start(self, now_ms: int) -> Effects:
        """The process starts, and asks for a broker epoch."""
        self._require(not self.is_alive, "start")
        self._happened(Event.STARTED)
        return [
            due(Due.COMMUNICATION, now_ms),
            due(Due.INITIAL_REGISTRATION, now_ms + self.settings.initial_registration_timeout_ms),
        ]

    def caught_up(self) -> None:
        """The image has reached what was committed."""
        self._happened(Event.CAUGHT_UP)

    def recovered(self, now_ms: int) -> Effects:
        """The logs are recovered: from now on the broker asks to be unfenced."""
        is_registered = self.broker_epoch is not None
        self._require(self.state == BrokerState.RECOVERY and is_registered, "have recovered its logs")
        self.wants_fence = False
        return [due(Due.COMMUNICATION, now_ms)]

    def shut_down(self, now_ms: int) -> Effects:
        """SIGTERM. A broker that runs asks the controller first; any other closes its logs at once."""
        if self.state != BrokerState.RUNNING:
            self._happened(Event.SIGTERM)
            return []
        self._happened(Event.SIGTERM)
        return [
            due(Due.COMMUNICATION, now_ms),
            due(Due.CONTROLLED_SHUTDOWN, now_ms + self.settings.controlled_shutdown_timeout_ms),
        ]

    def stopped(self) -> None:
        """The logs are closed: this is the end of the process."""
        self._require(self.state == BrokerState.SHUTTING_DOWN, "have stopped")
        self._happened(Event.LOGS_CLOSED)

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            epoch = "without a broker epoch" if self.broker_epoch is None else f"at broker epoch {self.broker_epoch}"
            raise BrokerStateError(f"broker {self.settings.broker_id} cannot {what}: it is {self.state.name}, {epoch}")

    def _happened(self, event: Event) -> None:
        self.state = next_state(self.state, event)

    def on_timer(self, timer: Timer, applied_offset: int) -> Effects:
        """Do what is due. applied_offset: up to which the broker acts on the metadata; -1 where it does not."""
        match timer:
            case (Due.COMMUNICATION,):
                request = self.next_request(applied_offset)
                return [] if request is None else [Send(request)]
            case (Due.INITIAL_REGISTRATION,):
                if self.broker_epoch is None:
                    self._happened(Event.OUT_OF_TIME)
                return []
            case (Due.CONTROLLED_SHUTDOWN,):
                self._happened(Event.OUT_OF_TIME)
                return []
            case _:
                raise ValueError(f"a broker sets no timer {shown(timer)}")

    def on_response(self, request: LifecycleRequest, response: LifecycleResponse | None, now_ms: int) -> Effects:
        """Take over what the controller says to the request in flight, or that the request was given up."""
        if self.in_flight != request:
            return []
        self.in_flight = None
        if response is not None and response.error == ErrorCode.STALE_BROKER_EPOCH and self.settings.stops_when_stale:
            self._happened(Event.LOST_ID)
            return []
        if response is None or response.error != ErrorCode.NONE:
            self.failures += 1
            return [due(Due.COMMUNICATION, now_ms + self._backoff_ms())]
        self.failures = 0
        if isinstance(request, BrokerRegistrationRequest):
            assert isinstance(response, BrokerRegistrationResponse)
            self.broker_epoch = response.broker_epoch
            return [due(Due.COMMUNICATION, now_ms)]
        assert isinstance(response, BrokerHeartbeatResponse)
        if not response.is_fenced:
            self._happened(Event.UNFENCED)
        if response.should_shut_down:
            self._happened(Event.RELEASED)
        delay_ms = 0 if self._has_news_since(request) else self.settings.heartbeat_interval_ms
        return [due(Due.COMMUNICATION, now_ms + delay_ms)]

    def _backoff_ms(self) -> int:
        doublings = min(self.failures - 1, 30)
        return min(self.settings.retry_backoff_ms << doublings, self.settings.retry_backoff_max_ms)

    # Requests.

    def next_request(self, applied_offset: int) -> LifecycleRequest | None:
        """The request to send now, if there is one: it is in flight from now on, and one is at a time.

        applied_offset: up to which the broker acts on the metadata; -1 where it does not.
        """
        if self.in_flight is not None or self.state in (BrokerState.NOT_RUNNING, BrokerState.SHUTTING_DOWN):
            return None
        if self.broker_epoch is None:
            self.in_flight = self.registration()
        else:
            self.in_flight = BrokerHeartbeatRequest(
                broker_id=self.settings.broker_id,
                broker_epoch=self.broker_epoch,
                current_metadata_offset=applied_offset,
                want_fence=self.wants_fence,
                want_shut_down=self._wants_shut_down,
            )
        return self.in_flight

    def registration(self) -> BrokerRegistrationRequest:
        """The request for a broker epoch, the same each time."""
        return BrokerRegistrationRequest(
            broker_id=self.settings.broker_id,
            cluster_id=self.settings.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=self.settings.listeners,
            features=self.settings.features,
            rack=self.settings.rack,
            log_dirs=self.settings.log_dirs,
        )

    @property
    def _wants_shut_down(self) -> bool:
        return self.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN

    def _has_news_since(self, request: BrokerHeartbeatRequest) -> bool:
        """The broker wants something by now that the heartbeat did not say."""
        return request.want_fence != self.wants_fence or request.want_shut_down != self._wants_shut_down
