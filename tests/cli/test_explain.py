"""Why a property is false: the part that makes it so, and the values it speaks of. The spec is explained.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from checker.lang.loader import BoundModel, load
from checker.reference.explain import Explanation, explain
from checker.reference.step import step

ISR = {"#set": ["broker0", "broker2"]}
SPEC = Path(__file__).parent / "explained.py"


@pytest.fixture
def model() -> BoundModel:
    return load(f"{SPEC}/sayings")


def explained(model: BoundModel, name: str) -> Explanation:
    """The explanation of a property in the second state, where it is false."""
    [before] = model.initial_states()
    after = step(before, model.model.actions[0], ()).state
    declared = getattr(model.spec.module, name)
    states = (before, after) if declared.kind == "transition invariant" else (after,)
    return explain(declared, *states)


@pytest.mark.parametrize(
    ("name", "conjunct", "values"),
    [
        ("conjunction", "s.leader in s.isr", {"s.leader": "broker1", "s.isr": ISR}),
        ("implication", "s.leader is None or s.leader in s.isr", {"s.leader": "broker1", "s.isr": ISR}),
        (
            "for_all",
            "s.leader != b or not s.fenced[b]",
            {"s.leader": "broker1", "b": "broker1", "s.fenced[b]": True},
        ),
        (
            "never_any",
            "not (s.leader == b and s.fenced[b])",
            {"s.leader": "broker1", "b": "broker1", "s.fenced[b]": True},
        ),
        ("not_both", "not (s.leader is not None and s.epoch == 0)", {"s.leader": "broker1", "s.epoch": 0}),
        (
            "by_helper",
            "s.leader is None or broker in s.isr  # in may_lead",
            {"s.leader": "broker1", "broker": "broker1", "s.isr": ISR},
        ),
        (
            "by_early_return",
            "not s.fenced[broker]  # in leads_well",
            {"s.fenced[broker]": True, "broker": "broker1"},
        ),
        ("by_choice", "s.leader in s.isr", {"s.leader": "broker1", "s.isr": ISR}),
        ("by_local_name", "s.leader not in fenced", {"s.leader": "broker1", "fenced": {"#set": ["broker1"]}}),
        ("by_named_claims", "s.leader is None or s.leader in s.isr", {"s.leader": "broker1", "s.isr": ISR}),
        (
            "by_two_helpers",
            "leads_well(s, b) or may_lead(s, b)",
            {"b": "broker1", "leads_well(s, b)": False, "may_lead(s, b)": False},
        ),
        (
            "by_helpers_of_two_brokers",
            "not leads_fenced(s, b) or not may_lead(s, other)",
            {"b": "broker1", "other": "broker0", "leads_fenced(s, b)": True, "may_lead(s, other)": True},
        ),
        (
            "by_helper_of_two_states",
            "not led_from_isr(before) or led_from_isr(after)",
            {"led_from_isr(before)": True, "led_from_isr(after)": False},
        ),
        ("by_early_success", "not (s.epoch == 0)  # in gone_back", {"s.epoch": 0}),
        ("epoch_rises", "before.epoch <= after.epoch", {"before.epoch": 1, "after.epoch": 0}),
    ],
)
def test_the_part_that_is_false_is_named(model: BoundModel, name: str, conjunct: str, values: dict[str, Any]) -> None:
    found = explained(model, name)
    assert (found.conjunct, dict(found.values), found.breakdown) == (conjunct, values, "")


@pytest.mark.parametrize("name", ["conjunction", "by_helper", "by_early_return"])
def test_it_is_placed_in_the_property_itself(model: BoundModel, name: str) -> None:
    found = explained(model, name)
    lines = SPEC.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if f"def {name}(" in line)
    assert found.file == str(SPEC)
    assert first < found.line - 1 <= first + 2


def test_a_property_that_breaks_down_is_explained_by_its_line(model: BoundModel) -> None:
    found = explained(model, "breaks_down")
    assert found.breakdown == "tuple index out of range"
    assert found.conjunct == "s.epoch == 1 or s.log[0] == s.leader"
    assert dict(found.values) == {"s.epoch": 0, "s.log": [], "s.leader": "broker1"}


def test_of_a_witness_the_part_that_holds_is_named(model: BoundModel) -> None:
    [state] = model.initial_states()
    found = explain(model.spec.module.for_all, state, holds=True)
    assert found.conjunct == "all((s.leader != b or not s.fenced[b] for b in Broker))"
    either = explain(model.spec.module.implication, state, holds=True)
    assert (either.conjunct, dict(either.values)) == ("s.leader in s.isr", {"s.leader": "broker0", "s.isr": ISR})


def test_the_state_and_the_trace_function_are_left_alone(model: BoundModel) -> None:
    before = sys.gettrace()
    [state] = model.initial_states()
    shown = model.state_type.itf(state)
    explained(model, "conjunction")
    assert model.state_type.itf(state) == shown
    assert sys.gettrace() is before


def test_a_trace_has_the_notes_of_its_spec(run: Callable[..., Result]) -> None:
    shown = run("check", "tests/cli/noted.py").stdout
    assert "· 1 ticks, -1 to go by" in shown and "· 3 ticks, 1 to go by" in shown
    assert "ticks  2, 3, 4" in shown


def test_notes_that_break_down_are_a_line_of_the_trace(run: Callable[..., Result]) -> None:
    result = run("check", "tests/cli/noted.py")
    said = ("· the spec's notes break down", "(tests/cli/noted.py:36):", "ZeroDivisionError: integer")
    assert (result.exit_code, [text in result.stdout for text in said]) == (1, [True] * 3), result.stdout
