"""Termination detection on a ring (Dijkstra, Feijen, van Gasteren, EWD 840; github.com/tlaplus/Examples, EWD840).

A token goes round against the numbers of the nodes; it and nodes that sent a message to a higher number are black. What
is fair is the system as a whole, weakly: it passes the token or node 0 starts a probe.

TLC, with 3 nodes: 2,001 states generated, 302 distinct, depth 10. It counts a successor for each true disjunct of a
guard, where a step here counts once: 1,817 steps, whose guards have 184 more disjuncts that are true. With several
workers TLC's depth is an upper bound; a breadth-first search ends at 9.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import Map, Model, Range, action, init, invariant, leads_to, require, state, weak_fairness

SOURCE = "EWD 840"
NODES = 3
Node = Annotated[int, Range(0, NODES - 1)]


class Color(enum.Enum):
    WHITE = enum.auto()
    BLACK = enum.auto()


@state
class Ring:
    active: Map[Node, bool]
    color: Map[Node, Color]
    token_at: Node
    token: Color


@init
def anything(a: bool, b: bool, c: bool, p: Color, q: Color, r: Color, token_at: Node) -> Ring:
    return Ring(active=Map({0: a, 1: b, 2: c}), color=Map({0: p, 1: q, 2: r}), token_at=token_at, token=Color.BLACK)


@action(who="node 0", source=SOURCE)
def initiate_probe(s: Ring) -> None:
    """Node 0 sends a white token round, where the last probe was not conclusive."""
    require(s.token_at == 0)
    require(s.token == Color.BLACK or s.color[0] == Color.BLACK)
    s.token_at = NODES - 1
    s.token = Color.WHITE
    s.color[0] = Color.WHITE


@action(who="node {node}", source=SOURCE)
def pass_token(s: Ring, node: Node) -> None:
    """A node passes the token on, once it is passive or the probe is in vain."""
    require(node > 0 and s.token_at == node)
    require(not s.active[node] or s.color[node] == Color.BLACK or s.token == Color.BLACK)
    s.token_at = s.token_at - 1
    if s.color[node] == Color.BLACK:
        s.token = Color.BLACK
    s.color[node] = Color.WHITE


@action(who="node {node}", source=SOURCE)
def send_message(s: Ring, node: Node, other: Node) -> None:
    """An active node activates another one."""
    require(s.active[node] and node != other)
    s.active[other] = True
    if other > node:
        s.color[node] = Color.BLACK


@action(who="node {node}", source=SOURCE)
def deactivate(s: Ring, node: Node) -> None:
    """An active node becomes passive."""
    require(s.active[node])
    s.active[node] = False


@weak_fairness(initiate_probe, pass_token)
def system_goes_on(s: Ring) -> bool:
    """WF(initiate_probe \\/ \\E node: pass_token(node))."""
    return True


def has_terminated(s: Ring) -> bool:
    return all(not s.active[node] for node in range(NODES))


def is_detected(s: Ring) -> bool:
    return s.token_at == 0 and s.token == Color.WHITE and s.color[0] == Color.WHITE and not s.active[0]


@invariant(source=SOURCE)
def detection_is_right(s: Ring) -> bool:
    """Termination is detected only if all have terminated."""
    return not is_detected(s) or has_terminated(s)


@leads_to(source=SOURCE)
def termination_is_detected(s: Ring) -> tuple[bool, bool]:
    """Termination is detected."""
    return has_terminated(s), is_detected(s)


ACTIONS = [initiate_probe, pass_token, send_message, deactivate]
MODELS = [
    Model("fair", "The system goes on.", anything, ACTIONS, [detection_is_right, termination_is_detected],
          fairness=[system_goes_on]),
    Model("unfair", "The token may stay where it is.", anything, ACTIONS, [termination_is_detected]),
]  # fmt: skip
