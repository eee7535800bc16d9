"""A real cluster of two workers: drivers and executors are killed, and nothing that is reported changes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.explicit.results import Progress
from checker.lang.loader import load
from checker.spark.check import Options, check
from tests.conftest import ROOT
from tests.spark.standalone import CONF, Standalone, standalone
from tests.spark.told import locally, told

MODEL = "tests/models/two_phase_commit.py"
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
    command = [sys.executable, "-m", "tests.spark.checked", cluster.master, str(place / "run"), how]
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

    options = Options(
        master=two_workers.master, conf=CONF, partitions=4, small=0, checkpoint=str(tmp_path / "run")
    )
    report = check(model, options, started=time.perf_counter(), progress=progress)
    assert killed
    assert told(report) == locally(model)
