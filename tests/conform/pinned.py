"""Models that are driven whole, with how much of them there is: what the tests of each adapter are about."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import BoundModel, load


@dataclass(frozen=True)
class Pin:
    """A model of a design, what is set in it, and how much of it and of the product there is."""

    model: str
    setting: str | None
    changes: dict[str, int] = field(hash=False)
    transitions: int
    pairs: int

    def __str__(self) -> str:
        return ",".join(
            [self.model, *filter(None, [self.setting]), *(f"{name}={value}" for name, value in self.changes.items())]
        )

    def load(self, design: str) -> BoundModel:
        changes = {name: str(value) for name, value in self.changes.items()}
        return load(f"{design}/{self.model}", changes, self.setting)


def cases(pins: Iterable[Pin], *, quick: int) -> list[Any]:
    """Parameters of a test. quick: the most transitions of those that are not long."""
    long = pytest.mark.long(f"more than {quick:,} transitions are driven")
    return [pytest.param(pin, marks=[long] if pin.transitions > quick else []) for pin in pins]


def assert_conforms(pin: Pin, system: Any, design: str) -> None:
    """Every transition of the spec is driven, and nothing diverges. Some actions a smaller model never takes."""
    report = conform(pin.load(design), system, design, ConformOptions(jobs=1))
    assert report.divergence is None and report.verdict in ("conforms", "vacuous")
    assert (report.transitions, report.pairs) == (pin.transitions, pin.pairs)


def assert_can_be_sent(model: BoundModel, system: Any) -> None:
    """A cluster can go to another process, and is the same there."""
    (state,) = model.initial_states()
    system.lacks(model.constants, ())
    cluster = system.begin(model.constants, state)
    again = pickle.loads(pickle.dumps(cluster))
    assert system.observe(again) == system.observe(cluster)
    assert system.key(again) == system.key(cluster)
