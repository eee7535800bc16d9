"""impl.heartbeat does what spec.heartbeat does, in models that are small enough to be driven whole.

Larger ones are for `fencepost conform`.
"""

from __future__ import annotations

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.errors import SpecError
from checker.lang.loader import load
from impl.adapters.heartbeat import SYSTEM
from tests.conform.pinned import Pin, assert_can_be_sent, assert_conforms, cases

PINS = [
    Pin("leases", "repaired", {"max_silences": 0}, 1_530, 396),
    Pin("twins", "repaired", {"records": 0, "max_expiries": 0, "max_silences": 0}, 666, 180),
    Pin("late", "shipped", {"records": 0, "max_late_copies": 0}, 838, 371),
    Pin("failover", "repaired", {"records": 0, "max_expiries": 0}, 4_620, 1_250),
    Pin("stopping", "repaired", {"records": 0, "max_failovers": 0}, 26_242, 8_733),
]


@pytest.mark.parametrize("pin", cases(PINS, quick=5_000), ids=str)
def test_conforms(pin: Pin) -> None:
    assert_conforms(pin, SYSTEM, "heartbeat")


@pytest.mark.parametrize(
    ("model", "changes", "why"),
    [("sessions", {}, "views 0 only"), ("leases", {"max_lost_replies": "1"}, "no reply of ZooKeeper is lost")],
)
def test_what_it_cannot_be_driven_through_is_reported(model: str, changes: dict[str, str], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        conform(load(f"heartbeat/{model}", changes), SYSTEM, "heartbeat", ConformOptions())


def test_a_cluster_can_be_sent_to_another_process() -> None:
    assert_can_be_sent(PINS[0].load("heartbeat"), SYSTEM)
