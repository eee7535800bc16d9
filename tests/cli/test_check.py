"""`fencepost check`: verdicts, exit codes, and what is printed or written."""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from traces import load

Run = Callable[..., Result]
LEASE = "docs/tutorial/lease.py"
REPAIRED = ("--set", "broker_stops_first=true")
VERDICTS = "tests/models/verdicts.py"
BOUNDS = "tests/models/bounds.py"
EXPLAINED = "tests/cli/explained.py"


def last(result: Result) -> str:
    return result.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        ([LEASE], 1, "violated: one_leader_serves"),
        ([LEASE, *REPAIRED], 0, "holds"),
        ([LEASE, "--max-states", "5"], 3, "incomplete: limit of 5 states"),
        ([f"{BOUNDS}/cut_is_no_deadlock"], 0, "holds within bounds: count_up was cut once (above Nat(3))"),
        ([f"{VERDICTS}/never_reached"], 4, "vacuous: never reached: cut_runs_ahead"),
        ([f"{VERDICTS}/never_fires"], 4, "vacuous: never fired: go_back"),
    ],
)
def test_each_verdict_has_its_exit_code(run: Run, arguments: list[str], code: int, line: str) -> None:
    found = run("check", *arguments)
    assert (found.exit_code, last(found)) == (code, line)


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        ([f"{VERDICTS}/broken_and_vacuous", "--all-violations"], "violated"),
        ([f"{VERDICTS}/broken_later", "--all-violations", "--max-states", "3"], "violated"),
        ([f"{VERDICTS}/vacuous_and_cut", "--max-depth", "1"], "incomplete"),
        ([f"{VERDICTS}/vacuous_and_cut"], "vacuous"),
        ([f"{VERDICTS}/forgotten"], "holds within bounds"),
        ([f"{VERDICTS}/remembered"], "holds"),
    ],
)
def test_verdicts_have_a_precedence(run: Run, arguments: list[str], verdict: str) -> None:
    assert json.loads(run("check", *arguments, "--json").stdout)["verdict"] == verdict


def test_a_violation_that_a_limit_stopped_says_both(run: Run) -> None:
    found = run("check", f"{VERDICTS}/broken_later", "--all-violations", "--max-states", "3")
    ending = ["  below_two", "  the search was not finished: limit of 3 states", "violated"]
    assert found.stdout.splitlines()[-3:] == ending


def test_what_was_cut_off_is_named_and_counted(run: Run) -> None:
    lines = run("check", f"{BOUNDS}/cut").stdout.splitlines()
    cuts = ["  x_up was cut 4 times (above Nat(3))", "  y_up was cut 4 times (above Nat(3))"]
    assert lines[-3:] == [*cuts, "holds within bounds"]


def test_a_constraint_and_a_view_are_named(run: Run) -> None:
    constrained = last(run("check", f"{BOUNDS}/constrained"))
    assert constrained == "holds within bounds: 8 generated states were outside the constraint near"
    assert "a view hides ever_on" in last(run("check", f"{VERDICTS}/forgotten"))


def test_json_is_one_object_with_the_promised_keys(run: Run) -> None:
    found = run("check", LEASE, "--json")
    report: dict[str, Any] = json.loads(found.stdout)
    assert {
        "model", "constants", "verdict", "generated", "distinct", "depth", "cuts", "actions", "properties",
        "seconds", "bytes_per_state", "peak_memory_bytes", "threads",
    } <= set(report)  # fmt: skip
    assert (report["model"], report["constants"]) == (LEASE, {"broker_stops_first": False})
    assert (report["generated"], report["distinct"], report["depth"]) == (25, 11, 6)
    wanted = {"name": "one_leader_serves", "kind": "invariant", "verdict": "violated", "trace_length": 6}
    assert report["properties"] == [wanted]
    assert set(report["seconds"]) == {"load", "compile", "search", "liveness", "total"}
    assert sum(report["actions"][i]["fired"] for i in range(4)) == 24, "all but the initial state are fired"
    assert found.exit_code == 1


