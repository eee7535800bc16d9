"""The simulated quorum: every rule holds, a seed is a run, and a rule that is left out of the core is found."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from impl.kraft.simulation.__main__ import main
from impl.kraft.simulation.simulation import Simulation
from tests.conftest import ROOT
from tests.impl.kraft.simulation.planted import seeds_until_found

QUICK, MORE = range(2), 30


def test_every_rule_holds() -> None:
    for seed in QUICK:
        Simulation(seed).go()


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
