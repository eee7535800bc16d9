"""`fencepost trace`: drawing, running a trace again, and stepping on from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from checker.lang.loader import load as load_model
from checker.reference.replay import difference
from checker.reference.trace import Tracer, actor
from traces import load

Run = Callable[..., Result]
Change = Callable[[dict[str, Any]], None]
LEASE = "docs/tutorial/lease.py"
OVERFLOW = "tests/models/bounds.py/overflow"


@pytest.fixture
def lease(run: Run, tmp_path: Path) -> Path:
    """The trace of the tutorial: six steps."""
    run("check", LEASE, "--trace-out", tmp_path / "lease.ndjson")
    return tmp_path / "lease.ndjson"


@pytest.fixture
def overflow(run: Run, tmp_path: Path) -> Path:
    """A trace whose fifth step has no state."""
    run("check", OVERFLOW, "--trace-out", tmp_path / "overflow.ndjson")
    return tmp_path / "overflow.ndjson"


def changed(file: Path, step: int, change: Change) -> Path:
    """A copy of a trace with one step (0: the head) changed."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    change(lines[step])
    copy = file.with_name(f"changed-{file.name}")
    copy.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return copy


# Drawing.


@pytest.mark.parametrize("width", [80, 160])
def test_show_keeps_to_the_width(run: Run, lease: Path, width: int) -> None:
    text = run("trace", "show", lease, "--width", width).stdout
    assert max(map(len, text.splitlines())) == width
    assert "✗ invariant one_leader_serves is violated at step 6" in text
    assert "\x1b" not in text
    assert "\x1b" in run("trace", "show", lease, "--width", width, "--color").stdout


