"""Dining philosophers who are hungry forever: who eats, under which fairness.

All steps are weakly fair. With the left fork first, all take one and nobody ever eats: the deadlock, three steps
away, is where the behaviour stays (4 states). If the last philosopher takes the right fork first, there is no
deadlock: somebody always gets on, so somebody eats. But who holds one fork may wait forever for a neighbour who
eats infinitely often: the other fork is free infinitely often, which weak fairness of taking it does not heed. Strong
fairness does, of taking the first fork too: nobody keeps a fork forever, so that every fork is free infinitely often.
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
    eventually,
    init,
    leads_to,
    replace,
    require,
    state,
)


@constants
class Table:
    last_picks_right_first: bool = False
    "The philosopher in the last seat takes the fork at the right first: the repair."


Seat = Annotated[int, Range(0, 2)]
SOURCE = "Dijkstra, EWD-310"


class Doing(enum.Enum):
    THINKING = enum.auto()
    HOLDING_ONE = enum.auto()
    EATING = enum.auto()


@state
class Dinner:
    doing: Map[Seat, Doing]
    fork_held_by: Map[Seat, Option[Seat]]


def right_of(seat: Seat) -> Seat:
    return 0 if seat == 2 else seat + 1


def first_fork(seat: Seat) -> Seat:
    return right_of(seat) if Table.last_picks_right_first and seat == 2 else seat


def second_fork(seat: Seat) -> Seat:
    return seat if Table.last_picks_right_first and seat == 2 else right_of(seat)


@init
def all_think() -> Dinner:
    return Dinner(
        doing=Map({seat: Doing.THINKING for seat in range(3)}), fork_held_by=Map({seat: None for seat in range(3)})
    )


@action(who="philosopher {seat}", source=SOURCE, fair="weak")
def take_first_fork(s: Dinner, seat: Seat) -> None:
    """A philosopher takes one fork."""
    require(s.doing[seat] == Doing.THINKING)
    require(s.fork_held_by[first_fork(seat)] is None)
    s.fork_held_by[first_fork(seat)] = seat
    s.doing[seat] = Doing.HOLDING_ONE


@action(who="philosopher {seat}", source=SOURCE, fair="weak")
def take_second_fork(s: Dinner, seat: Seat) -> None:
    """A philosopher who holds one fork takes the other, and eats."""
    require(s.doing[seat] == Doing.HOLDING_ONE)
    require(s.fork_held_by[second_fork(seat)] is None)
    s.fork_held_by[second_fork(seat)] = seat
    s.doing[seat] = Doing.EATING


@action(who="philosopher {seat}", source=SOURCE, fair="weak")
def put_forks_down(s: Dinner, seat: Seat) -> None:
    """A philosopher has eaten, and puts both forks down."""
    require(s.doing[seat] == Doing.EATING)
    s.fork_held_by[first_fork(seat)] = None
    s.fork_held_by[second_fork(seat)] = None
    s.doing[seat] = Doing.THINKING


@eventually(source=SOURCE)
def somebody_eats(s: Dinner) -> bool:
    """Somebody gets to eat."""
    return any(s.doing[seat] == Doing.EATING for seat in range(3))


@leads_to(source=SOURCE)
def nobody_starves(s: Dinner, seat: Seat) -> tuple[bool, bool]:
    """A philosopher who thinks or holds a fork will eat."""
    return s.doing[seat] != Doing.EATING, s.doing[seat] == Doing.EATING


STRONG = [replace(take_first_fork, fair="strong"), replace(take_second_fork, fair="strong"), put_forks_down]
MODELS = [
    Model("weak", "Philosophers, weakly fair.", all_think, [take_first_fork, take_second_fork, put_forks_down],
          [somebody_eats, nobody_starves], settings={"repaired": {"last_picks_right_first": True}}),
    Model("strong", "Philosophers, strongly fair.", all_think, STRONG, [somebody_eats, nobody_starves],
          settings={"repaired": {"last_picks_right_first": True}}),
]  # fmt: skip
