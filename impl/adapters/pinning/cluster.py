"""The cluster under test: a ZooKeeper in memory, the brokers' cores, and an operator.

All of it is immutable: a step makes copies of the cores that it touches, and shares the rest. A broker's script runs
to its end within a step, and ZooKeeper answers at once; events of watches wait in the core's queue.

An event that changes nothing is handled in the step that causes it, as in the spec (`decisions/watching.py`): when a
watch's event arrives is up to ZooKeeper, so this is one schedule out of many, and that it changes nothing is checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from impl.adapters.pinning.core import BrokerCore, Core
from impl.pinning.broker import Item, Path, Start
from impl.pinning.design import Design
from impl.pinning.effects import Effects, SetTimer, Timer
from impl.pinning.member import Phase, Script
from impl.pinning.znodes import NEXT, READY, read_next, read_ready
from impl.runtime.effects import Did
from impl.zookeeper import (
    Connected,
    Create,
    Delete,
    Disconnected,
    GetData,
    Multi,
    Result,
    SetData,
    Submit,
    Unknown,
    WatchEvent,
    WatchType,
)
from impl.zookeeper.model import Client, Tree, ZooKeeper
from impl.zookeeper.office import CONTROLLER

PATHS = (CONTROLLER, NEXT, READY)
"""Of the events of one step, the order in which they are handed in: ZooKeeper promises none."""
STEP_TIMERS = (Timer.DECIDE, Timer.TAKE_OVER, Timer.BEGIN, Timer.LAPSE)
"""Those that stand for a step. The others only warn, or register: the spec has no registrations, and nothing is decided
by them. That brokers are registered in the end, `tests/impl/pinning/interleavings.py` looks at."""
WRITES = (Create, SetData, Delete, Multi)
_NOW_MS = 0


class UnsettledError(AssertionError):
    """An event changed something, and the spec has it that it does not."""


@dataclass(frozen=True)
class Host:
    """A place where a broker process runs. core: None where none does. hangs: its session lives on, it does nothing.

    fired: events that arrived while a script ran, and are yet to be looked at. is_unsure: the reply to its election
    was lost, and it has yet to read back what became of it.
    """

    core: BrokerCore | None = None
    fired: frozenset[str] = frozenset()
    timers: frozenset[Timer] = frozenset()
    hangs: bool = False
    is_unsure: bool = False
    is_able: bool = True
    is_legacy: bool = False


@dataclass(frozen=True)
class Asked:
    """The operator's newest request. answer: SERVED, REQUEST_TIMED_OUT, or none yet."""

    target: int
    request: int
    answer: str | None = None


@dataclass(frozen=True, eq=False)
class Cluster:
    """The whole system under test. The operator's client is the last one of `zookeeper`."""

    core: Core
    design: Design
    zookeeper: ZooKeeper
    hosts: tuple[Host, ...]
    asked: Asked | None = None
    in_office: int = 0
    """The czxid of /controller when it was last looked at for who hears of it."""
    answers: bool = False
    writes: bool = False

    def with_host(self, broker: int, host: Host) -> Cluster:
        return replace(self, hosts=(*self.hosts[:broker], host, *self.hosts[broker + 1 :]))

    @property
    def operator(self) -> int:
        return len(self.hosts)

    def lives(self, broker: int) -> bool:
        """The broker has a session, as ZooKeeper has it."""
        return self.zookeeper.clients[broker].session in self.zookeeper.sessions

    def runs(self, broker: int) -> bool:
        host = self.hosts[broker]
        return host.core is not None and not host.hangs and self.lives(broker)

    def owner(self, path: str) -> int:
        """The session that owns an ephemeral znode; 0 where that is absent."""
        znode = self.zookeeper.tree.get(path)
        return 0 if znode is None else znode.stat.owner


# A step of one broker.


def run(cluster: Cluster, broker: int, item: Item, *, misses: bool = False) -> tuple[Cluster, list[Did]]:
    """Let a broker handle one item of its queue to the end. Returns the steps of the design that it took.

    misses: it reads `next` before the request came that is there.
    """
    after, done = handle(cluster, broker, item, misses=misses)
    return settled(after), done


def lose_reply(cluster: Cluster, broker: int, item: Item, *, misses: bool = False) -> Cluster | None:
    """Let a broker handle an item up to its write, which happens, and whose reply is lost with the connection.

    None where nothing is written. What its watches have fired meanwhile is kept: it reads everything anew, and so finds
    the same, and in an order that is up to it.
    """
    after, _ = handle(cluster, broker, item, misses=misses, loses_reply=True)
    return None if after.zookeeper.tree is cluster.zookeeper.tree else after


