"""On a real ZooKeeper two consumers have a partition as drafted, and one as repaired: by what they consumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.zookeeper import zookeeper
from tests.impl.group.cluster import Consumed
from tests.impl.group.exclusivity import Exclusivity, exclusivity, measured

FIRST = Consumed("a", 1_000_000, "t 2-0", 0, 20, "x", 1, 1)


@pytest.mark.xdist_group("zookeeper")
@pytest.mark.long("real time: two runs through a failover")
def test_a_partition_is_consumed_by_two_as_drafted_and_by_one_as_repaired(tmp_path: Path) -> None:
    with zookeeper() as ensemble:
        drafted = measured(ensemble, tmp_path / "draft", "draft")
        repaired = measured(ensemble, tmp_path / "repaired", "repaired")
    assert drafted.late > 0
    assert repaired.late == 0 and repaired.records > 0


def test_the_figures_of_a_few_records() -> None:
    taken = replace(FIRST, consumer="c", time_ns=3_000_000)
    late = replace(FIRST, time_ns=5_000_000, payload="y")
    assert exclusivity([FIRST], 9_000_000) == Exclusivity(1, 0, 0.0)
    assert exclusivity([FIRST, taken], 9_000_000) == Exclusivity(2, 0, 0.0)
    assert exclusivity([FIRST, taken, late], 9_000_000) == Exclusivity(3, 1, 2.0)
    assert exclusivity([FIRST, taken, late], 4_000_000) == Exclusivity(2, 0, 0.0)
