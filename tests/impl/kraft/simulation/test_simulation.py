"""The simulated quorum: every rule holds, a seed is a run, and a rule that is left out of the core is found."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest

from impl.kraft.raft import Raft
from impl.kraft.raft.effects import SetTimer, Timer
from impl.kraft.simulation.__main__ import main
from impl.kraft.simulation.invariants import NotRecoveredError
from impl.kraft.simulation.shrinking import CALM, failure, shrunk
from impl.kraft.simulation.simulation import Simulation
from impl.kraft.simulation.swarm import Kind, Plan, Step, plan_of
from impl.kraft.storage.batches import Entry
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
@pytest.mark.parametrize(
    "rule", ["restart_resigns", "check_quorum", "prevote", "cuts no further than its own end of an epoch"]
)
def test_a_planted_bug_is_found(rule: str) -> None:
    assert seeds_until_found(rule, 0) is not None


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


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("answers_what_is_committed", "others have not seen it"),
        ("deposed_answers_nobody", "does not end in it"),
    ],
)
def test_what_clients_see_can_fail(fault: str, rule: str) -> None:
    """A controller that answers too early, or once it is deposed, breaks no rule of the quorum; its clients tell."""
    with fault_planted(fault):
        shrinking = importlib.import_module("impl.kraft.simulation.shrinking")
        plan = importlib.import_module("impl.kraft.simulation.swarm").plan_of(7 if fault.startswith("deposed") else 1)
        assert shrinking.failure(plan) == f"NotLinearizableError: {rule}"
    Simulation(plan_of(plan.seed)).go()


@pytest.mark.long("some runs, again and again")
def test_a_run_that_does_not_recover_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs, times and who is active are other ones in each smaller run: what lacks is the same."""
    monkeypatch.setattr(Simulation, "append_in_the_quiet", lie)
    plan = plan_of(1)
    smaller = shrunk(plan)
    assert failure(smaller) == failure(plan) == "NotRecoveredError: not one leads whom all follow"
    assert not smaller.schedule


def lie(run: Simulation) -> None:
    """The log of node 0 is said to be longer than all that was appended, by another number in every run."""
    run.rules.logs[0].entries.append(Entry(run.rules.logs[0].end_offset + 1 + run.events, 1, 0))


def test_an_exception_is_known_by_who_raises_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text has paths and numbers, which change as a run shrinks."""

    def started(raft: Raft, now_ms: int) -> NoReturn:
        raise ValueError(f"at {id(raft)} and {now_ms}")

    monkeypatch.setattr(Raft, "start", started)
    assert failure(plan_of(0)) == "ValueError in started"


def test_a_paused_process_appends_and_resigns_once_it_goes_on() -> None:
    run, leader = led()
    epoch, log, node = run.nodes[leader].claimed, run.rules.logs[leader], run.nodes[leader]
    end, asked = log.end_offset, len(run.clients.history)
    goes_on_ms = node.paused_until_ms = run.now_ms + 5
    run.append_somewhere(Random(0))
    run.resign_somewhere()
    run.run_until(goes_on_ms - 1)
    assert (node.claimed, log.end_offset, len(run.clients.history)) == (epoch, end, asked)
    run.run_until(goes_on_ms)
    assert node.claimed is None and log.end_offset > end and len(run.clients.history) == asked + 1


def test_what_was_asked_of_a_paused_process_is_gone_with_it() -> None:
    """Nor is the process that comes after it paused."""
    run, leader = led()
    node = run.nodes[leader]
    node.paused_until_ms = run.now_ms + 10_000
    run.append_somewhere(Random(0))
    asked = len(run.clients.history)
    run.stop(leader, loses_power=False)
    assert node.paused_until_ms == 0
    run.run_until(run.now_ms + 5_000)
    assert node.raft is not None and len(run.clients.history) == asked


def led() -> tuple[Simulation, int]:
    """A run without faults whose controller is active, and which of the nodes it is."""
    run = Simulation(Plan(0, CALM, ()))
    for node in range(CALM.voters):
        run.start(node)
    run.run_until(2_000)
    [leader] = [number for number, node in enumerate(run.nodes) if node.claimed is not None]
    return run, leader


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
    """Where a voter waits for ever, and never stands."""
    waits = SetTimer(Timer.ELECTION, 1 << 40)
    monkeypatch.setattr(Raft, "on_timer", lambda raft, timer, now_ms, peer: [waits])
    with pytest.raises(NotRecoveredError, match="nobody is active"):
        Simulation(plan_of(0)).go()


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan").write_text("[]")
    assert main(["--replay", str(tmp_path / "plan")]) == 2
    assert "is no plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"node": 0', '"node": 7', "names node 7, of 3 voters"),
        ('"voters": 3', '"voters": 0', "there are 0 voters"),
    ],
)
def test_a_plan_names_voters(tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, why: str) -> None:
    plan = Plan(0, CALM, (Step(10, Kind.KILL, 0, 0),))
    (tmp_path / "plan").write_text(plan.to_json().replace(old, new))
    assert main(["--replay", str(tmp_path / "plan")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert why in line


def test_a_plan_that_cannot_be_written_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing folder is told of before anything runs."""
    monkeypatch.setattr(Raft, "start", lambda raft, now_ms: 1 // 0)
    assert main(["--shrink", str(tmp_path / "missing" / "plan"), "--seeds", "1"]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert main(["--shrink", str(tmp_path), "--seeds", "1"]) == 6
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"{tmp_path} could not be written: Is a directory"
