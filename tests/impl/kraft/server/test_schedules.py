"""Seeded faults on clusters of ours, and what their clients saw: a lie of a cluster would be noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.kraft.simulation.histories import Operation
from tests.conform.faults.patched import Patching
from tests.impl.kraft.server import schedules
from tests.impl.kraft.server.planted import MOST_SEEDS, PLANTED, finding
from tests.impl.kraft.server.witnesses import Written, wrong_creations, wrong_in


@pytest.mark.sample(0, verify=4)
@pytest.mark.parametrize("seed", range(200))
def test_what_clients_saw_and_controllers_decided_is_right_whatever_fails(seed: int, tmp_path: Path) -> None:
    run = schedules.run_one(seed, tmp_path / "cluster")
    assert run is not None and (run.problem, run.violated) == ("", ())
    assert schedules.validated([run]) == {}


@pytest.mark.parametrize("name", PLANTED)
def test_a_fault_can_be_planted(name: str) -> None:
    """What it changes stands in the source, once. Raises ValueError where it does not."""
    Patching(*PLANTED[name], "kraft").changed()


@pytest.mark.large("minutes each: runs until one finds it")
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    assert finding(name, MOST_SEEDS)


# What clients saw.


def written(value: int, began: int, answered: int | None = None, offset: int | None = None) -> Written:
    return Written(0, Operation(value, began, answered), offset)


def test_what_was_acknowledged_is_there_in_its_order() -> None:
    first, second, never = written(4, 0, 1, offset=0), written(6, 2, 3, offset=2), written(8, 4)
    assert wrong_in([4, 5, 6], [first, second, never], [(0, 4), (1, 5)]) == []
    assert wrong_in([4, 8, 6], [first, second, never], []) == [], "what was never acknowledged may be there"


@pytest.mark.parametrize(
    ("log", "wrong"),
    [
        ([4, 5], "record 6 was acknowledged at offset 2, and is lost"),
        ([4, 5, 7], "does not end in it: what the append of 6 is answered with"),
        ([4, 5, 6, 5], "5 is there twice"),
        ([5, 4, 6], "record 5 was read at offset 1, where [4] is"),
    ],
)
def test_what_is_lost_or_moved_is_noticed(log: list[int], wrong: str) -> None:
    found = wrong_in(log, [written(4, 0, 1, offset=log.index(4)), written(6, 2, 3, offset=2)], [(1, 5)])
    assert wrong in found


def test_what_was_acknowledged_before_another_began_is_before_it() -> None:
    found = wrong_in([4, 6], [written(6, 0, 1, offset=1), written(4, 2, 3, offset=0)], [])
    assert found == ["before one that was answered when it began: the append of 4"]


def test_topics_are_there_in_the_order_in_which_they_were_created() -> None:
    assert wrong_creations([0, 2], [Operation(0, 0, 1), Operation(1, 2), Operation(2, 3, 4)]) == []
    assert wrong_creations([0], [Operation(0, 0, 1), Operation(2, 3, 4)]) == ["topic 2 was created, and is lost"]
    assert "before one" in wrong_creations([2, 0], [Operation(0, 0, 1), Operation(2, 3, 4)])[0]
