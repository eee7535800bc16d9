"""impl.pinning does what spec.pinning does, in models that are small enough to be driven whole.

Larger ones are for `fencepost conform`. Together these take every action that the implementation has a step for.
"""

from __future__ import annotations

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.errors import SpecError
from checker.lang.loader import load
from impl.adapters.pinning import SYSTEM
from tests.conform.pinned import Pin, assert_can_be_sent, assert_conforms, cases

PINS = [
    Pin("pin", "repaired", {"brokers": 2}, 1_073, 732),
    Pin("pin", "repaired", {"max_crashes": 0}, 220, 187),
    Pin("pin", "draft", {"brokers": 2}, 810, 464),
    Pin("repin", "repaired", {"brokers": 2, "max_requests": 1}, 520, 360),
    Pin("repin", "repaired", {"brokers": 2, "max_unpins": 0}, 1_596, 1_049),
    Pin("repin", "draft", {"brokers": 2}, 1_531, 707),
    Pin("takeover", "repaired", {"brokers": 2, "max_crashes": 0}, 3_077, 1_190),
    Pin("takeover", "repaired", {"brokers": 2, "max_unpins": 0, "max_requests": 2}, 7_176, 3_650),
    Pin("refused", "repaired", {"brokers": 2}, 7_486, 3_767),
    Pin("expiry", "repaired", {"brokers": 2}, 8_032, 5_183),
    Pin("expiry", "draft", {"brokers": 2, "max_crashes": 0}, 743, 410),
    Pin("zombie", "repaired", {"max_expiries": 1}, 3_229, 983),
    Pin("rolling", "repaired", {"brokers": 2, "max_restarts": 2}, 1_054, 708),
    Pin("mixed", "repaired", {"brokers": 2}, 2_010, 941),
    Pin("hung", "repaired", {"brokers": 2}, 12_282, 5_582),
    Pin("zombie", "draft", {"max_deletions": 0, "max_expiries": 1}, 411, 124),
    Pin("lost_reply", "repaired", {}, 5_503, 3_548),
    Pin("lost_reply", "repaired", {"max_requests": 1}, 278, 196),
    Pin("lost_takeover", "repaired", {"max_requests": 1, "max_unpins": 0}, 2_021, 1_047),
    Pin("lost_takeover", "repaired", {"max_requests": 2, "max_unpins": 0, "max_deletions": 0}, 505, 248),
    Pin("mixed", "draft", {"brokers": 2}, 2_175, 1_063),
    Pin("repin_crash", "repaired", {"brokers": 2}, 33_776, 18_754),
]


@pytest.mark.sample(1, verify=8)
@pytest.mark.parametrize("pin", cases(PINS, quick=5_000), ids=str)
def test_conforms(pin: Pin) -> None:
    assert_conforms(pin, SYSTEM, "pinning")


@pytest.mark.parametrize(
    ("model", "changes", "why"),
    [
        ("pin", {"loser_watches": "false"}, "no switch for loser_watches"),
        ("lost_reply", {"office_reads_ready": "false"}, "reads everything anew"),
        ("preferred", {}, "no preferred controllers"),
        ("live_late", {}, "removed late"),
    ],
)
def test_what_it_cannot_be_driven_through_is_reported(model: str, changes: dict[str, str], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        conform(load(f"pinning/{model}", changes), SYSTEM, "pinning", ConformOptions())


def test_a_cluster_can_be_sent_to_another_process() -> None:
    assert_can_be_sent(PINS[0].load("pinning"), SYSTEM)