def reconnect(cluster: Cluster, broker: int) -> tuple[Cluster, list[Did]]:
    """A broker that has lost its connection, and not its session, has another one, and reads everything anew."""
    host = cluster.hosts[broker]
    core = _core(host).copy()
    core.on_event(Connected(core.member.session, is_new=False), _NOW_MS)
    connected = cluster.with_host(broker, replace(host, core=core, is_unsure=False))
    after, done = handle(connected, broker, Start(False))
    for path in waiting(after.hosts[broker]):
        if path not in waiting(host) and not matters(after, broker, path.path):
            after = _passed(after, broker, path.path)
    return settled(after), done


def handle(
    cluster: Cluster, broker: int, item: Item, *, misses: bool = False, loses_reply: bool = False
) -> tuple[Cluster, list[Did]]:
    host = cluster.hosts[broker]
    core = _core(host).copy()
    timers, fired, done = set(host.timers) - {item}, set(host.fired), list[Did]()
    zookeeper = cluster.zookeeper
    pending = core.advance(_NOW_MS, item)
    while pending:
        effects, pending = pending, []
        for effect in effects:
            match effect:
                case Submit():
                    zookeeper = _served(zookeeper, broker, effect, misses=misses)
                    while zookeeper.clients[broker].arriving:
                        event, zookeeper = zookeeper.deliver(broker)
                        if isinstance(event, WatchEvent) and not _stays(core, item, event.path):
                            fired.add(event.path)
                        elif loses_reply and isinstance(effect.operation, WRITES):
                            core.on_event(Result(effect.id, Unknown()), _NOW_MS)
                            core.on_event(Disconnected(), _NOW_MS)
                        else:
                            pending += core.on_event(event, _NOW_MS)
                case SetTimer(timer=Timer() as timer) if timer in STEP_TIMERS:
                    timers.add(timer)
                case Did():
                    done.append(effect)
    after = replace(host, core=core, timers=frozenset(timers), fired=frozenset(fired))
    return replace(cluster, zookeeper=zookeeper).with_host(broker, after), done


def _served(zookeeper: ZooKeeper, broker: int, submitted: Submit, *, misses: bool) -> ZooKeeper:
    sent = zookeeper.submit(broker, submitted)
    if not misses or submitted.operation != GetData(NEXT):
        return sent.serve(broker)
    view = sent.clients[broker].view
    return _viewing(_viewing(sent, broker, view.without(NEXT)).serve(broker), broker, view)


def _viewing(zookeeper: ZooKeeper, broker: int, view: Tree) -> ZooKeeper:
    return _with_client(zookeeper, broker, replace(zookeeper.clients[broker], view=view))


def _with_client(zookeeper: ZooKeeper, number: int, client: Client) -> ZooKeeper:
    clients = zookeeper.clients
    return replace(zookeeper, clients=(*clients[:number], client, *clients[number + 1 :]))


def _stays(core: BrokerCore, item: Item, path: str) -> bool:
    """A target that takes part in an election hears of the `ready` that it sets: that event waits, whatever follows."""
    takes_part = core.member.phase not in (Phase.WATCHING, Phase.ELECTED, Phase.IN_OFFICE)
    return takes_part and item == Path(READY) == Path(path)


def deliver(zookeeper: ZooKeeper, broker: int, core: BrokerCore) -> tuple[ZooKeeper, Effects]:
    """Hand in all that arrives at a client."""
    effects: Effects = []
    while zookeeper.clients[broker].arriving:
        event, zookeeper = zookeeper.deliver(broker)
        effects += core.on_event(event, _NOW_MS)
    return zookeeper, effects


def settled(cluster: Cluster) -> Cluster:
    """The cluster once all events are in the queues of cores, or handled where they change nothing."""
    for broker, host in enumerate(cluster.hosts):
        if host.fired or cluster.zookeeper.clients[broker].arriving:
            cluster = _arrived(cluster, broker)
        if host.is_unsure and cluster.owner(CONTROLLER) != cluster.zookeeper.clients[broker].session:
            cluster, _ = reconnect(cluster, broker)  # there is nothing left that it could find itself in
    controller = cluster.zookeeper.tree.get(CONTROLLER)
    czxid = 0 if controller is None else controller.stat.czxid
    if czxid == cluster.in_office:
        return cluster
    cluster = replace(cluster, in_office=czxid)
    for broker in range(len(cluster.hosts)):
        if Path(CONTROLLER) in waiting(cluster.hosts[broker]) and _knows(cluster, broker):
            cluster, _ = handle(cluster, broker, Path(CONTROLLER))
    return cluster


def _knows(cluster: Cluster, broker: int) -> bool:
    """It would hear that somebody is in office, which ends an abstention and nothing else: it hears that at once."""
    core = cluster.hosts[broker].core
    is_candidate = core is not None and core.member.phase not in (Phase.ELECTED, Phase.IN_OFFICE)
    return is_candidate and cluster.runs(broker) and cluster.owner(CONTROLLER) != 0


