"""Liveness: upgrades end (L1), groups settle (L2), on upgrade.from (L3), and on what all support (L4)."""

from __future__ import annotations

from checker.lang import Option, eventually_always
from spec.streams.state import Cluster, Subscription, configured, is_settled, supports
from spec.streams.types import Process, Thread, Version, last_bounce


@eventually_always(source="KIP-268, Detailed upgrade protocol (one more rebalance) (L1)")
def upgrade_ends(s: Cluster) -> bool:
    """From some time on, if all processes have had all bounces, every member sends the newest version."""
    done = all(s.processes[p].bounces == last_bounce() for p in Process)
    return not done or all(sends(s.group.subscriptions[t], supports(s, t)) for t in Thread)


def sends(subscription: Option[Subscription], version: Version) -> bool:
    """The subscription that the coordinator has is of this version."""
    return subscription is not None and subscription.used == version


@eventually_always(source="KIP-268, Compatibility, Deprecation, and Migration Plan (zero downtime) (L2)")
def group_settles(s: Cluster) -> bool:
    """From some time on the group is stable, and nobody wants to rejoin."""
    return is_settled(s)


@eventually_always(source="KIP-268, Upgrading to 1.2 (4.2) (L3)")
def upgrade_from_holds_all_back(s: Cluster) -> bool:
    """From some time on, if a process has upgrade.from, all members are assigned in the version that it stands for."""
    return all(
        configured(s, t) is None or all(is_assigned_in(s, other, configured(s, t)) for other in Thread) for t in Thread
    )


def is_assigned_in(s: Cluster, thread: Thread, version: Option[Version]) -> bool:
    assignment = s.group.assignments[thread]
    return assignment is not None and assignment.used == version


@eventually_always(source="KIP-268, Detailed upgrade protocol (downgrade) (L4)")
def everybody_sends_what_all_support(s: Cluster) -> bool:
    """From some time on, all members send the newest version that all of them support."""
    lowest = min(supports(s, t) for t in Thread)
    return all(sends(s.group.subscriptions[t], lowest) for t in Thread)
