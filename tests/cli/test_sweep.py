"""Sweeps: `fencepost check` with several values of a constant."""

from __future__ import annotations

import json
import signal
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import checker.explicit.check as explicit
from checker.lang.errors import SpecError
from checker.lang.loader import BoundModel

Run = Callable[..., Result]
LEASE = "docs/tutorial/lease.py"
SWITCH = ("--set", "broker_stops_first=true,false")
COUNTER = "tests/explicit/differing.py/free"
SPEC = '''
from enum import Enum
from checker.lang import Range, action, constants, init, invariant, require, state
from typing import Annotated

class Order(Enum):
    FIFO = 1
    LIFO = 2

@constants
class Design:
    order: Order = Order.FIFO
    label: str = "a"

@state
class Queue:
    length: Annotated[int, Range(0, 2)]

@init
def begin() -> Queue:
    return Queue(length=0)

@action(who="-", source="-")
def add(s: Queue) -> None:
    """One more."""
    require(s.length < (1 if Design.order == Order.FIFO else 2))
    s.length += 1

@invariant(source="-")
def short(s: Queue) -> bool:
    """At most one."""
    return s.length < 2
'''


def rows(result: Result) -> list[list[str]]:
    """The cells of the table, without its head."""
    return [line.split(maxsplit=6) for line in result.stdout.split("\n\n")[1].splitlines()[1:]]


def test_one_table_and_how_to_see_each_violation(run: Run) -> None:
    found = run("check", LEASE, *SWITCH, "--property", "one_leader_serves", "--quiet")
    holds, violated = rows(found)
    assert (holds[:5], violated[:5]) == (["true", "holds", "5", "11", "3"], ["false", "violated", "11", "25", "6"])
    assert violated[6] == "one_leader_serves, 6 states"
    hint = f"to see it: fencepost check {LEASE} --set broker_stops_first=false --property one_leader_serves"
    assert found.stdout.endswith(f"\n\n{hint}\n") and found.stdout.count("fencepost") == 1
    assert found.exit_code == 1


def test_each_run_is_the_check_of_its_values_alone(run: Run) -> None:
    """A constant that is a size: types, layouts and kernels of one run are of no use to the next."""
    swept = json.loads(run("check", COUNTER, "--set", "size=5..6", "--set", "skips=false,true", "--json").stdout)
    assert [(r["constants"]["size"], r["constants"]["skips"]) for r in swept] == [
        (5, False), (5, True), (6, False), (6, True),
    ]  # fmt: skip
    for report in swept:
        values = (f"{name}={report['constants'][name]}" for name in ("size", "skips"))
        alone = json.loads(run("check", COUNTER, *(part for v in values for part in ("--set", v)), "--json").stdout)
        unlike = [key for key in alone if key not in ("seconds", "peak_memory_bytes") and alone[key] != report[key]]
        assert not unlike


def test_members_of_an_enum_and_texts(run: Run, tmp_path: Path) -> None:
    """A comma in a constant that is a text is part of the text."""
    model = tmp_path / "queue_of_two.py"
    model.write_text(SPEC)
    found = run("check", model, "--set", "order=FIFO,LIFO", "--set", "label=a,b", "--quiet")
    assert [row[:2] for row in rows(found)] == [["FIFO", "holds"], ["LIFO", "violated"]]
    assert found.stdout.splitlines()[-1].endswith("--set order=LIFO --set label=a,b")
    assert json.loads(run("check", model, "--set", "label=a..b", "--json").stdout)["constants"]["label"] == "a..b"


