"""A counter that a guard keeps within its bound; without the guard, the bound cuts it off."""

from __future__ import annotations

from typing import Annotated

from checker.lang import Identity, Nat, Option, action, init, invariant, require, state

SOURCE = "none"


class Who(Identity, size=1): ...


@state
class Counter:
    value: Annotated[int, Nat(3)]
    named: Option[Who]


@init
def zero() -> Counter:
    return Counter(0, None)


@action(who="someone", source=SOURCE)
def count(s: Counter) -> None:
    """One more."""
    require(s.value < 3)
    s.value += 1


@action(who="someone", source=SOURCE)
def name(s: Counter) -> None:
    """Says who, at first."""
    if s.value == 0:  # noqa: SIM108
        who = Who(0)
    else:
        who = None
    s.named = who


@invariant(source=SOURCE)
def value_in_range(s: Counter) -> bool:
    """Never above 3."""
    return s.value <= 3
