"""Moves of the controller: each has a cause (P2), and races end well (P7)."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant
from spec.pinning.design import Design
from spec.pinning.state import Cluster, believes_in_office, owns_office
from spec.pinning.types import Broker, Path, Phase, is_legacy, is_preferred


@transition_invariant(source="KIP-39, Motivation (minimize controller moves) (P2)")
def no_move_without_cause(before: Cluster, after: Cluster) -> bool:
    """A controller that is up and keeps its session loses office only for the newest request, unserved, or by hand."""
    return all(
        not owns_office(before, broker)
        or not believes_in_office(before.brokers[broker])
        or before.brokers[broker].session != after.brokers[broker].session
        or owns_office(after, broker)
        or has_cause(before, after, broker)
        for broker in Broker
    )


def has_cause(before: Cluster, after: Cluster, broker: Broker) -> bool:
    """The target of the newest request is ready or takes over; or an operator did it, or the broker cannot serve."""
    target = before.wanted
    by_hand = before.faults.deletions != after.faults.deletions or before.faults.requests != after.faults.requests
    if by_hand or broker in before.unable:
        return True
    if target is None or target == broker:
        return False
    is_ready = before.ready is not None and before.ready.broker == target
    return is_ready or (after.controller is not None and after.controller.broker == target)


@transition_invariant(source="KIP-39, Changes in the election code (b), (c) (P7)")
def winner_saw_no_other_ready(before: Cluster, after: Cluster) -> bool:
    """Who is elected while `ready` names another did not see it, has waited for too long, or knows of no `ready`."""
    ready = before.ready
    return (
        ready is None
        or after.controller is None
        or after.controller == before.controller
        or after.controller.broker == ready.broker
        or before.brokers[after.controller.broker].waits_for != ready.broker
        or before.brokers[after.controller.broker].phase == Phase.LAPSED
        or is_legacy(after.controller.broker)
    )


@transition_invariant(source="linkedin/kafka, changes 42 and 211")
def outsider_resigns_for_member(before: Cluster, after: Cluster) -> bool:
    """A controller that keeps its session leaves office only if it is outside the set and a member is there."""
    return all(
        not owns_office(before, b)
        or owns_office(after, b)
        or before.brokers[b].session != after.brokers[b].session
        or (not is_preferred(b) and len(before.members) > 0)
        for b in Broker
    )


@transition_invariant(source="linkedin/kafka, changes 42 and 211")
def outsider_hears_of_member(before: Cluster, after: Cluster) -> bool:
    """A controller outside the set has yet to hear of a member that registers, and does not stay once it has."""
    return all(
        not believes_in_office(before.brokers[b])
        or not believes_in_office(after.brokers[b])
        or is_preferred(b)
        or (
            (Path.PREFERRED in after.brokers[b].events or all(member in before.members for member in after.members))
            and (
                Path.PREFERRED in after.brokers[b].events
                or Path.PREFERRED not in before.brokers[b].events
                or len(before.members) == 0
            )
        )
        for b in Broker
    )


@transition_invariant(source="design switch takeover: an alternative to KIP-39, Handling the admin request")
def takeover_leaves_no_gap(before: Cluster, after: Cluster) -> bool:
    """A request never leaves the cluster without a controller: the office goes from hand to hand."""
    return after.controller is not None or not any(
        owns_office(before, b) and before.brokers[b].session == after.brokers[b].session for b in Broker
    )


@invariant(source="KIP-39, Motivation (minimize controller moves during a rolling bounce) (P2)")
def moves_are_few(s: Cluster) -> bool:
    """The office has moved less often than are counted."""
    return s.moves < Design.counted_moves