def test_both_formats_are_drawn_alike(run: Run, lease: Path) -> None:
    itf = lease.with_name("lease.itf.json")
    run("check", LEASE, "--trace-out", itf)
    assert run("trace", "show", itf).stdout == run("trace", "show", lease).stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.ndjson", None, "gone.ndjson: cannot read it: No such file or directory"),
        ("x.txt", "", 'x.txt: no format has the ending ".txt". Known are'),
        ("x.json", "{}", 'x.json: this is not an ITF file: the field "vars" is missing'),
        ("x.itf.json", "nonsense", "x.itf.json, line 1, column 1: this is not JSON"),
        ("x.ndjson", "[]", "x.ndjson, line 1: expected an object, found a list"),
        ("x.ndjson", "", "x.ndjson: the file is empty"),
    ],
)
def test_other_files_are_refused_with_their_name(
    run: Run, tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    for command in ("show", "replay"):
        found = run("trace", command, tmp_path / name)
        assert (found.exit_code, found.stdout) == (2, "")
        assert message in found.stderr


# Running it again.


MODELS = [
    (LEASE, [], "its end violates one_leader_serves"),
    ("tests/models/philosophers.py", [], "its end is a deadlock"),
    ("tests/models/verdicts.py/broken_step", [], "its end violates upwards"),
    ("tests/models/verdicts.py/broken_at_start", [], "its end violates not_at_zero"),
    (OVERFLOW, [], "its last step breaks down in s.level += 1"),
    ("tests/cli/explained.py/blind", [], "reads_the_log cannot be evaluated: tuple index out of range"),
    ("tests/models/bounds.py/constraint_is_checked", ["--set", "limit=2"], "its end violates never_far"),
]


@pytest.mark.parametrize("ending", ["ndjson", "itf.json"])
@pytest.mark.parametrize(("model", "options", "end"), MODELS)
def test_own_traces_are_behaviours(
    run: Run, tmp_path: Path, model: str, options: list[str], end: str, ending: str
) -> None:
    file = tmp_path / f"trace.{ending}"
    run("check", model, *options, "--trace-out", file)
    found = run("trace", "replay", file)
    steps = len(load(file).steps)
    assert found.stdout == f"{file}: {steps} steps, a behaviour of {model}; {end}\n"
    assert found.exit_code == 0


def other_serving(step: dict[str, Any]) -> None:
    step["state"]["serving"] = {"#set": ["broker0", "broker1"]}


def other_broker(step: dict[str, Any]) -> None:
    step["parameters"]["broker"] = "broker1"


def test_a_corrupted_state_departs(run: Run, lease: Path) -> None:
    found = run("trace", "replay", changed(lease, 3, other_serving))
    assert found.exit_code == 1
    where = "departs from docs/tutorial/lease.py at step 3: start_serving leads elsewhere"
    assert found.stdout.endswith(f"{where}: serving: {{broker0}}, not {{broker0, broker1}}\n")


def test_a_corrupted_first_state_departs(run: Run, lease: Path) -> None:
    found = run("trace", "replay", changed(lease, 1, other_serving))
    assert found.exit_code == 1
    assert "at step 1: this is not an initial state: serving: {}, not {broker0, broker1}" in found.stdout


def test_a_corrupted_parameter_names_the_guard(run: Run, lease: Path) -> None:
    found = run("trace", "replay", changed(lease, 3, other_broker))
    assert found.exit_code == 1
    guard = "require(s.lease == broker) (docs/tutorial/lease.py:36)"
    assert f"at step 3: start_serving is refused by {guard}" in found.stdout


def test_another_design_names_the_guard(run: Run, lease: Path) -> None:
    found = run("trace", "replay", lease, "--set", "broker_stops_first=true")
    assert found.exit_code == 1
    assert "at step 4: expire is refused by require(s.lease not in s.serving)" in found.stdout


def test_a_step_that_should_break_down_and_does_not(run: Run, overflow: Path) -> None:
    def lower(step: dict[str, Any]) -> None:
        step["constants"]["limit"] = 4

    found = run("trace", "replay", changed(overflow, 0, lower))
    assert found.exit_code == 1
    assert "at step 5: level_up_unguarded does not break down here, as was recorded" in found.stdout


def drop(name: str) -> Change:
    return lambda step: step["parameters"].pop(name)


def set_to(*path: str, value: Any) -> Change:
    def change(step: dict[str, Any]) -> None:
        for name in path[:-1]:
            step = step[name]
        step[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("step", "change", "message"),
    [
        (2, set_to("action", value="grnt"), "step 2: docs/tutorial/lease.py has no action grnt. Did you mean grant?"),
        (2, set_to("parameters", value={"brokr": "broker0"}), "step 2: grant has no parameter brokr. Did you mean bro"),
        (2, set_to("parameters", "broker", value="broker7"), "step 2: the parameter broker does not fit: 'broker7' is"),
        (4, set_to("state", "lease", value=5), "its state is none of docs/tutorial/lease.py: 5 is not an option"),
        (4, set_to("state", value={"x": 1}), "step 4: its state has x; a state of docs/tutorial/lease.py has lease, s"),
        (0, set_to("model", value="docs/tutorial/lese.py"), "did you mean docs/tutorial/lease.py"),
        (0, set_to("model", value=""), "names no model\nhint: say which one with --model"),
        (0, set_to("constants", value={"stops": True}), "has no constant stops"),
    ],
)
def test_what_does_not_fit_the_model_is_bad_input(
    run: Run, lease: Path, step: int, change: Change, message: str
) -> None:
    found = run("trace", "replay", changed(lease, step, change))
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr


def test_a_trace_of_another_model_says_what_its_state_lacks(run: Run, lease: Path) -> None:
    found = run("trace", "replay", lease, "--model", "tests/models/bounds.py/cut")
    assert found.exit_code == 2
    wanted = "step 1: its state has lease, serving; a state of tests/models/bounds.py/cut has x, y. Replay it on the"
    assert wanted in found.stderr


def test_what_was_not_recorded_is_looked_for(run: Run, lease: Path) -> None:
    """Traces of other tools may lack parameters, or even the names of actions."""
    assert run("trace", "replay", changed(lease, 3, drop("broker"))).exit_code == 0
    unnamed = changed(lease, 4, set_to("action", value=""))
    assert run("trace", "replay", unnamed).exit_code == 0
    found = run("trace", "replay", changed(unnamed, 4, other_serving))
    assert (found.exit_code, "step 4: no action leads to this state" in found.stdout) == (1, True)


def test_what_was_recorded_must_still_fit(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "pairs.ndjson"
    run("reach", "tests/cli/replicas_and_counter.py", "s.paused[Broker(1)]", "--trace-out", file)
    without_leader = changed(file, 2, drop("leader"))
    assert run("trace", "replay", without_leader).exit_code == 0
    found = run("trace", "replay", changed(without_leader, 2, set_to("parameters", "follower", value="broker0")))
    assert found.exit_code == 1
    assert "step 2: replicate leads to this state under no binding" in found.stdout


def test_a_member_that_is_not_there_cannot_be_taken(run: Run, tmp_path: Path) -> None:
    model, file = "tests/models/collections_of_values.py/bag", tmp_path / "bag.ndjson"
    run("reach", model, "len(s.letters) == 1", "--trace-out", file)
    put, *_ = [s for s in load(file).steps if s.action != "init"]

    def take(step: dict[str, Any]) -> None:
        step.update(action="take", parameters={"letter": "B" if put.parameters["letter"] == "A" else "A"})

    found = run("trace", "replay", changed(file, 2, take))
    assert found.exit_code == 1
    assert "step 2: take cannot be taken: letter is not a member of " in found.stdout


# What differs, in words.


def test_differences_name_the_smallest_places() -> None:
    model = load_model("tests/cli/explained.py/sayings")
    [one] = model.initial_states()
    [other] = model.initial_states()
    assert difference(model, one, other) == "ordinals stand in another order"
    other.fenced = other.fenced.__class__({b: not f for b, f in other.fenced.items()})
    other.leader = None
    fenced = ["fenced[broker0]: false, not true", "fenced[broker1]: true, not false"]
    assert difference(model, one, other).split("; ") == ["leader: broker0, not –", *fenced]
    assert difference(model, one, other, between=" →").startswith("leader: broker0 → –")


# Columns.


def test_a_column_for_each_process_and_one_for_the_rest() -> None:
    columns = Tracer(load_model("tests/cli/explained.py/sayings")).columns()
    cells = {c.title: [(label, path) for label, path in c.cells] for c in columns}
    assert list(cells) == ["broker 0", "broker 1", "broker 2", "shared"]
    assert cells["broker 1"] == [("fenced", ("fenced", "broker1"))]
    assert [label for label, _ in cells["shared"]] == ["leader", "isr", "epoch", "log"]


def test_a_column_of_several_fields_labels_each() -> None:
    columns = {c.title: c.cells for c in Tracer(load_model("tests/cli/replicas_and_counter.py")).columns()}
    assert [label for label, _ in columns["broker 0"]] == ["replica", "paused"]
    assert columns["broker 1"][0] == ("replica", ("replica", "broker1"))


def test_a_state_without_processes_is_one_column() -> None:
    [column] = Tracer(load_model(LEASE)).columns()
    assert (column.title, [label for label, _ in column.cells]) == ("state", ["lease", "serving"])


def test_records_are_columns_of_their_own() -> None:
    titles = [c.title for c in Tracer(load_model("kraft/isr")).columns()]
    assert {"controller 0", "broker 0", "broker 1", "broker 2", "shared"} <= set(titles)


def test_what_has_one_value_is_not_drawn() -> None:
    model = load_model("kraft/isr")  # nobody asks for metadata, no topic is created, one broker may crash
    columns = {c.title: {label for label, _ in c.cells} for c in Tracer(model).columns()}
    assert columns["shared"] == {"lifecycle", "alterations"}
    assert columns["faults"] == {"crashes", "disk_losses"}
    assert columns["broker 0"] >= {"state", "broker_epoch", "replicas"} and "listing" not in columns["broker 0"]
    assert columns["controller 0"] >= {"image", "expired_leases"} and "log" not in columns["controller 0"]


# The end of a counterexample: what a repaired design does with the same steps.


@pytest.fixture
def design(tmp_path: Path) -> Iterator[Path]:
    """The tutorial with its guard in force by default, and a switch that does nothing."""
    text = Path(LEASE).read_text().replace("broker_stops_first: bool = False", "broker_stops_first: bool = True")
    file = tmp_path / "lease.py"
    file.write_text(text.replace("class Broker(", "    idle: bool = True\n\n\nclass Broker("))
    yield file


def test_the_end_says_where_each_switch_would_have_helped(run: Run, design: Path) -> None:
    off = ("--set", "broker_stops_first=false", "--set", "idle=false")
    run("check", design, *off, "--trace-out", design.with_suffix(".ndjson"))
    trace = load(design.with_suffix(".ndjson"))
    assert "switched off: broker_stops_first, idle" in trace.head
    first, second = trace.tail
    refused = "expire of step 4 is refused by require(s.lease not in s.serving)"
    assert first.startswith(f"broker_stops_first: switched on, {refused}. Guard: if Design.broker_stops_first: (")
    assert second == "no difference: idle (switched on, the same steps are taken)"


def test_it_says_where_a_switch_is_no_cure(run: Run, tmp_path: Path) -> None:
    off = ("--set", "counting_pauses=false", "--all-violations")
    run("check", "tests/cli/replicas_and_counter.py", *off, "--trace-out", tmp_path / "x.ndjson")
    [line] = load(tmp_path / "x.ndjson").tail
    differs = "count_up of step 2 does otherwise (paused[broker0]: true, not false)"
    still = "count_is_zero is violated all the same, at step 2"
    assert line.startswith(f"counting_pauses: switched on, {differs}; {still}. Guard: if Design.counting_pauses: (")


def test_a_switch_that_is_off_by_default_is_not_called_switched_off(lease: Path) -> None:
    trace = load(lease)
    assert not [line for line in trace.head if line.startswith("switched")]
    assert trace.tail == ()


# Stepping.


def test_stepping_lists_what_is_enabled_and_takes_what_is_typed(run: Run, lease: Path) -> None:
    found = run("trace", "replay", lease, "--continue-from", "5", typed="1\nb\ns\n9\nq\n")
    assert found.exit_code == 0
    _, five, six, back, *_ = found.stdout.split("\nstep ")
    assert five.splitlines() == [
        "5, 3 enabled",
        "    1  broker 1: start_serving(broker=broker1): serving: {broker0} → {broker0, broker1}",
        "    2  broker 0: stop_serving(broker=broker0): serving: {broker0} → {}",
        "    3  controller: expire: lease: broker1 → –",
        "> ",
    ]
    assert six.startswith("6, ")
    assert "✗ one_leader_serves is violated" in six
    assert back.startswith("5, ")
    assert "  lease: broker1\n  serving: {broker0}" in back
    assert "'9' is none of them" in back


def test_stepping_ends_with_the_input(run: Run, lease: Path) -> None:
    assert run("trace", "replay", lease, "--continue-from", "1", typed="").exit_code == 0
    found = run("trace", "replay", lease, "--continue-from", "1", typed="b\n")
    assert "this is the first state" in found.stdout


def test_steps_that_lead_nowhere_are_listed_with_the_reason(run: Run, overflow: Path) -> None:
    found = run("trace", "replay", overflow, "--continue-from", "4", typed="1\n")
    assert "1  level: level_up_unguarded breaks down (4 is outside Range(0, 3)) in s.level += 1" in found.stdout
    assert "that step leads to no state" in found.stdout


@pytest.mark.parametrize(("step", "message"), [("7", "there is no step 7: the trace has 6"), ("0", "0 is not in the")])
def test_there_must_be_such_a_step(run: Run, lease: Path, step: str, message: str) -> None:
    found = run("trace", "replay", lease, "--continue-from", step)
    assert found.exit_code == 2
    assert message in found.stderr


def test_nor_can_one_go_on_behind_a_departure(run: Run, lease: Path) -> None:
    found = run("trace", "replay", lease, "--set", "broker_stops_first=true", "--continue-from", "4")
    assert found.exit_code == 2
    assert "the trace departs from the spec at step 4: expire is refused by" in found.stderr
    assert run("trace", "replay", lease, "--set", "broker_stops_first=true", "--continue-from", "3").exit_code == 0


# Expressions.


def test_the_trace_of_an_expression_replays(run: Run, tmp_path: Path) -> None:
    file, wanted = tmp_path / "reached.itf.json", "len(s.serving) == 2"
    found = json.loads(run("reach", LEASE, wanted, "--json", "--trace-out", file).stdout)
    assert (found["model"], found["expression"], found["verdict"], found["trace_length"]) == (
        LEASE, wanted, "reached", 6,
    )  # fmt: skip
    again = run("trace", "replay", file)
    assert (again.exit_code, again.stdout.rstrip().endswith(f"its end is what was asked for: {wanted}")) == (0, True)
    other = tmp_path / "other.itf.json"
    other.write_text(file.read_text().replace(wanted, "len(s.serving) == 1"))
    assert "its end is not what was asked for: len(s.serving) == 1" in run("trace", "replay", other).stdout
    assert json.loads(run("reach", LEASE, "len(s.serving) == 3", "--json").stdout)["verdict"] == "not reached"
    stopped = json.loads(run("reach", LEASE, "len(s.serving) == 3", "--json", "--max-depth", "2").stdout)
    assert (stopped["verdict"], stopped["stopped"]) == ("incomplete", "depth limit of 2")


def test_show_evaluates_expressions(run: Run, lease: Path) -> None:
    text = run("trace", "show", lease, "--eval", "len(s.serving)", "--eval", "s.lease", "--width", "120").stdout
    values = [line.split("│")[2].strip() for line in text.splitlines() if line.count("│") == 3]
    assert [value for value in values if value.startswith("len")] == [
        "len(s.serving) 0", "len(s.serving) 0 → 1", "len(s.serving) 1 → 2",
    ]  # fmt: skip
    assert "s.lease – → broker0" in values
    broken = run("trace", "show", lease, "--eval", "s.absent", "--width", "160").stdout
    assert "s.absent cannot be evaluated: " in " ".join(broken.split())
    for text, said in (("nobody", "name 'nobody' is not defined"), ("1 +", "not an expression")):
        refused = run("trace", "show", lease, "--eval", text)
        assert (refused.exit_code, said in refused.stderr) == (2, True)


def test_choices_of_a_session_are_folded(run: Run, lease: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    stepped = run("trace", "replay", lease, "--continue-from", 3, typed="s\n").stdout
    assert max(map(len, stepped.splitlines()[1:])) <= 50


def test_identities_are_called_by_their_labels() -> None:
    """The second process of broker 0 is none of the brokers' numbers."""
    model = load_model("kraft/twins_spurious")
    assert {"controller 0", "broker 0", "broker 1", "broker 0b", "partition 0"} <= {
        c.title for c in Tracer(model).columns()
    }
    [start] = [action for action in model.model.actions if action.name == "start_second"]
    [parameter] = model.parameters(start)
    assert actor(start, {parameter.name: parameter.type.parse("broker0b")}) == "broker 0b"
