"""Obligations to reach an end: counters, cuts, constraints, several initial states.

`counter` steps from 0 to 3: with a weakly fair step it gets there; where the step may rest forever, it may stay
at 0, which is a lasso of one state.

`cut` counts without end in a Nat of 3, and asks for more than the Nat holds. In its last state the fair step is
enabled, but cut: it would come further, so that to stay there is no counterexample. `constrained` is left at a
state constraint instead: the same. `lazy` is cut in a step that nothing makes happen: to stay is a
counterexample, for it is one without the bound too.

`starts` begins at any place of a ring of 4, in two directions that never change. Clockwise it comes to place 3;
where it stands still, it does only if it begins there: the first initial state from which it does not is place 0.

`leaps` is strongly fair in a step that is cut at high tide, and refused at low tide. The tide turns forever, so the
step is enabled infinitely often: no counterexample. Nor is it one where the step is weakly fair: what is cut counts
against a lasso under either fairness. In `beside` the cut is off the loop: the tide turns at 0 forever, and only
`walk_on`, which nothing makes happen, comes to 2, where the leap is cut.
"""

from __future__ import annotations

from typing import Annotated, Any

from checker.lang import Declared, Model, Nat, Range, action, constraint, eventually, init, replace, require, state

SOURCE = "tests"
Place = Annotated[int, Range(0, 3)]


@state
class Counter:
    n: Annotated[int, Nat(3)]
    high: bool


@init
def zero() -> Counter:
    return Counter(n=0, high=False)


@action(who="counter", source=SOURCE, fair="weak")
def step_to_the_end(s: Counter) -> None:
    """Counts to 3."""
    require(s.n < 3)
    s.n += 1


@action(who="counter", source=SOURCE, fair="weak")
def count_on(s: Counter) -> None:
    """Counts without end."""
    s.n += 1


@action(who="counter", source=SOURCE, fair="strong")
def leap(s: Counter) -> None:
    """Leaps out of what the Nat holds, at high tide."""
    require(s.high)
    s.n += 4


@action(who="counter", source=SOURCE, fair="weak")
def leap_from_two(s: Counter) -> None:
    """Leaps out of what the Nat holds, from 2."""
    require(s.n == 2)
    s.n += 4


@action(who="counter", source=SOURCE)
def walk_on(s: Counter) -> None:
    """Goes from 0 to 2."""
    require(s.n == 0)
    s.n = 2


@action(who="tide", source=SOURCE, fair="weak")
def turn(s: Counter) -> None:
    """The tide turns."""
    s.high = not s.high


@eventually(source=SOURCE)
def reaches_the_end(s: Counter) -> bool:
    """The counter gets to 3."""
    return s.n == 3


@eventually(source=SOURCE)
def goes_on(s: Counter) -> bool:
    """The counter leaves what the model holds. No state shows it: it would be `s.n > 3`."""
    return s.n == 3 and s.high


@constraint
def below_two(s: Counter) -> bool:
    return s.n < 2


@state
class Ring:
    place: Place
    moving: bool


@init
def anywhere(place: Place, moving: bool) -> Ring:
    return Ring(place=place, moving=moving)


@action(who="walker", source=SOURCE, fair="weak")
def walk(s: Ring) -> None:
    """Goes one place on."""
    require(s.moving)
    s.place = 0 if s.place == 3 else s.place + 1


@eventually(source=SOURCE)
def comes_home(s: Ring) -> bool:
    """The walker comes to place 3."""
    return s.place == 3


@eventually(source=SOURCE)
def comes_home_or_rests(s: Ring) -> bool:
    """The walker comes to place 3, or does not walk."""
    return s.place == 3 or not s.moving


def counting(name: str, doc: str, steps: list[Declared], goal: Declared, **more: Any) -> Model:
    return Model(name, doc, zero, steps, [goal], **more)


MODELS = [
    counting("counter", "A counter that must get to its end.", [step_to_the_end], reaches_the_end),
    counting("idle_counter", "A counter that may rest.", [replace(step_to_the_end, fair="")], reaches_the_end),
    counting("cut", "A counter that is cut where it must go on.", [count_on], goes_on),
    counting("lazy", "A counter that is cut, and may rest.", [replace(count_on, fair="")], goes_on),
    counting("constrained", "A counter that must go on over a constraint.", [step_to_the_end], reaches_the_end,
             constraints=[below_two]),
    counting("leaps", "A step that is cut infinitely often, strongly fair.", [leap, turn], goes_on),
    counting("weak_leaps", "The same, weakly fair.", [replace(leap, fair="weak"), turn], goes_on),
    counting("beside", "A loop that passes no cut.", [leap_from_two, walk_on, turn], reaches_the_end),
    Model("starts", "A walk from anywhere.", anywhere, [walk], [comes_home, comes_home_or_rests]),
]  # fmt: skip
