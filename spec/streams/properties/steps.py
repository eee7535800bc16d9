"""What members and their coordinator know of each other in every state, and what a step may do."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant
from spec.streams.design import Design
from spec.streams.state import Cluster, is_alive, is_member, is_settled
from spec.streams.types import GroupState, Process, Thread, ThreadState, process_of

SOURCE = "KIP-268, Detailed upgrade protocol; GroupCoordinator"


@invariant(source="KIP-268, Detailed upgrade protocol (on startup)")
def who_does_not_run_has_nothing(s: Cluster) -> bool:
    """Threads of a process that is down, and they alone, are down. Who does not run remembers nothing."""
    return all(
        (s.threads[t].state == ThreadState.DOWN) == (not s.processes[process_of(t)].up)
        and (
            is_alive(s.threads[t])
            or (
                len(s.threads[t].tasks) == 0
                and len(s.threads[t].previous) == 0
                and s.threads[t].reply is None
                and not s.threads[t].wants_to_rejoin
            )
        )
        for t in Thread
    )


@invariant(source=SOURCE)
def group_is_of_its_members(s: Cluster) -> bool:
    """The group is empty when it has no members; its leader, and whose requests are parked, are members."""
    members = frozenset(t for t in Thread if is_member(s, t))
    return (
        (s.group.state == GroupState.EMPTY) == (len(members) == 0)
        and (s.group.leader is None or s.group.leader in members)
        and s.group.joined <= members
        and s.group.syncing <= members
    )


@invariant(source=SOURCE)
def who_waits_is_parked(s: Cluster) -> bool:
    """A JoinGroup waits in PreparingRebalance, a SyncGroup in CompletingRebalance, and none in a stable group."""
    stable_is_clear = s.group.state != GroupState.STABLE or (len(s.group.joined) == 0 and len(s.group.syncing) == 0)
    return stable_is_clear and all(
        (s.threads[t].state != ThreadState.JOINING or (t in s.group.joined and s.group.state == GroupState.PREPARING))
        and (
            s.threads[t].state != ThreadState.SYNCING
            or s.threads[t].reply is not None
            or (t in s.group.syncing and s.group.state == GroupState.COMPLETING)
        )
        for t in Thread
    )


@invariant(source=SOURCE)
def answer_is_under_way_to_who_syncs(s: Cluster) -> bool:
    """Who has an assignment under way has synced, and not been in a generation that is yet without assignments."""
    return all(
        s.threads[t].reply is None
        or (
            s.threads[t].state == ThreadState.SYNCING
            and not (is_member(s, t) and s.group.state == GroupState.COMPLETING)
        )
        for t in Thread
    )


@invariant(source=SOURCE)
def every_member_is_assigned_something(s: Cluster) -> bool:
    """A stable group has an assignment, maybe an empty one, for each member and nobody else; any other group none."""
    return all(
        (s.group.assignments[t] is not None) == (s.group.state == GroupState.STABLE and is_member(s, t)) for t in Thread
    )


@invariant(source="KIP-268, Test Plan (failure scenario during the upgrade); GroupMetadataManager")
def stable_group_is_stored(s: Cluster) -> bool:
    """A stable group is what the next coordinator loads. Who has no member id is not one whose id is known."""
    without_id = {ThreadState.DOWN, ThreadState.OUT}
    is_stored = (
        s.stored.leader == s.group.leader
        and s.stored.subscriptions == s.group.subscriptions
        and s.stored.assignments == s.group.assignments
    )
    return Design.max_failovers == 0 or (
        (s.group.state != GroupState.STABLE or is_stored)
        and all(s.stored.subscriptions[t] is not None and s.threads[t].state not in without_id for t in s.stored.known)
    )


@transition_invariant(source="KIP-268, Test Plan (failure scenario during the upgrade); GroupMetadataManager")
def who_has_its_id_is_known(before: Cluster, after: Cluster) -> bool:
    """Once the assignments are stored, the member id of every member is the stored one, if it still has one."""
    assigned = before.group.state == GroupState.COMPLETING and after.group.state == GroupState.STABLE
    without_id = {ThreadState.DOWN, ThreadState.OUT}
    return (
        Design.max_failovers == 0
        or not assigned
        or fails_over(before, after)
        or all(
            (t in after.stored.known) == (is_member(after, t) and after.threads[t].state not in without_id)
            for t in Thread
        )
    )


@invariant(source="KIP-268, Upgrading to 1.2 (rolling bounce)")
def one_process_is_down_at_a_time(s: Cluster) -> bool:
    """Where nothing crashes, bounces leave all processes but one up."""
    return sum(1 for p in Process if not s.processes[p].up) <= 1


@transition_invariant(source="KIP-268, Upgrading to 1.2 (rolling bounce)")
def operator_waits(before: Cluster, after: Cluster) -> bool:
    """Who waits for a stable group bounces no process before everybody is settled."""
    bounces = any(before.processes[p].bounces != after.processes[p].bounces for p in Process)
    return not Design.waits_for_stable or not bounces or is_settled(before)


def fails_over(before: Cluster, after: Cluster) -> bool:
    return before.faults.failovers != after.faults.failovers


def loses_reply(before: Cluster, after: Cluster) -> bool:
    return before.faults.lost_replies != after.faults.lost_replies


@transition_invariant(source="KIP-268, Rebalance Metadata (PreviousAssignedTasks)")
def who_joins_remembers_its_tasks(before: Cluster, after: Cluster) -> bool:
    """A thread that gives up its tasks remembers them until it takes others, and says so when it joins."""
    return all(remembers(before, after, t) for t in Thread)


def remembers(before: Cluster, after: Cluster, thread: Thread) -> bool:
    was, now = before.threads[thread], after.threads[thread]
    waits = {ThreadState.OUT, ThreadState.RETRY, ThreadState.JOINING, ThreadState.JOINED}
    gave_up = was.tasks if was.state == ThreadState.RUNNING else was.previous
    said = after.group.subscriptions[thread]
    has_joined = now.state == ThreadState.JOINING and was.state != ThreadState.JOINING
    return (was.state == ThreadState.DOWN or now.state not in waits or now.previous == gave_up) and (
        not has_joined or (said is not None and said.previous == gave_up)
    )


@transition_invariant(source=SOURCE)
def membership_ends_for_cause(before: Cluster, after: Cluster) -> bool:
    """No live member is removed while a request of it is parked; who unsubscribes is removed."""
    return fails_over(before, after) or all(
        not is_member(after, t)
        if before.threads[t].state == ThreadState.RUNNING and after.threads[t].state == ThreadState.OUT
        else not is_parked(before, t) or is_member(after, t)
        for t in Thread
    )


def is_parked(s: Cluster, thread: Thread) -> bool:
    own = s.threads[thread]
    return own.state == ThreadState.JOINING or (own.state == ThreadState.SYNCING and own.reply is None)


@transition_invariant(source=SOURCE)
def leader_stays_while_it_is_a_member(before: Cluster, after: Cluster) -> bool:
    """Another leads only once the leader has been removed, and nobody until a rebalance completes."""
    return (
        fails_over(before, after)
        or before.group.leader is None
        or before.group.leader == after.group.leader
        or (after.group.leader is None and all(t != before.group.leader or not is_member(after, t) for t in Thread))
    )


@transition_invariant(source=SOURCE)
def who_syncs_too_late_joins_again(before: Cluster, after: Cluster) -> bool:
    """Who has the answer to its JoinGroup joins again only if the group has moved on, or where its connection broke; as
    a new member if removed."""
    return (
        fails_over(before, after)
        or loses_reply(before, after)
        or all(
            before.threads[t].state != ThreadState.JOINED
            or (
                (after.threads[t].state != ThreadState.OUT or not is_member(before, t))
                and (
                    after.threads[t].state != ThreadState.RETRY
                    or (is_member(before, t) and before.group.state == GroupState.PREPARING)
                )
            )
            for t in Thread
        )
    )


@transition_invariant(source=SOURCE)
def who_loses_an_answer_joins_again(before: Cluster, after: Cluster) -> bool:
    """Whose answer is lost had joined or synced, waits for nothing any more, and joins again."""
    return not loses_reply(before, after) or any(
        before.threads[t].state in {ThreadState.JOINED, ThreadState.SYNCING}
        and after.threads[t].state == ThreadState.RETRY
        and after.threads[t].reply is None
        for t in Thread
    )


@transition_invariant(source=SOURCE)
def only_a_new_member_joins_from_outside(before: Cluster, after: Cluster) -> bool:
    """Who is no member joins without a member id, and not before it has heard so."""
    return all(
        after.threads[t].state != ThreadState.JOINING
        or before.threads[t].state in {ThreadState.JOINING, ThreadState.OUT}
        or is_member(before, t)
        for t in Thread
    )


@transition_invariant(source="KIP-268, Detailed upgrade protocol; KAFKA-10455")
def unchanged_bytes_disturb_a_stable_group_from_its_leader_only(before: Cluster, after: Cluster) -> bool:
    """A follower that sends its JoinGroup again with the same bytes starts no rebalance; a leader starts one."""
    return before.group.state != GroupState.STABLE or all(
        before.threads[t].state != ThreadState.RETRY
        or (
            after.threads[t].state != ThreadState.JOINED
            if before.group.leader == t
            else after.threads[t].state != ThreadState.JOINING
            or before.group.subscriptions[t] != after.group.subscriptions[t]
        )
        for t in Thread
    )


@transition_invariant(source=SOURCE)
def leader_is_answered(before: Cluster, after: Cluster) -> bool:
    """Once the assignments are there, the leader's own is under way to it."""
    assigned = before.group.state == GroupState.COMPLETING and after.group.state == GroupState.STABLE
    return (
        not assigned
        or fails_over(before, after)
        or all(after.threads[t].reply is not None for t in Thread if before.group.leader == t)
    )
