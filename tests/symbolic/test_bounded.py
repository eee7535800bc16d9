"""Bounded model checking finds the violations that the search finds, as short, and they are behaviours of the spec."""

from __future__ import annotations

import pytest

from checker.lang.ir import EVALUATES
from checker.lang.loader import BoundModel, load
from checker.lemmas.behaviour import run_trace
from checker.reference.replay import replay
from checker.symbolic.bounded import Unrolling, unroll
from checker.symbolic.induction import PROVABLE, ProofOptions
from tests.conftest import ROOT, Pin, read_pins

LONGEST = 9  # states of a violation that is looked for

PINS = [p for p in read_pins(ROOT / "tests" / "pins.toml") if ".py" in p.target]


def loaded(pin: Pin) -> BoundModel:
    return load(str(ROOT / pin.target), pin.changes, pin.setting)


def shortest(pin: Pin) -> int | None:
    """States of the shortest violation of a state or a step; None where only deadlocks and liveness are violated."""
    found = pin.expected.get("violated", {})
    others = {p.name for p in loaded(pin).model.properties if p.kind not in PROVABLE} if found else set[str]()
    return min((n for name, n in found.items() if name not in others), default=None)


SHORTEST = {str(pin): shortest(pin) for pin in PINS}
VIOLATED = [p for p in PINS if (SHORTEST[str(p)] or LONGEST + 1) <= LONGEST]
CLEAR = [p for p in PINS if SHORTEST[str(p)] is None and p.expected.get("distinct", 10**9) < 500]


@pytest.mark.sample(10, verify=30)
@pytest.mark.parametrize("pin", VIOLATED, ids=str)
def test_a_violation_is_as_short_as_the_search_finds_it(pin: Pin) -> None:
    model = loaded(pin)
    found = unroll(model, LONGEST, ProofOptions())
    assert found.run is not None
    assert len(found.run.states) == SHORTEST[str(pin)]
    trace = run_trace(found)
    assert replay(model, trace).departure is None
    assert trace.violation is not None
    if trace.violation.kind != "runtime error":  # which a pin names by its expression alone
        assert pin.expected["violated"][trace.violation.property.removesuffix(EVALUATES)] == SHORTEST[str(pin)]


@pytest.mark.sample(10, verify=30)
@pytest.mark.parametrize("pin", CLEAR, ids=str)
def test_where_no_state_or_step_is_violated_none_is_found(pin: Pin) -> None:
    found = unroll(loaded(pin), 4, ProofOptions())
    assert (found.run, found.stopped, found.clear) == (None, None, 4)


def test_an_unknown_is_reported_with_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Unrolling.violation
    monkeypatch.setattr(Unrolling, "violation", lambda self, n: "timeout" if n == 2 else real(self, n))
    found = unroll(load("kraft/membership"), 4, ProofOptions())
    assert (found.run, found.clear, found.stopped) == (None, 1, "unknown after 2 steps: timeout")
