"""A broker's dealings with the controller about itself: registration, heartbeats, and the state that follows from them.

One registration or heartbeat is under way at a time. What is lost or refused is sent again, after a back-off
(KIP-631, Broker Registration and State Management). A broker that runs goes on when it is fenced, and one that is told
STALE_BROKER_EPOCH goes on asking: another process has its id, and ends or is ended by an operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from impl.kraft.broker.settings import BrokerSettings
from impl.kraft.broker.states import BrokerState, Event, next_state
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

LifecycleRequest = BrokerRegistrationRequest | BrokerHeartbeatRequest
LifecycleResponse = BrokerRegistrationResponse | BrokerHeartbeatResponse


@dataclass(slots=True)
class Lifecycle:
    """Where a broker is in its life. wants_fence: until its logs are recovered. failures: in a row."""

    settings: BrokerSettings
    incarnation_id: UUID
    state: BrokerState = BrokerState.NOT_RUNNING
    broker_epoch: int | None = None
    wants_fence: bool = True
    in_flight: LifecycleRequest | None = None
    failures: int = 0

    def happened(self, event: Event) -> None:
        self.state = next_state(self.state, event)

    @property
    def is_alive(self) -> bool:
        return self.state != BrokerState.NOT_RUNNING

    def next_request(self, applied_offset: int) -> LifecycleRequest | None:
        """The request to send now, if there is one: it is in flight from now on, and one is at a time.

        applied_offset: up to which the broker acts on the metadata; -1 where it does not.
        """
        if self.in_flight is not None or self.state in (BrokerState.NOT_RUNNING, BrokerState.SHUTTING_DOWN):
            return None
        if self.broker_epoch is None:
            self.in_flight = self._registration()
        else:
            self.in_flight = BrokerHeartbeatRequest(
                broker_id=self.settings.broker_id,
                broker_epoch=self.broker_epoch,
                current_metadata_offset=applied_offset,
                want_fence=self.wants_fence,
                want_shut_down=self._wants_shut_down,
            )
        return self.in_flight

    def _registration(self) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            broker_id=self.settings.broker_id,
            cluster_id=self.settings.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=self.settings.listeners,
            features=self.settings.features,
            rack=self.settings.rack,
        )

    @property
    def _wants_shut_down(self) -> bool:
        return self.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN

    def answered(self, request: LifecycleRequest, response: LifecycleResponse | None) -> int | None:
        """Take over what the controller says, or that the request was given up.

        Returns after how many ms to send the next one; None: this is no response to what is in flight.
        """
        if self.in_flight != request:
            return None
        self.in_flight = None
        if response is None or response.error != ErrorCode.NONE:
            self.failures += 1
            return self._backoff_ms()
        self.failures = 0
        if isinstance(response, BrokerRegistrationResponse):
            self.broker_epoch = response.broker_epoch
            return 0
        if not response.is_fenced:
            self.happened(Event.UNFENCED)
        if response.should_shut_down:
            self.happened(Event.RELEASED)
        return 0 if self._has_news_since(request) else self.settings.heartbeat_interval_ms

    def _has_news_since(self, request: LifecycleRequest) -> bool:
        """The broker wants something by now that the heartbeat did not say."""
        return isinstance(request, BrokerHeartbeatRequest) and (
            request.want_fence != self.wants_fence or request.want_shut_down != self._wants_shut_down
        )

    def _backoff_ms(self) -> int:
        doublings = min(self.failures - 1, 30)
        return min(self.settings.retry_backoff_ms << doublings, self.settings.retry_backoff_max_ms)
