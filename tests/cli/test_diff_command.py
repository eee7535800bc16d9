"""fencepost diff: how the two sides are named, what is printed, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from traces import load

LEASE = "docs/tutorial/lease.py"
DIFFERING = "tests/explicit/differing.py/free"


def test_a_difference(run: Callable[..., Result], tmp_path: Path) -> None:
    result = run("diff", LEASE, "--against", "broker_stops_first=true", "--trace-out", tmp_path / "a.itf.json")
    assert result.exit_code == 1
    assert "A is the model as it stands, B is broker_stops_first=true" in result.stdout
    assert "A first does what B does not at step 4" in result.stdout
    assert result.stdout.rstrip().endswith("differs")
    assert len(load(tmp_path / "a.itf.json").steps) == 4


def test_as_json(run: Callable[..., Result]) -> None:
    result = run("diff", LEASE, "--set", "broker_stops_first=true", "--json")
    found = json.loads(result.stdout)
    assert (found["verdict"], result.exit_code) == ("differs", 1)
    assert [(s["label"], s["states"], s["own_states"]) for s in found["sides"]] == [
        ("broker_stops_first=true", 5, 0), ("the model as it stands", 12, 7),
    ]  # fmt: skip
    assert found["sides"][1]["actions"][-1] == {"name": "expire", "from_shared": 2, "from_own": 4}


def test_the_same(run: Callable[..., Result]) -> None:
    result = run("diff", DIFFERING, "--set", "lower_limit=true")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "same")


def test_a_limit(run: Callable[..., Result]) -> None:
    result = run("diff", DIFFERING, "--set", "skips=true", "--max-depth", 1)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (3, "incomplete: depth limit of 1")


def test_constants_of_both_sides(run: Callable[..., Result]) -> None:
    """--both sets what would make the states differ in kind; --set and --against may be repeated as in `check`."""
    changes = ("--set", "skips=true", "--set", "jumps=true", "--against", "lower_limit=true", "--both", "size=6")
    found = json.loads(run("diff", DIFFERING, *changes, "--both", "slips=true", "--json").stdout)
    one, other = (side["constants"] for side in found["sides"])
    assert {name: (one[name], other[name]) for name in one} == {
        "begins_at_two": (False, False), "slips": (True, True), "skips": (True, False), "lower_limit": (False, True),
        "jumps": (True, False), "size": (6, 6),
    }  # fmt: skip
    assert found["sides"][1]["label"] == "lower_limit=true, size=6, slips=true"


def test_a_setting_and_what_changes_it(run: Callable[..., Result]) -> None:
    """A setting of its own option, or among the changes."""
    sides = ("--setting", "shipped", "--set", "kip_841=false", "--against", "draft,kip_903=true")
    found = json.loads(run("diff", "kraft/twins_spurious", *sides, "--max-depth", 1, "--json", "--quiet").stdout)
    one, other = (side["constants"] for side in found["sides"])
    assert [s["label"] for s in found["sides"]] == ["shipped, kip_841=false", "draft, kip_903=true"]
    assert (one["kip_841"], one["last_member_stays"], one["superseded_stops"]) == (False, True, False)
    assert (other["kip_841"], other["kip_903"], other["last_member_stays"]) == (False, True, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((LEASE,), "both sides are the same"),
        (("kraft", "--set", "draft", "--against", "shipped,draft"), "two settings"),
        (("kraft", "--setting", "shipped", "--set", "draft"), "shipped and draft are two settings"),
        (("kraft", "--set", "brokers=2..3"), "`fencepost check`"),
        (("kraft", "--set", "brokers=2,3"), "several values of a constant are for fencepost check"),
        (("kraft", "--set", "brokers=2", "--both", "brokers=3"), "give it once"),
        (("kraft", "--both", "shipped"), "'shipped': write NAME=VALUE"),
        (("kraft", "--set", "drift"), "did you mean draft?"),
        (("kraft", "--set", "max_crashes=0"), "the type of s.faults.crashes"),
    ],
)
def test_refused(run: Callable[..., Result], arguments: tuple[str, ...], said: str) -> None:
    result = run("diff", *arguments)
    assert said in result.stderr and result.exit_code == 2
