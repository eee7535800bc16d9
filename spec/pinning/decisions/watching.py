"""Watches: who hears of a change, what a pull sees, what a broker reads when it starts.

An event that changes nothing is handled in the step that causes it, since nothing depends on when it is: its watch is
set again, and it is in no queue. Most states would differ in such events only. `concerns` says which are kept. The two
events of one step come in the order in which `notified` has them; ZooKeeper promises none.
"""

from __future__ import annotations

from checker.lang import Map, Option, Set, choose, replace
from spec.pinning.decisions.office import must_hand_over
from spec.pinning.design import Design
from spec.pinning.state import (
    BrokerProcess,
    Cluster,
    Events,
    believes_in_office,
    is_target,
    owns_office,
    owns_ready,
    runs,
)
from spec.pinning.types import Broker, Path, Phase, ProcessState, is_legacy, is_preferred
from spec.zookeeper.sessions import Session
from spec.zookeeper.watches import queued


def concerns(s: Cluster, broker: Broker, path: Path) -> bool:
    """Handling an event of this path, now or later, is more than setting its watch again."""
    process = s.brokers[broker]
    if path == Path.CONTROLLER:
        if believes_in_office(process):
            return not owns_office(s, broker)
        return s.controller is None and (process.phase == Phase.WATCHING or process.phase == Phase.ABSTAINS)
    if path == Path.NEXT:
        if is_target(s, broker) or (owns_ready(s, broker) and Design.one_ready_each):
            return True
        return not Design.office_reads_ready and not is_idle(process)
    if path == Path.READY:
        if believes_in_office(process):
            return must_hand_over(s, broker)
        return process.phase != Phase.WATCHING or not is_idle(process) or may_renew_ready(s, broker)
    if believes_in_office(process):
        return len(s.members) > 0
    return not is_idle(process) and (process.phase != Phase.ABSTAINS or len(s.members) == 0)


def is_idle(process: BrokerProcess) -> bool:
    """It knows of a controller: whatever it hears before the end of that one comes too early for the next election."""
    return process.phase == Phase.WATCHING and Path.CONTROLLER not in process.events


def may_renew_ready(s: Cluster, broker: Broker) -> bool:
    """The target finds no `ready`: that of its former session, which was in the way, is gone."""
    return Design.ready_renewed and is_target(s, broker) and s.ready is None and not Design.takeover


def notified(s: Cluster, fired: Set[Path]) -> Map[Broker, BrokerProcess]:
    """The brokers once the znodes of these paths have changed."""
    return Map({broker: after_change(s, broker, fired) for broker in Broker})


def after_change(s: Cluster, broker: Broker, fired: Set[Path]) -> BrokerProcess:
    """A broker once some znodes have changed: watches that were set have fired."""
    process = s.brokers[broker]
    if not runs(process):
        return replace(process)
    hears = Path.CONTROLLER in fired and (Path.CONTROLLER in process.armed or Path.CONTROLLER in process.events)
    knows = hears and s.controller is not None and not believes_in_office(process)
    abstains_no_more = knows and process.phase == Phase.ABSTAINS
    events = without(process.events, Path.CONTROLLER) if knows else process.events
    armed = process.armed | {Path.CONTROLLER} if knows and Path.CONTROLLER in process.events else process.armed
    phase = Phase.WATCHING if abstains_no_more else process.phase
    moved = replace(
        process,
        events=events,
        armed=armed,
        phase=phase,
        waits_for=None if abstains_no_more else process.waits_for,
    )
    once = heard(s, broker, moved, fired, Path.CONTROLLER)
    twice = heard(s, broker, once, fired, Path.NEXT)
    thrice = heard(s, broker, twice, fired, Path.READY)
    return heard(s, broker, thrice, fired, Path.PREFERRED)


