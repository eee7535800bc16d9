"""Election on a ring (Chang and Roberts, CACM 22(5), 1979; github.com/tlaplus/Examples, MCChangRoberts by S. Merz).

Each node may start, by sending its number to its neighbour. A node that has lost passes numbers on; a candidate passes
smaller ones on, and loses; one that gets its own has won. Each node is weakly fair, whichever of its two actions it
takes: WF(start(node) \\/ \\E number: handle(node, number)).

TLC, with 3 nodes: 227 states generated, 137 distinct, depth 10.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    Map,
    Model,
    Range,
    Set,
    action,
    eventually,
    init,
    invariant,
    require,
    state,
    weak_fairness,
)

SOURCE = "Chang and Roberts 1979"
NODES = 3
Node = Annotated[int, Range(0, NODES - 1)]


class Standing(enum.Enum):
    CANDIDATE = enum.auto()
    LOST = enum.auto()
    WON = enum.auto()


@state
class Ring:
    messages: Map[Node, Set[Node]]
    has_begun: Map[Node, bool]
    is_initiator: Map[Node, bool]
    standing: Map[Node, Standing]


@init
def some_initiators(a: bool, b: bool, c: bool) -> Ring:
    initiators = Map({0: a, 1: b, 2: c})
    return Ring(
        messages=Map({node: frozenset() for node in range(NODES)}),
        has_begun=Map({node: False for node in range(NODES)}),
        is_initiator=initiators,
        standing=Map({node: Standing.CANDIDATE if initiators[node] else Standing.LOST for node in range(NODES)}),
    )


def after(node: Node) -> Node:
    return 0 if node == NODES - 1 else node + 1


@action(who="node {node}", source=SOURCE)
def start(s: Ring, node: Node) -> None:
    """A node begins; an initiator sends its number."""
    require(not s.has_begun[node])
    s.has_begun[node] = True
    if s.is_initiator[node]:
        s.messages[after(node)] = s.messages[after(node)] | {node}


@action(who="node {node}", source=SOURCE)
def handle(s: Ring, node: Node, number: Node) -> None:
    """A node takes a number: it passes it on, has won by its own, or drops it."""
    require(s.has_begun[node])
    require(number in s.messages[node])
    s.messages[node] = s.messages[node] - {number}
    if s.standing[node] == Standing.LOST or number < node:
        s.standing[node] = Standing.LOST
        s.messages[after(node)] = s.messages[after(node)] | {number}
    elif number == node:
        s.standing[node] = Standing.WON


@weak_fairness(start, handle)
def each_node_goes_on(s: Ring, node: Node) -> bool:
    """\\A node: WF(start(node) \\/ \\E number: handle(node, number))."""
    return True


@invariant(source=SOURCE)
def the_smallest_wins(s: Ring) -> bool:
    """A node that has won is the least initiator, and all others know that they have lost."""
    return all(
        s.standing[node] != Standing.WON
        or (s.is_initiator[node]
            and all(s.standing[other] == Standing.LOST and (other > node or not s.is_initiator[other])
                    for other in range(NODES) if other != node))
        for node in range(NODES)
    )  # fmt: skip


@eventually(source=SOURCE)
def somebody_wins(s: Ring) -> bool:
    """If anybody is an initiator, somebody wins."""
    nobody = all(not s.is_initiator[node] for node in range(NODES))
    return nobody or any(s.standing[node] == Standing.WON for node in range(NODES))


MODELS = [
    Model("fair", "Each node goes on.", some_initiators, [start, handle], [the_smallest_wins, somebody_wins],
          fairness=[each_node_goes_on]),
    Model("unfair", "Nodes may stop.", some_initiators, [start, handle], [somebody_wins]),
]  # fmt: skip