def test_json_lists_cuts_and_coverage(run: Run) -> None:
    report = json.loads(run("check", f"{BOUNDS}/cut", "--json", "--threads", "2").stdout)
    cuts = [(c["action"], c["count"], c["text"]) for c in report["cuts"]]
    assert cuts == [("x_up", 4, "s.x += 1"), ("y_up", 4, "s.y += 1")]
    assert report["threads"] == 2
    assert report["fields"][0] == {"field": "x", "distinct": 4, "possible": 4}
    guards = json.loads(run("check", LEASE, *REPAIRED, "--json").stdout)["requires"]
    assert [(g["text"], g["evaluated"], g["refused"]) for g in guards if g["action"] == "expire"] == [
        ("require(s.lease is not None)", 5, 1),
        ("require(s.lease not in s.serving)", 4, 2),
    ]


def test_coverage_shows_guards_and_fields(run: Run) -> None:
    words = [line.split() for line in run("check", LEASE, *REPAIRED, "--coverage").stdout.splitlines()]
    assert ["expire:", "require(s.lease", "not", "in", "s.serving)", "52", "4", "2"] in words
    assert ["serving", "3", "4"] in words
    assert "require  line" not in run("check", f"{BOUNDS}/cut", "--coverage").stdout, "it has no guards"


def test_one_property_is_checked_alone(run: Run) -> None:
    model = f"{VERDICTS}/broken_twice"
    alone = json.loads(run("check", model, "--property", "below_three", "--json").stdout)
    assert [(p["name"], p["trace_length"]) for p in alone["properties"]] == [("below_three", 4)]
    both = json.loads(run("check", model, "--property", "below_three", "--property", "not_at_one", "--json").stdout)
    assert [(p["name"], p["verdict"]) for p in both["properties"]] == [
        ("below_three", "incomplete"),
        ("not_at_one", "violated"),
    ]


def test_settings_and_switches(run: Run) -> None:
    philosophers = "tests/models/philosophers.py"
    assert run("check", philosophers).exit_code == 1
    assert run("check", philosophers, "--setting", "repaired").exit_code == 0
    assert run("check", philosophers, "--set", "last_picks_right_first=TRUE", "--set", "seats=4").exit_code == 0
    assert run("check", philosophers, "--setting", "repaired", "--set", "last_picks_right_first=false").exit_code == 1


def test_a_deadlock_counts_only_where_it_is_asked_for(run: Run) -> None:
    philosophers = "tests/models/philosophers.py"
    found = run("check", philosophers, "--property", "somebody_eats_while_another_waits")
    assert (found.exit_code, last(found)) == (0, "holds")
    assert "note: a state of level 4 has no enabled action (deadlock_free is not checked)" in found.stdout
    listed = run("check", philosophers)
    assert "✗ deadlock after step 4: no action can be taken" in listed.stdout
    assert "note:" not in listed.stdout
    assert "take_second_fork  require(s.fork_held_by[second_fork(seat)] is None)" in listed.stdout
    assert "note:" not in run("check", f"{BOUNDS}/finished").stdout, "a terminal state is not a deadlock"


