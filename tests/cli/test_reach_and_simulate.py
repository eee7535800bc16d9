"""`fencepost reach` and `fencepost simulate`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from traces import load

Run = Callable[..., Result]
LEASE = "docs/tutorial/lease.py"
REPAIRED = ("--set", "broker_stops_first=true")
BOUNDS = "tests/models/bounds.py"
EXPLAINED = "tests/cli/explained.py"


# reach


def test_the_shortest_trace_to_a_state_is_shown(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "two.ndjson"
    found = run("reach", LEASE, "len(s.serving) == 2", "--trace-out", file)
    assert found.exit_code == 0
    assert found.stdout.endswith("\nreached in 6 states: len(s.serving) == 2\n")
    assert "✓ witness len(s.serving) == 2 is reached at step 6" in found.stdout
    assert "s.serving  {broker0, broker1}" in found.stdout
    assert len(load(file).steps) == 6
    assert run("trace", "replay", file).exit_code == 0


def test_the_first_state_counts(run: Run) -> None:
    assert run("reach", LEASE, "s.lease is None").stdout.endswith("reached in 1 state: s.lease is None\n")


def test_the_names_of_the_spec_can_be_used(run: Run) -> None:
    found = run("reach", LEASE, "Broker(1) in s.serving and not one_leader_serves(s)")
    assert (found.exit_code, "reached in 6 states" in found.stdout) == (0, True)
    assert "not (len(s.serving) <= 1) # in one_leader_serves" in " ".join(found.stdout.split())


def test_that_there_is_none_is_said_with_what_was_looked_at(run: Run, tmp_path: Path) -> None:
    found = run("reach", LEASE, "len(s.serving) == 2", *REPAIRED, "--trace-out", tmp_path / "x.ndjson")
    assert found.exit_code == 4
    assert found.stdout == "no reachable state has it: len(s.serving) == 2 (5 distinct, depth 3)\n"
    assert "there is no trace to write" in found.stderr


@pytest.mark.parametrize(
    ("model", "expression", "why"),
    [
        (f"{BOUNDS}/cut", "s.x > 3", "x_up was cut 4 times (above Nat(3)); y_up was cut 4 times (above Nat(3))"),
        (f"{BOUNDS}/constrained", "s.x == 4", "constraint near"),
        ("tests/models/verdicts.py/forgotten", "s.ever_on and not s.on", "a view hides ever_on"),
        (f"{BOUNDS}/overflow", "s.count == 1", "1 of its steps break down"),
    ],
)
def test_nothing_is_claimed_beyond_the_bounds(run: Run, model: str, expression: str, why: str) -> None:
    found = run("reach", model, expression)
    assert found.exit_code == 4
    assert found.stdout.startswith(f"no state within the bounds has it: {expression} (")
    assert why in found.stdout


def test_the_search_goes_on_where_a_step_breaks_down(run: Run) -> None:
    found = run("reach", "tests/cli/replicas_and_counter.py", "s.count == 5")
    assert (found.exit_code, "reached in 6 states" in found.stdout) == (0, True)


def test_a_limit_makes_it_incomplete(run: Run) -> None:
    found = run("reach", LEASE, "len(s.serving) == 2", "--max-depth", "3")
    assert found.exit_code == 3
    assert found.stdout == "incomplete (depth limit of 3): not reached; 5 distinct, depth 3\n"


def test_an_expression_that_breaks_down_shows_where(run: Run) -> None:
    found = run("reach", f"{EXPLAINED}/sayings", "s.log[0] == s.leader")
    assert found.exit_code == 2
    assert "It cannot be evaluated here: tuple index out of range" in found.stdout
    assert found.stderr.startswith("error: no state has it, and it cannot be evaluated in a state that is reached in 1")


def test_guarded_it_does_not(run: Run) -> None:
    found = run("reach", f"{EXPLAINED}/sayings", "len(s.log) > 0 and s.log[0] == s.leader")
    assert (found.exit_code, found.stdout[:19]) == (4, "no reachable state ")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("s.srving", "expression:1\n    s.srving\n    ^^^^^^^^\nerror: Cluster has no field srving\nhint: it has "),
        ("s.serving ==", "error: not an expression: s.serving == (invalid syntax)\nhint: write a Python expression"),
        ("", "error: not an expression:  (it is empty)"),
        ("s.lease is None; import os", "error: not an expression: s.lease is None; import os"),
        ("s.serving", "error: s.serving returns a Set[Broker], not a boolean\nhint: write a Python expression"),
        ("lease(s)", "    lease(s)\n    ^^^^^\nerror: lease is not defined"),
        ("s.lease < Broker(1)", "error: "),
        ("not " * 5000 + "True", "it is nested too deep"),
        ("\0", "error: not an expression"),
    ],
)
def test_bad_expressions_are_refused(run: Run, expression: str, message: str) -> None:
    found = run("reach", LEASE, expression)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr
    assert "def expression" not in found.stderr


# simulate


def test_a_violation_is_found_and_shrunk(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "walk.itf.json"
    found = run("simulate", LEASE, "--seed", "1", "--trace-out", file)
    assert found.exit_code == 1
    assert found.stderr.startswith("seed 1\n")
    shrunk = r"violated: one_leader_serves; 1 walk, \d+ steps, [\d,]+ steps/s, seed 1; shrunk from \d+ to (\d+) states"
    ending = re.search(shrunk, found.stdout)
    assert ending is not None
    assert len(load(file).steps) == int(ending[1]) == 6
    assert "not the shortest  a random walk of " in found.stdout
    assert run("trace", "replay", file).exit_code == 0


def without_rate(result: Result) -> str:
    """What is printed but for the rate and the seed, whose lengths decide where the line after them is broken."""
    return " ".join(re.sub(r"[\d,]+ steps/s, seed \d+", "", result.stdout).split())


def test_the_same_seed_gives_the_same_walks(run: Run) -> None:
    one, other = run("simulate", LEASE, "--seed", "7"), run("simulate", LEASE, "--seed", "7")
    assert without_rate(one) == without_rate(other)
    several = {without_rate(run("simulate", LEASE, "--seed", seed)) for seed in range(4)}
    assert len(several) == 4


def test_a_drawn_seed_is_printed_and_repeats_the_run(run: Run) -> None:
    found = run("simulate", LEASE)
    seed = re.match(r"seed (\d+)\n", found.stderr)
    assert seed is not None
    assert without_rate(run("simulate", LEASE, "--seed", seed[1])) == without_rate(found)


def test_finding_nothing_is_no_proof(run: Run) -> None:
    found = run("simulate", LEASE, *REPAIRED, "--walks", "20", "--max-steps", "10", "--seed", "3")
    assert found.exit_code == 0
    assert "\n\nno violation found: 20 walks, 200 steps, " in found.stdout
    assert " ".join(found.stdout.split()).endswith(" seed 3; this proves nothing about the walks not taken")


def test_any_number_of_jobs_says_the_same(run: Run) -> None:
    arguments = ("simulate", LEASE, *REPAIRED, "--seed", "3", "--walks", "500", "--json")
    one, three = (json.loads(run(*arguments, "--jobs", jobs).stdout) for jobs in "13")
    assert (one.pop("jobs"), three.pop("jobs")) == (1, 3)
    assert one.pop("seconds") > 0 < three.pop("seconds")
    assert one == three
    assert (one["verdict"], one["walks"], one["steps"], one["violation"]) == ("no violation found", 500, 100_000, None)
    assert sum(action["taken"] for action in one["actions"]) == 100_000


def test_only_the_properties_asked_for_are_judged(run: Run) -> None:
    twice = "tests/models/verdicts.py/broken_twice"
    assert "violated: not_at_one; 1 walk, 1 step, " in run("simulate", twice).stdout
    assert "violated: below_three; 1 walk, 3 steps, " in run("simulate", twice, "--property", "below_three").stdout
    found = run("simulate", LEASE, "--property", "one_leader")
    assert (found.exit_code, "has no property one_leader" in found.stderr) == (2, True)


def test_a_violation_as_json(run: Run) -> None:
    found = json.loads(run("simulate", LEASE, "--seed", "1", "--json").stdout)
    assert (found["verdict"], found["reason"], found["walks"]) == ("violated", "one_leader_serves", 1)
    assert found["violation"] == {
        "name": "one_leader_serves", "walk": 0, "walk_steps": found["steps"], "trace_length": 6,
    }  # fmt: skip


def test_what_the_walks_went_through_comes_first(run: Run) -> None:
    found = run("simulate", "tests/models/verdicts.py/never_fires", "--walks", "10", "--max-steps", "8")
    assert found.stdout.splitlines()[2:6] == [
        "  action   enabled  taken  cut",
        "  go_on         90     80    0",
        "  go_back        0      0    0",
        "",
    ]
    assert "never taken: go_back (90 times refused by require(s.count > s.cut + 3), line 69)\n\nno viol" in found.stdout
    found = run("simulate", "tests/models/verdicts.py/never_reached")
    assert "\nwitnesses not reached: cut_runs_ahead\n" in found.stdout
    violated = run("simulate", LEASE).stdout
    assert violated.index("  action ") < violated.index("is violated at step") < violated.index("\nviolated: ")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (f"{BOUNDS}/overflow", "s.level += 1"),
        (f"{BOUNDS}/stuck", "deadlock_free"),
        ("tests/models/verdicts.py/broken_at_start", "not_at_zero"),
        ("tests/models/verdicts.py/broken_step", "upwards"),
        (f"{BOUNDS}/constraint_is_checked", "never_far"),
        (f"{EXPLAINED}/blind", "reads_the_log can be evaluated"),
    ],
)
def test_every_kind_of_violation_is_found(run: Run, model: str, name: str) -> None:
    found = run("simulate", model, "--seed", "2")
    assert found.exit_code == 1
    assert f"\nviolated: {name}; " in found.stdout


def test_a_time_limit_ends_the_walks(run: Run) -> None:
    found = run("simulate", LEASE, *REPAIRED, "--walks", "1000000000", "--time-limit-s", "0.2")
    assert found.exit_code == 3
    assert "\nincomplete: time limit of 0.2 s; no violation found in " in found.stdout


def test_ctrl_c_ends_them_too(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("simulate", LEASE, *REPAIRED, "--walks", "1000000000")
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(2)]
    assert lines[0].startswith("seed ")
    assert re.fullmatch(r"[\d,]+ walks, [\d,]+ steps, [\d.,]+( M)?/s, \d+ s\n", lines[1])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 3
    assert "\nincomplete: interrupted; no violation found in " in out
    assert "Traceback" not in err
