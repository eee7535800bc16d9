"""Notes on the steps of a counterexample: znodes and their owners, watches, who is in office, and why the office moved.

ZooKeeper and the brokers see the same tree at once here, so that what a broker pulled was true in the step that pulled
it: a note says where it is no longer so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from checker.lang import Notes, TakenStep
from spec.pinning.properties.witnesses import case_1, case_2, case_3
from spec.pinning.state import (
    BrokerProcess,
    Cluster,
    Controller,
    NextController,
    Ready,
    believes_in_office,
    owns_office,
)
from spec.pinning.types import Broker, Path, Phase, ProcessState

Taken = TakenStep[Cluster]

CASES = {"I": case_1, "II": case_2, "III": case_3}
AWAITED = (Path.READY, Path.PREFERRED)
CAUSES = {
    "resign": "resigned for the one that is ready",
    "take_over": "was replaced by the target",
    "fail_in_office": "failed on taking office",
    "delete_by_hand": "lost /controller, which an operator deleted",
    "stop_next": "was stopped",
    "end_dead_session": "had died, and its session ended",
    "expire": "lost its session while it ran on",
    "resign_for_member": "resigned for a preferred broker",
}
"""How a broker loses `/controller`, by action."""


def on_step(steps: Sequence[Taken]) -> Iterator[str]:
    """Notes on the last of these steps."""
    step = steps[-1]
    yield from znodes(step.before, step.after)
    if step.action == "set_ready" and step.after.ready is not None and step.after.ready == step.before.ready:
        yield f"ready of {step.after.ready.broker}, session {step.after.ready.owner}, is in the way"
    yield from watches(step.before, step.after)
    for broker in Broker:
        was, now = step.before.brokers[broker], step.after.brokers[broker]
        if now.session is not None and now.session != was.session:
            yield f"{broker} has session {now.session}" + ("" if was.session is None else f", after {was.session}")
        yield from election(steps, broker, was, now)
    yield from office(step.before, step.after)
    for name, case in CASES.items():
        if case.function(step.after) and not case.function(step.before):
            yield f"case {name} of the document"


# What ZooKeeper has.


def znodes(before: Cluster, after: Cluster) -> Iterator[str]:
    yield from znode("/controller", before.controller, after.controller)
    if before.epoch != after.epoch:
        yield f"/controller_epoch: {before.epoch} → {after.epoch}"
    yield from znode("next_controller", before.next_controller, after.next_controller)
    yield from znode("ready", before.ready, after.ready)
    for member in sorted(after.members - before.members, key=repr):
        yield f"preferred_controllers/{member.broker}: created, session {member.owner}"
    for member in sorted(before.members - after.members, key=repr):
        yield f"preferred_controllers/{member.broker}: deleted"
    if before.written != after.written:
        yield f"a write of controller epoch {', '.join(map(repr, after.written))} is made"


Znode = Controller | NextController | Ready


def znode(path: str, was: Znode | None, now: Znode | None) -> Iterator[str]:
    """The change of one znode, with what it is and whose."""
    if was == now:
        return
    if now is None:
        yield f"{path}: deleted" + ("" if was is None else f" ({content(was)})")
    else:
        yield f"{path}: {'created' if was is None else 'set'} ({content(now)})"


def content(found: Znode) -> str:
    if isinstance(found, Controller):
        return f"{found.broker}, session {found.owner}"
    if isinstance(found, NextController):
        return f"target {found.target}, version {found.version}, zxid {found.request}"
    return f"{found.broker}, session {found.owner}, for the request of zxid {found.request}"


def watches(before: Cluster, after: Cluster) -> Iterator[str]:
    """The watches that fire and that are set, by znode."""
    for path in Path:
        fired = [b for b in Broker if path in after.brokers[b].events and path not in before.brokers[b].events]
        armed = [b for b in Broker if path in after.brokers[b].armed - before.brokers[b].armed]
        if fired:
            yield f"the watch on {path.value} fires for {names(fired)}"
        if armed:
            yield f"{names(armed)} {'watches' if len(armed) == 1 else 'watch'} {path.value}"


# What brokers believe.


def election(steps: Sequence[Taken], broker: Broker, was: BrokerProcess, now: BrokerProcess) -> Iterator[str]:
    """The part that a broker begins to play in the election, and what it goes by."""
    if now.phase == was.phase and now.waits_for == was.waits_for:
        return
    if now.phase == Phase.PULLED:
        found = "nobody to leave the election to" if now.waits_for is None else f"that {now.waits_for} is to be elected"
        yield f"{broker} pulls, and finds {found}"
    elif now.phase == Phase.ABSTAINS:
        yield f"{broker} abstains for {now.waits_for or 'the preferred brokers'}{pulled(steps, broker)}"
    elif now.phase == Phase.LAPSED:
        yield f"{broker} has abstained long enough, and runs next"
    elif was.phase == Phase.PULLED:
        yield f"{broker} goes on{pulled(steps, broker)}"


def pulled(steps: Sequence[Taken], broker: Broker) -> str:
    """When a broker pulled what it goes by in the last of these steps, and whether `ready` has changed since."""
    at = [s for s in steps if is_pulled(s.after, broker) and not is_pulled(s.before, broker)]
    if not at:
        return ""
    changed = [s.index for s in steps if s.index > at[-1].index and s.before.ready != s.after.ready]
    since = f"; ready has changed since, in step {changed[-1]}" if changed else ""
    return f", by what it pulled in step {at[-1].index}{since}"


def is_pulled(s: Cluster, broker: Broker) -> bool:
    return s.brokers[broker].phase == Phase.PULLED


def office(before: Cluster, after: Cluster) -> Iterator[str]:
    """Who is in office, as brokers believe and as ZooKeeper has it, where that changes."""
    if (believers(before), owner(before)) != (believers(after), owner(after)):
        believed = names(believers(after)) or "nobody"
        yield f"in office: {believed}, as brokers believe; {owner(after)}, as ZooKeeper has it"


def believers(s: Cluster) -> list[Broker]:
    return [broker for broker in Broker if believes_in_office(s.brokers[broker])]


def owner(s: Cluster) -> str:
    """Whose `/controller` is."""
    if s.controller is None:
        return "nobody"
    return str(s.controller.broker) + ("" if owns_office(s, s.controller.broker) else " in a session that it lost")


# The end of a trace.


def at_end(steps: Sequence[Taken]) -> Iterator[str]:
    """The moves of the office with their causes, and who abstains for whom at the end."""
    yield from moves(steps)
    if steps and steps[-1].after.controller is None:
        yield from abstainers(steps[-1].after)


def moves(steps: Sequence[Taken]) -> Iterator[str]:
    """Each election: to whom, and how the one before lost the office; and since when it is vacant."""
    left, number = "", 0
    for step in steps:
        was, now = step.before.controller, step.after.controller
        if was is not None and was != now:
            left = f"in step {step.index} {lost(step, was.broker)}"
        if now is not None and was != now:
            number += 1
            yield f"move {number}: to {now.broker} in step {step.index}, epoch {step.after.epoch}; {left}".rstrip("; ")
    if left and steps[-1].after.controller is None:
        yield f"vacant: {left}"


def lost(step: Taken, broker: Broker) -> str:
    """How a broker loses `/controller` by a step."""
    by = step.given.get("broker", broker)
    if step.action in CAUSES and (by == broker or step.action == "take_over"):
        return f"{broker} {CAUSES[step.action]}"
    return f"{broker} lost /controller to {step.action} of {by}"


def abstainers(s: Cluster) -> Iterator[str]:
    """For each broker that abstains while nobody is in office: for whom, and what it would have to hear."""
    for broker in Broker:
        process = s.brokers[broker]
        if process.phase != Phase.ABSTAINS:
            continue
        awaited = process.waits_for
        state = "" if awaited is None else f", which is {s.brokers[awaited].state.value.lower()}"
        if process.state != ProcessState.UP:
            then = f"it is {process.state.value.lower()} itself"
        elif heard := [path.value for path in AWAITED if path in process.armed or path in process.events]:
            then = f"it looks again once {' or '.join(heard)} has changed"
        else:
            then = "no watch of its would fire: it would have to give up waiting"
        yield f"abstains: {broker} for {awaited or 'the preferred brokers'}{state}; {then}"


def names(brokers: Iterable[Broker]) -> str:
    return ", ".join(map(repr, brokers))


NOTES = [Notes(Cluster, on_step, at_end)]
