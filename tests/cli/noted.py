"""A counter with notes on its steps; those of a step to 2 break down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from checker.lang import Notes, Range, TakenStep, action, init, invariant, require, state


@state
class Counter:
    value: Annotated[int, Range(0, 3)]


@init
def zero() -> Counter:
    return Counter(0)


@action(who="clock", source="-")
def tick(s: Counter) -> None:
    """The clock ticks."""
    require(s.value < 3)
    s.value += 1


@invariant(source="-")
def below_three(s: Counter) -> bool:
    """The value stays below three."""
    return s.value < 3


def on_tick(steps: Sequence[TakenStep[Counter]]) -> Iterator[str]:
    value = steps[-1].after.value
    yield f"{len(steps)} ticks, {1 // (value - 2)} to go by"


def at_end(steps: Sequence[TakenStep[Counter]]) -> Iterator[str]:
    yield f"ticks: {', '.join(str(step.index) for step in steps)}"


NOTES = [Notes(Counter, on_tick, at_end)]
