"""Five counters that go up independently: (top + 1)^5 states, as many as a search that is to be stopped needs."""

from __future__ import annotations

from typing import Annotated

from checker.lang import Identity, Map, Range, action, constants, init, invariant, require, state


@constants
class Grid:
    top: int = 60
    "How far each counter goes."


Height = Annotated[int, Range(0, lambda: Grid.top)]


class Counter(Identity, size=5): ...


@state
class Counters:
    height: Map[Counter, Height]


@init
def all_at_zero() -> Counters:
    return Counters(height=Map({c: 0 for c in Counter}))


@action(who="counter {counter}", source="-")
def go_up(s: Counters, counter: Counter) -> None:
    """One up, as long as there is room."""
    require(s.height[counter] < Grid.top)
    s.height[counter] += 1


@invariant(source="-")
def never_far_above(s: Counters) -> bool:
    """Holds, and must be looked at in every state."""
    return all(s.height[c] <= Grid.top for c in Counter)
