"""Invariants that only proofs ask for: what may be assumed of the state before a step. They are of two bounces to 3."""

from __future__ import annotations

from checker.lang import Option, invariant
from spec.streams.state import Assignment, Cluster, Subscription, supports
from spec.streams.types import Process, Thread, ThreadState, Version, first_used, last_bounce, process_of


@invariant(source="KIP-268, Upgrading to 1.2 (2, 4)")
def rolls_are_in_step(s: Cluster) -> bool:
    """No process is two bounces ahead of another, and none has had more than there are."""
    return all(
        s.processes[p].bounces <= s.processes[other].bounces + 1 and s.processes[p].bounces <= last_bounce()
        for p in Process
        for other in Process
    )


@invariant(source="KIP-268, Upgrading to 1.2 (2.1, 4.1)")
def used_version_is_as_started(s: Cluster) -> bool:
    """Without a probe, a thread uses what its jar and upgrade.from say."""
    return all(s.threads[t].used == as_started(s, t) for t in Thread)


def as_started(s: Cluster, thread: Thread) -> Version:
    return first_used(s.processes[process_of(thread)].bounces)


@invariant(source="KIP-268, Upgrading to 1.2 (4.1)")
def subscription_is_of_its_sender(s: Cluster) -> bool:
    """A subscription is in no higher version than its thread would send now; who waits has sent what it uses."""
    return all(was_sent(s, t, s.group.subscriptions[t]) for t in Thread)


def was_sent(s: Cluster, thread: Thread, subscription: Option[Subscription]) -> bool:
    waits = s.threads[thread].state in {ThreadState.JOINING, ThreadState.JOINED, ThreadState.SYNCING}
    return subscription is None or (
        subscription.used <= as_started(s, thread)
        and subscription.supported <= supports(s, thread)
        and (not waits or subscription.used == s.threads[thread].used)
    )


@invariant(source="KIP-268, Upgrading to 1.2 (4.2)")
def assignment_is_for_its_subscription(s: Cluster) -> bool:
    """A stored assignment can be read by who has sent the subscription, and one under way offers what it supports."""
    return all(fits(s, t, s.group.assignments[t]) and offers_supported(s, t, s.threads[t].reply) for t in Thread)


def fits(s: Cluster, thread: Thread, assignment: Option[Assignment]) -> bool:
    subscription = s.group.subscriptions[thread]
    return assignment is None or (
        subscription is not None and assignment.used <= subscription.used and offers_supported(s, thread, assignment)
    )


def offers_supported(s: Cluster, thread: Thread, assignment: Option[Assignment]) -> bool:
    return assignment is None or assignment.supported <= supports(s, thread)