def _arrived(cluster: Cluster, broker: int) -> Cluster:
    """Take in the events that arrive at a client: those that matter wait in the core's queue."""
    zookeeper, paths = cluster.zookeeper, set(cluster.hosts[broker].fired)
    while zookeeper.clients[broker].arriving:
        event, zookeeper = zookeeper.deliver(broker)
        if isinstance(event, WatchEvent):
            paths.add(event.path)
    cluster = replace(cluster, zookeeper=zookeeper)
    cluster = cluster.with_host(broker, replace(cluster.hosts[broker], fired=frozenset()))
    if not cluster.runs(broker):
        return cluster
    mattering = {path for path in paths if matters(cluster, broker, path)}
    for path in sorted(paths, key=PATHS.index):
        if path == CONTROLLER and _knows(cluster, broker):
            cluster, _ = handle(cluster, broker, Path(path))
        elif Path(path) in waiting(cluster.hosts[broker]) and not _is_elected(cluster, broker):
            continue  # an earlier event of it still waits
        elif path in mattering:
            host = cluster.hosts[broker]
            core = _core(host).copy()
            core.on_event(WatchEvent(path, WatchType.DATA_CHANGED), _NOW_MS)
            cluster = cluster.with_host(broker, replace(host, core=core))
        else:
            cluster = _passed(cluster, broker, path)
    return cluster


def _passed(cluster: Cluster, broker: int, path: str) -> Cluster:
    """An event that changes nothing is handled."""
    host = cluster.hosts[broker]
    if _is_elected(cluster, broker):  # it handles it once its term has begun; the watch is set anew then
        client = cluster.zookeeper.clients[broker]
        armed = replace(client, data_watches=client.data_watches | {path})
        return replace(cluster, zookeeper=_with_client(cluster.zookeeper, broker, armed))
    after, _ = handle(cluster, broker, Path(path))
    if _soft(after.hosts[broker]) != _soft(host) or after.zookeeper.tree is not cluster.zookeeper.tree:
        raise UnsettledError(f"broker {broker} hears of {path}, and does something")
    return after


def _is_elected(cluster: Cluster, broker: int) -> bool:
    return _core(cluster.hosts[broker]).member.phase is Phase.ELECTED


def _soft(host: Host) -> tuple[object, ...]:
    member = _core(host).member
    return member.phase, member.waits_for, member.term, member.seen, member.decided, host.timers


def _core(host: Host) -> BrokerCore:
    assert host.core is not None
    return host.core


def waiting(host: Host) -> tuple[Path, ...]:
    """The events that its core has yet to handle."""
    return () if host.core is None else tuple(item for item in host.core.queue if isinstance(item, Path))


# What matters, as spec/pinning/decisions/watching.py has it.


def matters(cluster: Cluster, broker: int, path: str) -> bool:
    """Handling an event of this path, now or later, is more than setting its watch again."""
    host, design = cluster.hosts[broker], cluster.design
    member = _core(host).member
    is_idle = member.phase is Phase.WATCHING and Path(CONTROLLER) not in waiting(host)
    if path == CONTROLLER:
        if member.believes_in_office:
            return cluster.owner(CONTROLLER) != member.session
        return cluster.owner(CONTROLLER) == 0 and member.phase in (Phase.WATCHING, Phase.ABSTAINS)
    if path == NEXT:
        owns_ready = cluster.owner(READY) == member.session
        if target(cluster) == broker or (owns_ready and design.one_ready_each):
            return True
        return not design.office_reads_ready and not is_idle
    if member.believes_in_office:
        return _hands_over(cluster, broker)
    renews = design.ready_renewed and not design.takeover
    return not is_idle or (renews and target(cluster) == broker and cluster.owner(READY) == 0)


def target(cluster: Cluster) -> int | None:
    """The target of the request that stands."""
    znode = cluster.zookeeper.tree.get(NEXT)
    return None if znode is None else read_next(znode.data)


def _hands_over(cluster: Cluster, broker: int) -> bool:
    design, tree = cluster.design, cluster.zookeeper.tree
    ready, standing = tree.get(READY), tree.get(NEXT)
    if ready is None:
        return not design.resigns_for_other
    said = read_ready(ready.data)
    if design.resigns_for_other and said.broker == broker:
        return False
    if not design.request_checked:
        return True
    return standing is not None and (read_next(standing.data), standing.stat.mzxid) == (said.broker, said.request)


# The operator.


def by_operator(cluster: Cluster, script: Script[None]) -> Cluster:
    """Run a script with the operator's client to its end."""
    zookeeper, client = cluster.zookeeper, cluster.operator
    result: Result | None = None
    while True:
        try:
            operation = script.send(result) if result is not None else next(script)
        except StopIteration:
            return settled(replace(cluster, zookeeper=zookeeper))
        zookeeper = zookeeper.submit(client, Submit(0, operation)).serve(client)
        event, zookeeper = zookeeper.deliver(client)
        assert isinstance(event, Result), "the operator watches nothing"
        result = event
