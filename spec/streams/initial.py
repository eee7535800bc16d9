"""The states that models start from: a stable group of the old release, led by the first thread; or nobody."""

from __future__ import annotations

from checker.lang import Map, Set, init
from spec.streams.design import Design
from spec.streams.state import (
    Application,
    Assignment,
    Assignments,
    Cluster,
    Faults,
    Group,
    Hosts,
    StoredGroup,
    StreamThread,
    Subscription,
    Subscriptions,
)
from spec.streams.types import (
    Bounces,
    GroupState,
    Process,
    Task,
    Thread,
    ThreadState,
    first_used,
    last_bounce,
    process_of,
)


@init
def all_old() -> Cluster:
    """Every process runs the old release, and the group is stable."""
    return Cluster(
        processes=Map({p: Application(up=True, bounces=0) for p in Process}),
        threads=Map({t: first_thread(t) for t in Thread}),
        group=Group(
            state=GroupState.STABLE,
            leader=Thread(0),
            subscriptions=first_subscriptions(),
            joined=frozenset(),
            syncing=frozenset(),
            assignments=first_assignments(),
            hosts=first_hosts(),
        ),
        stored=first_stored(),
        faults=Faults(crashes=0, expiries=0, failovers=0, rollbacks=0, missing_topics=0, lost_replies=0),
        deaths=Map({t: None for t in Thread}),
        probed=False,
        left=frozenset(),
        owners=Map({task: first_owner(task) if Design.tasks > 0 else None for task in Task}),
        settled=frozenset(Thread) if Design.tasks > 0 else frozenset(),
        completed=0,
    )


@init
def nobody() -> Cluster:
    """No process has started, and nobody ever was in the group."""
    return before_all(Map({p: Application(up=False, bounces=0) for p in Process}))


@init
def nobody_of_any_release() -> Cluster:
    """As nobody; of each process that is bounced there is one for what it runs before and after each bounce."""
    return before_all(Map({p: Application(up=False, bounces=p.index % (last_bounce() + 1)) for p in Process}))


def before_all(processes: Map[Process, Application]) -> Cluster:
    """Nobody has started."""
    return Cluster(
        processes=processes,
        threads=Map({t: thread_to_come(processes[process_of(t)].bounces) for t in Thread}),
        group=Group(
            state=GroupState.EMPTY,
            leader=None,
            subscriptions=Map({t: None for t in Thread}),
            joined=frozenset(),
            syncing=frozenset(),
            assignments=Map({t: None for t in Thread}),
            hosts=Map({p: frozenset() for p in Process}),
        ),
        stored=nothing_stored(),
        faults=Faults(crashes=0, expiries=0, failovers=0, rollbacks=0, missing_topics=0, lost_replies=0),
        deaths=Map({t: None for t in Thread}),
        probed=False,
        left=frozenset(),
        owners=Map({task: None for task in Task}),
        settled=frozenset(),
        completed=0,
    )


def thread_to_come(bounces: Bounces) -> StreamThread:
    """A thread of a process that has not started."""
    return StreamThread(
        state=ThreadState.DOWN,
        used=first_used(bounces),
        tasks=frozenset(),
        previous=frozenset(),
        reply=None,
        wants_to_rejoin=False,
    )


def first_owner(task: Task) -> Thread:
    """Tasks go round the threads."""
    return Thread(task.index % (Design.processes * Design.threads))


def first_tasks(thread: Thread) -> Set[Task]:
    """The tasks that a thread has at the start."""
    return frozenset(task for task in Task if Design.tasks > 0 and first_owner(task) == thread)


def first_thread(thread: Thread) -> StreamThread:
    """A thread that has its tasks."""
    return StreamThread(
        state=ThreadState.RUNNING,
        used=first_used(0),
        tasks=first_tasks(thread),
        previous=frozenset(),
        reply=None,
        wants_to_rejoin=False,
    )


def first_subscriptions() -> Subscriptions:
    """All have said what they support, and that they had nothing."""
    return Map({t: Subscription(first_used(0), first_used(0), frozenset()) for t in Thread})


def first_assignments() -> Assignments:
    """All have been sent their tasks."""
    return Map({t: Assignment(first_used(0), first_used(0), first_tasks(t), error=False) for t in Thread})


def first_hosts() -> Hosts:
    """Each process is listed with its tasks, where there is a list."""
    return Map(
        {
            p: frozenset(
                task for task in Task if Design.tasks > 0 and first_used(0) > 1 and process_of(first_owner(task)) == p
            )
            for p in Process
        }
    )


def nothing_stored() -> StoredGroup:
    """No group was ever stable."""
    return StoredGroup(
        leader=None,
        subscriptions=Map({t: None for t in Thread}),
        assignments=Map({t: None for t in Thread}),
        hosts=Map({p: frozenset() for p in Process}),
        known=frozenset(),
    )


def first_stored() -> StoredGroup:
    """The group as it is, where there are failovers."""
    if Design.max_failovers == 0:
        return nothing_stored()
    return StoredGroup(Thread(0), first_subscriptions(), first_assignments(), first_hosts(), frozenset(Thread))
