"""Clocks that go round, and bells: graphs of any size in which strong fairness strikes out states round after round.

Until the great bell rings all states are one strongly connected part. It may ring while clock 0 shows 0. The bell of a
later clock may ring while that shows 0, and sets the clock before it to 0. Only the last clock has to go on.

Weakly fair, no bell ever has to ring: the clock moves on. Strongly fair, all do. The great bell is refused until the
end, so states in which clock 0 shows 0 are struck out; now the bell of clock 1 leads out of what is left, and states in
which that clock shows 0 are struck out; and so on, a round for each clock, until the last one cannot get round.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Map, Model, Range, action, constants, eventually, init, replace, require, state

SOURCE = "tests"


@constants
class Clocks:
    clocks: int = 3
    hours: int = 4


Clock = Annotated[int, Range(0, lambda: Clocks.clocks - 1)]
Hour = Annotated[int, Range(0, lambda: Clocks.hours - 1)]


@state
class Tower:
    shows: Map[Clock, Hour]
    rung: bool


@init
def midnight() -> Tower:
    return Tower(shows=Map({clock: 0 for clock in range(Clocks.clocks)}), rung=False)


def hour_after(hour: int) -> int:
    return 0 if hour == Clocks.hours - 1 else hour + 1


@action(who="clock {clock}", source=SOURCE)
def advance(s: Tower, clock: Clock) -> None:
    """An hour passes on a clock that may stand still."""
    require(not s.rung and clock < Clocks.clocks - 1)
    s.shows[clock] = hour_after(s.shows[clock])


@action(who="last clock", source=SOURCE, fair="weak")
def advance_last(s: Tower) -> None:
    """An hour passes on the clock that never stands still."""
    require(not s.rung)
    s.shows[Clocks.clocks - 1] = hour_after(s.shows[Clocks.clocks - 1])


@action(who="clock {clock}", source=SOURCE, fair="strong")
def ring(s: Tower, clock: Clock) -> None:
    """The bell of a clock that shows 0: of the first the great bell, which ends everything."""
    require(not s.rung and s.shows[clock] == 0)
    if clock == 0:
        s.shows = Map({other: 0 for other in range(Clocks.clocks)})
        s.rung = True
    else:
        s.shows[clock - 1] = 0


@eventually(source=SOURCE)
def the_great_bell_rings(s: Tower) -> bool:
    """The great bell rings."""
    return s.rung


MODELS = [
    Model("strong", "Bells that ring.", midnight, [advance, advance_last, ring], [the_great_bell_rings]),
    Model("weak", "Bells that may miss their time infinitely often.", midnight,
          [advance, advance_last, replace(ring, fair="weak")], [the_great_bell_rings]),
]  # fmt: skip
