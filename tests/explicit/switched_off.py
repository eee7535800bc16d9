"""Two numbers that rise, a door, and the switches that guard them: which violations are known, counted by hand.

Shortest ways, all switches off: the door opens in 2 states, stopped by `locks` and by `bolts`; low and high rise to 2
in 3 states each, stopped by `low_guard` and by `high_guard`. `idles` stops one of two actions that raise low, and
repairs nothing. With `flawed` there are 3 leaps in 4 states, whatever the switches say.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Model, Nat, action, constants, init, invariant, require, state

OFF = {"locks": False, "bolts": False, "low_guard": False, "high_guard": False, "idles": False}


@constants
class Guards:
    locks: bool = True
    "The door stays shut until the second leap."
    bolts: bool = True
    "The door stays shut, too."
    low_guard: bool = True
    "Low stays below 2."
    high_guard: bool = True
    "High stays below 2."
    idles: bool = True
    "One of the actions that raise low is not taken."
    flawed: bool = False
    "After 3 leaps something is broken that no switch repairs."


@state
class Numbers:
    low: Annotated[int, Nat(2)]
    high: Annotated[int, Nat(2)]
    leaps: Annotated[int, Nat(3)]
    is_open: bool


@init
def nothing() -> Numbers:
    return Numbers(low=0, high=0, leaps=0, is_open=False)


@action(who="nobody", source="-")
def open_door(s: Numbers) -> None:
    """The door opens."""
    require(s.leaps >= 2 or not (Guards.locks or Guards.bolts))
    require(not s.is_open)
    s.is_open = True


@action(who="nobody", source="-")
def raise_low_first(s: Numbers) -> None:
    """Low rises, unless this idles."""
    require(not Guards.idles and s.low < (1 if Guards.low_guard else 2))
    s.low += 1


@action(who="nobody", source="-")
def raise_low(s: Numbers) -> None:
    """Low rises."""
    require(s.low < (1 if Guards.low_guard else 2))
    s.low += 1


@action(who="nobody", source="-")
def raise_high(s: Numbers) -> None:
    """High rises."""
    require(s.high < (1 if Guards.high_guard else 2))
    s.high += 1


@action(who="nobody", source="-")
def leap(s: Numbers) -> None:
    """Another leap."""
    require(s.leaps < (3 if Guards.flawed else 2))
    s.leaps += 1


@invariant(source="-")
def door_is_shut(s: Numbers) -> bool:
    """The door is shut before the second leap."""
    return not s.is_open or s.leaps >= 2


@invariant(source="-")
def low_is_low(s: Numbers) -> bool:
    """Low is below 2."""
    return s.low < 2


@invariant(source="-")
def high_is_low(s: Numbers) -> bool:
    """High is below 2."""
    return s.high < 2


@invariant(source="-")
def leaps_end(s: Numbers) -> bool:
    """There are fewer than 3 leaps."""
    return s.leaps < 3


NUMBERS = Model(
    name="numbers",
    doc="All that can rise.",
    init=nothing,
    actions=[raise_low_first, raise_low, raise_high, leap, open_door],
    properties=[door_is_shut, low_is_low, high_is_low, leaps_end],
    settings={"off": OFF},
)
