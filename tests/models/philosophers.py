"""Dining philosophers: everyone takes the left fork, and nobody ever eats again.

Proof of the counts. A philosopher thinks (T), holds the first fork (H) or eats (E), and who holds what
follows from that. With the left fork first, two neighbours are in conflict exactly when the left one
eats and the right one does not think, and every ring without a conflict is reached: let those eat who
eat in it, then let those take a fork who hold one. Rings of n letters in which every E stands before a
T are counted by the trace of M^n, M = [[1,1,1],[1,1,1],[1,0,0]], whose eigenvalues are 0 and 1 +- sqrt 2:
14 for n = 3, 34 for n = 4, 82 for n = 5. The deadlock HH...H is n steps away: a trace of n + 1 states.

With `last_picks_right_first` the last philosopher's first fork is the right one, which is the left one of
the first. For n = 3: if the last thinks, the other two are in 7 of 9 combinations (not EH, not EE); if
the last holds a fork, the first must think, and the second does what it likes: 3; if the last eats, the
first must think and the second must not eat: 2. Together 12. No ring is stuck: everyone now takes the
lower fork first, so of those who hold one, whoever holds the highest waits for a fork that is free or
with somebody who eats.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    Map,
    Model,
    Option,
    Range,
    action,
    constants,
    deadlock_free,
    init,
    require,
    state,
    witness,
)


@constants
class Table:
    seats: int = 3
    "How many philosophers sit at the table."
    last_picks_right_first: bool = False
    "The philosopher in the last seat takes the fork at the right first: the repair."


Seat = Annotated[int, Range(0, lambda: Table.seats - 1)]  # the fork at a seat's left has the seat's number


class Doing(enum.Enum):
    THINKING = enum.auto()
    HOLDING_ONE = enum.auto()
    EATING = enum.auto()


@state
class Dinner:
    doing: Map[Seat, Doing]
    fork_held_by: Map[Seat, Option[Seat]]


def right_of(seat: Seat) -> Seat:
    return 0 if seat == Table.seats - 1 else seat + 1


def picks_right_first(seat: Seat) -> bool:
    return Table.last_picks_right_first and seat == Table.seats - 1


def first_fork(seat: Seat) -> Seat:
    return right_of(seat) if picks_right_first(seat) else seat


def second_fork(seat: Seat) -> Seat:
    return seat if picks_right_first(seat) else right_of(seat)


@init
def all_think() -> Dinner:
    return Dinner(
        doing=Map({seat: Doing.THINKING for seat in range(Table.seats)}),
        fork_held_by=Map({seat: None for seat in range(Table.seats)}),
    )


@action(who="philosopher {seat}", source="Dijkstra, EWD-310")
def take_first_fork(s: Dinner, seat: Seat) -> None:
    """A philosopher grows hungry and takes one fork."""
    require(s.doing[seat] == Doing.THINKING)
    require(s.fork_held_by[first_fork(seat)] is None)
    s.fork_held_by[first_fork(seat)] = seat
    s.doing[seat] = Doing.HOLDING_ONE


@action(who="philosopher {seat}", source="Dijkstra, EWD-310")
def take_second_fork(s: Dinner, seat: Seat) -> None:
    """A philosopher who holds one fork takes the other, and eats."""
    require(s.doing[seat] == Doing.HOLDING_ONE)
    require(s.fork_held_by[second_fork(seat)] is None)
    s.fork_held_by[second_fork(seat)] = seat
    s.doing[seat] = Doing.EATING


@action(who="philosopher {seat}", source="Dijkstra, EWD-310")
def put_forks_down(s: Dinner, seat: Seat) -> None:
    """A philosopher has eaten, and puts both forks down."""
    require(s.doing[seat] == Doing.EATING)
    s.fork_held_by[first_fork(seat)] = None
    s.fork_held_by[second_fork(seat)] = None
    s.doing[seat] = Doing.THINKING


@witness
def somebody_eats_while_another_waits(s: Dinner) -> bool:
    """One philosopher eats while another holds a fork."""
    return any(s.doing[seat] == Doing.EATING for seat in range(Table.seats)) and any(
        s.doing[seat] == Doing.HOLDING_ONE for seat in range(Table.seats)
    )


model = Model(
    name="philosophers",
    doc="Philosophers round a table, with a fork between two.",
    init=all_think,
    actions=[take_first_fork, take_second_fork, put_forks_down],
    properties=[deadlock_free, somebody_eats_while_another_waits],
    settings={"repaired": {"last_picks_right_first": True}},
)