def test_all_violations_gives_a_shortest_trace_for_each(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "twice.itf.json"
    found = run("check", f"{VERDICTS}/broken_twice", "--all-violations", "--trace-out", file)
    assert last(found) == "violated: below_three, not_at_one"
    written = [load(file), load(tmp_path / "twice-2.itf.json")]
    lengths = {t.violation.property: len(t.steps) for t in written if t.violation is not None}
    assert lengths == {"below_three": 4, "not_at_one": 2}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["twice-2.itf.json", "twice.itf.json"]


def test_without_it_the_shortest_is_shown_and_the_others_are_hinted_at(run: Run) -> None:
    found = run("check", f"{EXPLAINED}/sayings")
    assert found.stdout.count("Where the actions come from") == 1
    assert "note: --all-violations continues" in found.stdout
    every = run("check", f"{EXPLAINED}/sayings", "--all-violations")
    assert every.stdout.count("Where the actions come from") == 15
    assert "--all-violations" not in every.stdout


@pytest.mark.parametrize("ending", [".itf.json", ".json", ".ndjson"])
def test_the_trace_is_written_as_its_ending_says(run: Run, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"lease.of.a.leader{ending}"
    found = run("check", LEASE, "--json", "--trace-out", file)
    assert json.loads(found.stdout)["verdict"] == "violated"
    assert found.stderr == f"trace written to {file}\n"
    trace = load(file)
    assert [s.action for s in trace.steps] == ["init", "grant", "start_serving", "expire", "grant", "start_serving"]
    assert trace.violation is not None
    assert trace.violation.conjunct == "len(s.serving) <= 1"
    assert file.read_text().startswith('{"format"') == (ending == ".ndjson")


def test_where_nothing_is_violated_there_is_no_trace(run: Run, tmp_path: Path) -> None:
    found = run("check", LEASE, *REPAIRED, "--trace-out", tmp_path / "x.ndjson")
    assert "there is no trace to write" in found.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_runtime_error_is_a_violation_with_its_line(run: Run) -> None:
    found = run("check", f"{BOUNDS}/overflow")
    assert last(found) == "violated: stored above Range(0, 3): s.level += 1"
    assert "✗ runtime error in step 5: s.level += 1\n4 is outside Range(0, 3)\ntests/models/bounds.py:" in found.stdout


def test_the_shortest_of_several_violations_is_shown(run: Run) -> None:
    found = run("check", "tests/cli/replicas_and_counter.py", "--json")
    lengths = {p["name"]: p["trace_length"] for p in json.loads(found.stdout)["properties"]}
    assert lengths == {"count_is_zero": 2, "stored below Range(0, 5): s.count -= 1": 1}
    assert "✗ runtime error in step 2: s.count -= 1" in run("check", "tests/cli/replicas_and_counter.py").stdout


def test_a_property_that_breaks_down_says_why(run: Run) -> None:
    found = run("check", f"{EXPLAINED}/sayings", "--property", "breaks_down")
    assert found.exit_code == 1
    assert "It cannot be evaluated here: tuple index out of range" in found.stdout


def test_so_does_a_witness(run: Run) -> None:
    found = run("check", f"{EXPLAINED}/blind")
    assert (found.exit_code, last(found)) == (1, "violated: reads_the_log can be evaluated")
    assert "✗ invariant reads_the_log can be evaluated is violated at step 1" in found.stdout
    assert "false  s.log[0] == Broker(0)" in found.stdout


def junit(run: Run, file: Path, *arguments: str) -> ET.Element:
    run("check", *arguments, "--junit", file)
    suite = ET.parse(file).getroot()
    assert suite.tag == "testsuite"
    cases = suite.findall("testcase")
    counted = {"tests": cases, "failures": suite.findall("*/failure"), "errors": suite.findall("*/error")}
    assert {name: len(found) for name, found in counted.items()} == {name: int(suite.get(name, "")) for name in counted}
    assert all(case.get("name") and case.get("classname") for case in cases)
    return suite


def verdicts(suite: ET.Element) -> dict[str | None, str]:
    """Per test case its outcome and message."""
    return {c.get("name"): " ".join([c[0].tag, c[0].get("message", "")] if len(c) else ["passed"])
            for c in suite.findall("testcase")}  # fmt: skip


def test_junit_has_a_case_for_each_property_and_one_for_the_search(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    suite = junit(run, file, LEASE)
    assert verdicts(suite) == {"one_leader_serves": "failure violated, 6 states", "search": "passed"}
    text = suite.findtext("testcase/failure")
    assert text is not None and "✗ invariant one_leader_serves is violated at step 6" in text
    assert verdicts(junit(run, file, LEASE, *REPAIRED)) == {"one_leader_serves": "passed", "search": "passed"}
    assert verdicts(junit(run, file, f"{VERDICTS}/never_reached")) == {
        "cut_runs_ahead": "failure not reached",
        "search": "failure vacuous: never reached: cut_runs_ahead",
    }
    stopped = "error incomplete: limit of 2 states"
    assert verdicts(junit(run, file, f"{VERDICTS}/many_starts", "--max-states", "2")) == {"search": stopped}
    assert [p.name for p in tmp_path.iterdir()] == ["report.xml"]


def test_junit_says_that_what_was_not_decided_is_an_error(run: Run, tmp_path: Path) -> None:
    found = verdicts(junit(run, tmp_path / "x.xml", f"{VERDICTS}/broken_twice"))
    assert found["below_three"] == "error not decided: the search is violated: not_at_one"


def test_a_spec_that_was_changed_within_a_second_is_read_anew(
    start: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python takes what it has compiled for a file's, where the file's time, in seconds, and its size are the same."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    spec = tmp_path / "lease.py"
    for name in ("one_leader_serves", "one_broker_serves"):
        spec.write_text(Path(LEASE).read_text().replace("one_leader_serves", name))
        os.utime(spec, (1_000_000_000, 1_000_000_000))
        printed, _ = start("check", spec, "--quiet").communicate()
        assert f"violated: {name}" in printed
