"""What a fault does, and when it may come."""

from __future__ import annotations

from checker.lang import transition_invariant
from spec.streams.properties.steps import fails_over
from spec.streams.state import Cluster, is_member
from spec.streams.types import GroupState, Process, Thread

SOURCE = "KIP-268, Test Plan (failure scenario during the upgrade)"


@transition_invariant(source=SOURCE)
def crash_stops_a_process(before: Cluster, after: Cluster) -> bool:
    """A process dies that has run."""
    return before.faults.crashes == after.faults.crashes or any(
        before.processes[p].up and not after.processes[p].up for p in Process
    )


@transition_invariant(source=SOURCE)
def expiry_removes_a_member(before: Cluster, after: Cluster) -> bool:
    """A session ends that was one."""
    return before.faults.expiries == after.faults.expiries or any(
        is_member(before, t) and not is_member(after, t) for t in Thread
    )


@transition_invariant(source="KIP-268, Upgrading to 1.2 (no word on rollback)")
def rollback_takes_a_bounce_back(before: Cluster, after: Cluster) -> bool:
    """A process goes back by one bounce while all run."""
    return before.faults.rollbacks == after.faults.rollbacks or (
        all(before.processes[p].up for p in Process)
        and any(
            after.processes[p].bounces + 1 == before.processes[p].bounces and not after.processes[p].up for p in Process
        )
    )


@transition_invariant(source=SOURCE + "; GroupMetadataManager.loadGroupsAndOffsets")
def failover_loads_what_was_stored(before: Cluster, after: Cluster) -> bool:
    """The next coordinator has the group as it was when it was last stable, and nobody's request."""
    group, stored = after.group, before.stored
    return not fails_over(before, after) or (
        before.group.state != GroupState.STABLE
        and group.leader == stored.leader
        and group.subscriptions == stored.subscriptions
        and group.assignments == stored.assignments
        and group.hosts == stored.hosts
        and len(group.joined) == 0
        and len(group.syncing) == 0
    )
