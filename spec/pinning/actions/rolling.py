"""A rolling restart: broker after broker, in the order of their ids, each once all others are up and at rest."""

from __future__ import annotations

from checker.lang import action, replace, require, require_some
from spec.pinning.decisions.watching import forgotten, notified, paths_of
from spec.pinning.design import Design
from spec.pinning.state import Cluster, is_in_office, runs
from spec.pinning.types import Broker, Path, Phase, ProcessState, number


@action(who="operator", source="KIP-39, Motivation (a rolling bounce)", kafka="KafkaServer.shutdown")
def stop_next(s: Cluster, broker: Broker) -> None:
    """The next broker is stopped: it closes its session, and what the session owns goes at once."""
    require(number(broker) == s.faults.restarts and s.faults.restarts < Design.max_restarts)
    require(is_at_rest(s) and s.faults.requests >= Design.pins_first)
    session = require_some(s.brokers[broker].session)
    gone = paths_of(s, session)
    s.faults.restarts += 1
    s.brokers[broker] = replace(forgotten(s.brokers[broker]), state=ProcessState.DOWN, session=None, heard=())
    s.members = frozenset(m for m in s.members if m.owner != session)
    if Path.CONTROLLER in gone:
        s.controller = None
    if Path.READY in gone:
        s.ready = None
    s.brokers = notified(s, gone)


def is_at_rest(s: Cluster) -> bool:
    """Every broker is up, one is in office, and nobody has anything left to do."""
    return all(is_settled(s, broker) for broker in Broker) and any(is_in_office(s, broker) for broker in Broker)


def is_settled(s: Cluster, broker: Broker) -> bool:
    process = s.brokers[broker]
    at_rest = process.phase == Phase.WATCHING or is_in_office(s, broker)
    return runs(process) and at_rest and len(process.events) == 0 and len(process.seen) == 0
