"""Bounds: what cuts, what violates, what a state constraint leaves out, and what is not a deadlock.

With limit = n:

- `cut`: two counters Nat(n) go up. (n+1)^2 states; each is left by two steps, of which 2(n+1) are cut (the
  n+1 states with x = n, and those with y = n), so 1 + 2n(n+1) are generated; depth 2n+1.
- `cut_is_no_deadlock`: one such counter. n+1 states, 1 cut, and the last state has an enabled step.
- `stuck`: the same with a guard instead: the last state is a deadlock, n+1 states away.
- `finished`: the same, with the last state declared terminal: holds.
- `overflow`: a Range(0, n) goes up without a guard: a violation when the state with n, the (n+1)st, is left.
- `constrained`: two counters up to x + y <= n as a constraint. (n+1)(n+2)/2 states, each generates two:
  1 + (n+1)(n+2) generated; depth n+1.
- `constraint_is_checked`: invariants are checked on a state that breaks the constraint: violated by
  the shortest trace, n+2 states.
- `swallowed`: a guard refuses before the store that would be cut: 2 states, and no cut.
- `underflow`: a Nat below 0 is not a cut but a violation, in the initial state's only step.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    Model,
    Nat,
    Range,
    action,
    constants,
    constraint,
    deadlock_free,
    init,
    invariant,
    require,
    state,
    terminal,
    witness,
)


@constants
class Limits:
    limit: int = 3
    "How far the counters go."


Counter = Annotated[int, Nat(lambda: Limits.limit)]
Level = Annotated[int, Range(0, lambda: Limits.limit)]
Loose = Annotated[int, Range(0, lambda: Limits.limit + 1)]  # holds states that break the constraint


@state
class Pair:
    x: Counter
    y: Counter


@init
def pair_at_zero() -> Pair:
    return Pair(x=0, y=0)


@action(who="x", source="-")
def x_up(s: Pair) -> None:
    """x goes up, cut at its maximum."""
    s.x += 1


@action(who="y", source="-")
def y_up(s: Pair) -> None:
    """y goes up, cut at its maximum."""
    s.y += 1


@action(who="x", source="-")
def x_up_once(s: Pair) -> None:
    """x goes up once; the guard is asked before the bound."""
    require(s.x < 1)
    s.x = s.x + Limits.limit


@action(who="x", source="-")
def x_down(s: Pair) -> None:
    """x goes below zero."""
    s.x -= 1


@witness
def both_full(s: Pair) -> bool:
    """Both counters reach their maximum."""
    return s.x == Limits.limit and s.y == Limits.limit


@state
class Gauge:
    level: Level
    count: Counter


@init
def gauge_at_zero() -> Gauge:
    return Gauge(level=0, count=0)


@action(who="count", source="-")
def count_up(s: Gauge) -> None:
    """Cut at its maximum."""
    s.count += 1


@action(who="level", source="-")
def level_up(s: Gauge) -> None:
    """Goes up as far as the guard lets it."""
    require(s.level < Limits.limit)
    s.level += 1


@action(who="level", source="-")
def level_up_unguarded(s: Gauge) -> None:
    """Goes up, and out of its range."""
    s.level += 1


@terminal
def level_full(s: Gauge) -> bool:
    """The level has nowhere to go."""
    return s.level == Limits.limit


@state
class Plane:
    x: Loose
    y: Loose


@init
def origin() -> Plane:
    return Plane(x=0, y=0)


@action(who="x", source="-")
def right(s: Plane) -> None:
    """One step to the right."""
    s.x += 1


@action(who="y", source="-")
def up(s: Plane) -> None:
    """One step up."""
    s.y += 1


@constraint
def near(s: Plane) -> bool:
    """Not further than `limit` steps."""
    return s.x + s.y <= Limits.limit


@invariant(source="-")
def never_far(s: Plane) -> bool:
    """A state that the constraint keeps out is still checked."""
    return s.x + s.y <= Limits.limit


@witness
def as_far_as_may_be(s: Plane) -> bool:
    """The edge of the constraint is inside."""
    return s.x + s.y == Limits.limit


MODELS = [
    Model("cut", "Two counters that a bound cuts.", pair_at_zero, [x_up, y_up],
          [both_full, deadlock_free]),
    Model("cut_is_no_deadlock", "A counter that a bound cuts.", gauge_at_zero, [count_up], [deadlock_free]),
    Model("stuck", "A counter that a guard stops.", gauge_at_zero, [level_up], [deadlock_free]),
    Model("finished", "A counter that is done.", gauge_at_zero, [level_up], [deadlock_free],
          terminal=[level_full]),
    Model("overflow", "A counter that leaves its range.", gauge_at_zero, [level_up_unguarded], []),
    Model("constrained", "A quarter plane, cut off.", origin, [right, up], [as_far_as_may_be],
          constraints=[near]),
    Model("constraint_is_checked", "Its edge.", origin, [right, up], [never_far], constraints=[near]),
    Model("swallowed", "A guard before a bound.", pair_at_zero, [x_up_once], []),
    Model("underflow", "Below zero.", pair_at_zero, [x_down], []),
]  # fmt: skip
