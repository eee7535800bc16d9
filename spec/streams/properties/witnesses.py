"""States that a model must be able to reach; where it cannot, its properties hold vacuously."""

from __future__ import annotations

from checker.lang import witness
from spec.streams.decisions.assignor import is_probe
from spec.streams.design import Design
from spec.streams.properties.tasks import are_assigned, has
from spec.streams.state import Cluster, is_member, is_settled
from spec.streams.types import GroupState, Process, Task, Thread, ThreadState, last_bounce, process_of, supported


@witness
def probe(s: Cluster) -> bool:
    """A leader has subscriptions before it in a version that it does not know."""
    return any(
        s.group.state == GroupState.COMPLETING
        and s.group.leader == t
        and s.threads[t].state == ThreadState.JOINED
        and is_probe(s, t)
        for t in Thread
    )


@witness
def downgrade(s: Cluster) -> bool:
    """A member has lowered its used version, and is about to say so."""
    return any(is_downgraded(s, t) for t in Thread)


def is_downgraded(s: Cluster, thread: Thread) -> bool:
    sent = s.group.subscriptions[thread]
    return s.threads[thread].state == ThreadState.RUNNING and sent is not None and s.threads[thread].used < sent.used


@witness
def rise_together(s: Cluster) -> bool:
    """All members use the newest version, and two of them have raised theirs and have yet to say so."""
    return all(s.threads[t].used == supported(last_bounce()) for t in Thread) and (
        sum(1 for t in Thread if is_raised(s, t)) > 1
    )


def is_raised(s: Cluster, thread: Thread) -> bool:
    sent = s.group.subscriptions[thread]
    return s.threads[thread].state == ThreadState.RUNNING and sent is not None and s.threads[thread].used > sent.used


@witness
def upgraded(s: Cluster) -> bool:
    """All processes have had all bounces, and the group has settled."""
    return is_settled(s) and all(s.processes[p].bounces == last_bounce() for p in Process)


def bounced(s: Cluster) -> int:
    """How many processes have had a bounce."""
    return sum(1 for p in Process if s.processes[p].bounces > 0)


@witness
def leader_was_first(s: Cluster) -> bool:
    """The first leader's process is the first to be bounced."""
    return s.processes[Process(0)].bounces > 0 and bounced(s) == 1


@witness
def leader_in_between(s: Cluster) -> bool:
    """The first leader's process is bounced, and neither as the first nor as the last."""
    return s.processes[Process(0)].bounces == 0 and bounced(s) == 1 and not s.processes[Process(1)].up


@witness
def leader_comes_last(s: Cluster) -> bool:
    """Only the leader has not been bounced, and the group has settled."""
    return is_settled(s) and any(
        s.group.leader == t and s.processes[process_of(t)].bounces == 0 and bounced(s) == Design.processes - 1
        for t in Thread
    )


@witness
def settled_in_between(s: Cluster) -> bool:
    """Half-way through the upgrade the group has settled: some processes run the old release, and some do not."""
    return is_settled(s) and 0 < bounced(s) < Design.processes


@witness
def stopped_in_order(s: Cluster) -> bool:
    """A member has stopped, since a source topic is missing."""
    return any(s.threads[t].state == ThreadState.STOPPED for t in Thread)


@witness
def leader_unsubscribed(s: Cluster) -> bool:
    """A live member that led has left, and the group goes on without a leader."""
    return (
        s.group.leader is None
        and all(s.threads[t].state != ThreadState.DOWN for t in Thread)
        and (s.group.state == GroupState.PREPARING)
    )


@witness
def rejoined_without_rebalance(s: Cluster) -> bool:
    """A follower has the current generation again, and the group is stable."""
    return s.group.state == GroupState.STABLE and any(
        s.threads[t].state == ThreadState.JOINED and s.group.leader != t and is_member(s, t) for t in Thread
    )


@witness
def zombie(s: Cluster) -> bool:
    """A removed member runs on, and the others have gone on without it."""
    return s.group.state == GroupState.STABLE and any(
        s.threads[t].state == ThreadState.RUNNING and not is_member(s, t) for t in Thread
    )


@witness
def zombie_owns(s: Cluster) -> bool:
    """A removed member and a member own the same task."""
    return any(sum(1 for t in Thread if task in s.threads[t].tasks) > 1 for task in Task)


@witness
def task_without_owner(s: Cluster) -> bool:
    """A task is assigned to nobody: a probe."""
    return s.group.state == GroupState.STABLE and not are_assigned(s)


@witness
def dead_session_ends(s: Cluster) -> bool:
    """A process is still down, and its thread no member any more."""
    return any(s.threads[t].state == ThreadState.DOWN and not is_member(s, t) for t in Thread)


@witness
def stopped_session_ends(s: Cluster) -> bool:
    """A thread that has stopped, since a source topic is missing, is no member any more."""
    return any(s.threads[t].state == ThreadState.STOPPED and not is_member(s, t) for t in Thread)


@witness
def follower_waits_for_leader(s: Cluster) -> bool:
    """A SyncGroup is parked."""
    return len(s.group.syncing) > 0


@witness
def rebalance_is_lost(s: Cluster) -> bool:
    """A failover has undone a rebalance: the group is stable, and a member of it has to join again."""
    return s.group.state == GroupState.STABLE and any(
        s.threads[t].state == ThreadState.RETRY and is_member(s, t) for t in Thread
    )


@witness
def bound_is_reached(s: Cluster) -> bool:
    """As many rebalances as are allowed have completed since the last perturbation."""
    return s.completed == Design.rebalances


@witness
def two_bounces_apart(s: Cluster) -> bool:
    """A process is two bounces ahead of another."""
    return any(s.processes[p].bounces >= s.processes[other].bounces + 2 for p in Process for other in Process)


@witness
def unlisted(s: Cluster) -> bool:
    """In a probe a member is given a task with which no process is listed."""
    return any(
        has(s.group.assignments[t], task) and all(task not in s.group.hosts[p] for p in Process)
        for t in Thread
        for task in Task
    )


@witness
def versions_differ_in_a_process(s: Cluster) -> bool:
    """Two threads of one process use different versions."""
    return any(
        process_of(t) == process_of(other) and s.threads[t].used != s.threads[other].used
        for t in Thread
        for other in Thread
    )


@witness
def rises_by_two(s: Cluster) -> bool:
    """A member has raised its used version by two."""
    return any(rose_by_two(s, t) for t in Thread)


def rose_by_two(s: Cluster, thread: Thread) -> bool:
    sent = s.group.subscriptions[thread]
    return sent is not None and is_raised(s, thread) and s.threads[thread].used > sent.used + 1


@witness
def three_versions_meet(s: Cluster) -> bool:
    """A generation has subscriptions in three versions."""
    return s.group.state == GroupState.COMPLETING and any(
        differ(s, a, b) and differ(s, b, c) and differ(s, a, c) for a in Thread for b in Thread for c in Thread
    )


def differ(s: Cluster, one: Thread, other: Thread) -> bool:
    """Two members have sent different versions."""
    first, second = s.group.subscriptions[one], s.group.subscriptions[other]
    return first is not None and second is not None and first.used != second.used
