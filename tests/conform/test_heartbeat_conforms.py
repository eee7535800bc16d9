"""impl.heartbeat does what spec.heartbeat does, in models that are small enough to be driven whole.

Larger ones are for `fencepost conform`.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.errors import SpecError
from checker.lang.loader import BoundModel, load
from impl.adapters.heartbeat import SYSTEM


@dataclass(frozen=True)
class Pin:
    """A model of spec.heartbeat, what is set in it, and how much of it and of the product there is."""

    model: str
    setting: str
    changes: dict[str, int] = field(hash=False)
    transitions: int
    pairs: int

    def __str__(self) -> str:
        return ",".join([self.model, self.setting, *(f"{name}={value}" for name, value in self.changes.items())])

    def load(self) -> BoundModel:
        changes = {name: str(value) for name, value in self.changes.items()}
        return load(f"heartbeat/{self.model}", changes, self.setting)


PINS = [
    Pin("leases", "repaired", {"max_silences": 0}, 1_530, 396),
    Pin("twins", "repaired", {"records": 0, "max_expiries": 0, "max_silences": 0}, 666, 180),
    Pin("late", "shipped", {"records": 0, "max_late_copies": 0}, 838, 371),
    Pin("failover", "repaired", {"records": 0, "max_expiries": 0}, 4_620, 1_250),
    Pin("stopping", "repaired", {"records": 0, "max_failovers": 0}, 26_242, 8_733),
]
LONG = pytest.mark.long("more than 5,000 transitions are driven")


@pytest.mark.parametrize(
    "pin", [pytest.param(pin, marks=[LONG] if pin.transitions > 5_000 else []) for pin in PINS], ids=str
)
def test_conforms(pin: Pin) -> None:
    """Every transition of the spec is driven, and nothing diverges. Some actions a smaller model never takes."""
    report = conform(pin.load(), SYSTEM, "heartbeat", ConformOptions(jobs=1))
    assert report.divergence is None and report.verdict in ("conforms", "vacuous")
    assert (report.transitions, report.pairs) == (pin.transitions, pin.pairs)


@pytest.mark.parametrize(
    ("model", "changes", "why"),
    [("sessions", {}, "views 0 only"), ("leases", {"max_lost_replies": "1"}, "no reply of ZooKeeper is lost")],
)
def test_what_it_cannot_be_driven_through_is_reported(model: str, changes: dict[str, str], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        conform(load(f"heartbeat/{model}", changes), SYSTEM, "heartbeat", ConformOptions())


def test_a_cluster_can_be_sent_to_another_process() -> None:
    model = PINS[0].load()
    (state,) = model.initial_states()
    SYSTEM.lacks(model.constants, ())
    cluster = SYSTEM.begin(model.constants, state)
    again = pickle.loads(pickle.dumps(cluster))
    assert SYSTEM.observe(again) == SYSTEM.observe(cluster)
    assert SYSTEM.key(again) == SYSTEM.key(cluster)
