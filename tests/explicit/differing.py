"""Counters from 0 to 5 for `fencepost diff`: what a switch may change about a model, each way in a model of its own.

With every switch off, `go_on` counts 0, 1, ..., 5: 6 states, 5 transitions, which end at 5.

- `begins_at_two`: the initial state is 2, so that 0 and 1 are never reached: 4 states, 3 transitions.
- `slips`: at 3, `slip` goes below the range, where it was refused: the same states, and a step that breaks down.
- `skips`: `go_on` takes 1 to 3; 2 and what it does are gone: 5 states, 4 transitions.
- `lower_limit`: in `constrained` the constraint is count <= 3 (else <= 4). A step to a state outside it is a
  transition of both; what is done there is not: 4 states against 5, 4 transitions against 5.
- `jumps`: `jump` takes 0 to 4, and `go_on` is refused at 2 and at 4: 0, 1, 2 and 4 are reached.
- `size` changes what a state is.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import History, Model, Range, action, constants, constraint, init, require, state


@constants
class Design:
    begins_at_two: bool = False
    slips: bool = False
    skips: bool = False
    lower_limit: bool = False
    jumps: bool = False
    size: int = 5


Count = Annotated[int, Range(0, lambda: Design.size)]
Past = Annotated[bool, History]


@state
class Counter:
    count: Count
    past_two: Past


@init
def begin() -> Counter:
    return Counter(count=2 if Design.begins_at_two else 0, past_two=False)


@action(who="-", source="-")
def go_on(s: Counter) -> None:
    """One more."""
    require(s.count < 5)
    require(not Design.jumps or s.count in (0, 1))
    if Design.skips and s.count == 1:
        s.count += 1
    s.count += 1


@action(who="-", source="-")
def slip(s: Counter) -> None:
    """Below the range."""
    require(Design.slips)
    require(s.count == 3)
    s.count -= 4


@action(who="-", source="-")
def jump(s: Counter) -> None:
    """Most of the way at once."""
    require(Design.jumps)
    require(s.count == 0)
    s.count = 4


@constraint
def not_far(s: Counter) -> bool:
    """Not further than this."""
    return s.count <= (3 if Design.lower_limit else 4)


MODELS = [
    Model("free", "Up to 5.", begin, [go_on, slip, jump], []),
    Model("constrained", "Up to the limit.", begin, [go_on, slip, jump], [], constraints=[not_far]),
    Model("hidden", "A view.", begin, [go_on, slip, jump], [], hide=["past_two"]),
]
