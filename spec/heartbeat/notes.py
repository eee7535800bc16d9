"""Notes on the steps of a counterexample: znodes and who wrote them, requests and their decisions, who leads by whom.

ZooKeeper and every process may each believe something else: a note says which of them it is that changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from checker.lang import Notes, TakenStep
from spec.heartbeat.state import (
    BrokerProcess,
    Cluster,
    Heartbeat,
    HeartbeatReply,
    IsrChange,
    IsrReply,
    Registration,
    believes_in_office,
    is_counted,
    is_registered,
    serves,
)
from spec.heartbeat.types import Broker, BrokerState, Controller, Incarnation, Process, RecordStatus

Taken = TakenStep[Cluster]


def on_step(steps: Sequence[Taken]) -> Iterator[str]:
    """Notes on the last of these steps."""
    step = steps[-1]
    before, after = step.before, step.after
    yield from znodes(before, after)
    for controller in Controller:
        yield from decisions(before, after, controller)
    for process in Process:
        was, now = before.processes[process], after.processes[process]
        yield from requests(process, was, now)
        yield from belief(after, process, was, now)
    if before.record != after.record:
        yield f"the record is {after.record.value.lower()}"
    if servers(before) != servers(after) and len(servers(after)) > 1:
        yield f"{names(servers(after))} serve at once"


# What ZooKeeper has.


def znodes(before: Cluster, after: Cluster) -> Iterator[str]:
    """The znodes that a step creates, writes and deletes."""
    for broker in Broker:
        was, now = before.ids[broker], after.ids[broker]
        if was != now:
            path = f"/brokers/ids/{broker}"
            yield f"{path}: deleted" if now is None else f"{path}: created by {owner(now)}"
    if before.office != after.office:
        yield "/controller: deleted" if after.office is None else f"/controller: {after.office}"
    if before.controller_epoch != after.controller_epoch:
        yield f"/controller_epoch: {before.controller_epoch} → {after.controller_epoch}"
    old, new = before.partition, after.partition
    if old != new:
        led = "nobody leads" if new.leader is None else f"{new.leader} leads"
        state = f"{led} at leader epoch {new.leader_epoch}, ISR {members(new.isr)}, version {new.version}"
        yield f"partition state: {state}, by the controller of epoch {new.controller_epoch}"


def owner(registration: Registration) -> str:
    return f"{registration.process}, czxid {registration.czxid}" + (", legacy" if registration.legacy else "")


# Requests and decisions.


def requests(process: Process, was: BrokerProcess, now: BrokerProcess) -> Iterator[str]:
    """What a process sends, and what it is answered."""
    if now.heartbeat is not None and now.heartbeat != was.heartbeat:
        yield f"{process} sends {heartbeat(now.heartbeat)}"
    if now.change is not None and now.change != was.change:
        yield f"{process} asks for {isr_change(now.change)}"
    if now.reply is not None and now.reply != was.reply:
        yield f"{process} is answered {heartbeat_reply(now.reply)}"
    if now.isr_reply is not None and now.isr_reply != was.isr_reply:
        yield f"{process} is answered {isr_reply(now.isr_reply)}"


def heartbeat(request: Heartbeat) -> str:
    return f"a heartbeat of incarnation {request.incarnation}, to be {request.target.value}"


def heartbeat_reply(reply: HeartbeatReply) -> str:
    state = f"that {reply.by} has it {reply.state.value}"
    return f"{reply.error.value}, {state}; for incarnation {reply.incarnation}"


def isr_change(request: IsrChange) -> str:
    added = "" if request.added is None else f", the new member at incarnation {request.added}"
    return f"the ISR {members(request.isr)} at leader epoch {request.leader_epoch}, version {request.version}{added}"


def isr_reply(reply: IsrReply) -> str:
    return f"{reply.error.value}; the ISR is {members(reply.isr)}, version {reply.version}"


def decisions(before: Cluster, after: Cluster, controller: Controller) -> Iterator[str]:
    """How a controller's knowledge of the brokers changes, and who is in the metadata by it."""
    was, now = before.controllers[controller], after.controllers[controller]
    if believes_in_office(was) != believes_in_office(now):
        yield f"{controller} begins its term" if believes_in_office(now) else f"{controller} is out of office"
    for broker in Broker:
        if now.known[broker] != was.known[broker]:
            yield f"{controller} goes by {incarnation(now.known[broker])} of {broker}"
        if now.states[broker] != was.states[broker]:
            yield f"{controller} has {broker} {was.states[broker].value} → {state_of(now.states[broker])}"


def state_of(state: BrokerState) -> str:
    return state.value + ("" if is_counted(state) else ": it is out of the metadata")


def incarnation(known: Incarnation | None) -> str:
    return "no incarnation" if known is None else f"incarnation {known}"


# What brokers believe.


def belief(after: Cluster, process: Process, was: BrokerProcess, now: BrokerProcess) -> Iterator[str]:
    """What becomes of a process's lead, its lease and its record."""
    if now.fenced != was.fenced and now.up:
        yield f"{process} is fenced" if now.fenced else f"{process} is unfenced, by {now.leased_by}"
    if now.leads and (not was.leads or now.leader_epoch != was.leader_epoch):
        yield f"{process} leads at leader epoch {now.leader_epoch}{unlike(after, process)}"
    elif was.leads and not now.leads:
        yield f"{process} leads no more"
    if was.has_record and not now.has_record:
        yield f"{process} has lost the record"


def unlike(s: Cluster, process: Process) -> str:
    """What ZooKeeper has that a leader does not know."""
    if not is_registered(s, process):
        return ", and is registered no more"
    return "" if s.partition.leader_epoch == s.processes[process].leader_epoch else ", which has ended"


def servers(s: Cluster) -> list[Process]:
    """The processes that accept requests as the leader."""
    return [process for process in Process if serves(s.processes[process])]


# The end of a trace.


def at_end(steps: Sequence[Taken]) -> Iterator[str]:
    """Who leads as each of them has it, and who has the record."""
    if not steps:
        return
    s = steps[-1].after
    yield f"in office: {s.office or 'nobody'}, as ZooKeeper has it; {names(in_office(s)) or 'nobody'}, as they believe"
    yield f"leads: {s.partition.leader or 'nobody'}, as ZooKeeper has it; served by {names(servers(s)) or 'nobody'}"
    if s.record != RecordStatus.UNWRITTEN:
        have = names(process for process in Process if s.processes[process].has_record)
        yield f"the record: {s.record.value.lower()}, and on the disk of {have or 'nobody'}"


def in_office(s: Cluster) -> list[Controller]:
    return [controller for controller in Controller if believes_in_office(s.controllers[controller])]


def members(brokers: Iterable[Broker]) -> str:
    return "{" + names(sorted(brokers, key=repr)) + "}"


def names(several: Iterable[object]) -> str:
    return ", ".join(map(repr, several))


NOTES = [Notes(Cluster, on_step, at_end)]