def heard(s: Cluster, broker: Broker, process: BrokerProcess, fired: Set[Path], path: Path) -> BrokerProcess:
    """A broker once its watch on a path, where one was set, has fired."""
    if path not in fired or path not in process.armed:
        return replace(process)
    if concerns(s, broker, path):
        return replace(process, armed=process.armed - {path}, events=queued(process.events, path))
    if path == Path.READY:
        return replace(process, armed=process.armed - {path} if is_idle(process) else with_ready(s, process.armed))
    return replace(process)


def without(events: Events, path: Path) -> Events:
    """The queue without the events of a path."""
    if len(events) > 0 and events[0] == path:
        return events[1:]
    if len(events) > 1 and events[1] == path:
        return events[:1] + events[2:]
    if len(events) > 2 and events[2] == path:
        return events[:2]
    return events


def with_ready(s: Cluster, armed: Set[Path]) -> Set[Path]:
    """The watches once `ready` is read with a watch."""
    return armed | {Path.READY} if s.ready is not None or Design.watch_where_absent else armed - {Path.READY}


def seen_in_pull(s: Cluster, broker: Broker) -> Option[Broker]:
    """To whom a broker that pulls now has to leave the election; None: it may run."""
    if is_legacy(broker):
        return None
    if Design.preferred:
        if is_preferred(broker) or len(s.members) == 0:
            return None
        return choose(b for b in Broker if any(member.broker == b for member in s.members))
    if not Design.pinning or s.ready is None or s.ready.broker == broker:
        return None
    return s.ready.broker


def after_pull(s: Cluster, broker: Broker, process: BrokerProcess) -> BrokerProcess:
    """A broker that knows of no controller, and has pulled `ready` with a watch."""
    reads_ready = Design.pinning and not Design.takeover and not is_legacy(broker)
    return replace(
        process,
        phase=Phase.PULLED,
        waits_for=seen_in_pull(s, broker),
        armed=with_ready(s, process.armed) if reads_ready else process.armed,
    )


def standing_watches(broker: Broker) -> Set[Path]:
    """What a broker watches for as long as it runs."""
    office = frozenset({Path.CONTROLLER})
    if is_legacy(broker):
        return office
    if Design.preferred:
        return office if is_preferred(broker) else office | {Path.PREFERRED}
    return office | {Path.NEXT} if Design.pinning else office


def forgotten(process: BrokerProcess) -> BrokerProcess:
    """A broker without its memory: as it is after a start, before it has read anything."""
    return replace(
        process,
        expired=False,
        phase=Phase.WATCHING,
        waits_for=None,
        epoch=None,
        decided=(),
        seen=(),
        armed=frozenset(),
        events=(),
    )


def started(s: Cluster, broker: Broker, session: Session) -> BrokerProcess:
    """A broker with a new session that has read `next` and `/controller`, with watches, and is to act on them."""
    before = s.brokers[broker]
    process = replace(forgotten(before), state=ProcessState.UP, session=session)
    if not Design.watches_after_expiry and before.state == ProcessState.UP:
        return process
    watches = standing_watches(broker)
    asked = Path.NEXT in watches and is_target(s, broker)
    vacant = s.controller is None
    return replace(
        process,
        armed=watches - path_if(asked, Path.NEXT) - path_if(vacant, Path.CONTROLLER),
        events=event_if(asked, Path.NEXT) + event_if(vacant, Path.CONTROLLER),
    )


def path_if(holds: bool, path: Path) -> Set[Path]:
    """The path, or none."""
    return frozenset({path}) if holds else frozenset()


def paths_of(s: Cluster, session: Session) -> Set[Path]:
    """The paths that fire once a session has ended: of the znodes that it owns, and of the preferred brokers'."""
    office = path_if(s.controller is not None and s.controller.owner == session, Path.CONTROLLER)
    ready = path_if(s.ready is not None and s.ready.owner == session, Path.READY)
    return frozenset({Path.PREFERRED}) | office | ready


def event_if(holds: bool, path: Path) -> Events:
    """An event of the path, or none."""
    if holds:
        return (path,)
    return ()
