"""The metrics of a process: of a controller, of a broker, of its session."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from impl.heartbeat.broker import BrokerSettings
from impl.heartbeat.design import REPAIRED
from impl.heartbeat.effects import Reply
from impl.heartbeat.measures import Measures
from impl.heartbeat.messages import BrokerState, ErrorCode, IsrChangeResponse, IsrResult, MetadataHeartbeatResponse
from impl.heartbeat.node import Node
from impl.heartbeat.registry import Known
from impl.runtime.effects import Did
from impl.zookeeper.election import Office


class Shown:
    """The metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.measures = Measures(self.registry)
        self.node = Node(BrokerSettings(1), REPAIRED, 9_000)

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


def test_a_controller_counts_its_brokers_now_and_then() -> None:
    shown = Shown()
    controller = shown.node.controller
    shown.measures.after(shown.node, 1_000)
    assert shown("ActiveControllerCount") == 0 and shown("BrokerCount", state="ACTIVE") == 0
    controller.office, controller.is_in_touch = Office(1, 0, 1), True
    for broker, state in enumerate((BrokerState.ACTIVE, BrokerState.ACTIVE, BrokerState.STOPPING)):
        controller.registry.brokers[broker] = Known(broker, state, is_legacy=broker == 0)
    shown.measures.after(shown.node, 1_199)
    assert shown("ActiveControllerCount") == 1
    assert shown("BrokerCount", state="ACTIVE") == 0, "counted less than 200 ms ago"
    shown.measures.after(shown.node, 1_200)
    counts = {state: shown("BrokerCount", state=state) for state in ("INACTIVE", "ACTIVE", "STOPPING")}
    assert counts == {"INACTIVE": 0, "ACTIVE": 2, "STOPPING": 1} and shown("LegacyBrokerCount") == 1
    controller.is_in_touch = False
    shown.measures.after(shown.node, 1_300)
    assert shown("ActiveControllerCount") == 0, "out of touch with ZooKeeper, it answers nobody"


def test_a_broker_shows_its_incarnation_and_when_it_was_answered() -> None:
    shown = Shown()
    broker = shown.node.broker
    shown.measures.after(shown.node, 1_000)
    assert shown("LastAnsweredAgeMs") == -1 and shown("IncarnationId") == 0
    broker.registration.incarnation, broker.fence.answered_ms = 1 << 40, 900
    shown.measures.after(shown.node, 1_000)
    assert shown("LastAnsweredAgeMs") == 100 and shown("IncarnationId") == 1 << 40
    shown.measures.did(Did("unfenced", 3))
    shown.measures.did(Did("fenced", 4))
    assert shown("SelfFencedCount_total") == 1
    shown.measures.heartbeat_answered(7)
    assert shown("HeartbeatLatencyMs_bucket", le="10.0") == 1 and shown("HeartbeatLatencyMs_bucket", le="5.0") == 0


def test_sessions_that_end_and_connections_that_are_lost_are_counted_once() -> None:
    shown = Shown()
    broker = shown.node.broker
    for is_connected, session in ((False, 0), (True, 5), (False, 5), (False, 5), (True, 5), (False, 5), (True, 6)):
        broker.is_connected, broker.registration.session = is_connected, session
        shown.measures.after(shown.node, 1_000)
    assert shown("ZooKeeperDisconnectsPerSec_total") == 2 and shown("ZooKeeperExpiresPerSec_total") == 1


def test_isr_changes_are_counted_by_code() -> None:
    """Each of its partitions, or the whole that was refused; what was never answered is none."""
    shown = Shown()
    results = tuple(IsrResult(code, None, "t", 0, 0, 0, ()) for code in (ErrorCode.NONE, ErrorCode.INELIGIBLE_REPLICA))
    for response in (
        IsrChangeResponse(ErrorCode.NONE, None, results),
        IsrChangeResponse(ErrorCode.NOT_CONTROLLER),
        MetadataHeartbeatResponse(ErrorCode.INVALID_REQUEST, BrokerState.INACTIVE),
        None,
    ):
        shown.measures.replied(Reply(1, response))
    codes = {code: shown("IsrChanges_total", code=code) for code in ("NONE", "INELIGIBLE_REPLICA", "NOT_CONTROLLER")}
    assert set(codes.values()) == {1} and shown("IsrChanges_total", code="INVALID_REQUEST") is None
