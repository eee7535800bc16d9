"""Requests: `ready` and its owner (P4), what a service leaves (P5), what operators hear (P6), dead targets (P11)."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant
from spec.pinning.design import Design
from spec.pinning.state import Cluster, is_in_office, is_target, owns_ready, runs
from spec.pinning.types import Answer, Broker, Path, Phase, is_legacy


@invariant(source="KIP-39, Handling the admin request (e) (P4)")
def ready_names_its_owner(s: Cluster) -> bool:
    """`ready` belongs to no other broker's session than that of the broker it names."""
    ready = s.ready
    return ready is None or all(b == ready.broker or s.brokers[b].session != ready.owner for b in Broker)


@invariant(source="KIP-39, Proposed Change (P5)")
def served_request_is_gone(s: Cluster) -> bool:
    """No request asks for a broker that is in office, and it has no `ready`, but for what it has yet to hear of."""
    return all(
        not is_in_office(s, b)
        or is_legacy(b)
        or Path.NEXT in s.brokers[b].events
        or (not owns_ready(s, b) and not is_target(s, b))
        for b in Broker
    )


@transition_invariant(source="KIP-39, Proposed Change (P5)")
def request_is_served_once(before: Cluster, after: Cluster) -> bool:
    """No controller leaves office for a target that was served already."""
    ready = before.ready
    return (
        before.controller is None
        or after.controller is not None
        or ready is None
        or before.wanted == ready.broker
        or not resigned(before, after, before.controller.broker)
    )


@transition_invariant(source="KIP-39, Handling the admin request (f) (P2); design switch request_checked")
def resigns_for_the_request_that_stands(before: Cluster, after: Cluster) -> bool:
    """A controller resigns only for the `ready` of the request that stands, not for one of its target's former ones."""
    standing, ready = before.next_controller, before.ready
    return (
        not Design.request_checked
        or not Design.resigns_for_other
        or before.controller is None
        or after.controller is not None
        or (standing is not None and ready is not None and standing.request == ready.request)
        or not resigned(before, after, before.controller.broker)
    )


def resigned(before: Cluster, after: Cluster, broker: Broker) -> bool:
    """A broker left an office that was its own, of its own accord."""
    old, new = before.brokers[broker], after.brokers[broker]
    return (
        old.phase == Phase.IN_OFFICE
        and new.phase == Phase.WATCHING
        and runs(old)
        and old.session == new.session
        and broker not in before.unable
    )


@transition_invariant(source="KIP-39, Proposed Change (P5, P9)")
def request_ends_for_cause(before: Cluster, after: Cluster) -> bool:
    """A request that stood is gone only if its target took or has the office, was waited for in vain, or by hand."""
    standing = before.next_controller
    return (
        standing is None
        or after.next_controller is not None
        or after.controller is None
        or after.controller.broker == standing.target
        or before.faults.unpins != after.faults.unpins
        or (
            before.brokers[after.controller.broker].phase == Phase.LAPSED
            and before.brokers[after.controller.broker].waits_for == standing.target
        )
    )


@invariant(source="KIP-39, New or Changed Public Interfaces (P6)")
def served_is_told_of_served(s: Cluster) -> bool:
    """The operator hears that a request is served only if its target has been in office since."""
    return all(asked.answer != Answer.SERVED or asked.served for asked in s.asked)


@transition_invariant(source="KIP-39, Proposed Change (P11)")
def dead_target_moves_nobody(before: Cluster, after: Cluster) -> bool:
    """A request, while its target does not run and has left no `ready`, costs nobody the office."""
    standing = before.next_controller
    return (
        standing is None
        or before.ready is not None
        or any(standing.target == b and runs(before.brokers[b]) for b in Broker)
        or before.controller is None
        or not resigned(before, after, before.controller.broker)
    )
