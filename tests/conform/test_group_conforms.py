"""impl.group does what spec.group does, in models that are small enough to be driven whole.

Larger ones are for `fencepost conform`.
"""

from __future__ import annotations

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.errors import SpecError
from checker.lang.loader import load
from impl.adapters.group import SYSTEM
from tests.conform.pinned import Pin, assert_can_be_sent, assert_conforms, cases

PINS = [
    Pin("join", "repaired", {}, 256, 171),
    Pin("join", "draft", {}, 282, 179),
    Pin("join", "shipped", {}, 256, 171),
    Pin("late", "repaired", {"max_time_outs": 1}, 1_625, 985),
    Pin("late", "draft", {"max_time_outs": 1}, 2_406, 1_256),
    Pin("given_up", "repaired", {}, 583, 344),
    Pin("crash", "repaired", {}, 5_736, 3_452),
    Pin("death", "repaired", {"max_early_suspicions": 0}, 4_012, 2_934),
    Pin("failover", "repaired", {"consumers": 1}, 1_473, 822),
    Pin("failover", "repaired", {"consumers": 1, "session_maximum": False}, 395, 279),
    Pin("failover", "draft", {"consumers": 1}, 242, 139),
    Pin("failover", "shipped", {"consumers": 1}, 3_092, 1_668),
    Pin("offsets", "repaired", {"consumers": 1}, 2_846, 1_470),
    Pin("offsets", "draft", {"consumers": 1}, 729, 391),
    Pin("pings", "repaired", {"records": 1, "max_out_of_range": 0}, 2_064, 1_930),
    Pin("pings", "shipped", {"records": 0}, 953, 1_489),
    Pin("shutdown", "repaired", {"consumers": 1, "records": 1}, 2_837, 3_055),
    Pin("shutdown", "shipped", {"consumers": 1, "records": 1}, 2_360, 1_480),
    Pin("topics", "repaired", {"max_expiries": 0}, 542, 342),
    Pin("topics", "draft", {"new_partitions": 1}, 2_792, 1_237),
    Pin("three", "repaired", {"max_crashes": 0}, 4_474, 2_488),
    Pin("two_groups", "repaired", {}, 690, 406),
    Pin("section2", "repaired", {"consumers": 1, "max_crashes": 0}, 2_027, 1_104),
    Pin("section2", "section2", {"max_crashes": 0, "max_expiries": 0}, 154, 82),
    Pin("barrier", "shipped", {"max_expiries": 0}, 3_169, 1_723),
]


LARGE_PINS = [
    Pin("section2", "repaired", {"max_expiries": 0}, 5_212, 2_132),
    Pin("section2", "section2", {"consumers": 1}, 4_755, 2_254),
]


@pytest.mark.large("more of a protocol that is an alternative")
@pytest.mark.parametrize("pin", LARGE_PINS, ids=str)
def test_conforms_further(pin: Pin) -> None:
    assert_conforms(pin, SYSTEM, "group")


@pytest.mark.sample(2, verify=6)
@pytest.mark.parametrize("pin", cases(PINS, quick=1_000), ids=str)
def test_conforms(pin: Pin) -> None:
    assert_conforms(pin, SYSTEM, "group")


@pytest.mark.parametrize(
    ("model", "changes", "why"),
    [
        ("timed", {}, "no sessions in time"),
        ("join", {"response_first": "false"}, "always comes first"),
        ("two_groups", {"handlers": "2"}, "one thread is driven"),
    ],
)
def test_what_it_cannot_be_driven_through_is_reported(model: str, changes: dict[str, str], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        conform(load(f"group/{model}", changes), SYSTEM, "group", ConformOptions())


def test_a_cluster_can_be_sent_to_another_process() -> None:
    assert_can_be_sent(PINS[0].load("group"), SYSTEM)
