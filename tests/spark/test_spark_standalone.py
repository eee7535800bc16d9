"""A real cluster of two workers: every command runs on it; drivers and executors are killed, and nothing changes."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli.main import fencepost
from checker.lang.loader import load
from checker.running.limits import Progress
from checker.spark.check import SparkOptions, check
from checker.spark.session import cluster
from tests.conftest import ROOT
from tests.spark.outcomes import locally, outcome
from tests.spark.standalone import CONF, Standalone, standalone
from tests.validate.walks import Walks, text

pytestmark = pytest.mark.long("starts a cluster of several processes")

MODEL = "tests/models/two_phase_commit.py"
COUNTS = ("verdict", "generated", "distinct", "depth", "properties")
KILLED_AT = (2, 7)  # levels, of 11


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(2, tmp_path_factory.mktemp("cluster")) as found:
        yield found


def test_a_killed_driver_goes_on_where_it_was(two_workers: Standalone, tmp_path: Path) -> None:
    for level in KILLED_AT:
        process = _start(two_workers, tmp_path, "start" if level == KILLED_AT[0] else "resume")
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("level") and int(line.split()[1]) >= level:
                break
        time.sleep(random.random() / 4)  # anywhere in this level or the next
        process.kill()
        process.wait()
    resumed = _start(two_workers, tmp_path, "resume")
    *_, last = resumed.communicate()[0].splitlines()
    assert resumed.returncode == 0
    assert json.loads(last) == json.loads(json.dumps(locally(load(MODEL))))


def _start(cluster: Standalone, place: Path, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.spark.run_check", cluster.master, str(place / "run"), how]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)


def test_a_killed_executor_changes_nothing(two_workers: Standalone, tmp_path: Path) -> None:
    model = load(MODEL)
    killed: list[int] = []

    def progress(now: Progress) -> None:
        assert now.tasks is not None
        executors = two_workers.executors()
        working = 0 < now.tasks[0] < now.tasks[1]  # what the executor has done of the level is lost with it
        if now.depth >= 3 and working and not killed and executors:
            killed.append(executors[-1])
            os.kill(executors[-1], signal.SIGKILL)

    options = SparkOptions(
        master=two_workers.master, conf=CONF, partitions=4, small=0, checkpoint=str(tmp_path / "run")
    )
    report = check(model, options, started=time.perf_counter(), progress=progress)
    assert killed
    assert outcome(report) == locally(model)


def test_executors_that_never_come_are_told(two_workers: Standalone, tmp_path: Path) -> None:
    conf = {**CONF, "spark.executor.memory": "900g", "spark.scheduler.maxRegisteredResourcesWaitingTime": "1s"}
    options = SparkOptions(master=two_workers.master, conf=conf, checkpoint=str(tmp_path / "run"), task_timeout_s=1)
    report = check(load(MODEL), options, started=time.perf_counter())
    assert report.verdict == "incomplete"
    assert report.reason.startswith(f"{two_workers.master} has run no task for 1 s: has it an executor with free cores")


@pytest.fixture
def run(two_workers: Standalone) -> Iterator[Callable[..., Result]]:
    """Run the command here, or with --engine spark on the cluster, in a context that all commands share."""
    with cluster(two_workers.master, CONF):

        def command(*arguments: str, there: bool = True) -> Result:
            where = ("--engine", "spark", "--master", two_workers.master) if there else ()
            return CliRunner().invoke(fencepost, [*arguments, *where], prog_name="fencepost")

        yield command


def test_every_command(run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, place = "kraft/abstract_isr", str(tmp_path / "run")
    assert run("check", model, "--checkpoint", place, "--max-depth", "4", "--partitions", "2").exit_code == 3
    resumed, here = json.loads(run("check", model, "--resume", place, "--json").stdout), _json(model)
    assert [resumed[name] for name in COUNTS] == [here[name] for name in COUNTS]

    for target in (model, "docs/tutorial/lease.py"):  # of a design, which executors have not; a file
        written = run("export", target, "--to", str(tmp_path / "there"), "--partitions", "2", "--quiet").output
        expected = run("export", target, "--to", str(tmp_path / "here"), "--quiet", there=False).output
        assert written == expected.replace(str(tmp_path / "here"), str(tmp_path / "there"))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "run", "there"]
        for name in ("here", "there"):
            shutil.rmtree(tmp_path / name)

    for target in (model, str(ROOT / "docs/tutorial/lease.py")):
        walks = Walks(load(target), seed=2)
        traces = [walk for _ in range(4) for walk in (walks.walk(8), walks.corrupted(walks.walk(8)))]
        (tmp_path / "corpus.ndjson").write_bytes(b"".join(map(text, traces)))
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)  # executors are elsewhere, and find it all the same
            judged = ("trace", "validate", "corpus.ndjson", "--model", target, "--json", "--quiet")
            there, found = (json.loads(run(*judged, there=where).stdout) for where in (True, False))
        assert found["rejected"] and {**there, "seconds": 0} == {**found, "seconds": 0}


def _json(target: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(CliRunner().invoke(fencepost, ["check", target, "--json"]).stdout)
    return found
