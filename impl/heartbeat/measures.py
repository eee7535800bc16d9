"""The metrics of a process, by the names of the design: kept from the steps that its cores take."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from impl.heartbeat.effects import Reply
from impl.heartbeat.messages import BrokerState, ErrorCode, IsrChangeResponse
from impl.heartbeat.node import Node
from impl.runtime.effects import Did

_LATENCY_BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
_COUNTING_MS = 200
"""How often brokers are counted: there may be thousands, and as many steps a second."""
_SHOWN = (BrokerState.INACTIVE, BrokerState.ACTIVE, BrokerState.STOPPING)


class Measures:
    """What one process shows of itself. Times are those of `now_ms`, of one clock."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._active = Gauge("ActiveControllerCount", "1 on the broker in office", registry=registry)
        self._brokers = Gauge("BrokerCount", "Brokers, by state, on the controller", ["state"], registry=registry)
        self._legacy = Gauge("LegacyBrokerCount", "Brokers of the former protocol", registry=registry)
        self._changes = Counter("IsrChanges", "Requested ISR changes, by outcome", ["code"], registry=registry)
        self._latency = Histogram(
            "HeartbeatLatencyMs", "From sending to the answer", registry=registry, buckets=_LATENCY_BUCKETS_MS
        )
        self._answered = Gauge("LastAnsweredAgeMs", "Since a heartbeat was answered; -1: never", registry=registry)
        self._fenced = Counter("SelfFencedCount", "How often this broker was fenced", registry=registry)
        self._incarnation = Gauge("IncarnationId", "Of this broker; 0: not registered", registry=registry)
        self._expiries = Counter("ZooKeeperExpiresPerSec", "Sessions that ended", registry=registry)
        self._disconnects = Counter("ZooKeeperDisconnectsPerSec", "Connections that were lost", registry=registry)
        self._counted_ms: int | None = None
        self._was_connected = False
        self._session = 0

    def after(self, node: Node, now_ms: int) -> None:
        """A core has taken a step."""
        self._active.set(node.controller.office is not None and node.controller.is_in_touch)
        if self._counted_ms is None or now_ms - self._counted_ms >= _COUNTING_MS:
            self._counted_ms = now_ms
            self._count(node)
        broker = node.broker
        answered_ms = broker.fence.answered_ms
        self._answered.set(-1 if answered_ms is None else now_ms - answered_ms)
        self._incarnation.set(broker.registration.incarnation)
        self._sessions(broker.is_connected, broker.registration.session)

    def _count(self, node: Node) -> None:
        known = node.controller.registry.brokers.values()
        states = [one.state for one in known]
        for state in _SHOWN:
            self._brokers.labels(state.name).set(states.count(state))
        self._legacy.set(sum(one.is_legacy for one in known))

    def _sessions(self, is_connected: bool, session: int) -> None:
        if self._was_connected and not is_connected:
            self._disconnects.inc()
        if self._session and session != self._session:
            self._expiries.inc()
        self._was_connected, self._session = is_connected, session

    def did(self, did: Did) -> None:
        """A step of the design."""
        if did.action == "fenced":
            self._fenced.inc()

    def replied(self, reply: Reply) -> None:
        """The controller has answered somebody."""
        if isinstance(reply.response, IsrChangeResponse):
            codes = [one.error_code for one in reply.response.results] or [reply.response.top_level_error_code]
            for code in codes:
                self._changes.labels(ErrorCode(code).name).inc()

    def heartbeat_answered(self, latency_ms: int) -> None:
        self._latency.observe(latency_ms)
