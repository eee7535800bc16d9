"""Sessions: they end under a live process, or after a dead one; a process gets a new one; a process starts.

ZooKeeper deletes the ephemeral znodes of a session in one step with the session.
"""

from __future__ import annotations

from checker.lang import action, fresh, require, require_some
from spec.pinning.decisions.watching import notified, path_if, paths_of, started
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
    gone = paths_of(s, controller.owner)
    s.members = frozenset(m for m in s.members if m.owner != controller.owner)
    s.controller = None
    if Path.READY in gone:
        s.ready = None
    s.brokers = notified(s, gone)


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
    gone = paths_of(s, session)
    s.members = frozenset(m for m in s.members if m.owner != session)
    s.brokers[broker].session = None
    s.brokers[broker].armed = frozenset()
    if Design.expiry_first:
        s.brokers[broker].events = ()
    if Path.CONTROLLER in gone:
        s.controller = None
    if Path.READY in gone:
        s.ready = None
    s.brokers = notified(s, gone)


@action(
    who="broker {broker}",
    source="ZooKeeper, Sessions; design switches expiry_first, session_retried; KAFKA-5473",
    kafka="KafkaController.StateChangeHandler.beforeInitializingSession, Expire",
    deviates="without expiry_first this is taken twice: the client gets a new session, and its process handles later "
    "that the former one has ended",
)
def renew_session(s: Cluster, broker: Broker) -> None:
    """A broker whose session has ended gets a new one, steps down, and reads everything, with watches."""
    process = s.brokers[broker]
    require(process.state == ProcessState.UP and (process.session is None or process.expired))
    require(Design.session_retried)
    session = fresh(s, Session)
    is_new = process.session is None
    if process.session is not None:
        watched = path_if(Path.READY in process.armed, Path.READY)  # since it has this session
        s.brokers[broker] = started(s, broker, process.session)
        s.brokers[broker].armed |= watched
    elif Design.expiry_first:
        s.brokers[broker] = started(s, broker, session)
    else:
        s.brokers[broker].session = session
        s.brokers[broker].expired = True
    if is_preferred(broker) and is_new:
        s.members = frozenset(m for m in s.members if m.broker != broker) | {Member(broker, session)}
        s.brokers = notified(s, frozenset({Path.PREFERRED}))


@action(who="broker {broker}", source="KIP-39, Changes in the broker startup code (a), (b)")
def restart(s: Cluster, broker: Broker) -> None:
    """A broker starts: it reads `next` and `/controller`, with watches."""
    require(s.brokers[broker].state == ProcessState.DOWN)
    session = fresh(s, Session)
    s.brokers[broker] = started(s, broker, session)
    if is_preferred(broker):
        s.members = frozenset(m for m in s.members if m.broker != broker) | {Member(broker, session)}
        s.brokers = notified(s, frozenset({Path.PREFERRED}))
