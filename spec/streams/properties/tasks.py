"""Tasks: one owner (T1, T3), some owner (T2), the same owner as before (T4), listed with their owner (T5)."""

from __future__ import annotations

from checker.lang import Option, Set, invariant, transition_invariant
from spec.streams.decisions.assignor import had, is_given_tasks
from spec.streams.design import Design
from spec.streams.state import Assignment, Cluster, Subscription, is_member, supports
from spec.streams.types import GroupState, Process, Task, Thread, ThreadState, Version, process_of


def has(assignment: Option[Assignment], task: Task) -> bool:
    """An assignment has a task in it."""
    return assignment is not None and task in assignment.tasks


@invariant(source="KIP-268, Rebalance Metadata (AssignedTasks) (T1)")
def each_task_is_assigned_once(s: Cluster) -> bool:
    """In one generation, no task is assigned to two members."""
    return all(sum(1 for t in Thread if has(s.group.assignments[t], task)) <= 1 for task in Task)


@invariant(source="KIP-268, Detailed upgrade protocol (empty assignment) (T2)")
def each_task_is_assigned(s: Cluster) -> bool:
    """Except in a probe, and where a source topic is missing, each task is assigned."""
    return s.group.state != GroupState.STABLE or s.probed or are_assigned(s) or are_told_of_an_error(s)


@invariant(source="KIP-268, Detailed upgrade protocol (empty assignment) (T2)")
def each_task_is_assigned_in_a_probe(s: Cluster) -> bool:
    """In a probe, too, each task is assigned. The document does not ask for that."""
    return s.group.state != GroupState.STABLE or are_assigned(s)


@invariant(source="KIP-268, Detailed upgrade protocol (empty assignment) (T4)")
def each_member_is_assigned_a_task(s: Cluster) -> bool:
    """Each member is assigned a task, who probes too. The document does not ask for that."""
    return s.group.state != GroupState.STABLE or all(
        has_some(s.group.assignments[t]) for t in Thread if is_member(s, t)
    )


def has_some(assignment: Option[Assignment]) -> bool:
    return assignment is not None and len(assignment.tasks) > 0


def are_told_of_an_error(s: Cluster) -> bool:
    return any(is_error(s.group.assignments[t]) for t in Thread)


def is_error(assignment: Option[Assignment]) -> bool:
    return assignment is not None and assignment.error


def are_assigned(s: Cluster) -> bool:
    return Design.tasks == 0 or all(any(has(s.group.assignments[t], task) for t in Thread) for task in Task)


@invariant(source="KIP-268, Upgrading to 1.2 (zero downtime) (T3)")
def who_waits_owns_nothing(s: Cluster) -> bool:
    """A member owns tasks only while it runs with its assignment."""
    return all(len(s.threads[t].tasks) == 0 or s.threads[t].state == ThreadState.RUNNING for t in Thread)


@invariant(source="KIP-268, Detailed upgrade protocol; KAFKA-8972 (T3)")
def each_task_has_one_owner(s: Cluster) -> bool:
    """No two members own one task. Who was removed may own it until it hears so; its commits are refused."""
    return all(sum(1 for t in Thread if task in s.threads[t].tasks and is_member(s, t)) <= 1 for task in Task)


def assigns(before: Cluster, after: Cluster) -> bool:
    """The leader has sent the assignments of a generation."""
    return (
        before.group.state == GroupState.COMPLETING
        and after.group.state == GroupState.STABLE
        and not are_told_of_an_error(after)
        and before.faults.failovers == after.faults.failovers
    )


@transition_invariant(source="KIP-268, Detailed upgrade protocol (empty assignment) (T2)")
def tasks_wait_for_one_generation(before: Cluster, after: Cluster) -> bool:
    """A task that nobody was given in a probe is assigned in the next generation."""
    return not assigns(before, after) or all(
        any(has(after.group.assignments[t], task) for t in Thread) for task in before.left
    )


@transition_invariant(source="KIP-268, Rebalance Metadata (GlobalAssignment) (T5)")
def who_is_listed_has_it(before: Cluster, after: Cluster) -> bool:
    """No process is listed with a task that none of its threads is given in that generation."""
    return not assigns(before, after) or all(
        is_in_process(after, task, p) for p in Process for task in after.group.hosts[p]
    )


@transition_invariant(source="KIP-268, Rebalance Metadata (GlobalAssignment) (T5)")
def who_has_it_is_listed(before: Cluster, after: Cluster) -> bool:
    """But in a probe, and in version 1, each process is listed with every task that a thread of it is given."""
    exempt = not assigns(before, after) or after.probed or has_no_list(after)
    return exempt or all(
        task in after.group.hosts[p] or not is_in_process(after, task, p) for p in Process for task in Task
    )


def is_in_process(s: Cluster, task: Task, process: Process) -> bool:
    return any(process_of(t) == process and has(s.group.assignments[t], task) for t in Thread)


def has_no_list(s: Cluster) -> bool:
    return any(is_of_version_1(s.group.assignments[t]) for t in Thread)