def test_junit_has_a_suite_for_each_run(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    run("check", LEASE, *SWITCH, "--junit", file)
    suites = ET.parse(file).getroot()
    assert [(s.get("name"), s.get("failures")) for s in suites.findall("testsuite")] == [
        (f"fencepost {LEASE} broker_stops_first=true", "0"), (f"fencepost {LEASE} broker_stops_first=false", "1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ("size=6..5", (), "the range 6..5 ends before it starts"),
        ("size=5..", (), "'5..' is neither a value nor a range"),
        ("size=5,", (), "'' is neither a value nor a range"),
        ("size=5,x", (), "'x' is none"),
        ("size=1..65", (), "65 runs are too many"),
        ("size=1..99999999999999999999", (), "runs are too many"),
        ("sise=5,6", (), "did you mean size"),
        ("skips=true,maybe", (), "neither true nor false"),
        ("size=1..33", ("--set", "skips=true,false"), "66 runs are too many"),
        ("size=5..6", ("--checkpoint", "c", "--trace-out", "t.json"), "--checkpoint, --trace-out: this is for one"),
        ("size=5..6", ("--resume", "c", "--coverage"), "--resume, --coverage: this is for one"),
    ],
)
def test_refused(run: Run, changes: str, options: tuple[str, ...], said: str) -> None:
    found = run("check", COUNTER, "--set", changes, *options)
    assert said in found.stderr
    assert (found.exit_code, found.stdout) == (2, "")


@pytest.mark.parametrize("command", [("reach", "True"), ("simulate",), ("export", "--to", "never")])
def test_other_commands_say_that_check_does_it(run: Run, command: tuple[str, ...]) -> None:
    found = run(command[0], COUNTER, *command[1:], "--set", "size=5..6")
    assert "several (2..4, or 2,3) are for `fencepost check`" in found.stderr
    assert found.exit_code == 2


def test_the_time_limit_is_for_the_whole(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    found = run("check", COUNTER, "--set", "size=5..7", "--time-limit-s", 0, "--junit", file)
    assert [(row[0], row[1]) for row in rows(found)] == [("5", "incomplete"), ("6", "incomplete"), ("7", "incomplete")]
    assert found.stdout.count("not run: time limit of 0 s") == 2
    assert found.exit_code == 3
    assert [s.get("errors") for s in ET.parse(file).getroot()] == ["1"] * 3


def test_the_strongest_verdict_is_that_of_the_sweep(run: Run) -> None:
    """Vacuous where `slip` and `jump` never fire, incomplete at the limit."""
    assert run("check", COUNTER, "--set", "size=5,6").exit_code == 4
    assert run("check", COUNTER, "--set", "skips=true,false", "--max-states", 4).exit_code == 3


def ended_on_six(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the check of a counter up to 6 end with an error."""
    check = explicit.check

    def ended(model: BoundModel, *how: Any, **more: Any) -> explicit.Report:
        if model.constants["size"] == 6:
            raise error
        return check(model, *how, **more)

    monkeypatch.setattr(explicit, "check", ended)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_error_of_one_run_leaves_what_was_found(
    run: Run, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    ended_on_six(monkeypatch, SpecError("six is refused"))
    found = run("check", COUNTER, "--set", "size=5..7", *form)
    assert "six is refused" in found.stderr and found.exit_code == 2
    assert len(json.loads(found.stdout) if form else rows(found)) == 1


def test_ctrl_c_outside_of_a_search(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ended_on_six(monkeypatch, KeyboardInterrupt())
    swept = run("check", COUNTER, "--set", "size=5..7", "--json")
    assert [(r["verdict"], r["reason"]) for r in json.loads(swept.stdout)][1:] == [
        ("incomplete", "interrupted"), ("incomplete", "not run: interrupted"),
    ]  # fmt: skip
    assert (json.loads(swept.stdout)[0]["verdict"], swept.exit_code) == ("vacuous", 3)


def test_ctrl_c_shows_what_was_done(start: Callable[..., subprocess.Popen[str]]) -> None:
    endless = "tests/cli/five_counters.py"
    process = start("check", endless, "--set", "top=60..62", "--threads", "1", "--time-limit-s", "60")
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith("top=60, level "):
        assert line.startswith("top=60, compiling: ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3 and "Traceback" not in err
    first, *others = (line.split(maxsplit=2) for line in out.splitlines()[3:])
    assert first[:2] == ["60", "incomplete"] and first[2].endswith("interrupted")
    assert others == [["61", "incomplete", "not run: interrupted"], ["62", "incomplete", "not run: interrupted"]]
