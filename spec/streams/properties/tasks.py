"""Tasks: one owner (T1, T3), some owner (T2), the same owner as before (T4)."""

from __future__ import annotations

from checker.lang import Option, Set, invariant, transition_invariant
from spec.streams.design import Design
from spec.streams.state import Assignment, Cluster, is_member
from spec.streams.types import GroupState, Task, Thread, ThreadState


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


@transition_invariant(source="KIP-268, Rebalance Metadata (PreviousAssignedTasks) (T4)")
def tasks_stay(before: Cluster, after: Cluster) -> bool:
    """A task moves from a member to one that is new, or that has two tasks fewer; from no other."""
    assigns = before.group.state == GroupState.COMPLETING and after.group.state == GroupState.STABLE
    new = frozenset(t for t in Thread if is_member(after, t)) - before.settled
    return not assigns or all(stays(before, after, task, new) for task in Task)


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
