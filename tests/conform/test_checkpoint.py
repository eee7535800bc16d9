"""Explorations of a product that are stopped, and go on later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli.main import fencepost
from checker.conform.check import ConformOptions, Report, conform
from checker.lang.loader import load
from checker.running.checkpoint import CheckpointError
from checker.verdicts import CONFORMS, DIVERGES, INCOMPLETE
from tests.conform.lease_faults import FAULTS
from tests.conform.lease_server import SYSTEM

ROOT = Path(__file__).parents[2]
LEASE = "tests/conform/lease.py/lease"
DEEP = "remembers what it should not, and shows it later"


def run(system: Any = SYSTEM, name: str = "lease", changes: dict[str, str] | None = None, **options: Any) -> Report:
    return conform(load(LEASE, changes or {}), system, name, ConformOptions(**options))


def figures(report: Report) -> dict[str, Any]:
    """All that a report says, but for what it says of one run."""
    of_a_run = ("seconds", "peak_memory_bytes", "driven_before")
    return {name: value for name, value in report.to_json().items() if name not in of_a_run}


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A directory with eight levels of a product."""
    report = run(checkpoint=tmp_path, max_depth=7)
    assert (report.verdict, report.reason) == (INCOMPLETE, "depth limit of 7")
    return tmp_path


@pytest.mark.sample(1)
@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 3), (3, 2), (2, 1)])
def test_it_goes_on_with_any_number_of_jobs(tmp_path: Path, before: int, after: int) -> None:
    first = run(checkpoint=tmp_path, max_depth=7, jobs=before)
    report = run(resume=tmp_path, jobs=after)
    assert (report.before, report.verdict) == (sum(first.counts.driven), CONFORMS)
    assert figures(report) == figures(run())
    assert figures(run(resume=tmp_path)) == figures(report)  # nothing is left to do


@pytest.mark.sample(1)
@pytest.mark.parametrize("levels", [1, 2, 3, 5])
def test_it_goes_on_from_every_level(tmp_path: Path, levels: int) -> None:
    run(checkpoint=tmp_path, max_depth=levels)
    for depth in range(levels + 1, 20, 4):
        run(resume=tmp_path, max_depth=depth)
    assert figures(run(resume=tmp_path)) == figures(run())


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", FAULTS)
def test_what_diverges_behind_it_is_found(tmp_path: Path, name: str) -> None:
    system, states = FAULTS[name].system, FAULTS[name].states
    if states > 2:
        assert run(system, checkpoint=tmp_path, max_depth=states - 2).verdict == INCOMPLETE
        report = run(system, resume=tmp_path)
    else:
        report = run(system, checkpoint=tmp_path)
    assert report.verdict == DIVERGES and figures(report) == figures(run(system))


def test_a_level_that_diverges_is_not_saved(tmp_path: Path) -> None:
    system = FAULTS[DEEP].system
    whole = run(system, checkpoint=tmp_path)
    assert figures(run(system, resume=tmp_path)) == figures(whole)


def test_an_implementation_that_was_changed_is_noticed(stopped: Path) -> None:
    with pytest.raises(CheckpointError, match=r"after \d steps of a way that was saved it is elsewhere"):
        run(FAULTS["grants a lease twice"].system, resume=stopped)
    with pytest.raises(CheckpointError, match="after 0 steps"):
        run(FAULTS["starts otherwise"].system, resume=stopped, jobs=2)


def test_a_limit_in_the_middle_loses_nothing(stopped: Path) -> None:
    files = {file: file.read_bytes() for file in stopped.iterdir()}
    report = run(resume=stopped, time_limit_s=0.0)
    assert (report.verdict, report.depth) == (INCOMPLETE, 7)
    assert files == {file: file.read_bytes() for file in stopped.iterdir()}
    assert figures(run(resume=stopped)) == figures(run())


def test_bytes_beyond_the_manifest_are_dropped(stopped: Path) -> None:
    for name in ("pairs", "receivers"):
        with (stopped / name).open("ab") as file:
            file.write(b"half a level")
    assert figures(run(resume=stopped)) == figures(run())
    assert figures(run(resume=stopped)) == figures(run())


@pytest.mark.parametrize("name", ["pairs", "receivers"])
def test_damage_is_reported(stopped: Path, name: str) -> None:
    file = stopped / name
    whole = file.read_bytes()
    for damaged, says in ((whole[:-1], "shorter than the manifest says"), (b"\x77" + whole[1:], "checksum does not")):
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=says):
            run(resume=stopped)
    file.unlink()
    with pytest.raises(CheckpointError, match="No such file"):
        run(resume=stopped)


def test_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("of somebody else")
    run(checkpoint=tmp_path, max_depth=3)
    assert (tmp_path / "results").read_text() == "of somebody else"


def test_what_is_refused(stopped: Path) -> None:
    with pytest.raises(CheckpointError, match="already holds a checkpoint"):
        run(checkpoint=stopped)
    with pytest.raises(CheckpointError, match="is of lease, and not of other"):
        run(name="other", resume=stopped)
    with pytest.raises(CheckpointError, match="is of lease, and not of lease, without messages that are not under way"):
        run(probes=False, resume=stopped)
    with pytest.raises(CheckpointError, match="of another model, other constants"):
        run(changes={"clients": "1"}, resume=stopped)
    with pytest.raises(CheckpointError, match="no checkpoint to resume from"):
        run(resume=stopped / "nothing")


def test_the_command_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    command = ["conform", LEASE, "--impl", "tests.conform.lease_server:SYSTEM", "--jobs", "1", "--quiet"]
    first = CliRunner().invoke(fencepost, [*command, "--max-depth", "7", "--checkpoint", str(tmp_path)])
    assert first.exit_code == 3
    assert f"to continue from the last whole level: --resume {tmp_path}" in first.stdout
    second = CliRunner().invoke(fencepost, [*command, "--resume", str(tmp_path)])
    assert second.exit_code == 0
    assert "1,448 transitions driven (252 of them before it was resumed) between 447 pairs" in second.stdout
    both = CliRunner().invoke(fencepost, [*command, "--resume", str(tmp_path), "--checkpoint", str(tmp_path)])
    assert both.exit_code == 2 and "it needs no --checkpoint" in both.stderr


def _kraft(seed: int, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "checker", "conform", "kraft/lifecycle", "--impl", "kraft", "--set",
               "max_crashes=1", "--set", "max_failovers=1", "--quiet", "--json", *more]  # fmt: skip
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.long("18 s of CPU")
def test_the_controller_goes_on_in_another_process(tmp_path: Path) -> None:
    """Python hashes strings otherwise there. Hosts that are alike stand for each other, and do so again."""
    directory = str(tmp_path / "saved")
    assert _kraft(1, "--jobs", "2", "--checkpoint", directory, "--max-depth", "9")["verdict"] == INCOMPLETE
    assert _kraft(2, "--jobs", "1", "--resume", directory, "--max-depth", "14")["verdict"] == INCOMPLETE
    resumed, whole = _kraft(3, "--jobs", "2", "--resume", directory), _kraft(4, "--jobs", "1")
    assert resumed["driven_before"] > 100 and resumed["verdict"] == whole["verdict"] == CONFORMS
    for name in ("seconds", "peak_memory_bytes", "driven_before"):
        del resumed[name], whole[name]
    assert resumed == whole
