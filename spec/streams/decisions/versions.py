"""A member's half of the assignor: which version it uses after an assignment, and whether it rejoins."""

from __future__ import annotations

from spec.streams.decisions.behaviour import is_as_set, is_since_2_4
from spec.streams.design import Design
from spec.streams.state import Assignment, Cluster, supports
from spec.streams.types import Thread, Version


def used_after(s: Cluster, thread: Thread, assignment: Assignment) -> Version:
    """The used version of a member that takes an assignment."""
    used = s.threads[thread].used
    if assignment.used >= 3 and assignment.supported > used:
        if Design.own_bound and is_since_2_4(s, thread):
            return min(assignment.supported, supports(s, thread))
        return assignment.supported
    if assignment.used >= 3 and assignment.used < used:
        return assignment.supported
    return used


def rejoins_after(s: Cluster, thread: Thread, assignment: Assignment) -> bool:
    """Whether the member wants another rebalance."""
    used, after = s.threads[thread].used, used_after(s, thread, assignment)
    if after > used:
        by_rank = Design.leader_rises_at_once and s.group.leader == thread
        return (Design.lower_sender_rises_at_once or by_rank) and is_since_2_4(s, thread)
    if after < used:
        return True
    sent_in_vain = assignment.used >= 3 and assignment.used < used
    return sent_in_vain and not (Design.rejoins_only_on_change and is_as_set(s, thread))


def takes_tasks(s: Cluster, thread: Thread, assignment: Assignment) -> bool:
    """Whether the member takes the tasks of an assignment."""
    return (Design.probe_is_taken and is_since_2_4(s, thread)) or not rejoins_after(s, thread, assignment)
