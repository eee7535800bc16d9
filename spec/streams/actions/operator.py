"""The operator's bounces, in order and by mistake; processes that die and start."""

from __future__ import annotations

from checker.lang import Map, Set, action, require
from spec.streams.design import Design
from spec.streams.state import Application, Cluster, StreamThread, is_settled
from spec.streams.types import Bounces, Process, Thread, ThreadState, first_used, last_bounce, process_of


def down(own: StreamThread, process: Process, thread: Thread, bounces: Bounces) -> StreamThread:
    """A thread, stopped if it is one of the process. It will use what the software or upgrade.from says."""
    is_one = process_of(thread) == process
    return StreamThread(
        state=ThreadState.DOWN if is_one else own.state,
        used=first_used(bounces) if is_one else own.used,
        tasks=frozenset() if is_one else own.tasks,
        previous=frozenset() if is_one else own.previous,
        reply=None if is_one else own.reply,
        wants_to_rejoin=own.wants_to_rejoin and not is_one,
    )


def threads_of(process: Process) -> Set[Thread]:
    """The threads of a process."""
    return frozenset(t for t in Thread if process_of(t) == process)


def needed_first(bounces: Bounces) -> int:
    """The bounces that every process must have had before one that has had so many has its next."""
    if Design.rolls_in_turn:
        return bounces
    return min(bounces, 1) if Design.first_roll_ends else 0


@action(
    who="operator",
    source="KIP-268, Upgrading to 1.2 (2, 4); Detailed upgrade protocol (rolling-bounce)",
    deviates="stopped and swapped in one step; one process is down at a time",
)
def bounce(s: Cluster, process: Process) -> None:
    """The operator stops a process, and gives it its next jar or configuration."""
    bounces = s.processes[process].bounces
    require(not Design.offline and bounces < last_bounce() and all(s.processes[p].up for p in Process))
    require(all(s.processes[p].bounces >= needed_first(bounces) for p in Process))
    require(not Design.waits_for_stable or is_settled(s))
    s.completed = 0
    s.processes[process].up = False
    s.processes[process].bounces = bounces + 1
    s.threads = Map({t: down(s.threads[t], process, t, bounces + 1) for t in Thread})
    s.stored.known -= threads_of(process)


@action(who="operator", source="KIP-268, Compatibility, Deprecation, and Migration Plan (offline upgrade)")
def stop_all(s: Cluster) -> None:
    """The operator stops all processes, and gives them the new jar."""
    require(Design.offline and all(s.processes[p].bounces < last_bounce() for p in Process))
    s.completed = 0
    s.processes = Map({p: Application(up=False, bounces=last_bounce()) for p in Process})
    s.threads = Map({t: down(s.threads[t], process_of(t), t, last_bounce()) for t in Thread})
    s.stored.known = frozenset()


@action(who="operator", source="KIP-268, Upgrading to 1.2 (no word on rollback)")
def roll_back(s: Cluster, process: Process) -> None:
    """The operator stops a process, and gives it what it ran before its last bounce."""
    bounces = s.processes[process].bounces
    require(s.faults.rollbacks < Design.max_rollbacks and bounces > 0 and all(s.processes[p].up for p in Process))
    s.faults.rollbacks += 1
    s.completed = 0
    s.processes[process].up = False
    s.processes[process].bounces = bounces - 1
    s.threads = Map({t: down(s.threads[t], process, t, bounces - 1) for t in Thread})
    s.stored.known -= threads_of(process)


@action(who="process {process}", source="KIP-268, Test Plan (failure scenario during the upgrade)")
def crash(s: Cluster, process: Process) -> None:
    """A process dies."""
    require(s.processes[process].up and s.faults.crashes < Design.max_crashes)
    s.faults.crashes += 1
    s.completed = 0
    s.processes[process].up = False
    s.threads = Map({t: down(s.threads[t], process, t, s.processes[process].bounces) for t in Thread})
    s.stored.known -= threads_of(process)


@action(who="process {process}", source="KIP-268, Detailed upgrade protocol (on startup)", fair="weak")
def start(s: Cluster, process: Process) -> None:
    """A process starts: its threads have no member id, and nothing but the jar and the configuration."""
    require(not s.processes[process].up)
    s.processes[process].up = True
    s.threads = Map({t: started(s.threads[t], process, t) for t in Thread})


def started(own: StreamThread, process: Process, thread: Thread) -> StreamThread:
    """A thread, started if it is one of the process."""
    return StreamThread(
        state=ThreadState.OUT if process_of(thread) == process else own.state,
        used=own.used,
        tasks=own.tasks,
        previous=own.previous,
        reply=own.reply,
        wants_to_rejoin=own.wants_to_rejoin,
    )
