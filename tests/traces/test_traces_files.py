"""Traces in files: round trips, files of other tools, and what is said of files that are broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import itf_py
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces import Column, Step, Trace, TraceError, Value, Violation, load, save
from traces.itf import from_itf, to_itf
from traces.ndjson import from_ndjson, to_ndjson
from traces.reading import parse

ROOT = Path(__file__).parents[2]

texts = st.text(max_size=6)
identifiers = st.from_regex(r"[a-z][a-z0-9_]{0,5}x", fullmatch=True)  # no keyword ends in x
tags = st.sampled_from(["Some", "None", "None_", "None__", "Register", "class", "Tag_"])


def values(names: st.SearchStrategy[str]) -> st.SearchStrategy[Value]:
    """Every kind of value; field names from `names`."""

    def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        lists = st.lists(inner, max_size=3)
        return st.one_of(
            lists,
            st.builds(lambda kind, items: {kind: items}, st.sampled_from(["#tup", "#set"]), lists),
            st.builds(lambda pairs: {"#map": pairs}, st.lists(st.tuples(inner, inner).map(list), max_size=3)),
            st.dictionaries(names, inner, max_size=3),
            st.dictionaries(st.just("value"), inner),
            st.builds(lambda tag, payload: {"tag": tag, "value": payload}, tags, inner),
            st.just({"tag": "None", "value": {"#tup": []}}),
        )

    scalars = st.one_of(st.booleans(), st.integers(), st.just(2**60), texts)
    return st.recursive(scalars, extend, max_leaves=6)


@st.composite
def traces(draw: Callable[..., Any], names: st.SearchStrategy[str] = identifiers) -> Trace:
    value = values(names)
    variables = draw(st.lists(identifiers, min_size=1, max_size=3, unique=True))
    steps: list[Step] = []
    for index in range(1, draw(st.integers(0, 4)) + 1):
        state = {name: draw(value) for name in variables}
        parameters = draw(st.dictionaries(identifiers, value, max_size=2))
        notes = tuple(draw(st.lists(texts, max_size=2)))
        steps.append(Step(index, draw(texts), draw(texts), parameters, state, notes, draw(texts)))
    if steps and draw(st.booleans()):
        steps[-1] = replace(steps[-1], state=None)
    cells = st.lists(st.tuples(texts, st.lists(value, max_size=2).map(tuple)), max_size=2).map(tuple)
    pairs = st.lists(st.tuples(texts, value), max_size=2).map(tuple)
    return Trace(
        model=draw(texts),
        constants=draw(st.dictionaries(identifiers, value, max_size=2)),
        steps=tuple(steps),
        violation=draw(st.none() | st.builds(Violation, texts, texts, texts, texts, texts, texts, pairs)),
        head=tuple(draw(st.lists(texts, max_size=2))),
        tail=tuple(draw(st.lists(texts, max_size=2))),
        columns=tuple(draw(st.lists(st.builds(Column, texts, cells), max_size=2))),
        loop=draw(st.none() | st.integers(0, len(steps) - 1)) if steps else None,
    )


def same(one: Trace, other: Trace) -> bool:
    return one == other and repr(one) == repr(other)  # repr tells True from 1


# names of fields that itf-py could not take are not ours to forbid
any_names = st.text(max_size=4).filter(lambda name: not name.startswith("#"))


@settings(max_examples=150, deadline=None)
@given(traces(any_names))
def test_itf_round_trip(trace: Trace) -> None:
    assert same(from_itf(json.loads(json.dumps(to_itf(trace)))), trace)


@settings(max_examples=150, deadline=None)
@given(traces(any_names))
def test_ndjson_round_trip(trace: Trace) -> None:
    assert same(from_ndjson(to_ndjson(trace)), trace)


@pytest.mark.parametrize("name", ["t.itf.json", "t.json", "t.ndjson"])
def test_files_round_trip(story: Trace, tmp_path: Path, name: str) -> None:
    save(story, tmp_path / name)
    save(story, tmp_path / name)  # over what is there
    assert same(load(tmp_path / name), story)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@settings(max_examples=150, deadline=None)
@given(traces())
def test_itf_py_loads_what_we_write(trace: Trace) -> None:
    ours = to_itf(trace)
    theirs = itf_py.trace_from_json(json.loads(json.dumps(ours)))
    stated = [step for step in trace.steps if step.state is not None]
    assert [state.values["mbt::actionTaken"] for state in theirs.states] == [step.action for step in stated]
    assert theirs.loop == trace.loop


def test_itf_as_quint_writes_it(story: Trace) -> None:
    itf = to_itf(story)
    assert itf["#meta"]["format"] == "ITF"
    assert itf["vars"][-2:] == ["mbt::actionTaken", "mbt::nondetPicks"]
    assert itf["params"] == list(story.constants)
    assert itf["states"][0]["brokers"] == 2
    step = itf["states"][5]
    assert (step["#meta"]["index"], step["mbt::actionTaken"]) == (5, "ask_to_expand_isr")
    assert step["mbt::nondetPicks"]["follower"] == {"tag": "Some", "value": "broker1"}
    theirs = itf_py.trace_from_json(itf).states
    assert theirs[0].values["registrations"]["broker0"].broker_epoch == 1
    assert type(theirs[0].values["registrations"]["broker1"]).__name__ == "None_"
    assert theirs[9].values["mbt::nondetPicks"].brokers.value == frozenset({"broker0", "broker1"})


def test_a_last_step_without_a_state_is_kept_and_itf_stays_valid(story: Trace) -> None:
    broken = replace(story, steps=(*story.steps[:-1], replace(story.steps[-1], state=None)))
    itf = to_itf(broken)
    assert all(set(itf["vars"]) <= set(state) for state in itf["states"])
    assert same(from_itf(itf), broken)


def test_quints_file_is_read() -> None:
    none = {"tag": "None", "value": {"#tup": []}}
    trace = from_itf(
        {
            "#meta": {"format": "ITF", "source": "bank.qnt", "description": "Created by Quint"},
            "vars": ["balances", "mbt::actionTaken", "mbt::nondetPicks", "mbt::actionTaken"],
            "states": [
                {
                    "#meta": {"index": 0},
                    "balances": {"#map": [["ann", {"#bigint": "0"}]]},
                    "mbt::actionTaken": "init",
                    "mbt::nondetPicks": {"who": none, "amount": none},
                },
                {
                    "#meta": {"index": 1},
                    "balances": {"#map": [["ann", {"#bigint": "7"}]]},
                    "mbt::actionTaken": "deposit",
                    "mbt::nondetPicks": {
                        "who": {"tag": "Some", "value": "ann"},
                        "amount": {"tag": "Some", "value": {"#bigint": "7"}},
                    },
                },
            ],
        }
    )
    assert trace.model == "bank.qnt"
    assert trace.steps[0].parameters == {}
    deposit = trace.steps[1]
    assert (deposit.action, deposit.parameters) == ("deposit", {"who": "ann", "amount": 7})
    assert deposit.state == {"balances": {"#map": [["ann", 7]]}}


def test_apalaches_file_is_read() -> None:
    states: list[Any] = [{"N": 3, "x": {"tag": "None_", "value": {}}}, {"x": {"#set": [1]}}]
    itf = {"params": ["N"], "vars": ["x"], "states": states, "loop": 0}
    trace = from_itf(itf)
    assert trace.constants == {"N": 3}
    assert [step.action for step in trace.steps] == ["init", ""]
    assert trace.steps[0].state == {"x": {"tag": "None_", "value": {}}}  # taken literally: it is not ours
    assert trace.loop == 0


ITF: dict[str, Any] = {"vars": ["x"], "states": [{"x": 1}, {"x": 2}]}


ONE = Trace("m", {}, (Step(1, "init", "", {}, {"x": 1}),))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.json", "", "t.json: the file is empty. Write it again"),
        ("t.json", '{"vars": ["x"], "sta', "line 1, column 17: it ends in the middle of a value. The file"),
        ("t.json", '{"vars": \n ?}', "line 2, column 2: this is not JSON: Expecting value"),
        ("t.json", "[1]", "t.json: expected an object, found a list"),
        ("t.json", '{"states": []}', 't.json: this is not an ITF file: the field "vars" is missing'),
        ("t.json", {**ITF, "states": [{"x": 1}, {}]}, 'states[1]: the variable "x" is missing'),
        ("t.json", {**ITF, "states": [{"x": 1.5}]}, "states[0].x: expected an ITF value, found a decimal"),
        ("t.json", {**ITF, "states": [{"x": {"#map": [[1]]}}]}, "states[0].x.#map: a map is a list of"),
        ("t.json", {**ITF, "states": [{"x": {"#sett": []}}]}, 'states[0].x: "#sett" is not of ITF'),
        ("t.json", {**ITF, "loop": 7}, "the loop goes back to state 7, and there are 2"),
        ("t.json", {**to_itf(ONE), "loop": 7}, "loop: the loop goes back to state 7 here, and to None in #meta"),
        ("t.json", "[" * 100_000, "t.json: it is nested too deep"),
        ("t.json", "9" * 10_000, "t.json: a number in it is not an integer"),
        ("t.json", b"\xff\xfe", "t.json: this is not UTF-8 text (byte 0)"),
        ("t.json", {**ITF, "#meta": {"fencepost": {"version": 9}}}, "this is version 9, and only version 1"),
        ("t.ndjson", json.dumps(ITF), 'line 1: the first line does not say "format": "fencepost-trace"'),
        ("t.ndjson", '{"format": "fencepost-trace"}', 'line 1: the field "version" is missing'),
    ],
)  # fmt: skip
def test_broken_files(tmp_path: Path, name: str, content: str | bytes | dict[str, Any], said: str) -> None:
    text = json.dumps(content) if isinstance(content, dict) else content
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TraceError) as raised:
        load(tmp_path / name)
    assert said in str(raised.value)
    assert str(tmp_path / name) in str(raised.value)


def test_a_cut_ndjson_file_says_so(story: Trace) -> None:
    text = to_ndjson(story)
    lines = text.splitlines(keepends=True)
    with pytest.raises(TraceError, match=r"announces 10 steps, and there are 9\. The file was cut"):
        from_ndjson("".join(lines[:-1]))
    with pytest.raises(TraceError, match=r"line 11, column \d+: it ends in the middle"):
        from_ndjson(text[:-20])
    with pytest.raises(TraceError, match="step 3 of the trace is numbered 4"):
        from_ndjson("".join([*lines[:3], lines[4], lines[3], *lines[5:]]))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("t.ndjsn", 'no format has the ending ".ndjsn". Did you mean .ndjson? Known are'),
        ("t.tla", 'no format has the ending ".tla". Known are .itf.json and .json (ITF), .ndjson (NDJSON)'),
        ("t", "the name has no ending that names a format"),
        ("no/such/folder/t.json", "No such file or directory"),
        ("\0.json", "null byte"),
    ],
)
def test_names_that_cannot_be(story: Trace, tmp_path: Path, name: str, said: str) -> None:
    for attempt in (lambda: load(tmp_path / name), lambda: save(story, tmp_path / name)):
        with pytest.raises((TraceError, OSError)) as raised:
            attempt()
        assert said in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_no_trace(story: Trace, tmp_path: Path) -> None:
    (tmp_path / "t.json").mkdir()
    with pytest.raises(TraceError):
        load(tmp_path / "t.json")
    with pytest.raises(IsADirectoryError, match=r"t\.json"):
        save(story, tmp_path / "t.json")
    assert list(tmp_path.iterdir()) == [tmp_path / "t.json"]


def test_what_is_no_trace_cannot_be_built(story: Trace) -> None:
    first, second = story.steps[0], story.steps[1]
    with pytest.raises(TraceError, match="step 1 has no state"):
        replace(story, steps=(replace(first, state=None), second))
    with pytest.raises(TraceError, match='the state of step 2 lacks "processes"'):
        to_itf(replace(story, steps=(first, replace(second, state={}))))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["#meta", "vars", "states", "params", "loop", "fencepost", "version", "x", "#map",
                             "#set", "#bigint", "tag", "value", "mbt::nondetPicks", "format", "steps"]),
            inner, max_size=5)
    ),
    max_leaves=12,
)  # fmt: skip


def read_itf(text: str) -> Trace:
    return from_itf(parse(text))


def only_trace_errors(attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except TraceError as error:
        assert "\n" not in str(error)


@settings(max_examples=300, deadline=None)
@given(json_values)
def test_any_json_is_read_or_refused(obj: object) -> None:
    only_trace_errors(lambda: from_itf(obj))
    only_trace_errors(lambda: from_ndjson(json.dumps(obj)))
    only_trace_errors(lambda: from_itf({"vars": [], "states": [obj], "#meta": {"fencepost": obj}}))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    trace = Trace("m", {"n": 1}, (Step(1, "init", "", {}, {"x": {"#set": [1]}}),), loop=0)
    text, read = data.draw(st.sampled_from([(to_ndjson(trace), from_ndjson), (json.dumps(to_itf(trace)), read_itf)]))
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 8)))
    damaged = text[:begin] + data.draw(st.text(alphabet='{}[]",:1ax\n#\\', max_size=4)) + text[end:]
    only_trace_errors(lambda: read(damaged))


def test_reading_and_recording_load_no_rich() -> None:
    program = "import sys, traces; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
