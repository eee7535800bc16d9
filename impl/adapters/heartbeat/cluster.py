"""The cluster under test: a ZooKeeper in memory, controllers and broker processes, and what is under way between them.

All of it is immutable: a step copies the cores that it touches, and shares the rest. A script runs to its end within a
step, and ZooKeeper answers at once. A controller hears at once that a registration has changed; that it goes by it is a
step of its own, and so is each write. There is no time: what a timeout does is a step.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from impl.heartbeat.broker import Broker, BrokerSettings, Work
from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.controller import Controller
from impl.heartbeat.design import Design
from impl.heartbeat.effects import Ask, Effects, Produce, Reply, ResponseOfController, Tell
from impl.heartbeat.items import Item, Refresh, Settle
from impl.heartbeat.log import Log
from impl.heartbeat.messages import ErrorCode
from impl.heartbeat.replica import Replica
from impl.zookeeper import (
    Connected,
    Create,
    Delete,
    Disconnected,
    Multi,
    Result,
    SetData,
    Submit,
    Unknown,
)
from impl.zookeeper.model import ZooKeeper

PARTITION = TopicPartition("t", 0)
NOW_MS = 0
LATE_MS = 1 << 40
"""The time at which a timeout is over."""
UPGRADED = 2
"""Software that sends heartbeats; 1 handles them only, and 0 is Kafka 2.0."""
WRITES = (Create, SetData, Delete, Multi)
T = TypeVar("T")


@dataclass(frozen=True)
class Disk:
    """What a process finds on its disk."""

    log: Log

    def __call__(self, of: TopicPartition) -> Log:
        return Log(self.log.batches)


class InFlight(NamedTuple):
    """A request under way. number: of the sender's; process: the sender."""

    process: int
    ask: Ask


class Answer(NamedTuple):
    """An answer under way. by: the controller that gave it."""

    number: int
    response: ResponseOfController
    by: int


@dataclass(frozen=True)
class ProcessHost:
    """A place where a broker process runs. core: None where none does. log: its disk, as it is left by one that died.

    software: how often it was upgraded, of twice. controller: whom it takes for the active one. accepted: a produce
    request that it has accepted, and not appended.
    """

    broker: int
    software: int = UPGRADED
    controller: int = 0
    core: Broker | None = None
    log: Log | None = None
    accepted: bool = False
    heartbeat: InFlight | None = None
    reply: Answer | None = None
    change: InFlight | None = None
    isr_reply: Answer | None = None


@dataclass(frozen=True)
class ControllerHost:
    """A place where a controller runs. tells: by broker, the control requests that are under way."""

    core: Controller
    tells: tuple[Tell, ...] = ()
    software: int = UPGRADED


@dataclass(frozen=True, eq=False)
class Cluster:
    """Clients of `zookeeper`: the processes, then the controllers."""

    design: Design
    zookeeper: ZooKeeper
    processes: tuple[ProcessHost, ...]
    controllers: tuple[ControllerHost, ...]
    min_insync: int
    late: tuple[InFlight, ...] = ()
    written: bool = False
    acknowledged: bool = False

    def client_of(self, controller: int) -> int:
        return len(self.processes) + controller

    def with_process(self, process: int, host: ProcessHost) -> Cluster:
        return replace(self, processes=(*self.processes[:process], host, *self.processes[process + 1 :]))

    def with_controller(self, controller: int, host: ControllerHost) -> Cluster:
        return replace(self, controllers=(*self.controllers[:controller], host, *self.controllers[controller + 1 :]))

    def lives(self, process: int) -> bool:
        """The session of a process, as ZooKeeper has it."""
        return self.zookeeper.clients[process].session in self.zookeeper.sessions


def copied(core: T) -> T:
    """A copy of a core between two scripts."""
    found: T = pickle.loads(pickle.dumps(core, protocol=pickle.HIGHEST_PROTOCOL))
    return found


def core_of(host: ProcessHost) -> Broker:
    assert host.core is not None, "it runs"
    return host.core


def replica_of(host: ProcessHost) -> Replica | None:
    return None if host.core is None else host.core.replicas.get(PARTITION)


# Broker processes.


def new_broker(cluster: Cluster, process: int) -> Broker:
    """A process that has no session yet. Its port is its number, so that it is known by its registration."""
    host = cluster.processes[process]
    settings = BrokerSettings(
        host.broker, ("host", process + 1), host.software < UPGRADED, min_insync_replicas=cluster.min_insync
    )
    return Broker(settings, cluster.design, Disk(host.log or Log()))


