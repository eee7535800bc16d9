"""A driver that dies at any operation on its files goes on to the same result. No Spark: the driver does all."""

from __future__ import annotations

import json
import re
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker.errors import UnwritableError
from checker.lang.errors import SpecError
from checker.lang.loader import load
from checker.running.checkpoint import CheckpointError
from checker.running.limits import Limits
from checker.spark import runs
from checker.spark.check import SparkOptions, check
from checker.spark.runs import Folder, RunWriter
from tests.spark.outcomes import locally, outcome

MODEL = "tests/models/bounds.py/constrained"
EVERYTHING = 1 << 60

pytestmark = pytest.mark.usefixtures("no_cluster")


class Killed(BaseException):
    """The driver is gone."""


def _check(place: Path, *, resume: bool = False, depth: int | None = None, partitions: int | None = None) -> Any:
    options = SparkOptions(
        partitions=partitions if resume else 2, small=EVERYTHING, limits=Limits(max_depth=depth),
        checkpoint=None if resume else str(place), resume=str(place) if resume else None,
    )  # fmt: skip
    return outcome(check(load(MODEL, {"limit": "6"}), options, started=time.perf_counter()))


@pytest.fixture
def merges_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_RUNS", 2)


@pytest.mark.long("6 s of CPU")
@pytest.mark.usefixtures("merges_often")
def test_killed_at_any_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = locally(load(MODEL, {"limit": "6"}))
    left = [0]

    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return function(*arguments)

        return run

    def half_written(self: Folder, name: str, data: bytes) -> None:
        left[0] -= 1
        whole(self, name, data[: len(data) // 2] if left[0] == 0 else data)  # on a file system that cannot rename
        if left[0] == 0:
            raise Killed

    whole = Folder.write
    monkeypatch.setattr(Folder, "write", half_written)
    monkeypatch.setattr(Folder, "remove", dying(Folder.remove))
    monkeypatch.setattr(RunWriter, "add", dying(RunWriter.add))
    finished, moment = False, 0
    while not finished:
        moment += 1
        left[0] = moment
        place = tmp_path / str(moment)
        try:
            found = _check(place)
            finished = True
        except Killed:
            left[0] = 0
            try:
                found = _check(place, resume=True)
            except CheckpointError as error:  # killed before the first level was saved
                assert "no checkpoint to resume from" in str(error)
                assert moment < 10
                continue
        assert found == expected, moment
        (manifest,) = place.glob("manifest-*.json")
        named = json.loads(json.loads(manifest.read_bytes())["content"])
        files = {run[0] for part in (*named["levels"], *named["visited"]) for run in part if run}
        assert files == {str(f.relative_to(place)) for f in place.rglob("*.parquet")}, moment
    assert moment > 40


def test_a_finished_and_a_limited_search_are_resumed(tmp_path: Path) -> None:
    place = tmp_path / "run"
    stopped = _check(place, depth=3)
    assert (stopped["verdict"], stopped["depth"]) == ("incomplete", 3)
    whole = _check(place, resume=True)
    assert whole == locally(load(MODEL, {"limit": "6"}))
    assert _check(place, resume=True) == whole


def test_what_cannot_be_resumed_says_why(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with pytest.raises(CheckpointError, match="there is no manifest of a search on Spark"):
        _check(place, resume=True)
    _check(place, depth=2)
    with pytest.raises(CheckpointError, match="already holds a checkpoint: resume from it"):
        _check(place)
    with pytest.raises(SpecError, match="has 2 partitions"):
        _check(place, resume=True, partitions=3)
    options = SparkOptions(small=EVERYTHING, resume=str(place))
    with pytest.raises(CheckpointError, match="of another model"):
        check(load(MODEL, {"limit": "5"}), options, started=time.perf_counter())
    manifest = next(place.glob("manifest-*"))
    manifest.write_bytes(manifest.read_bytes()[:-9])
    with pytest.raises(CheckpointError, match="its manifest is damaged"):
        _check(place, resume=True)


def _damages(data: bytes) -> list[bytes | None]:
    """Deleted, emptied, cut off, longer, one bit flipped in the first half and one in the last bytes."""
    flipped = [data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] for at in (len(data) // 3, len(data) - 9)]
    return [None, b"", data[: len(data) // 2], data + b"\0", *flipped]


@pytest.mark.usefixtures("merges_often")
def test_damage_to_any_file_is_refused_or_does_no_harm(tmp_path: Path) -> None:
    place = tmp_path / "run"
    _check(place, depth=5)
    expected = locally(load(MODEL, {"limit": "6"}))
    outcomes: dict[str, set[str]] = {"manifest": set(), "levels": set(), "runs": set()}
    for number, file in enumerate(sorted(f.relative_to(place) for f in place.rglob("*.*"))):
        for kind, damage in enumerate(_damages((place / file).read_bytes())):
            copy = tmp_path / f"{number}-{kind}"
            shutil.copytree(place, copy)
            (copy / file).unlink() if damage is None else (copy / file).write_bytes(damage)
            try:
                assert _check(copy, resume=True) == expected, (file, damage)
                outcome = "no harm"
            except CheckpointError as error:
                assert str(copy) in str(error) and "\n" not in str(error)
                outcome = "refused"
            outcomes[file.parts[0].partition("-")[0]].add(outcome)
            shutil.rmtree(copy)
    # older levels are kept for traces only, once they are merged
    assert outcomes == {"manifest": {"refused"}, "levels": {"no harm", "refused"}, "runs": {"refused"}}


def test_a_violation_whose_states_are_lost_keeps_its_property(tmp_path: Path) -> None:
    place = tmp_path / "run"
    target = "tests/models/bounds.py/constraint_is_checked"
    options = SparkOptions(partitions=2, small=EVERYTHING, checkpoint=str(place))
    whole = check(load(target), options, started=time.perf_counter())
    [violated] = [p.name for p in whole.properties if p.verdict == "violated"]
    [*_, last] = sorted((place / "levels").iterdir())
    for run in last.iterdir():
        run.unlink()
    resumed = check(load(target), SparkOptions(small=EVERYTHING, resume=str(place)), started=time.perf_counter())
    assert (resumed.verdict, resumed.traces) == ("violated", [])
    assert re.fullmatch(rf"{violated}; there is no trace: {place}/levels/.* is gone", resumed.reason)


def test_a_full_disk_names_the_file_and_how_to_go_on(tmp_path: Path) -> None:
    place = tmp_path / "run"
    _check(place, depth=3)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))
    try:
        with pytest.raises(UnwritableError) as full:
            _check(place, resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    how = rf"{place}/levels/000004/000[01]-\w+\.parquet: File too large; make room, then continue: --resume {place}"
    assert re.fullmatch(how, str(full.value))
    assert _check(place, resume=True) == locally(load(MODEL, {"limit": "6"}))
