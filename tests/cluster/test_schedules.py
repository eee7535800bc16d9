"""Schedules that are asked to stop do so at once, and keep what had ended, as where ZooKeeper does not serve.

A trace that was not judged is not one that was accepted.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from impl.zookeeper.transaction_log import Logged
from tests.cluster import schedules, stopping
from tests.cluster.schedules import Agenda, Outages, Run, Schedules
from tests.cluster.zookeeper import Ensemble, NotServingError


@dataclass(frozen=True)
class Setup:
    name: str
    servers: int
    constants: tuple[str, ...] = ()


class Ended:
    def __init__(self, seed: int) -> None:
        self.seed = seed

    def put_together(self, log: Sequence[Logged]) -> Run:
        return Run(self.seed, "", {"steps": 1})


@contextmanager
def no_servers(_servers: int) -> Iterator[Ensemble]:
    yield Ensemble((), {})


@pytest.mark.parametrize("asks", [signal.SIGTERM, signal.SIGINT])
def test_schedules_that_are_asked_to_stop_keep_what_had_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asks: signal.Signals
) -> None:
    monkeypatch.setattr(schedules, "zookeeper", no_servers)
    ran, both_run = list[int](), threading.Barrier(2)

    def run(ensemble: Ensemble, seed: int, folder: Path, outages: Outages) -> Ended:
        ran.append(seed)
        if seed in (2, 4) and len(ran) <= 3:
            if both_run.wait(30) == 0:
                os.kill(os.getpid(), asks)
            Agenda().wait(3_600)
        return Ended(seed)

    commands = Schedules("m", "", (Setup("alone", 1), Setup("ensemble", 3)), run)
    done = tmp_path / "done.ndjson"
    arguments = ["--count", "10", "--at-once", "2", "--done", str(done)]
    former = signal.getsignal(asks)

    assert commands.main(arguments) == 3
    assert sorted(ran) == [0, 2, 4], "what had not begun does not begin, on no ensemble"
    assert "stopped; 1 runs are done" in capsys.readouterr().out
    assert signal.getsignal(asks) is former and not stopping.asked()
    assert [json.loads(line)["seed"] for line in done.read_text().splitlines()] == [0]

    assert commands.main(arguments) == 0
    assert sorted(ran) == sorted([2, 4, *range(10)]), "the rest, once each"
    assert "alone: 5 runs, 5 accepted, 5 steps" in capsys.readouterr().out


def test_those_whose_servers_do_not_come_up_never_began_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def one_server_only(servers: int) -> Iterator[Ensemble]:
        if servers > 1:
            raise NotServingError("ZooKeeper does not serve")
        yield Ensemble((), {})

    monkeypatch.setattr(schedules, "zookeeper", one_server_only)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    commands = Schedules("m", "", (Setup("alone", 1), Setup("ensemble", 3)), lambda _, seed, *rest: Ended(seed))
    done = tmp_path / "done.ndjson"
    assert commands.main(["--count", "4", "--done", str(done)]) == 1
    assert [json.loads(line)["seed"] for line in done.read_text().splitlines()] == [0, 2], "the others are run again"


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ('{"verdicts": [], "stopped": "interrupted"}', "not all traces were judged: interrupted"),
        ("", "traces were not judged: no memory"),
    ],
)
def test_a_validation_that_is_stopped_accepts_nothing(
    printed: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended = subprocess.CompletedProcess((), 3, printed, "no memory")
    monkeypatch.setattr(subprocess, "run", lambda *_words, **_options: ended)
    with pytest.raises(RuntimeError, match=says):
        schedules.rejected([Run(0, "", {})], "model", (), tmp_path / "traces")
