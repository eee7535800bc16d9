"""Histories of clients: what one log explains is accepted, and nothing else is."""

from __future__ import annotations

import pytest

from impl.kraft.simulation.histories import (
    Clients,
    NotLinearizableError,
    Operation,
    Read,
    WrongReadError,
    check,
    check_reads,
)
from impl.kraft.simulation.simulation import Simulation
from impl.kraft.simulation.swarm import plan_of

FIRST, SECOND = Operation(1, 0, 5, (1,)), Operation(2, 6, 9, (1, 2))


def test_one_log_explains_it() -> None:
    check([])
    check([FIRST, SECOND, Operation(3, 1)])
    check([Operation(3, 1), Operation(2, 4, 9, (3, 2))])  # never answered, and it has happened
    check([Operation(1, 0, 9, (2, 1)), Operation(2, 0, 9, (2,))])  # at the same time, in either order


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ([FIRST, Operation(2, 6, 9, (2,))], "others have not seen it"),
        ([Operation(1, 0, 5, (2, 1)), Operation(2, 6, 9, (2,))], "before one that was answered"),
        ([Operation(1, 0, 5, (2, 1)), Operation(2, 5, 9, (2,))], "before one that was answered"),  # right after it
        ([FIRST, Operation(2, 6, 9, (3, 2))], "others have not seen it"),
        ([Operation(1, 0, 5, (2,))], "does not end in it"),
        ([FIRST, Operation(2, 6, 9, (1, 1, 2))], "appended twice"),
    ],
)
def test_a_lie_is_refused(lie: list[Operation], why: str) -> None:
    with pytest.raises(NotLinearizableError, match=why):
        check(lie)


# Reads.


def test_a_read_is_of_what_is_committed_and_does_not_go_back_on_a_connection() -> None:
    clients = Clients()
    clients.read(0, (1, 2), (1, 2, 3), 0, 1)
    clients.read(1, (1,), (1, 2, 3), 2, 3)  # another connection, which is behind
    with pytest.raises(WrongReadError, match="goes back: node 0 has told of 2, and tells of 1"):
        clients.read(0, (1,), (1, 2, 3), 4, 5)
    with pytest.raises(WrongReadError, match="is not committed"):
        clients.read(0, (1, 4), (1, 2, 3), 4, 5)
    with pytest.raises(WrongReadError, match="is not committed"):
        clients.read(0, (1, 2, 3), (1, 2), 4, 5)
    clients.disconnect(0)
    clients.read(0, (1,), (1, 2, 3), 6, 7)


@pytest.mark.parametrize(
    ("read", "is_linearizable"),
    [
        (Read(0, 5, 6, 1), True),
        (Read(0, 5, 6, 0), False),
        (Read(0, 4, 6, 0), True),  # begun before the append was answered
        (Read(0, 7, 8, 1), False),  # less than another had read
        (Read(0, 7, 8, 2), True),
    ],
)
def test_reads_are_linearizable_or_not(read: Read, is_linearizable: bool) -> None:
    history, reads = [FIRST, Operation(2, 5)], [Read(1, 6, 7, 2), read]
    if is_linearizable:
        check_reads(history, reads)
    else:
        with pytest.raises(NotLinearizableError, match="reads the past"):
            check_reads(history, reads)


def test_a_deposed_leader_that_has_not_noticed_reads_the_past() -> None:
    """docs/findings/kip-595.md: every rule holds in this run, and its reads are not linearizable."""
    run = Simulation(plan_of(1752))
    run.go()
    with pytest.raises(NotLinearizableError, match="reads the past: node 1 has 1, when 2 were known"):
        check_reads(run.clients.history, run.clients.reads)
