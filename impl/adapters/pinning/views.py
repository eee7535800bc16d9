"""The structures that spec and implementation are compared by, and how each of the two is seen as one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from checker.conform.system import Ordinal
from impl.adapters.pinning.cluster import Cluster, waiting
from impl.pinning.broker import Start
from impl.pinning.member import Phase
from impl.pinning.znodes import NEXT, NOBODY, READY, STATE, read_next, read_ready
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH
from impl.zookeeper.znodes import read_controller, read_decimal

NAMES = {CONTROLLER: "CONTROLLER", NEXT: "NEXT", READY: "READY"}


class NextView(NamedTuple):
    target: int
    version: int
    request: Ordinal


class ReadyView(NamedTuple):
    broker: int
    owner: Ordinal
    request: Ordinal | None


class BrokerView(NamedTuple):
    """A broker process. epoch, decided, heard: of its term, of what it has decided, the highest of a request it took.

    hears_of: the znodes whose watch is set, or has fired and is yet to be handled: whether a watch is set while an
    event of it waits makes no difference.
    """

    state: str
    session: Ordinal | None
    expired: bool
    phase: str
    waits_for: int | None
    epoch: Ordinal | None
    decided: tuple[Ordinal, ...]
    heard: tuple[Ordinal, ...]
    seen: tuple[tuple[int, Ordinal], ...]
    hears_of: frozenset[str]
    events: tuple[str, ...]


class AskedView(NamedTuple):
    target: int
    request: Ordinal
    answer: str | None


class ClusterView(NamedTuple):
    controller: tuple[int, Ordinal] | None
    epoch: Ordinal
    epoch_version: Ordinal
    next_controller: NextView | None
    ready: ReadyView | None
    written: tuple[Ordinal, ...]
    brokers: tuple[BrokerView, ...]
    unable: frozenset[int]
    asked: tuple[AskedView, ...]


def _session(value: int) -> Ordinal:
    return Ordinal("session", value)


def _epoch(value: int) -> Ordinal:
    return Ordinal("epoch", value)


def _version(value: int) -> Ordinal:
    return Ordinal("epoch version", value)


def _zxid(value: int) -> Ordinal:
    return Ordinal("zxid", value)


# The implementation.


def observe(cluster: Cluster) -> ClusterView:
    tree = cluster.zookeeper.tree
    controller, standing, ready = tree.get(CONTROLLER), tree.get(NEXT), tree.get(READY)
    epoch, state = tree.get(CONTROLLER_EPOCH), tree.get(STATE)
    assert epoch is not None and state is not None
    asked = cluster.asked
    return ClusterView(
        controller=None
        if controller is None
        else (read_controller(CONTROLLER, controller.data), _session(controller.stat.owner)),
        epoch=_epoch(read_decimal(CONTROLLER_EPOCH, epoch.data)),
        epoch_version=_version(epoch.stat.version),
        next_controller=None
        if standing is None
        else NextView(read_next(standing.data), standing.stat.version, _zxid(standing.stat.mzxid)),
        ready=None if ready is None else _ready(ready.data, ready.stat.owner),
        written=(_epoch(read_decimal(STATE, state.data)),) if cluster.writes else (),
        brokers=tuple(_observed(cluster, broker) for broker in range(len(cluster.hosts))),
        unable=frozenset(broker for broker, host in enumerate(cluster.hosts) if not host.is_able),
        asked=() if asked is None else (AskedView(asked.target, _zxid(asked.request), asked.answer),),
    )


def _ready(data: bytes, owner: int) -> ReadyView:
    said = read_ready(data)
    return ReadyView(said.broker, _session(owner), None if said.request is None else _zxid(said.request))


def _observed(cluster: Cluster, broker: int) -> BrokerView:
    host, client = cluster.hosts[broker], cluster.zookeeper.clients[broker]
    session = _session(client.session) if cluster.lives(broker) else None
    if host.core is None or host.hangs:
        state = "DOWN" if host.core is None else "HUNG"
        return BrokerView(
            state, session, False, "WATCHING", None, None, (), _heard(cluster, broker), (), frozenset(), ()
        )
    member = host.core.member
    deaf = session is None and cluster.design.expiry_first  # it drops what it has when it hears of its session's end
    events = () if deaf else tuple(NAMES[item.path] for item in waiting(host))
    return BrokerView(
        state="UP",
        session=session,
        expired=Start(True) in host.core.queue,
        phase=member.phase.name,
        waits_for=member.waits_for,
        epoch=None if member.term is None else _epoch(member.term.epoch),
        decided=() if member.decided is None else (_epoch(member.decided.epoch),),
        heard=_heard(cluster, broker),
        seen=() if member.seen is None else ((member.seen.next_version, _version(member.seen.epoch.version)),),
        hears_of=frozenset({NAMES[path] for path in client.data_watches if path in NAMES} | set(events)),
        events=events,
    )


def _heard(cluster: Cluster, broker: int) -> tuple[Ordinal, ...]:
    core = cluster.hosts[broker].core
    heard = None if core is None else core.office.heard
    return (_epoch(heard),) if cluster.writes and heard is not None else ()


def key(cluster: Cluster) -> Hashable:
    """What decides what the cores do next, beyond what is shown: timers, what waits besides events, versions."""
    return tuple(
        ()
        if host.core is None or host.hangs
        else (
            tuple(sorted(host.timers)),
            tuple(repr(item) for item in host.core.queue),
            host.core.member.phase in (Phase.ELECTED, Phase.IN_OFFICE) and host.core.member.term is None,
        )
        for host in cluster.hosts
    )


# The spec.


def expect(state: Any, *, shows_request: bool) -> ClusterView:
    """shows_request: `ready` says which request it answers, which it does not in the draft."""
    controller, standing, ready = state.controller, state.next_controller, state.ready
    return ClusterView(
        controller=None if controller is None else (controller.broker.index, _session(controller.owner.value)),
        epoch=_epoch(state.epoch.value),
        epoch_version=_version(state.epoch_version.value),
        next_controller=None
        if standing is None
        else NextView(
            NOBODY if standing.target is None else standing.target.index,
            standing.version,
            _zxid(standing.request.value),
        ),
        ready=None
        if ready is None
        else ReadyView(
            ready.broker.index, _session(ready.owner.value), _zxid(ready.request.value) if shows_request else None
        ),
        written=tuple(_epoch(one.value) for one in state.written),
        brokers=tuple(_expected(process) for process in state.brokers.values()),
        unable=frozenset(broker.index for broker in state.unable),
        asked=tuple(
            AskedView(one.target.index, _zxid(one.request.value), one.answer and one.answer.name) for one in state.asked
        ),
    )


def _expected(process: Any) -> BrokerView:
    return BrokerView(
        state=process.state.name,
        session=None if process.session is None else _session(process.session.value),
        expired=process.expired,
        phase=process.phase.name,
        waits_for=None if process.waits_for is None else process.waits_for.index,
        epoch=None if process.epoch is None else _epoch(process.epoch.value),
        decided=tuple(_epoch(one.value) for one in process.decided),
        heard=tuple(_epoch(one.value) for one in process.heard),
        seen=tuple((one.next_version, _version(one.epoch_version.value)) for one in process.seen),
        hears_of=frozenset(path.name for path in (*process.armed, *process.events)),
        events=tuple(path.name for path in process.events),
    )
