"""A bounded queue, to be instantiated: `capacity` places for values of a type that others may put in its place.

With two values and a capacity of n there are 1 + 2 + ... + 2^n = 2^(n+1) - 1 states.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    AtMost,
    Identity,
    MemberOf,
    Seq,
    Set,
    action,
    constants,
    init,
    require,
    state,
    transition_invariant,
)


@constants
class Queueing:
    capacity: int = 2
    "How many values there is room for."


class Value(Identity, size=2): ...


Values = Annotated[Seq[Value], AtMost(lambda: Queueing.capacity)]


@state
class Queue:
    values: Values


def first(q: Queue) -> Set[Value]:
    """Values that may be taken."""
    return set(q.values[:1])


@init
def empty() -> Queue:
    return Queue(values=())


@action(who="producer", source="this file")
def put(q: Queue, value: Value) -> None:
    """A value is put at the end, where there is room."""
    require(len(q.values) < Queueing.capacity)
    q.values = q.values + (value,)


@action(who="consumer", source="this file")
def take(q: Queue, value: Annotated[Value, MemberOf(first)]) -> None:
    """The first value is taken."""
    q.values = q.values[1:]


@transition_invariant(source="this file")
def first_in_first_out(before: Queue, after: Queue) -> bool:
    """One value comes to the end, or the first one goes."""
    return before.values in (after.values, after.values[:-1]) or after.values == before.values[1:]
