"""fencepost include: what is printed, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from traces import load

LOOKING_ALIKE = "tests/explicit/looking_alike.py"


def test_an_inclusion_holds(run: Callable[..., Result]) -> None:
    result = run("include", f"{LOOKING_ALIKE}/late_in_early")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "holds")
    assert "What is chosen late might have been chosen early." in result.stdout


def test_the_first_one_is_meant(run: Callable[..., Result]) -> None:
    assert json.loads(run("include", LOOKING_ALIKE, "--json").stdout)["inclusion"] == f"{LOOKING_ALIKE}/late_in_early"


def test_a_violation_has_a_trace(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("include", f"{LOOKING_ALIKE}/generous_in_early", "--trace-out", tmp_path / "a.itf.json")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "violated")
    assert f"looks like no behaviour of {LOOKING_ALIKE}/early" in result.stdout
    assert len(load(tmp_path / "a.itf.json").steps) == 5


def test_as_json(run: Callable[..., Result]) -> None:
    result = run("include", f"{LOOKING_ALIKE}/generous_in_early", "--json")
    found = json.loads(result.stdout)
    assert (found["verdict"], found["trace_length"], result.exit_code) == ("violated", 5, 1)
    assert [side["model"] for side in found["sides"]] == [f"{LOOKING_ALIKE}/generous", f"{LOOKING_ALIKE}/early"]


def test_a_constant_is_for_both(run: Callable[..., Result]) -> None:
    found = json.loads(run("include", f"{LOOKING_ALIKE}/warming_in_late", "--set", "strokes=1", "--json").stdout)
    other = json.loads(run("include", f"{LOOKING_ALIKE}/warming_in_late", "--json").stdout)
    assert found["sides"][0]["states"] * 2 == other["sides"][0]["states"]
    assert found["verdict"] == "holds within bounds"


def test_a_setting_is_for_both(run: Callable[..., Result]) -> None:
    found, other = (
        json.loads(run("include", f"{LOOKING_ALIKE}/warming_in_late", *changed, "--json").stdout)
        for changed in (("--setting", "brief"), ("--set", "strokes=1"))
    )
    assert found["sides"] == other["sides"]
    result = run("include", f"{LOOKING_ALIKE}/early_in_late", "--setting", "brief")
    assert result.exit_code == 2 and "has no setting brief" in result.stderr


def test_a_limit(run: Callable[..., Result]) -> None:
    result = run("include", LOOKING_ALIKE, "--max-depth", 1)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (3, "incomplete: depth limit of 1")


def test_a_constant_that_there_is_not(run: Callable[..., Result]) -> None:
    result = run("include", LOOKING_ALIKE, "--set", "size=1")
    assert result.exit_code == 2
    assert "has no constant size" in result.stderr
