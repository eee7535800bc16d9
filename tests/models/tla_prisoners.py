"""Four prisoners and two switches (github.com/tlaplus/Examples, Prisoners by L. Lamport).

Whoever is brought into the room moves one of two switches. The counter moves switch A down and counts; each other one
moves it up twice; who has nothing to do with A moves B. Everybody is brought there infinitely often: weak fairness of
each, and each step changes something. So in the end the counter counts twice for each of the others, and is right.

TLC, with 4 prisoners: 860 states generated, 214 distinct, depth 14.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Map, Model, Range, action, eventually, eventually_always, init, invariant, replace, state

SOURCE = "Prisoners"
OTHERS = 3
Other = Annotated[int, Range(0, OTHERS - 1)]


@state
class Prison:
    a_is_up: bool
    b_is_up: bool
    times_moved: Map[Other, Annotated[int, Range(0, 2)]]
    count: Annotated[int, Range(0, 2 * OTHERS + 1)]


@init
def any_switches(a_is_up: bool, b_is_up: bool) -> Prison:
    return Prison(a_is_up=a_is_up, b_is_up=b_is_up, times_moved=Map({i: 0 for i in range(OTHERS)}), count=0)


def has_counted_all(s: Prison) -> bool:
    return s.count >= 2 * OTHERS


@action(who="counter", source=SOURCE, fair="weak")
def count(s: Prison) -> None:
    """The counter moves A down and counts, or moves B."""
    if s.a_is_up:
        s.a_is_up = False
        s.count += 1
    else:
        s.b_is_up = not s.b_is_up


@action(who="prisoner {prisoner}", source=SOURCE, fair="weak")
def visit(s: Prison, prisoner: Other) -> None:
    """A prisoner moves A up, at most twice, or moves B."""
    if not s.a_is_up and s.times_moved[prisoner] < 2:
        s.a_is_up = True
        s.times_moved[prisoner] = s.times_moved[prisoner] + 1
    else:
        s.b_is_up = not s.b_is_up


@invariant(source=SOURCE)
def counter_is_right(s: Prison) -> bool:
    """Everybody has been in the room once the counter has counted all."""
    return not has_counted_all(s) or all(s.times_moved[i] > 0 for i in range(OTHERS))


@eventually(source=SOURCE)
def all_are_counted(s: Prison) -> bool:
    """The counter counts all."""
    return has_counted_all(s)


@eventually_always(source=SOURCE)
def counting_ends(s: Prison) -> bool:
    """From some time on all are counted."""
    return has_counted_all(s)


CLAIMS = [all_are_counted, counting_ends]
MODELS = [
    Model("fair", "Everybody is brought infinitely often.", any_switches, [count, visit],
          [counter_is_right, *CLAIMS]),
    Model("forgotten", "Some may never be brought again.", any_switches, [count, replace(visit, fair="")], CLAIMS),
]  # fmt: skip
