"""Sessions: they end under a live process, or after a dead one; a process gets a new one; a process starts.

ZooKeeper deletes the ephemeral znodes of a session in one step with the session.
"""

from __future__ import annotations

from checker.lang import action, fresh, require, require_some
from spec.pinning.decisions.watching import notified, path_if, started
from spec.pinning.design import Design
from spec.pinning.state import Cluster, Member, runs
from spec.pinning.types import Broker, Path, ProcessState, is_preferred
from spec.zookeeper.sessions import Session


def is_dead(s: Cluster, owner: Session) -> bool:
    """No process has this session any more."""
    return all(s.brokers[broker].session != owner for broker in Broker)


@action(who="ZooKeeper", source="ZooKeeper, Sessions")
def end_dead_session(s: Cluster) -> None:
    """The session of a dead process ends, and `/controller` with it, and what else the session owns."""
    controller = require_some(s.controller)
    require(is_dead(s, controller.owner))
    ready_too = s.ready is not None and s.ready.owner == controller.owner
    s.members = frozenset(m for m in s.members if m.owner != controller.owner)
    s.controller = None
    if ready_too:
        s.ready = None
    goes = frozenset({Path.CONTROLLER, Path.PREFERRED})
    s.brokers = notified(s, goes | {Path.READY} if ready_too else goes)


@action(who="ZooKeeper", source="ZooKeeper, Sessions; KIP-39, Possible gotchas (II), (III)")
def end_dead_session_of_ready(s: Cluster) -> None:
    """The session of a dead process ends that owns `ready`, and not `/controller`."""
    ready = require_some(s.ready)
    require(is_dead(s, ready.owner) and (s.controller is None or s.controller.owner != ready.owner))
    s.ready = None
    s.brokers = notified(s, frozenset({Path.READY}))


@action(who="ZooKeeper", source="ZooKeeper, Sessions")
def expire(s: Cluster, broker: Broker) -> None:
    """The session of a live broker ends: it was cut off, or paused, for too long. It has yet to hear of that."""
    require(runs(s.brokers[broker]) and s.faults.expiries < Design.max_expiries)
    session = require_some(s.brokers[broker].session)
    s.faults.expiries += 1
    office_goes = s.controller is not None and s.controller.owner == session
    ready_goes = s.ready is not None and s.ready.owner == session
    s.members = frozenset(m for m in s.members if m.owner != session)
    s.brokers[broker].session = None
    s.brokers[broker].armed = frozenset()
    if Design.expiry_first:
        s.brokers[broker].events = ()
    if office_goes:
        s.controller = None
    if ready_goes:
        s.ready = None
    office = path_if(office_goes, Path.CONTROLLER)
    ready = path_if(ready_goes, Path.READY)
    s.brokers = notified(s, frozenset({Path.PREFERRED}) | office | ready)


@action(
    who="broker {broker}",
    source="ZooKeeper, Sessions; design switches expiry_first, session_retried; KAFKA-5473",
    kafka="KafkaController.StateChangeHandler.beforeInitializingSession, Expire",
)
def reconnect(s: Cluster, broker: Broker) -> None:
    """A broker hears that its session has ended, and gets a new one; what it does first is the design's."""
    process = s.brokers[broker]
    require(process.state == ProcessState.UP and process.session is None and Design.session_retried)
    session = fresh(s, Session)
    if Design.expiry_first:
        s.brokers[broker] = started(s, broker, session)
    else:
        s.brokers[broker].session = session
        s.brokers[broker].expired = True
    if is_preferred(broker):
        s.members |= {Member(broker, session)}
        s.brokers = notified(s, frozenset({Path.PREFERRED}))


@action(
    who="broker {broker}",
    source="ZooKeeper, Sessions",
    kafka="KafkaController.SessionExpirationListener.handleNewSession",
)
def handle_expiry(s: Cluster, broker: Broker) -> None:
    """A broker that has a new session already, and went on, handles that the former one has ended."""
    process = s.brokers[broker]
    require(runs(process) and process.expired)
    s.brokers[broker] = started(s, broker, require_some(process.session))


@action(who="broker {broker}", source="KIP-39, Changes in the broker startup code (a), (b)")
def restart(s: Cluster, broker: Broker) -> None:
    """A broker starts: it reads `next` and `/controller`, with watches."""
    require(s.brokers[broker].state == ProcessState.DOWN)
    session = fresh(s, Session)
    s.brokers[broker] = started(s, broker, session)
    if is_preferred(broker):
        s.members |= {Member(broker, session)}
        s.brokers = notified(s, frozenset({Path.PREFERRED}))
