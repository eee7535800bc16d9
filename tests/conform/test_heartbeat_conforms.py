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
    Pin("leases", "repaired", {"max_silences": 0}, 1_530, 603),
    Pin("leases", "draft", {"max_silences": 0}, 1_764, 603),
    Pin("twins", "repaired", {"records": 0, "max_expiries": 0, "max_silences": 0}, 666, 198),
    Pin("twins", "draft", {"records": 0, "max_expiries": 0, "max_silences": 0}, 711, 198),
    Pin("late", "shipped", {"records": 0, "max_late_copies": 0}, 838, 490),
    Pin("failover", "repaired", {"records": 0, "max_expiries": 0}, 4_620, 2_669),
    Pin("legacy", "repaired", {"records": 0, "max_silences": 0, "max_crashes": 0}, 614, 243),
]
STOPPING = Pin("stopping", "repaired", {"records": 0, "max_failovers": 0}, 26_242, 27_354)


@pytest.mark.sample(1, verify=4)
@pytest.mark.parametrize("pin", cases(PINS, quick=4_000), ids=str)
def test_conforms(pin: Pin) -> None:
    assert_conforms(pin, SYSTEM, "heartbeat")


@pytest.mark.large("a minute or two")
def test_a_shutdown_conforms() -> None:
    assert_conforms(STOPPING, SYSTEM, "heartbeat")


@pytest.mark.long("6 s of CPU")
def test_a_shutdown_conforms_as_deep_as_it_is_driven() -> None:
    """The whole of `stopping` takes long; by this depth, a leader hands over as it stops, and a follower exits."""
    options = ConformOptions(jobs=1, max_depth=8)
    report = conform(STOPPING.load("heartbeat"), SYSTEM, "heartbeat", options)
    assert report.divergence is None and report.verdict == "incomplete"


@pytest.mark.long("some thousand transitions each")
@pytest.mark.sample(0, verify=2)
@pytest.mark.parametrize(
    ("model", "changes", "setting", "depth"),
    [
        ("sessions", {"records": "0"}, "repaired", 7),  # a view that lags
        ("zombie", {"max_silences": "0"}, "repaired", 5),  # two controllers
        ("upgrade", {}, "repaired", 6),  # two rolls
        ("disk_and_failover", {"records": "0"}, "repaired", 6),
        ("mixed", {"records": "0", "max_silences": "0", "max_crashes": "0"}, "draft", 6),
    ],
)
def test_larger_models_conform_as_deep_as_they_are_driven(
    model: str, changes: dict[str, str], setting: str, depth: int
) -> None:
    options = ConformOptions(jobs=1, max_depth=depth)
    report = conform(load(f"heartbeat/{model}", changes, setting), SYSTEM, "heartbeat", options)
    assert report.divergence is None and report.verdict == "incomplete"


def test_what_it_cannot_be_driven_through_is_reported() -> None:
    with pytest.raises(SpecError, match="a view holds what its controller has written"):
        conform(load("heartbeat/sessions", {}, "draft"), SYSTEM, "heartbeat", ConformOptions())


def test_a_cluster_can_be_sent_to_another_process() -> None:
    assert_can_be_sent(PINS[0].load("heartbeat"), SYSTEM)
