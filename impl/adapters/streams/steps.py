"""The steps of the spec as steps of the group under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.streams.cluster import (
    MISSING,
    NOW_MS,
    Application,
    Cluster,
    by_member,
    completed,
    disconnected,
    expired,
    failed_over,
    heartbeat,
    polled,
)
from impl.streams.coordinator import GroupState
from impl.streams.member import State

Arguments = Mapping[str, Any]
Step = Callable[[Cluster, Arguments], Cluster | Refusal]


def thread_of(arguments: Arguments) -> int:
    return int(arguments["thread"].index)


# Members and the coordinator.


def join(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """Who runs and does not want to hears from a heartbeat that it has to."""
    thread = thread_of(arguments)
    core = cluster.core(thread)
    if core.state is State.RUNNING and not core.wants_to_rejoin:
        cluster = heartbeat(cluster, thread)
    if cluster.core(thread).state not in (State.OUT, State.RETRY, State.RUNNING):
        return Refusal("it has joined")
    return _polled(cluster, thread)


def _polled(cluster: Cluster, thread: int) -> Cluster | Refusal:
    after = polled(cluster, thread)
    if after.calls == cluster.calls and after.core(thread).state is cluster.core(thread).state:
        return Refusal("it has nothing to send")
    return after


def leave(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _polled(cluster, thread_of(arguments))


def complete_join(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    leader = int(arguments["leader"].index)
    if not cluster.coordinator.can_complete:
        return Refusal("not all members have joined")
    after = completed(cluster, leader)
    if after.coordinator.leader != cluster.member_id(leader):
        return Refusal("another member leads")
    return after


def sync(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return _polled(cluster, thread_of(arguments))


def sync_too_late(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A leader hears of it from a heartbeat, before it assigns."""
    thread = thread_of(arguments)
    core = cluster.core(thread)
    if core.state is not State.JOINED:
        return Refusal("it has not joined")
    after = heartbeat(cluster, thread) if core.leads else polled(cluster, thread)
    return after if after.core(thread).state is not core.state else Refusal("it is not too late")


def hear_of_removal(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """From a heartbeat, or from the answer to its JoinGroup."""
    thread = thread_of(arguments)
    if cluster.core(thread).state is State.RETRY:
        return _polled(cluster, thread)
    return heartbeat(cluster, thread)


def expire(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    member = cluster.member_id(thread_of(arguments))
    return Refusal("it is no member") if member is None else expired(cluster, member)


def fail_over(cluster: Cluster, arguments: Arguments) -> Cluster:
    return failed_over(cluster)


def lose_reply(cluster: Cluster, arguments: Arguments) -> Cluster:
    return disconnected(cluster, thread_of(arguments))


def assign(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    thread = thread_of(arguments)
    if not cluster.core(thread).leads:
        return Refusal("it does not lead")
    return _polled(cluster, thread)


def assign_errors(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return polled(cluster, thread_of(arguments), MISSING)


def take_assignment(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    thread = thread_of(arguments)
    host, core = cluster.hosts[thread], cluster.core(thread).copy()
    if host.reply is None:
        return Refusal("no assignment is under way")
    effects = core.on_synced(host.reply, NOW_MS)
    return by_member(cluster.with_host(thread, replace(host, reply=None)), thread, core, effects)


# The operator and the processes.


def _stopped(cluster: Cluster, process: int, bounces: int) -> Cluster:
    return cluster.with_process(process, Application(False, bounces))


def bounce(cluster: Cluster, arguments: Arguments) -> Cluster:
    process = arguments["process"].index
    return _stopped(cluster, process, cluster.processes[process].bounces + 1)


def roll_back(cluster: Cluster, arguments: Arguments) -> Cluster:
    process = arguments["process"].index
    return _stopped(cluster, process, cluster.processes[process].bounces - 1)


def crash(cluster: Cluster, arguments: Arguments) -> Cluster:
    process = arguments["process"].index
    return _stopped(cluster, process, cluster.processes[process].bounces)


def stop_all(cluster: Cluster, arguments: Arguments) -> Cluster:
    last = len(cluster.procedure.versions) - 1
    for process in range(len(cluster.processes)):
        cluster = _stopped(cluster, process, last)
    return cluster


def start(cluster: Cluster, arguments: Arguments) -> Cluster:
    process = arguments["process"].index
    return cluster.with_process(process, replace(cluster.processes[process], up=True))


STEPS: Mapping[str, Step] = {
    step.__name__: step
    for step in (
        join, leave, complete_join, sync, sync_too_late, hear_of_removal, expire, fail_over, lose_reply, assign,
        assign_errors, take_assignment, bounce, roll_back, crash, stop_all, start,
    )
} | {"expire_early": expire}  # fmt: skip


def attempt(cluster: Cluster, action: str, arguments: Arguments) -> Cluster | Refusal | None:
    """Decisions of the coordinator, and a member's that nobody disturbs."""
    if action == "complete_join":
        return complete_join(cluster, arguments)
    if action not in ("join", "sync_too_late"):
        return None
    thread = thread_of(arguments)
    core = cluster.hosts[thread].core
    if core is None or cluster.member_id(thread) != core.member_id:
        return None
    if action == "sync_too_late":
        is_asked = core.state is State.JOINED and cluster.coordinator.state is not GroupState.PREPARING
        return heartbeat(cluster, thread) if is_asked else None
    return join(cluster, arguments) if core.state is State.RUNNING and not core.wants_to_rejoin else None
