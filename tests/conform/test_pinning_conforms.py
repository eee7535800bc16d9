"""impl.pinning does what spec.pinning does, in models that are small enough to be driven whole.

Larger ones are for `fencepost conform`. Together these take every action that the implementation has a step for.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.errors import SpecError
from checker.lang.loader import BoundModel, load
from impl.adapters.pinning import SYSTEM


@dataclass(frozen=True)
class Pin:
    """A model of spec.pinning, what is set in it, and how much of it and of the product there is."""

    model: str
    changes: dict[str, int] = field(hash=False)
    setting: str = "repaired"
    transitions: int = 0
    pairs: int = 0

    def __str__(self) -> str:
        return ",".join([self.model, self.setting, *(f"{name}={value}" for name, value in self.changes.items())])

    def load(self) -> BoundModel:
        changes = {name: str(value) for name, value in self.changes.items()}
        return load(f"pinning/{self.model}", changes, self.setting)


PINS = [
    Pin("pin", {"brokers": 2}, "repaired", 1_073, 652),
    Pin("pin", {"max_crashes": 0}, "repaired", 220, 187),
    Pin("pin", {"brokers": 2}, "draft", 810, 432),
    Pin("repin", {"brokers": 2, "max_requests": 1}, "repaired", 520, 360),
    Pin("repin", {"brokers": 2, "max_unpins": 0}, "repaired", 1_596, 997),
    Pin("repin", {"brokers": 2}, "draft", 1_531, 707),
    Pin("takeover", {"brokers": 2, "max_crashes": 0}, "repaired", 2_425, 1_081),
    Pin("takeover", {"brokers": 2, "max_unpins": 0, "max_requests": 2}, "repaired", 6_813, 3_220),
    Pin("refused", {"brokers": 2}, "repaired", 7_486, 3_717),
    Pin("expiry", {"brokers": 2}, "repaired", 8_032, 4_615),
    Pin("expiry", {"brokers": 2, "max_crashes": 0}, "draft", 743, 398),
    Pin("zombie", {"max_expiries": 1}, "repaired", 3_229, 967),
    Pin("rolling", {"brokers": 2, "max_restarts": 2}, "repaired", 1_054, 685),
    Pin("mixed", {"brokers": 2}, "repaired", 2_010, 855),
    Pin("hung", {"brokers": 2}, "repaired", 12_282, 5_132),
    Pin("zombie", {"max_deletions": 0, "max_expiries": 1}, "draft", 411, 124),
    Pin("lost_reply", {}, "repaired", 5_503, 3_178),
    Pin("lost_reply", {"max_requests": 1}, "repaired", 278, 192),
    Pin("mixed", {"brokers": 2}, "draft", 2_175, 965),
    Pin("repin_crash", {"brokers": 2}, "repaired", 33_776, 16_774),
]
LONG = pytest.mark.long("more than 5,000 transitions are driven")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "pin", [pytest.param(pin, marks=[LONG] if pin.transitions > 5_000 else []) for pin in PINS], ids=str
)
def test_conforms(pin: Pin) -> None:
    """Every transition of the spec is driven, and nothing diverges. Some actions a smaller model never takes."""
    report = conform(pin.load(), SYSTEM, "pinning", ConformOptions(jobs=1))
    assert report.divergence is None and report.verdict in ("conforms", "vacuous")
    assert (report.transitions, report.pairs) == (pin.transitions, pin.pairs)


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
    model = PINS[0].load()
    (state,) = model.initial_states()
    cluster = SYSTEM.begin(model.constants, state)
    again = pickle.loads(pickle.dumps(cluster))
    assert SYSTEM.observe(again) == SYSTEM.observe(cluster)
    assert SYSTEM.key(again) == SYSTEM.key(cluster)
