"""The structures that spec and implementation are compared by, and how each of the two is seen as one."""

from __future__ import annotations

from typing import Any, NamedTuple

from checker.conform.system import Ordinal
from impl.adapters.pinning import ordinals
from impl.adapters.pinning.cluster import Cluster, waiting
from impl.pinning.broker import Start
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
        else (read_controller(CONTROLLER, controller.data), ordinals.session(controller.stat.owner)),
        epoch=ordinals.epoch(read_decimal(CONTROLLER_EPOCH, epoch.data)),
        epoch_version=ordinals.epoch_version(epoch.stat.version),
        next_controller=None
        if standing is None
        else NextView(read_next(standing.data), standing.stat.version, ordinals.zxid(standing.stat.mzxid)),
        ready=None if ready is None else _ready(ready.data, ready.stat.owner),
        written=(ordinals.epoch(read_decimal(STATE, state.data)),) if cluster.writes else (),
        brokers=tuple(_observed(cluster, broker) for broker in range(len(cluster.hosts))),
        unable=frozenset(broker for broker, host in enumerate(cluster.hosts) if not host.is_able),
        asked=() if asked is None else (AskedView(asked.target, ordinals.zxid(asked.request), asked.answer),),
    )


def _ready(data: bytes, owner: int) -> ReadyView:
    said = read_ready(data)
    return ReadyView(
        said.broker, ordinals.session(owner), None if said.request is None else ordinals.zxid(said.request)
    )


def _observed(cluster: Cluster, broker: int) -> BrokerView:
    host, client = cluster.hosts[broker], cluster.zookeeper.clients[broker]
    session = ordinals.session(client.session) if cluster.lives(broker) else None
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
        epoch=None if member.term is None else ordinals.epoch(member.term.epoch),
        decided=() if member.decided is None else (ordinals.epoch(member.decided.epoch),),
        heard=_heard(cluster, broker),
        seen=()
        if member.seen is None
        else ((member.seen.next_version, ordinals.epoch_version(member.seen.epoch.version)),),
        hears_of=frozenset({NAMES[path] for path in client.data_watches if path in NAMES} | set(events)),
        events=events,
    )


def _heard(cluster: Cluster, broker: int) -> tuple[Ordinal, ...]:
    core = cluster.hosts[broker].core
    heard = None if core is None else core.office.heard
    return (ordinals.epoch(heard),) if cluster.writes and heard is not None else ()


# The spec.


def expect(state: Any, *, shows_request: bool) -> ClusterView:
    """shows_request: `ready` says which request it answers, which it does not in the draft."""
    controller, standing, ready = state.controller, state.next_controller, state.ready
    return ClusterView(
        controller=None if controller is None else (controller.broker.index, ordinals.session(controller.owner.value)),
        epoch=ordinals.epoch(state.epoch.value),
        epoch_version=ordinals.epoch_version(state.epoch_version.value),
        next_controller=None
        if standing is None
        else NextView(
            NOBODY if standing.target is None else standing.target.index,
            standing.version,
            ordinals.zxid(standing.request.value),
        ),
        ready=None
        if ready is None
        else ReadyView(
            ready.broker.index,
            ordinals.session(ready.owner.value),
            ordinals.zxid(ready.request.value) if shows_request else None,
        ),
        written=tuple(ordinals.epoch(one.value) for one in state.written),
        brokers=tuple(_expected(process) for process in state.brokers.values()),
        unable=frozenset(broker.index for broker in state.unable),
        asked=tuple(
            AskedView(one.target.index, ordinals.zxid(one.request.value), one.answer and one.answer.name)
            for one in state.asked
        ),
    )


def _expected(process: Any) -> BrokerView:
    return BrokerView(
        state=process.state.name,
        session=None if process.session is None else ordinals.session(process.session.value),
        expired=process.expired,
        phase=process.phase.name,
        waits_for=None if process.waits_for is None else process.waits_for.index,
        epoch=None if process.epoch is None else ordinals.epoch(process.epoch.value),
        decided=tuple(ordinals.epoch(one.value) for one in process.decided),
        heard=tuple(ordinals.epoch(one.value) for one in process.heard),
        seen=tuple((one.next_version, ordinals.epoch_version(one.epoch_version.value)) for one in process.seen),
        hears_of=frozenset(path.name for path in (*process.armed, *process.events)),
        events=tuple(path.name for path in process.events),
    )
