"""`fencepost prove`: verdicts, exit codes, what is printed and written, and Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from checker.explicit.check import check
from checker.lemmas import triage
from checker.running.deadline import CompilationStopped
from checker.symbolic.induction import ProofOptions
from checker.verdicts import INTERRUPTED
from traces import load

Run = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]
LEASE = "docs/tutorial/lease.py"
REPAIRED = ("--set", "broker_stops_first=true")
PROVED = "docs/tutorial/proved_lease.py"
MODELS = "tests/symbolic/proof_models.py"


def last(result: Result) -> str:
    return result.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        ([PROVED], 0, "proved"),
        ([f"{MODELS}/counted"], 0, "proved within bounds: steps: up to 5"),
        ([LEASE], 1, "violated: one_leader_serves"),
        ([f"{MODELS}/broken_at_once", "--property", "accepted_was_issued"], 1, "violated: accepted_was_issued"),
        ([LEASE, *REPAIRED], 3, "not proved: one_leader_serves"),
        ([LEASE, *REPAIRED, "--triage-s", "0"], 3, "not proved: one_leader_serves"),
        ([f"{MODELS}/never"], 4, "vacuous: no state with the proved invariants can take: impossible"),
        ([LEASE, "--bounded", "4"], 0, "holds within bounds: no behaviour of up to 4 steps breaks anything"),
        ([LEASE, "--bounded", "9"], 1, "violated: one_leader_serves, 6 states"),
    ],
)
def test_each_verdict_has_its_exit_code(run: Run, arguments: list[str], code: int, line: str) -> None:
    found = run("prove", *arguments, "--jobs", "1")
    assert (found.exit_code, last(found)) == (code, line)


def test_properties_that_no_induction_shows_are_only_explored(run: Run) -> None:
    printed = run("prove", f"{MODELS}/counted", "--property", "doubled_is_double").stdout
    assert "only explored" not in printed
    printed = run("prove", f"{MODELS}/post", "--triage-s", "0").stdout
    assert "only explored  something_is_accepted" in printed


def test_the_object_that_json_prints(run: Run) -> None:
    found = json.loads(run("prove", LEASE, *REPAIRED, "--json").stdout)
    assert (found["verdict"], found["reason"]) == ("not proved", "one_leader_serves")
    claim = found["claims"][0]
    assert (claim["name"], claim["inductive"], claim["triage"]) == ("one_leader_serves", False, "unreachable")
    assert set(claim["distinction"]) == {"serving = {broker1}", "lease = broker0"}
    found = json.loads(run("prove", LEASE, "--bounded", "9", "--json").stdout)
    assert (found["verdict"], found["violated"], found["trace_length"]) == ("violated", "one_leader_serves", 6)


@pytest.mark.parametrize("arguments", [[LEASE], [LEASE, "--bounded", "9"]])
def test_a_violation_is_a_behaviour_of_the_spec(run: Run, tmp_path: Path, arguments: list[str]) -> None:
    file = tmp_path / "lease.itf.json"
    assert run("prove", *arguments, "--trace-out", file).exit_code == 1
    replayed = run("trace", "replay", file)
    assert replayed.exit_code == 0
    assert "its end violates one_leader_serves" in replayed.stdout


def test_a_counterexample_to_induction_is_a_trace_of_two_states(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "lease.itf.json"
    run("prove", LEASE, *REPAIRED, "--trace-out", file)
    assert len(load(file).steps) == 2
    replayed = run("trace", "replay", file)
    assert replayed.exit_code == 1
    assert "this is not an initial state" in replayed.stdout


def test_ctrl_c_ends_a_proof_without_a_claim(start: Start) -> None:
    process = start("prove", "kraft/lossy", "--bounded", "40", "--timeout-s", "1000")
    assert process.stderr is not None
    assert "steps" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    out, _ = process.communicate()
    assert process.returncode == 3
    assert "incomplete: interrupted; no behaviour of up to" in out
    assert time.monotonic() - started < 60, "it does not wait for the solver"


@pytest.mark.sample(1)
@pytest.mark.parametrize("more", [[], ["--bounded", "40"], ["--find-lemmas"]])
def test_a_proof_has_a_time_limit(run: Run, more: list[str]) -> None:
    found = run("prove", "kraft/membership", "--time-limit-s", "0.01", "--quiet", *more)
    assert found.exit_code == 3
    assert "incomplete: time limit of 0.01 s" in found.output  # on standard error while it is still compiling


def interrupted(*arguments: Any, **named: Any) -> Any:
    raise KeyboardInterrupt


def searched_in_part(*arguments: Any, **named: Any) -> Any:
    report = check(*arguments, **named)
    return replace(report, result=replace(report.result, stopped=INTERRUPTED))


@pytest.mark.parametrize(
    ("name", "instead"), [("check", interrupted), ("check", searched_in_part), ("distinguish", interrupted)]
)
def test_ctrl_c_in_triage_leaves_the_proof(
    monkeypatch: pytest.MonkeyPatch, run: Run, name: str, instead: Callable[..., Any]
) -> None:
    monkeypatch.setattr(triage, name, instead)
    found = run("prove", LEASE, *REPAIRED)
    assert (found.exit_code, last(found)) == (3, "incomplete: interrupted")
    assert "not proved (not inductive: unknown)" in found.stdout
    assert "types are kept       types          proved" in found.stdout


def test_a_triage_that_does_not_come_to_its_search_decides_nothing(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def stopped(*arguments: Any, **named: Any) -> Any:
        raise CompilationStopped("time limit of 1 s while compiling")

    monkeypatch.setattr(triage, "check", stopped)
    found = run("prove", LEASE, *REPAIRED)
    assert (found.exit_code, last(found)) == (3, "not proved: one_leader_serves")
    assert "unknown (stopped: time limit of 1 s while compiling)" in found.stdout
    monkeypatch.setattr(ProofOptions, "is_over", True)
    found = run("prove", LEASE, *REPAIRED, "--time-limit-s", "1000")
    assert (found.exit_code, last(found)) == (3, "incomplete: time limit of 1000 s")


def test_one_counterexample_is_drawn_and_all_on_demand(run: Run, tmp_path: Path) -> None:
    one = run("prove", f"{MODELS}/wrong", "--trace-out", tmp_path / "one.ndjson").stdout
    every = run("prove", f"{MODELS}/wrong", "--every-counterexample").stdout
    assert (one.count("\n✗ "), every.count("\n✗ ")) == (2, 6), "in the table, and below it"
    assert "and 2 counterexamples more: --every-counterexample draws them" in one
    assert "--every-counterexample" not in every
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.long("two proofs: 10 s of Z3")
def test_a_budget_of_0_is_named(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    some = ("--property", "epochs_never_go_back", "--quiet")
    printed = run("prove", "kraft/membership", "--set", "max_crashes=0", *some).stdout
    assert "; switched off, being 0: " in printed
    assert "max_crashes" in printed.split("; switched off, being 0: ")[1].splitlines()[0].split(", ")
    assert "max_crashes=1" in run("prove", "kraft/membership", *some).stdout


def test_the_page_shows_what_is_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    page = Path("docs/proofs.md").read_text()
    printed = run("prove", PROVED, "--quiet").stdout + run("prove", PROVED, "--find-lemmas", "--quiet").stdout
    monkeypatch.setenv("COLUMNS", "100")  # the table of a trace is as wide as it may be
    printed += run("prove", LEASE, *REPAIRED, "--quiet").stdout
    for block in page.split("```\n$ fencepost prove docs/")[1:]:
        for line in block.split("```")[0].splitlines()[1:]:
            assert line.split("  proved")[0].split("  not proved")[0] in printed or line == "..."
