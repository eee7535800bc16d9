"""Seeded schedules of faults on a real ZooKeeper: no record is skipped, and no assignment outlives the next one.

More schedules: `python -m tests.impl.group.schedules --count 2000 --done build/group-schedules.ndjson`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.impl.group.cluster import Consumed
from tests.impl.group.schedules import judgement, run_all

RUNS, AT_ONCE = 30, 5
FIRST = Consumed("a", 1, "t 2-0", 0, 20, "x", 1, 1)


@pytest.mark.xdist_group("zookeeper")
@pytest.mark.long("real time: some minutes of wall clock")
def test_seeded_schedules_consume_every_record(tmp_path: Path) -> None:
    runs = run_all(range(RUNS), tmp_path, at_once=AT_ONCE)
    never_began = [one.seed for one in runs if not one.began]  # the machine was too slow: it says nothing
    runs = [one for one in runs if one.began] + run_all(never_began, tmp_path / "again", at_once=1)
    assert [one for one in runs if one.problem] == []
    assert sum(one.rebalances for one in runs) > RUNS and sum(one.coordinators for one in runs) > RUNS


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (replace(FIRST, consumer="b", offset=20, next_offset=40, attempt=2), ""),
        (replace(FIRST, consumer="b", attempt=2), ""),
        (replace(FIRST, consumer="b", offset=40, next_offset=60, attempt=2), "b skips from 20 to 40"),
        (replace(FIRST, consumer="b", offset=20, next_offset=40, attempt=0), "b consumes t 2-0 at 20 by"),
        (replace(FIRST, consumer="b", offset=20, next_offset=40, epoch=0, attempt=9), "b consumes t 2-0 at 20 by"),
    ],
)
def test_the_judgement_of_two_records(second: Consumed, problem: str) -> None:
    assert judgement([FIRST, second]).startswith(problem) and bool(judgement([FIRST, second])) == bool(problem)
