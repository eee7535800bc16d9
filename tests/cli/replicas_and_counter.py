"""Two replicas and a counter: a step that breaks down at once, an action of two parameters, columns of two fields."""

from __future__ import annotations

from typing import Annotated

from checker.lang import Identity, Map, Range, action, constants, init, invariant, record, require, state

Number = Annotated[int, Range(0, 5)]


@constants
class Design:
    counting_pauses: bool = True
    "Whoever counts pauses broker 0, which is no cure for anything."


class Broker(Identity, size=2): ...


@record
class Replica:
    end: Number
    caught_up: bool


@state
class Pair:
    replica: Map[Broker, Replica]
    paused: Map[Broker, bool]
    count: Number


@init
def fresh_pair() -> Pair:
    return Pair(
        replica=Map({b: Replica(end=0, caught_up=True) for b in Broker}),
        paused=Map({b: False for b in Broker}),
        count=0,
    )


@action(who="counter", source="-")
def count_up(s: Pair) -> None:
    """One more."""
    require(s.count < 5)
    s.count += 1
    if Design.counting_pauses:
        s.paused[Broker(0)] = True


@action(who="counter", source="-")
def slip(s: Pair) -> None:
    """Below zero, in the first state only."""
    require(s.count == 0)
    s.count -= 1


@action(who="broker {leader}", source="-")
def replicate(s: Pair, leader: Broker, follower: Broker) -> None:
    """The follower pauses."""
    require(leader != follower)
    s.paused[follower] = True


@invariant(source="-")
def count_is_zero(s: Pair) -> bool:
    """Broken by one step."""
    return s.count == 0
