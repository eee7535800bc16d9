"""Versions: nobody dies of one (V1), is sent one that it cannot read (V2), or leaves upgrade.from (V3)."""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant
from spec.streams.state import Assignment, Cluster, configured, supports
from spec.streams.types import Thread, ThreadState, Version, process_of


@invariant(source="KIP-268, Motivation; KAFKA-6054 (V1)")
def nobody_dies_of_a_version(s: Cluster) -> bool:
    """No thread dies of a version, neither as leader nor as follower."""
    return all(s.deaths[t] is None for t in Thread)


@invariant(source="KIP-268, Motivation (rolling bounces don't work); KAFKA-6054 (V1)")
def some_old_member_lives(s: Cluster) -> bool:
    """Not all members of the old release die."""
    old = frozenset(t for t in Thread if s.processes[process_of(t)].bounces == 0)
    return len(old) == 0 or any(s.threads[t].state != ThreadState.DEAD for t in old)


@invariant(source="KIP-268, Upgrading to 1.2 (2.2, 4.2); Detailed upgrade protocol (V2)")
def everybody_can_read_its_assignment(s: Cluster) -> bool:
    """An assignment is in no higher version than its receiver has sent."""
    return all(can_read(s, t) for t in Thread)


def can_read(s: Cluster, thread: Thread) -> bool:
    reply = s.threads[thread].reply
    return reply is None or reply.used <= s.threads[thread].used


@invariant(source="KIP-268, Detailed upgrade protocol; KAFKA-8649 (V2)")
def everybody_supports_what_it_uses(s: Cluster) -> bool:
    """Nobody uses a version that its software does not support."""
    return all(s.threads[t].used <= supports(s, t) for t in Thread)


@invariant(source="KIP-268, Upgrading to 1.2 (2.1) (V3)")
def upgrade_from_is_obeyed(s: Cluster) -> bool:
    """Who is configured with upgrade.from uses the version that it stands for."""
    return all(configured(s, t) is None or s.threads[t].used == configured(s, t) for t in Thread)


@invariant(source="KIP-268, Upgrading to 1.2 (2.2, 4.2) (V2)")
def all_are_answered_in_an_old_version(s: Cluster) -> bool:
    """Where one member is assigned in version 1 or 2, all are, and in the same one."""
    return all(
        is_answered_alike(s.group.assignments[t], s.group.assignments[other]) for t in Thread for other in Thread
    )


def is_answered_alike(one: Option[Assignment], other: Option[Assignment]) -> bool:
    return one is None or other is None or one.used >= 3 or one.used == other.used


@transition_invariant(source="KIP-268, Detailed upgrade protocol (V2)")
def version_rises_as_offered(before: Cluster, after: Cluster) -> bool:
    """A member uses no version above the one that its assignment offers, unless it did so before."""
    return all(
        after.threads[t].used <= before.threads[t].used or is_offered(before.threads[t].reply, after.threads[t].used)
        for t in Thread
        if after.threads[t].state == ThreadState.RUNNING
    )


def is_offered(reply: Option[Assignment], version: Version) -> bool:
    return reply is not None and version <= reply.supported
