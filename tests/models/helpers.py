"""The annotations of helpers are held: outside a Range is a violation, above a Nat the step is cut.

- `returned`: a level goes up one by one, by a helper that returns 0 to 3: from 3 it breaks down, 4 states away.
- `given`: levels 0, 2, 6: then a helper is given 7, and takes 0 to 6.
- `cut`: the helper returns at most 3, and what is beyond is left out: levels 0 to 3, and one cut.
- `evaluated`: a property asks a helper that returns 0 to 3; at 4, five states away, it cannot be evaluated.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Model, Nat, Range, action, init, invariant, state

Level = Annotated[int, Range(0, 15)]
Low = Annotated[int, Range(0, 3)]
Middle = Annotated[int, Range(0, 6)]
Few = Annotated[int, Nat(3)]


@state
class Tank:
    level: Level


def risen(level: Level) -> Low:
    return level + 1


def doubled(level: Middle) -> int:
    return level * 2


def filled(level: Few) -> Few:
    return level + 1


def low(level: Level) -> Low:
    return level


@init
def empty() -> Tank:
    return Tank(level=0)


@action(who="tap", source="this file")
def rise(s: Tank) -> None:
    """The level goes up as far as a helper says."""
    s.level = risen(s.level)


@action(who="tap", source="this file")
def double(s: Tank) -> None:
    """One more, and that doubled."""
    s.level = doubled(s.level + 1)


@action(who="tap", source="this file")
def fill(s: Tank) -> None:
    """The level goes up as far as the model looks."""
    s.level = filled(s.level)


@action(who="tap", source="this file")
def drip(s: Tank) -> None:
    """The level goes up, to its end."""
    s.level = min(s.level + 1, 15)


@invariant(source="this file")
def is_low(s: Tank) -> bool:
    """The helper's value for the level does not exceed the level."""
    return low(s.level) <= s.level


MODELS = [
    Model("returned", "A helper returns what it may not.", empty, [rise], []),
    Model("given", "A helper is given what it does not take.", empty, [double], []),
    Model("cut", "A helper's value is cut off.", empty, [fill], []),
    Model("evaluated", "A property's helper returns what it may not.", empty, [drip], [is_low]),
]
