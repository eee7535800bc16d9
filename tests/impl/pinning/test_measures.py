"""The metrics of a broker."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from impl.pinning.broker import Broker
from impl.pinning.design import REPAIRED
from impl.pinning.effects import Reply
from impl.pinning.measures import Measures
from impl.pinning.member import Member, Phase
from impl.pinning.messages import ErrorCode, PinControllerResponse
from impl.runtime.effects import Did


def test_a_broker_that_is_handed_the_office_shows_it() -> None:
    registry = CollectorRegistry()
    now_ms = 1_000
    measures, broker = Measures(registry, lambda: now_ms), Broker(Member(1, REPAIRED))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    now_ms = 3_500
    assert value("SecondsWithoutController") == 2.5, "though nothing has happened since"
    assert value("ControllerId") == -1
    measures.after(broker, now_ms)
    assert value("SecondsWithoutController") == 2.5 and value("ControllerId") == -1
    broker.member.phase = Phase.ABSTAINS
    measures.after(broker, 3_500)
    assert value("AbstainingCount") == 1

    measures.did(Did("set_ready", 7), 4_000)
    measures.did(Did("run", 9), 4_030)
    measures.did(Did("begin_term", 9, {"request": 5, "cause": "request"}), 4_040)
    broker.member.phase, broker.member.controller, broker.member.is_in_touch = Phase.IN_OFFICE, 1, True
    measures.after(broker, 4_040)
    assert value("ActiveControllerCount") == 1 and value("SecondsWithoutController") == 0
    assert value("HandoverTimeMs_sum") == 40 and value("ControllerMovesPerSec_total", cause="request") == 1
    broker.member.is_in_touch = False
    measures.after(broker, 5_000)
    assert value("ActiveControllerCount") == 0, "out of touch with ZooKeeper, it acts no more"


def test_requests_are_counted_by_outcome() -> None:
    registry = CollectorRegistry()
    Measures(registry).replied(Reply(1, PinControllerResponse(ErrorCode.REQUEST_TIMED_OUT)))
    assert registry.get_sample_value("PinRequests_total", {"outcome": "REQUEST_TIMED_OUT"}) == 1
