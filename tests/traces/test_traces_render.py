"""Traces in the terminal: snapshots of a story, and what must hold of any trace at any width.

`SNAPSHOTS=write pytest tests/traces` rewrites the snapshots; read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from traces import Column, Step, Trace, Value, Violation
from traces.changes import rows
from traces.render import render
from traces.values import look_up, show

HERE = Path(__file__).parent
NONE: Value = {"tag": "None", "value": {"#tup": []}}


def some(value: Value) -> Value:
    return {"tag": "Some", "value": value}


@pytest.mark.parametrize("width", [80, 160])
def test_story(story: Trace, width: int) -> None:
    drawn = render(story, width, color=False) + "\n"
    snapshot = HERE / "snapshots" / f"story-{width}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        snapshot.write_text(drawn, encoding="utf-8")
    assert drawn == snapshot.read_text(encoding="utf-8")


def test_colour_changes_no_text(story: Trace) -> None:
    for width in (80, 160):
        coloured = render(story, width, color=True)
        stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
        assert "\x1b[1;33mRECOVERY\x1b[0m" in coloured
        assert [line.rstrip() for line in stripped.split("\n")] == render(story, width, color=False).split("\n")


def test_the_environment_changes_nothing(story: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [render(story, 120, color) for color in (False, True)]
    for name, value in {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "20", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    assert [render(story, 120, color) for color in (False, True)] == expected


def test_what_is_said_of_each_kind(story: Trace) -> None:
    assert story.violation is not None
    for kind, said in {
        "transition invariant": "✗ transition invariant p is violated at step 10",
        "witness": "✓ witness p is reached at step 10",
        "deadlock": "✗ deadlock after step 10: no action can be taken",
        "runtime error": "✗ runtime error in step 10: p",
    }.items():
        drawn = render(replace(story, violation=replace(story.violation, kind=kind, property="p")), 100, False)
        assert drawn.startswith(f"kraft/isr  {said}\n")
    assert render(replace(story, violation=None), 100, False).startswith("kraft/isr  a behaviour of 10 steps\n")
    assert "goes back to step 3," in render(replace(story, loop=2), 100, False)


def test_a_step_that_broke_while_it_ran(story: Trace) -> None:
    broken = replace(story, steps=(*story.steps[:-1], replace(story.steps[-1], state=None)))
    assert "· broke while it ran: there is no state after it" in render(broken, 80, False)


def changes(old: Value, new: Value) -> list[str]:
    """Lines drawn for a step from `old` to `new`."""
    column = Column("c", (("", ("x",)),))
    steps = (Step(1, "init", "", {}, {"x": old}), Step(2, "go", "", {}, {"x": new}))
    lines = render(Trace("m", {}, steps, columns=(column,)), 120, False).splitlines()
    start = next(position for position, line in enumerate(lines) if line.startswith("  2"))
    return [line.split("│")[-1].strip() for line in lines[start:]]


def test_only_what_changed_is_drawn() -> None:
    assert changes({"a": 1, "b": 2}, {"a": 1, "b": 3}) == ["b 2 → 3"]
    assert changes({"#map": [["k", {"a": 1, "b": 2}]]}, {"#map": [["k", {"a": 0, "b": 2}]]}) == ["k.a 1 → 0"]
    assert changes({"r": NONE}, {"r": some({"a": 1})}) == ["r – → (a=1)"]
    assert changes({"r": some({"tag": "Ask", "value": {"a": 1}})}, {"r": NONE}) == ["r Ask → –"]
    assert changes({"#map": [["a", 1], ["b", 1]]}, {"#map": [["a", 1]]}) == ["b 1 → –"]
    assert changes({"#map": [["a", 1]]}, {"#map": [["a", 1], ["b", 1]]}) == ["b → 1"]
    assert changes({"#set": [1, 2]}, {"#set": [2, 1]}) == [""]


def test_values_are_printed_compactly() -> None:
    assert show({"#set": ["broker10", "broker2"]}) == "{broker2, broker10}"
    assert show({"#map": [["k", True], ["j", ""]]}) == '{j→"", k→true}'
    assert show({"#map": [[{"a": 1}, 2]]}) == "{(a=1) ×2}"
    assert show([{"#tup": [1, "x"]}, NONE, some(3)]) == "[(1, x), –, 3]"
    assert show(some(NONE)) == "Some(–)"
    assert show({"tag": "Ask", "value": {"epoch": 1, "to": some("b")}}) == "Ask(epoch=1, to=b)"
    assert show({"tag": "Stop", "value": {"#tup": []}}) == "Stop"
    assert show({"tag": "At", "value": 3}) == "At(3)"
    assert show("\x1b[31m\n") == r"\x1b[31m\n"


def test_look_up_sees_through_options_and_unions() -> None:
    state: Value = {"m": {"#map": [["b", some({"tag": "Ask", "value": {"epoch": [7]}})], ["c", NONE]]}}
    assert look_up(state, ("m", "b", "epoch", 0)) == 7
    assert look_up(state, ("m", "c", "epoch")) == NONE
    assert look_up(state, ("m", "b", "nonsense")) is None
    assert look_up(state, ("m", "d")) is None


texts = st.text(max_size=40) | st.sampled_from(["PartitionChangeRecord(leader=1, isr={1})", "a" * 90, "登録" * 30])
tags = st.sampled_from(["Some", "None", "Ask"])
values: st.SearchStrategy[Value] = st.recursive(
    st.booleans() | st.integers() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts, inner, max_size=3)
        | st.builds(lambda items: {"#set": items}, st.lists(inner, max_size=3))
        | st.builds(lambda pairs: {"#map": pairs}, st.lists(st.tuples(inner, inner).map(list), max_size=3))
        | st.builds(lambda tag, item: {"tag": tag, "value": item}, tags, inner)
    ),
    max_leaves=5,
)  # fmt: skip
columns = st.builds(lambda title, label: Column(title, ((label, ("x",)),)), texts, texts)


@settings(max_examples=100, deadline=None)
@given(
    states=st.lists(values, max_size=3),
    columns=st.lists(columns, max_size=3).map(tuple),
    lines=st.lists(texts, max_size=2).map(tuple),
    violation=st.none() | st.builds(Violation, texts, texts, texts, texts, texts, texts),
    word=texts,
    width=st.integers(40, 200),
)
def test_no_line_is_longer_than_the_width(
    states: list[Value],
    columns: tuple[Column, ...],
    lines: tuple[str, ...],
    violation: Violation | None,
    word: str,
    width: int,
) -> None:
    steps = tuple(Step(i, word, word, {"p": s}, {"x": s}, lines) for i, s in enumerate(states, start=1))
    drawn = render(Trace(word, {"c": word}, steps, violation, lines, lines, columns), width, color=False)
    assert max(map(cell_len, drawn.split("\n"))) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", drawn)


def test_a_key_that_is_there_is_found_without_printing_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """A map of a thousand keys is looked into a thousand times for each step."""
    monkeypatch.setattr("traces.values.show", None)
    assert look_up({"#map": [[{"k": 1}, "a"], [1, "b"], [True, "c"]]}, [True]) == "c"


def test_a_step_says_which_error_it_replies() -> None:
    """What is new under the name `error`, wherever it stands; an old reply that stays is not repeated."""
    waits: Value = {"broker": {"reply": NONE}, "clock": 0}
    refused: Value = {"broker": {"reply": some({"error": "INELIGIBLE_REPLICA", "epoch": 1})}, "clock": 0}
    later: Value = {"broker": {"reply": some({"error": "INELIGIBLE_REPLICA", "epoch": 1})}, "clock": 1}
    states: list[Any] = [waits, refused, later]
    trace = Trace(model="m", constants={}, steps=tuple(
        Step(n, f"step_{n}", "controller 0", {}, state) for n, state in enumerate(states, 1)
    ))  # fmt: skip
    assert [row.errors for row in rows(trace)] == [(), ("INELIGIBLE_REPLICA",), ()]
    assert "step_2 → INELIGIBLE_REPLICA" in render(trace, 160, color=False)
