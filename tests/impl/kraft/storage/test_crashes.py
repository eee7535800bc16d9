"""The storage after crashes: everything flushed is there, nothing is that was not written, rot is never served."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.impl.kraft.storage.crashes import main, run_all
from tests.impl.kraft.storage.exhaustive import explore, explore_failed_writes, explore_torn_sector
from tests.impl.kraft.storage.workload import SCRIPTS


@pytest.fixture(autouse=True)
def no_log_lines() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_crash_of_a_small_workload_is_recovered(name: str) -> None:
    segment_bytes, script = SCRIPTS[name]
    explored = explore(script, segment_bytes)
    print(name, explored)
    assert explored.recoveries > explored.states > explored.crash_points > 10


def test_every_failing_write_ends_the_process_and_loses_nothing() -> None:
    segment_bytes, script = SCRIPTS["truncate"]
    explored = explore_failed_writes(script, segment_bytes)
    print(explored)
    assert explored.recoveries > 10 * explored.crash_points


def test_a_batch_that_a_failing_write_left_torn_within_a_sector_is_no_rot() -> None:
    explored = explore_torn_sector()
    print(explored)
    assert explored.recoveries > 50


@pytest.mark.parametrize("seed", [55_574])
def test_seeds_that_once_broke_a_promise(seed: int) -> None:
    run_all(range(seed, seed + 1))


@pytest.mark.long("8 s of CPU")
def test_seeded_crash_runs_keep_every_promise() -> None:
    seen = run_all(range(2_000))
    assert min(seen.values()) > 100, seen


def test_crash_runs_are_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs" / "done.txt"
    assert main(["--runs", "20", "--resume-from", str(file)]) == 0
    assert main(["--runs", "30", "--resume-from", str(file)]) == 0
    assert file.read_text() == "30\n"
    assert capsys.readouterr().out.splitlines()[-1].startswith("30 of 30 crash runs")
