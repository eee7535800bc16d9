"""The leader assigns; a member takes its assignment."""

from __future__ import annotations

from checker.lang import Map, Option, action, replace, require, require_some
from spec.streams.actions.membership import gone
from spec.streams.decisions.assignor import answer, error_answer, is_probe, kills, listed, next_owners
from spec.streams.decisions.membership import nobody_listed
from spec.streams.decisions.versions import rejoins_after, takes_tasks, used_after
from spec.streams.design import Design
from spec.streams.state import (
    Assignment,
    Assignments,
    Cluster,
    Group,
    Hosts,
    Owners,
    StoredGroup,
    StreamThread,
    is_member,
)
from spec.streams.types import Cause, GroupState, Task, Thread, ThreadState


def leads(s: Cluster, thread: Thread) -> bool:
    """A thread has the subscriptions of the generation that is under way."""
    joined = s.threads[thread].state == ThreadState.JOINED and s.group.leader == thread
    return joined and s.group.state == GroupState.COMPLETING


@action(
    who="leader {thread}",
    source="KIP-268, Detailed upgrade protocol",
    kafka="StreamsPartitionAssignor.assign, GroupCoordinator.doSyncGroup",
    fair="strong",
)
def assign(s: Cluster, thread: Thread) -> None:
    """The leader computes the assignments and syncs: parked SyncGroups are answered. Or it dies of a version."""
    require(leads(s, thread))
    if kills(s, thread) is not None:
        s.deaths[thread] = kills(s, thread)
        s.threads[thread] = gone(s.threads[thread], ThreadState.DEAD)
    else:
        owners: Owners = next_owners(s, thread)
        hosts: Hosts = listed(s, thread, owners)
        made: Assignments = Map({t: answer(s, thread, t, owners) for t in Thread})
        s.probed = Design.tasks > 0 and is_probe(s, thread)
        s.left = frozenset(task for task in Task if Design.tasks > 0 and not any(gives(made[t], task) for t in Thread))
        s.threads = Map({t: with_answer(s, thread, t, made[t]) for t in Thread})
        s.group = stable(s.group, made, hosts)
        s.stored = stored(s, made, hosts)


def gives(made: Option[Assignment], task: Task) -> bool:
    """An assignment has a task in it."""
    return made is not None and task in made.tasks


def with_answer(s: Cluster, leader: Thread, thread: Thread, made: Option[Assignment]) -> StreamThread:
    """A thread once its SyncGroup is answered, if it has sent one that is parked."""
    own = s.threads[thread]
    waits = thread == leader or (thread in s.group.syncing and own.state == ThreadState.SYNCING)
    return replace(own, state=ThreadState.SYNCING, reply=made) if waits else replace(own)


def stable(group: Group, made: Assignments, hosts: Hosts) -> Group:
    """The group once its leader has sent the assignments."""
    return replace(group, state=GroupState.STABLE, syncing=frozenset(), assignments=made, hosts=hosts)


def stored(s: Cluster, made: Assignments, hosts: Hosts) -> StoredGroup:
    """What the coordinator writes before it answers."""
    if Design.max_failovers == 0:
        return replace(s.stored)
    without_id = {ThreadState.DOWN, ThreadState.OUT}
    known = frozenset(t for t in Thread if is_member(s, t) and s.threads[t].state not in without_id)
    return StoredGroup(s.group.leader, s.group.subscriptions, made, hosts, known)


@action(
    who="leader {thread}",
    source="KIP-268, Rebalance Metadata (error codes came with version 4)",
    kafka="StreamsPartitionAssignor.errorAssignment (INCOMPLETE_SOURCE_TOPIC_METADATA)",
)
def assign_errors(s: Cluster, thread: Thread) -> None:
    """The leader finds that a source topic is missing, and tells every member so."""
    require(leads(s, thread) and s.faults.missing_topics < Design.max_missing_topics)
    require(kills(s, thread) is None)
    made: Assignments = Map({t: error_answer(s, thread, t) for t in Thread})
    s.faults.missing_topics += 1
    s.threads = Map({t: with_answer(s, thread, t, made[t]) for t in Thread})
    s.group = stable(s.group, made, nobody_listed())
    s.stored = stored(s, made, nobody_listed())


@action(
    who="thread {thread}",
    source="KIP-268, Detailed upgrade protocol",
    kafka="StreamsPartitionAssignor.onAssignment, maybeUpdateSubscriptionVersion",
    fair="strong",
)
def take_assignment(s: Cluster, thread: Thread) -> None:
    """A member takes its assignment: tasks, the version it uses from now on, and whether to rejoin. Or it dies."""
    own = s.threads[thread]
    require(own.state == ThreadState.SYNCING)
    assignment = require_some(own.reply)
    if assignment.used > own.used:
        s.deaths[thread] = Cause.CANNOT_READ
        s.threads[thread] = gone(own, ThreadState.DEAD)
    elif assignment.error:
        s.threads[thread] = gone(own, ThreadState.STOPPED)
    else:
        tasks = assignment.tasks if takes_tasks(s, thread, assignment) else own.previous
        if Design.tasks > 0 and is_member(s, thread):
            s.owners = Map({task: owner_after(s.owners[task], thread, task in tasks) for task in Task})
            s.settled |= {thread}
        s.threads[thread] = StreamThread(
            state=ThreadState.RUNNING,
            used=used_after(s, thread, assignment),
            tasks=tasks,
            previous=frozenset(),
            reply=None,
            wants_to_rejoin=rejoins_after(s, thread, assignment),
        )


def owner_after(owner: Option[Thread], thread: Thread, takes: bool) -> Option[Thread]:
    """The owner of a task once a member has taken its assignment, with the task or without."""
    if takes:
        return thread
    return None if owner == thread else owner
