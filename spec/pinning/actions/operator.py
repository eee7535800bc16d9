"""The operator: requests to move the controller and their answers, and `/controller` deleted by hand.

Leaves out: a request for a broker that is not registered, which the broker that takes it refuses, and which changes
nothing. It is no promise: the target may die right after.
"""

from __future__ import annotations

from checker.lang import action, fresh, replace, require, require_some
from spec.pinning.decisions.watching import notified
from spec.pinning.design import Design
from spec.pinning.state import Asked, Cluster, NextController
from spec.pinning.types import Answer, Broker, Path, number
from spec.zookeeper.tree import CREATED, Zxid


@action(
    who="operator",
    source="KIP-39, Proposed Change (a), (b)",
    deviates="the document is silent where a request stands already: it is refused, or replaced (next_is_replaced)",
    api="PinController v0",
)
def request(s: Cluster, target: Broker) -> None:
    """An operator asks for another controller; whichever broker is asked writes that down for the target.

    Without pinning, the operator deletes `/controller`, and hopes.
    """
    require(s.faults.requests < Design.max_requests)
    require(Design.pins_first == 0 or number(target) == Design.brokers - 1)
    standing = s.next_controller
    if Design.pinning:
        require(standing is None or standing.target is None or Design.next_is_replaced)
        made = fresh(s, Zxid)
        version = CREATED if standing is None else standing.version + 1
        in_office = s.controller is not None and s.controller.broker == target
        s.next_controller = NextController(target, version, made)
        if Design.answers > 0:
            s.asked = (Asked(target, made, in_office, None),)
        s.brokers = notified(s, frozenset({Path.NEXT}))
    else:
        require(s.controller is not None and s.controller.broker != target)
        s.controller = None
        s.brokers = notified(s, frozenset({Path.CONTROLLER}))
    s.wanted = target
    s.faults.requests += 1


@action(
    who="operator",
    source="KIP-39, New or Changed Public Interfaces (the document has no way back)",
    deviates="design switch unpin_keeps_version: `next` is set to nobody, or deleted",
    api="PinController v0",
)
def unpin(s: Cluster) -> None:
    """An operator takes back the request that stands."""
    standing = require_some(s.next_controller)
    require(standing.target is not None and s.faults.unpins < Design.max_unpins)
    made = fresh(s, Zxid)
    s.next_controller = NextController(None, standing.version + 1, made) if Design.unpin_keeps_version else None
    s.wanted = None
    s.faults.unpins += 1
    s.brokers = notified(s, frozenset({Path.NEXT}))


@action(who="operator", source="Apache Kafka's operations before KIP-39")
def delete_by_hand(s: Cluster) -> None:
    """An operator deletes `/controller`."""
    require(s.controller is not None and s.faults.deletions < Design.max_deletions)
    s.faults.deletions += 1
    s.controller = None
    s.brokers = notified(s, frozenset({Path.CONTROLLER}))


def is_served(s: Cluster, asked: Asked) -> bool:
    """What the broker that took the request reads: the request stands no more, and its target is the controller."""
    standing = s.next_controller
    return (
        (standing is None or standing.request != asked.request)
        and s.controller is not None
        and s.controller.broker == asked.target
    )


@action(
    who="broker that took the request",
    source="KIP-39, New or Changed Public Interfaces (the document has no answer)",
    deviates="that broker stays alive: with it, the operator's connection is lost, and no answer comes",
    api="PinController v0",
)
def answer_served(s: Cluster) -> None:
    """The operator hears that the target is the controller."""
    require(len(s.asked) > 0 and s.asked[0].answer is None)
    require(is_served(s, s.asked[0]))
    s.asked = (replace(s.asked[0], answer=Answer.SERVED),)


@action(
    who="broker that took the request",
    source="KIP-39, New or Changed Public Interfaces (the document has no answer)",
    api="PinController v0",
)
def answer_timed_out(s: Cluster) -> None:
    """The operator hears that the time is over: the request may still stand, may be replaced, or was given up."""
    require(len(s.asked) > 0 and s.asked[0].answer is None)
    require(not is_served(s, s.asked[0]))
    s.asked = (replace(s.asked[0], answer=Answer.REQUEST_TIMED_OUT),)
