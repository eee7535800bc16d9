"""The metrics of a broker."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from impl.pinning.broker import Broker
from impl.pinning.design import REPAIRED
from impl.pinning.measures import Measures
from impl.pinning.member import Member, Phase
from impl.pinning.messages import DescribeControllerResponse, ErrorCode, PinControllerResponse
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
    assert value("ControllerId") == 1 and value("AbstainingCount") == 0
    assert value("HandoverTimeMs_sum") == 40 and value("ControllerMovesPerSec_total", cause="request") == 1
    broker.member.is_in_touch = False
    measures.after(broker, 5_000)
    assert value("ActiveControllerCount") == 0, "out of touch with ZooKeeper, it acts no more"

    broker.member.phase, broker.member.controller = Phase.WATCHING, None
    measures.after(broker, 6_000)
    now_ms = 6_500
    assert value("ControllerId") == -1 and value("SecondsWithoutController") == 0.5


def test_terms_are_counted_by_what_ended_the_one_before() -> None:
    registry = CollectorRegistry()
    measures = Measures(registry)
    for cause in ("failure", "failure", "by hand", "none"):
        measures.did(Did("begin_term", 9, {"request": None, "cause": cause}), 100)
    counted = {
        cause: registry.get_sample_value("ControllerMovesPerSec_total", {"cause": cause})
        for cause in ("request", "failure", "by hand", "none")
    }
    assert counted == {"request": None, "failure": 2, "by hand": 1, "none": 1}


@pytest.mark.parametrize(("asked", "request_id", "handovers"), [
    ("set_ready", 5, 1), ("prepare_takeover", 5, 1), ("set_ready", None, 0), ("hear_of_other", 5, 0),
])  # fmt: skip
def test_a_term_is_a_hand_over_where_its_broker_was_asked(asked: str, request_id: int | None, handovers: int) -> None:
    registry = CollectorRegistry()
    measures = Measures(registry)
    measures.did(Did(asked, 7), 100)
    for ended in (request_id, 6):  # the second term was asked for by nothing
        measures.did(Did("begin_term", 9, {"request": ended, "cause": "request"}), 130)
    assert registry.get_sample_value("HandoverTimeMs_count") == handovers


def test_requests_are_counted_by_outcome() -> None:
    registry = CollectorRegistry()
    measures = Measures(registry)
    for code in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE, ErrorCode.NONE):
        measures.answered(PinControllerResponse(code))
    measures.answered(DescribeControllerResponse(ErrorCode.NONE))
    counted = {
        outcome: registry.get_sample_value("PinRequests_total", {"outcome": outcome})
        for outcome in ("NONE", "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE")
    }
    assert counted == {"NONE": 2, "REQUEST_TIMED_OUT": 1, "BROKER_NOT_AVAILABLE": None}
