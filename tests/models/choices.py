"""Choice in all its places: guarded initial states, parameters that are maps, sequences or drawn from computed sets.

Three nodes have weights of 1 or 2 whose sum is even: one of them weighs 2, or all do, which makes 4 maps. Some of them
are up, which makes 7 sets, and 28 initial states. A leader is one of the heaviest of those that are up. With one heavy
node there is one choice for the 4 sets that hold it, and 1 + 1 + 2 for the others: 8 for each of the three maps. With
three heavy nodes there are as many choices as members, 12. So there are 36 with a leader; and then the line is empty or
starts with it, alone or before one of three nodes. That makes 28 + 36 * 5 = 208 states, the farthest two steps away.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    AtMost,
    Identity,
    Map,
    MemberOf,
    Model,
    Option,
    Range,
    Seq,
    Set,
    action,
    constants,
    init,
    invariant,
    require,
    state,
    transition_invariant,
)


@constants
class Design:
    heaviest_only: bool = True
    "Only one of the heaviest nodes may be elected."


class Node(Identity, size=3): ...


Weight = Annotated[int, Range(1, 2)]
Line = Annotated[Seq[Node], AtMost(2)]


@state
class Group:
    weights: Map[Node, Weight]
    up: Set[Node]
    leader: Option[Node]
    line: Line


def even(weights: Map[Node, Weight]) -> bool:
    return sum(weights[n] for n in Node) in (4, 6)


def heaviest(s: Group) -> Set[Node]:
    """Nodes that may be elected."""
    return {n for n in s.up if not Design.heaviest_only or all(s.weights[m] <= s.weights[n] for m in s.up)}


def others(s: Group, first: Node) -> Set[Node]:
    """Nodes that may stand behind the first of the line."""
    return s.up - {first}


Standing = Annotated[Node, MemberOf("line")]
Other = Annotated[Node, MemberOf(others)]


@init
def start(weights: Map[Node, Weight], up: Set[Node]) -> Group:
    require(even(weights))
    require(len(up) > 0)
    return Group(weights=weights, up=up, leader=None, line=())


@action(who="group", source="this file")
def elect(s: Group, node: Annotated[Node, MemberOf(heaviest)]) -> None:
    """One of the heaviest nodes leads."""
    require(s.leader is None)
    s.leader = node


@action(who="group", source="this file")
def weigh(s: Group, weights: Map[Node, Weight]) -> None:
    """While nobody leads, the weights may change."""
    require(s.leader is None and even(weights))
    s.weights = weights


@action(who="leader", source="this file")
def line_up(s: Group, line: Line) -> None:
    """The leader makes a line that it heads itself."""
    require(s.leader is not None and len(line) > 0)
    require(line[0] == s.leader)
    s.line = line


@action(who="leader", source="this file")
def replace_second(s: Group, first: Standing, second: Other) -> None:
    """Somebody who is up comes to stand behind the leader."""
    require(first == s.leader)
    s.line = (first, second)


@action(who="group", source="this file")
def depose(s: Group) -> None:
    """The leader goes, and the line with it."""
    require(s.leader is not None)
    s.leader = None
    s.line = ()


@invariant(source="this file")
def a_leader_is_heaviest(s: Group) -> bool:
    """No node that is up weighs more than the leader."""
    return s.leader is None or (s.leader in s.up and all(s.weights[n] <= s.weights[s.leader] for n in s.up))


@invariant(source="this file")
def weights_are_even(s: Group) -> bool:
    """The guard of @init and of every change."""
    return even(s.weights)


@invariant(source="this file")
def a_line_starts_with_the_leader(s: Group) -> bool:
    """Whoever heads a line leads."""
    return len(s.line) == 0 or s.line[0] == s.leader


@transition_invariant(source="this file")
def nobody_goes_down(before: Group, after: Group) -> bool:
    """A node that is up stays up."""
    return before.up == after.up


MODELS = [
    Model(
        "choices",
        "A group elects one of its heaviest nodes.",
        start,
        [elect, weigh, line_up, replace_second, depose],
        [a_leader_is_heaviest, weights_are_even, a_line_starts_with_the_leader, nobody_goes_down],
    )
]
