"""Notes on the steps of a counterexample: jars, versions that meet, what each member is sent and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checker.lang import Notes, TakenStep
from spec.streams.decisions.assignor import is_future, lowest_received, offered
from spec.streams.decisions.behaviour import keeps_membership
from spec.streams.state import Cluster, is_member, supports
from spec.streams.types import GroupState, Process, Thread, first_used, stands_for, supported

Taken = TakenStep[Cluster]


def on_step(steps: Sequence[Taken]) -> Iterator[str]:
    """Notes on the last of these steps."""
    step = steps[-1]
    yield from software(step.before, step.after)
    if step.action == "assign" and step.after.group.state == GroupState.STABLE:
        yield from assignments(step.before, step.after, step.given["thread"])
    yield from versions(step.before, step.after)
    yield from group(step.before, step.after)


def software(before: Cluster, after: Cluster) -> Iterator[str]:
    """The jars and configurations that change."""
    for process in Process:
        bounces = after.processes[process].bounces
        if bounces != before.processes[process].bounces:
            version = stands_for(bounces)
            configured = "" if version is None else f", upgrade.from stands for {version}"
            yield f"{process} supports {supported(bounces)}{configured}; it will send {first_used(bounces)}"


def assignments(before: Cluster, after: Cluster, leader: Thread) -> Iterator[str]:
    """What the leader goes by, and what it sends to whom."""
    sent = {t: after.group.assignments[t] for t in Thread}
    received = ", ".join(f"{t} {s.used}" for t in Thread if (s := before.group.subscriptions[t]) is not None)
    yield f"{leader} supports {supports(before, leader)}; received: {received}"
    yield f"lowest received {lowest_received(before, leader)}, offered as supported {offered(before, leader)}"
    for thread, assignment in sent.items():
        if assignment is not None:
            why = ", who probes" if is_future(before, leader, thread) else ""
            yield f"{thread}{why}: version {assignment.used}, supported {assignment.supported}"


def versions(before: Cluster, after: Cluster) -> Iterator[str]:
    """Used versions that change, wishes to rejoin, and deaths."""
    for thread in Thread:
        was, now = before.threads[thread], after.threads[thread]
        if now.used != was.used:
            yield f"{thread} used {was.used}, and uses {now.used}"
        if now.wants_to_rejoin and not was.wants_to_rejoin:
            way = "with its member id" if keeps_membership(after, thread) else "by unsubscribing"
            yield f"{thread} wants to rejoin, {way}"
        cause = after.deaths[thread]
        if cause is not None and before.deaths[thread] is None:
            yield f"{thread} dies, {cause.value}"


def group(before: Cluster, after: Cluster) -> Iterator[str]:
    """The state of the group and its leader, where they change."""
    if (before.group.state, before.group.leader) != (after.group.state, after.group.leader):
        yield f"group: {after.group.state.value}, leader {after.group.leader or 'nobody'}"


def at_end(steps: Sequence[Taken]) -> Iterator[str]:
    """Where each member stands at the end."""
    if steps:
        last = steps[-1].after
        for thread in Thread:
            state, sent = last.threads[thread].state, last.group.subscriptions[thread]
            said = "is no member" if not is_member(last, thread) or sent is None else f"has sent {sent.used}"
            yield (
                f"{thread}: {state.value}, supports {supports(last, thread)}, uses {last.threads[thread].used}, {said}"
            )


NOTES = [Notes(Cluster, on_step, at_end)]
