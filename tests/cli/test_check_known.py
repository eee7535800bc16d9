"""`fencepost check --known`: the table, the object of --json, traces, and what cannot go with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from traces import load

Run = Callable[..., Result]
OFF = ("check", "tests/explicit/switched_off.py", "--setting", "off", "--known", "--quiet")


def test_each_known_violation_is_a_row_with_its_command(run: Run) -> None:
    result = run(*OFF)
    lines = result.stdout.splitlines()
    assert lines[0] == "tests/explicit/switched_off.py, past 3 known violations"
    rows = [line.split() for line in lines[3:6]]
    assert [(row[0], row[1], row[5:]) for row in rows] == [
        ("locks", "door_is_shut", ["bolts"]), ("low_guard", "low_is_low", ["idles"]), ("high_guard", "high_is_low", []),
    ]  # fmt: skip
    command = "fencepost check tests/explicit/switched_off.py --setting off --set locks=true --property low_is_low"
    assert f"to see it: {command}" in lines
    assert "with locks, low_guard, high_guard on; still off: bolts, idles:" in lines
    assert (lines[-1], result.exit_code) == ("only known violations: locks, low_guard, high_guard", 0)
    assert run(*command.split()[1:], "--quiet").stdout.splitlines()[-1] == "violated: low_is_low"


def test_json_and_traces(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "known.itf.json"
    result = run(*OFF, "--set", "flawed=true", "--json", "--trace-out", file)
    found = json.loads(result.stdout)
    assert (found["verdict"], result.exit_code) == ("violated", 1)
    assert found["known"][1] == {
        "switch": "low_guard", "property": "low_is_low", "kind": "invariant", "trace_length": 3,
        "alternatives": ["idles"],
    }  # fmt: skip
    assert found["off"] == ["bolts", "idles"]
    lengths = [len(load(tmp_path / f"known{number}.itf.json").steps) for number in ("", "-2", "-3", "-4")]
    assert lengths == [2, 3, 3, 4]


def test_a_limit_of_time_is_for_all_checks(run: Run) -> None:
    result = run(*OFF, "--time-limit-s", "0")
    assert (result.exit_code, result.stdout.splitlines()[-1].partition(":")[0]) == (3, "incomplete")


@pytest.mark.parametrize("option", [("--all-violations",), ("--checkpoint", "x"), ("--set", "locks=true,false")])
def test_what_is_for_one_search_is_refused(run: Run, option: tuple[str, ...]) -> None:
    result = run(*OFF, *option)
    assert result.exit_code == 2 and ("--known" in result.stderr)
