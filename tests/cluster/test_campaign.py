"""Runs by seeds are judged, kept, and gone on with; what is not accepted stays to be looked at."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cluster import stopping
from tests.cluster.campaign import Campaign, Run, totals


class Runs:
    """Of which none is on a real cluster. rejected: by the model; ran: which were run."""

    def __init__(self, rejected: Sequence[int] = (), stops_at: int | None = None) -> None:
        self.rejected, self.stops_at = rejected, stops_at
        self.ran: list[int] = []

    def run(self, seed: int, folder: Path) -> Run:
        folder.mkdir(parents=True)
        self.ran.append(seed)
        if seed == self.stops_at:
            os.kill(os.getpid(), signal.SIGTERM)
            with suppress(stopping.StoppedError):
                stopping.sleep(60)
        if seed == 3:
            return Run(seed, "", {}, "it does not start")
        return Run(seed, "trace", {"kills": seed}, violated=("a record is lost",) if seed == 7 else ())

    def judge(self, runs: Sequence[Run]) -> dict[int, list[str]]:
        assert runs, "there is nothing to be judged"
        return {run.seed: ["rejected"] for run in runs if run.seed in self.rejected}

    def main(self, *arguments: str) -> int:
        return Campaign("m", self.run, self.judge, lambda seed: ("even", "odd")[seed % 2]).main(arguments)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))


def test_what_is_stopped_goes_on_with_the_rest(tmp_path: Path) -> None:
    done = tmp_path / "done"
    assert (first := Runs(stops_at=1)).main("--count", "6", "--done", str(done)) == 3
    assert first.ran == [0, 1], "what is under way ends, what has not begun does not begin"
    assert [json.loads(line)["seed"] for line in done.read_text().splitlines()] == [0, 1]
    assert (second := Runs()).main("--count", "6", "--done", str(done)) == 1
    assert second.ran == [2, 3, 4, 5]
    assert (third := Runs()).main("--count", "6", "--done", str(done)) == 1
    assert third.ran == [3], "it never began"
    assert sorted(path.stem for path in Path(f"{done}.traces").iterdir()) == ["0", "1", "2", "4", "5"]


def test_what_is_not_accepted_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Runs(rejected=[5]).main("--count", "3", "--first", "5") == 1
    printed = capsys.readouterr().out
    assert "seed 5: rejected\nseed 6: accepted\nseed 7: a record is lost\n" in printed
    (folder,) = (tmp_path / "scratch").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["5", "7"] and str(folder) in printed


def test_runs_that_never_began_are_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Runs().main("--first", "3", "--count", "1") == 1
    assert "seed 3: it does not start" in capsys.readouterr().out


def test_what_is_accepted_leaves_nothing(tmp_path: Path) -> None:
    assert Runs().main("--count", "3") == 0
    assert not [*(tmp_path / "scratch").iterdir()]


def test_totals_are_told_by_setup() -> None:
    lines = [
        {"seed": 5, "setup": "odd", "reasons": ["no"], "figures": {"longest_ms": 2}},
        {"seed": 4, "setup": "even", "reasons": [], "figures": {"decisions": 9}},
        {"seed": 3, "setup": "odd", "reasons": [], "figures": {"longest_ms": 1, "kills": 2}},
    ]
    assert totals(lines) == [
        "even: 1 runs, 1 accepted, 9 decisions", "odd: 2 runs, 1 accepted, 2 longest ms, 2 kills", "seed 5: no",
    ]  # fmt: skip