def is_of_version_1(assignment: Option[Assignment]) -> bool:
    return assignment is not None and assignment.used == 1


@transition_invariant(source="KIP-268, Rebalance Metadata (PreviousAssignedTasks) (T4)")
def tasks_stay(before: Cluster, after: Cluster) -> bool:
    """A task moves from a member to one that is new, or that has two tasks fewer; from no other."""
    assigned = before.group.state == GroupState.COMPLETING and after.group.state == GroupState.STABLE
    new = frozenset(t for t in Thread if is_member(after, t)) - before.settled
    return not assigned or all(stays(before, after, task, new) for task in Task)


def stays(before: Cluster, after: Cluster, task: Task, new: Set[Thread]) -> bool:
    """A task has the owner that it had, a new one, or one with fewer tasks."""
    owner = before.owners[task]
    return owner is None or any(
        has(after.group.assignments[t], task)
        and (t == owner or t in new or owned(before, t) + 1 < owned(before, owner))
        for t in Thread
    )


def owned(s: Cluster, thread: Thread) -> int:
    """How many tasks a member took last."""
    return sum(1 for task in Task if s.owners[task] == thread)


@invariant(source="KIP-268, Rebalance Metadata (PreviousAssignedTasks) (T4)")
def owners_are_who_took_last(s: Cluster) -> bool:
    """What T4 goes by: a member that runs is remembered as the owner of its tasks, and of no others."""
    return s.settled <= frozenset(t for t in Thread if is_member(s, t)) and all(
        (s.owners[task] != t or t in s.settled)
        and (
            not is_member(s, t)
            or s.threads[t].state != ThreadState.RUNNING
            or (task in s.threads[t].tasks) == (s.owners[task] == t)
        )
        for t in Thread
        for task in Task
    )


@transition_invariant(source="KIP-268, Detailed upgrade protocol (empty assignment) (T2)")
def probe_is_remembered_as_one(before: Cluster, after: Cluster) -> bool:
    """What T2 goes by: a generation is a probe if its leader was sent a version that it does not support."""
    return not assigns(before, after) or after.probed == any(
        sent_above(before.group.subscriptions[t], supports(before, leader))
        for t in Thread
        for leader in Thread
        if before.group.leader == leader
    )


def sent_above(subscription: Option[Subscription], version: Version) -> bool:
    return subscription is not None and subscription.used > version


@transition_invariant(source="KIP-268, Rebalance Metadata (PreviousAssignedTasks) (T4)")
def tasks_are_shared_out_evenly(before: Cluster, after: Cluster) -> bool:
    """No member is given two tasks more than another."""
    return not assigns(before, after) or all(
        given(after, t) <= given(after, other) + 1 for t in Thread for other in Thread if is_member(after, other)
    )


def given(s: Cluster, thread: Thread) -> int:
    """How many tasks a member is assigned."""
    return sum(1 for task in Task if has(s.group.assignments[thread], task))


@transition_invariant(source="KIP-268, Rebalance Metadata (PreviousAssignedTasks) (T4)")
def as_many_tasks_stay_as_can(before: Cluster, after: Cluster) -> bool:
    """In even shares, as many tasks stay as can. Of a probe, and where two say that they had one, nothing is said."""
    exempt = not assigns(before, after) or after.probed
    return exempt or all(
        before.group.leader != leader
        or any(is_claimed_twice(before, leader, task) for task in Task)
        or staying(before, after, leader) == most_that_can_stay(before, leader)
        for leader in Thread
    )


def is_claimed_twice(s: Cluster, leader: Thread, task: Task) -> bool:
    """Two members say that they had the task."""
    return sum(1 for t in Thread if is_given_tasks(s, leader, t) and task in had(s, leader, t)) > 1


def staying(before: Cluster, after: Cluster, leader: Thread) -> int:
    """How many tasks are given to who had them."""
    return sum(
        1
        for t in Thread
        for task in Task
        if is_given_tasks(before, leader, t)
        and task in had(before, leader, t)
        and has(after.group.assignments[t], task)
    )


def most_that_can_stay(s: Cluster, leader: Thread) -> int:
    """Each member keeps what it had up to the least share; so many as there are greater shares keep one more."""
    members = sum(1 for t in Thread if is_given_tasks(s, leader, t))
    least = Design.tasks // max(1, members)
    kept = sum(min(len(had(s, leader, t)), least) for t in Thread if is_given_tasks(s, leader, t))
    more = sum(1 for t in Thread if is_given_tasks(s, leader, t) and len(had(s, leader, t)) > least)
    return kept + min(more, Design.tasks % max(1, members))


@transition_invariant(source="KIP-268, Detailed upgrade protocol (empty assignment) (T2)")
def left_is_what_nobody_is_given(before: Cluster, after: Cluster) -> bool:
    """What T2 goes by: a task is left if no member is given it."""
    return not assigns(before, after) or all(
        (task in after.left) != any(has(after.group.assignments[t], task) for t in Thread) for task in Task
    )