def by_broker(cluster: Cluster, process: int, core: Broker, effects: Effects, *, loses_reply: bool = False) -> Cluster:
    """Carry out what a core asks for, until its scripts have ended. `core` is a copy that nobody else has.

    loses_reply: that of its write, which happens. It has another connection, and the same session, at once.
    """
    zookeeper = cluster.zookeeper
    asks = list[Ask]()
    acknowledged = cluster.acknowledged
    while effects:
        pending, effects = effects, []
        for effect in pending:
            match effect:
                case Submit():
                    zookeeper = zookeeper.submit(process, effect).serve(process)
                    while zookeeper.clients[process].arriving:
                        event, zookeeper = zookeeper.deliver(process)
                        lost = (
                            Result(effect.id, Unknown()),
                            Disconnected(),
                            Connected(core.registration.session, False),
                        )
                        is_lost = loses_reply and isinstance(effect.operation, WRITES)
                        for one in lost if is_lost else (event,):
                            effects += core.on_event(one, NOW_MS)
                case Ask():
                    asks.append(effect)
                case Produce(error_code=ErrorCode.NONE):
                    acknowledged = True
    host = replace(cluster.processes[process], core=core)
    for ask in asks:
        sent = InFlight(process, ask)
        is_heartbeat = hasattr(ask.request, "target_state")
        host = replace(host, heartbeat=sent) if is_heartbeat else replace(host, change=sent, isr_reply=None)
    return replace(cluster, zookeeper=zookeeper, acknowledged=acknowledged).with_process(process, host)


def do_work(cluster: Cluster, process: int, work: Work) -> Cluster:
    """Let a process do one item of its queue."""
    core = copied(core_of(cluster.processes[process]))
    return heard(by_broker(cluster, process, core, core.advance(NOW_MS, work)))


def goes_to(cluster: Cluster, process: int, controller: int) -> Cluster:
    """A process takes a controller for the active one: what it had sent to another it will send again."""
    host = cluster.processes[process]
    if host.controller == controller:
        return cluster
    return cluster.with_process(process, replace(host, controller=controller, heartbeat=None, change=None))


def with_session(cluster: Cluster, process: int) -> Cluster:
    """Let a process have a session: it hears that the former one is over, if there was one."""
    if cluster.lives(process):
        return cluster
    zookeeper = cluster.zookeeper
    core = copied(core_of(cluster.processes[process]))
    if zookeeper.clients[process].session:
        zookeeper = zookeeper.disconnect(process).reconnect(process)
    effects: Effects = []
    zookeeper = _delivered(zookeeper, process, core, effects).open_session(process)
    zookeeper = _delivered(zookeeper, process, core, effects)
    return by_broker(replace(cluster, zookeeper=zookeeper), process, core, effects)


def _delivered(zookeeper: ZooKeeper, client: int, core: Broker, effects: Effects) -> ZooKeeper:
    while zookeeper.clients[client].arriving:
        event, zookeeper = zookeeper.deliver(client)
        effects += core.on_event(event, NOW_MS)
    return zookeeper


# Controllers.


def by_controller(cluster: Cluster, controller: int, core: Controller, effects: Effects) -> tuple[Cluster, list[Reply]]:
    """As `by_broker`, and the answers that the controller gave."""
    zookeeper, client = cluster.zookeeper, cluster.client_of(controller)
    tells, replies = list(cluster.controllers[controller].tells), list[Reply]()
    while effects or zookeeper.clients[client].arriving:
        pending, effects = effects, []
        for effect in pending:
            match effect:
                case Submit():
                    zookeeper = zookeeper.submit(client, effect).serve(client)
                case Tell():
                    tells.append(effect)
                case Reply():
                    replies.append(effect)
        while zookeeper.clients[client].arriving:
            event, zookeeper = zookeeper.deliver(client)
            effects += core.on_event(event, NOW_MS)
    current = tuple(one for one in tells if core.control_request(one) is not None)
    host = replace(cluster.controllers[controller], core=core, tells=current)
    return replace(cluster, zookeeper=zookeeper).with_controller(controller, host), replies


def do_item(cluster: Cluster, controller: int, item: Item) -> tuple[Cluster, list[Reply]]:
    """Let a controller handle one item of its queue."""
    core = copied(cluster.controllers[controller].core)
    done, replies = by_controller(cluster, controller, core, core.advance(NOW_MS, item))
    return heard(done), replies


def heard(cluster: Cluster) -> Cluster:
    """Let the controllers read what their watches fired for, and look at partitions that are as they should be.

    What brokers read is up to date: only controllers' views may lag.
    """
    for process in range(len(cluster.processes)):
        while cluster.zookeeper.is_behind(process):
            cluster = replace(cluster, zookeeper=cluster.zookeeper.catch_up(process))
    for controller in range(len(cluster.controllers)):
        client = cluster.client_of(controller)
        if cluster.zookeeper.clients[client].arriving:
            core = copied(cluster.controllers[controller].core)
            cluster, _ = by_controller(cluster, controller, core, [])
        core = cluster.controllers[controller].core
        while Refresh() in core.scripts.queue or (Settle() in core.scripts.queue and not wants_write(core)):
            item = Refresh() if Refresh() in core.scripts.queue else Settle()
            core = copied(core)
            cluster, _ = by_controller(cluster, controller, core, core.advance(NOW_MS, item))
            core = cluster.controllers[controller].core
    return cluster


def wants_write(core: Controller) -> bool:
    """The partition is not as the states of the brokers ask for."""
    return PARTITION in core.partitions.known and core.partitions.wanted(PARTITION) is not None
