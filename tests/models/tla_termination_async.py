"""Termination of nodes that exchange messages, abstractly (github.com/tlaplus/Examples, AsyncTerminationDetection).

When all nodes are passive and no message is pending, this is detected at once or later. Detecting is weakly fair; where
it was detected already, to detect it again changes nothing, and nothing asks for it.

TLC, with 4 nodes and up to 3 messages pending at each: 53,271 states generated, 4,097 distinct, depth 14.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    Map,
    Model,
    Nat,
    Range,
    action,
    constraint,
    init,
    invariant,
    leads_to,
    require,
    state,
    transition_invariant,
)

SOURCE = "AsyncTerminationDetection"
NODES, MOST = 4, 3
Node = Annotated[int, Range(0, NODES - 1)]


@state
class Nodes:
    active: Map[Node, bool]
    pending: Map[Node, Annotated[int, Nat(MOST + 1)]]
    detected: bool


def has_terminated(s: Nodes) -> bool:
    return all(not s.active[node] and s.pending[node] == 0 for node in range(NODES))


@init
def some_active(a: bool, b: bool, c: bool, d: bool, detected: bool) -> Nodes:
    require(not detected or not (a or b or c or d))
    return Nodes(
        active=Map({0: a, 1: b, 2: c, 3: d}), pending=Map({node: 0 for node in range(NODES)}), detected=detected
    )


@action(who="node {node}", source=SOURCE)
def terminate(s: Nodes, node: Node, detected: bool) -> None:
    """An active node becomes passive; if it was the last one, this may be detected."""
    require(s.active[node])
    is_last = all((other == node or not s.active[other]) and s.pending[other] == 0 for other in range(NODES))
    require(detected == s.detected or detected == is_last)
    s.active[node] = False
    s.detected = detected


@action(who="node {node}", source=SOURCE)
def send(s: Nodes, node: Node, other: Node) -> None:
    """An active node sends a message."""
    require(s.active[node])
    s.pending[other] = s.pending[other] + 1


@action(who="node {node}", source=SOURCE)
def receive(s: Nodes, node: Node) -> None:
    """A node receives a message, and is active."""
    require(s.pending[node] > 0)
    s.active[node] = True
    s.pending[node] = s.pending[node] - 1


@action(who="observer", source=SOURCE, fair="weak")
def detect(s: Nodes) -> None:
    """That all nodes have terminated is detected."""
    require(has_terminated(s))
    s.detected = True


@invariant(source=SOURCE)
def detection_is_right(s: Nodes) -> bool:
    """Termination is detected only if all have terminated."""
    return not s.detected or has_terminated(s)


@transition_invariant(source=SOURCE)
def termination_is_stable(before: Nodes, after: Nodes) -> bool:
    """Once all have terminated, they stay so."""
    return not has_terminated(before) or has_terminated(after)


@leads_to(source=SOURCE)
def termination_is_detected(s: Nodes) -> tuple[bool, bool]:
    """Termination is detected."""
    return has_terminated(s), s.detected


@constraint
def few_pending(s: Nodes) -> bool:
    return all(s.pending[node] <= MOST for node in range(NODES))


model = Model("termination", "Four nodes, and few messages.", some_active, [terminate, send, receive, detect],
              [detection_is_right, termination_is_stable, termination_is_detected],
              constraints=[few_pending])  # fmt: skip
