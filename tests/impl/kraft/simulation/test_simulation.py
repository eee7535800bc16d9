"""The simulated quorum: every rule holds, a seed is a run, and a rule that is left out of the core is found."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from impl.kraft.raft import Raft
from impl.kraft.simulation.__main__ import main
from impl.kraft.simulation.shrinking import shrunk
from impl.kraft.simulation.simulation import NotRecoveredError, Simulation
from impl.kraft.simulation.swarm import Plan, plan_of
from tests.conftest import ROOT
from tests.impl.kraft.simulation.planted import fault_planted, seeds_until_found

QUICK, MORE = range(2), 30


def test_every_rule_holds() -> None:
    for seed in QUICK:
        Simulation(plan_of(seed)).go()


@pytest.mark.long("some seconds")
def test_every_rule_holds_in_more_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--first", "1000", "--seeds", str(MORE)]) == 0
    assert capsys.readouterr().out.endswith(" 0 broken\n")


@pytest.mark.long("two processes")
def test_a_seed_is_the_same_run_in_every_process() -> None:
    """Nothing goes by the order of a set or by a hash."""
    command = [sys.executable, "-m", "impl.kraft.simulation", "--first", "7", "--seeds", "1"]
    runs = {
        subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True, capture_output=True
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(runs) == 1


@pytest.mark.long("some runs until it is found")
def test_a_planted_bug_is_found() -> None:
    assert seeds_until_found("restart_resigns", 0) is not None


@pytest.mark.long("some runs, again and again")
def test_a_failing_run_is_shrunk() -> None:
    """What is left is the same when it is read from its file, and breaks no rule once the bug is mended."""
    with fault_planted("vote_compares_logs"):
        shrinking = importlib.import_module("impl.kraft.simulation.shrinking")
        swarm = importlib.import_module("impl.kraft.simulation.swarm")
        plan = swarm.plan_of(7)
        smaller = shrinking.shrunk(plan)
        text = smaller.to_json()
        assert shrinking.failure(plan) == shrinking.failure(swarm.Plan.from_json(text)) == "BrokenRuleError: R2"
        assert len(smaller.schedule) < len(plan.schedule)
    Simulation(Plan.from_json(text)).go()


def test_a_run_that_breaks_nothing_is_not_shrunk() -> None:
    with pytest.raises(ValueError, match="nothing to shrink"):
        shrunk(plan_of(0))


def test_an_exception_of_the_core_names_its_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Raft, "start", lambda raft, now_ms: 1 // 0)
    assert main(["--first", "3", "--seeds", "1"]) == 1
    assert "seed 3, at 0 ms" in capsys.readouterr().out


def test_somebody_must_be_active_halfway_through_the_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Raft, "on_timer", lambda raft, timer, now_ms, peer: [])
    with pytest.raises(NotRecoveredError, match="nobody is active"):
        Simulation(plan_of(0)).go()


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan").write_text("[]")
    assert main(["--replay", str(tmp_path / "plan")]) == 2
    assert "is no plan" in capsys.readouterr().err
