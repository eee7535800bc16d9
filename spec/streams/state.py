"""The state: processes, their threads, the group at its coordinator, and history for properties.

A request arrives in the step that sends it: its sender waits for the answer, and nobody else sees it meanwhile. The
answer to a JoinGroup arrives in the step that sends it, for the same reason; that to a SyncGroup is under way (`reply`)
and stays valid although the group moves on. Who has not synced when the group moves on hears so when it tries.

There are no generation ids. A generation completes with every member in it, so that only a member that was removed, or
one that the coordinator has forgotten in a failover, is of an older one; each of them has to join again.

Left out: partitions (the number of partitions and of task ids is for the codec), standby tasks, state stores, static
membership, cooperative rebalancing, KIP-441, KIP-848, KIP-1071, exactly-once.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import History, Map, Nat, Option, Set, message, record, state
from spec.streams.design import Design
from spec.streams.types import (
    Bounces,
    Cause,
    GroupState,
    Process,
    Task,
    Thread,
    ThreadState,
    Version,
    process_of,
    stands_for,
    supported,
)


@message
class Subscription:
    """User data of a JoinGroup. Versions 1 and 2 do not say what is supported."""

    used: Version
    supported: Version
    previous: Set[Task]  # active tasks of the last ownership


@message
class Assignment:
    """User data of a SyncGroup, for one member. Versions 1 and 2 do not say what is supported."""

    used: Version
    supported: Version
    tasks: Set[Task]
    error: bool  # a source topic is missing


Subscriptions = Map[Thread, Option[Subscription]]
Assignments = Map[Thread, Option[Assignment]]
Hosts = Map[Process, Set[Task]]
"""The GlobalAssignment, which all members of a generation are sent alike, in version 1 and in a probe's empty
assignment none: the tasks that each process is listed with."""


@record
class Application:
    """A process."""

    up: bool
    bounces: Bounces


@record
class StreamThread:
    """A thread. Its used version is soft: a restart resets it."""

    state: ThreadState
    used: Version
    tasks: Set[Task]
    previous: Set[Task]
    reply: Option[Assignment]  # to its SyncGroup, under way
    wants_to_rejoin: bool


@record
class Group:
    """The group at its coordinator. Without a leader, one is taken when a rebalance completes."""

    state: GroupState
    leader: Option[Thread]
    subscriptions: Subscriptions  # of who is a member
    joined: Set[Thread]  # JoinGroup parked
    syncing: Set[Thread]  # SyncGroup parked
    assignments: Assignments  # of the current generation, once the leader has sent them
    hosts: Hosts  # the same


@record
class StoredGroup:
    """What a new coordinator loads: the group when it was last stable. Empty where there are no failovers."""

    leader: Option[Thread]
    subscriptions: Subscriptions
    assignments: Assignments
    hosts: Hosts
    known: Set[Thread]  # who still has the member id that is stored


@record
class Faults:
    """Budget spent."""

    crashes: Annotated[int, Nat(lambda: Design.max_crashes)]
    expiries: Annotated[int, Nat(lambda: Design.max_expiries)]
    failovers: Annotated[int, Nat(lambda: Design.max_failovers)]
    rollbacks: Annotated[int, Nat(lambda: Design.max_rollbacks)]
    missing_topics: Annotated[int, Nat(lambda: Design.max_missing_topics)]
    lost_replies: Annotated[int, Nat(lambda: Design.max_lost_replies)]


Deaths = Annotated[Map[Thread, Option[Cause]], History]
Probed = Annotated[bool, History]
Left = Annotated[Set[Task], History]
Owners = Annotated[Map[Task, Option[Thread]], History]
Known = Annotated[Set[Thread], History]
Completed = Annotated[int, Nat(lambda: Design.rebalances + 1)]


@state
class Cluster:
    """The whole state."""

    processes: Map[Process, Application]
    threads: Map[Thread, StreamThread]
    group: Group
    stored: StoredGroup
    faults: Faults
    deaths: Deaths
    probed: Probed  # the current generation is a probe
    left: Left  # the tasks that the last assignment gave to nobody
    owners: Owners  # who took a task last, until it takes an assignment without it or is removed
    settled: Known  # the members that have taken an assignment
    completed: Completed  # rebalances since the last perturbation, where they are counted; stops one above the bound


def supports(s: Cluster, thread: Thread) -> Version:
    """The newest version that a thread's software supports."""
    return supported(s.processes[process_of(thread)].bounces)


def configured(s: Cluster, thread: Thread) -> Option[Version]:
    """The version that upgrade.from of a thread's process stands for."""
    return stands_for(s.processes[process_of(thread)].bounces)


def is_member(s: Cluster, thread: Thread) -> bool:
    """The coordinator knows the thread as a member."""
    return s.group.subscriptions[thread] is not None


def is_alive(thread: StreamThread) -> bool:
    """The thread runs, whatever it believes of its membership."""
    return thread.state not in {ThreadState.DOWN, ThreadState.DEAD, ThreadState.STOPPED}


def is_settled(s: Cluster) -> bool:
    """The group is stable, everybody is in it, and nobody wants to rejoin."""
    return s.group.state == GroupState.STABLE and all(
        is_member(s, t) and s.threads[t].state == ThreadState.RUNNING and not s.threads[t].wants_to_rejoin
        for t in Thread
    )
