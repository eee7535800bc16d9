"""The cluster under test: a ZooKeeper in memory, brokers and consumers, and the connection that each consumer has.

All of it is immutable: a step copies the cores that it touches, and shares the rest. A script runs to its end within a
step, and ZooKeeper answers at once. There is no time: what a timer does is a step, and a consumer whose session is over
has a clock that is late. What is sent goes through its bytes.

Each broker has two clients of ZooKeeper. By one it writes; by the other it reads, as its session may have ended without
its knowledge: what it reads then had been under way. The other does what is written without a fence, too: the client
library of the time does that in its next session, before anybody hears of it.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from impl.group.consumer import Consumer
from impl.group.coordinator import Coordinator
from impl.group.design import Design
from impl.group.effects import Answer, Ask, Close, CloseAll, Connect, Disconnect, Effects, Exit, Send
from impl.group.protocol import (
    ClusterMetadataResponse,
    PingResponse,
    RegisterConsumerRequest,
    RegisterConsumerResponse,
    RequestToConsumer,
    ResponseOfConsumer,
    StartFetcherResponse,
    StopFetcherResponse,
    TopicPartition,
    read_head,
    read_register_response,
    read_request_to_broker,
    read_request_to_consumer,
    read_response_of_consumer,
    register_response_bytes,
    request_bytes,
)
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.group.work import Item, Work
from impl.group.znodes import COORDINATOR
from impl.runtime.wire import Reader
from impl.zookeeper import (
    Check,
    Connected,
    ErrorCode,
    Exists,
    Failed,
    GetChildren,
    GetData,
    Multi,
    Operation,
    Result,
    Submit,
)
from impl.zookeeper.model import ZooKeeper

NOW_MS = 0
LATE_MS = 1 << 40
"""The time by the clock of a consumer whose session is over, and that has yet to look."""
LATER_MS = 1 << 41
"""As it looks."""
LONG_SESSION_MS = 600_000
"""Longer than what a new coordinator waits out: consumer 0's where none is too long (session_maximum)."""
T = TypeVar("T")
ToConsumer = RegisterConsumerResponse | RequestToConsumer


class Extent(NamedTuple):
    """The sizes of a model."""

    brokers: int
    consumers: int
    groups: int
    partitions: int
    topics: int
    extra_threads: int
    new_partitions: int

    def group_of(self, consumer: int) -> str:
        return "g1" if self.groups > 1 and consumer else "g0"

    def partition(self, number: int) -> TopicPartition:
        """With two topics, the last partition is topic 1's."""
        if self.topics > 1 and number == self.partitions - 1:
            return TopicPartition("t1", "0-0")
        return TopicPartition("t0", f"0-{number}")

    def number_of(self, of: TopicPartition) -> int:
        return self.partitions - 1 if of.topic == "t1" else int(of.partition.partition("-")[2])

    def thread(self, number: int) -> str:
        """The first ones are consumer 0's."""
        own = min(number, self.extra_threads)
        return f"c{number - own}-{own if number <= self.extra_threads else 0}"

    def threads(self, consumer: int) -> int:
        return 1 + (self.extra_threads if consumer == 0 else 0)


@dataclass(frozen=True)
class BrokerHost:
    """A broker. core: None where it is down. expired: its session has ended, and it has yet to hear of that."""

    core: Coordinator | None
    expired: bool = False


@dataclass(frozen=True)
class ConsumerHost:
    """A consumer. core: None where it died. lapsed: its session is over. connecting: to whom it does."""

    core: Consumer | None
    lapsed: bool = False
    connecting: Connect | None = None


@dataclass(frozen=True)
class Channel:
    """The connection of a consumer. server: the broker at whose end it is registered. broken: closed by the broker."""

    connection: int = 0
    peer: int | None = None
    server: int | None = None
    broken: bool = False
    registration: RegisterConsumerRequest | None = None
    requests: tuple[ToConsumer, ...] = ()
    responses: tuple[ResponseOfConsumer, ...] = ()


@dataclass(frozen=True, eq=False)
class Cluster:
    """Clients of `zookeeper`: each broker's first one, then each one's second one, then an operator."""

    design: Design
    extent: Extent
    broker_settings: BrokerSettings
    consumer_settings: ConsumerSettings
    zookeeper: ZooKeeper
    brokers: tuple[BrokerHost, ...]
    consumers: tuple[ConsumerHost, ...]
    channels: tuple[Channel, ...]
    connections: int = 0

    def reader(self, broker: int) -> int:
        return self.extent.brokers + broker

    @property
    def operator(self) -> int:
        return 2 * self.extent.brokers

    def core(self, broker: int) -> Coordinator:
        found = self.brokers[broker].core
        assert found is not None, "it is up"
        return found

    def consumer(self, consumer: int) -> Consumer:
        found = self.consumers[consumer].core
        assert found is not None, "it runs"
        return found

    def with_broker(self, broker: int, host: BrokerHost) -> Cluster:
        return replace(self, brokers=(*self.brokers[:broker], host, *self.brokers[broker + 1 :]))

    def with_consumer(self, consumer: int, host: ConsumerHost) -> Cluster:
        return replace(self, consumers=(*self.consumers[:consumer], host, *self.consumers[consumer + 1 :]))

    def with_channel(self, consumer: int, channel: Channel) -> Cluster:
        return replace(self, channels=(*self.channels[:consumer], channel, *self.channels[consumer + 1 :]))

    def has_session(self, broker: int) -> bool:
        return self.zookeeper.clients[broker].session in self.zookeeper.sessions

    def is_open(self, broker: int, consumer: int) -> bool:
        """Both ends of a registered connection are open."""
        channel = self.channels[consumer]
        return channel.peer == broker and channel.server == broker and not channel.broken

    def now_ms(self, consumer: int) -> int:
        return LATE_MS if self.consumers[consumer].lapsed else NOW_MS


def copied(core: T) -> T:
    """A copy of a core between two steps."""
    found: T = pickle.loads(pickle.dumps(core, protocol=pickle.HIGHEST_PROTOCOL))
    return found


# Bytes.


def over_the_wire(design: Design, message: ToConsumer) -> ToConsumer:
    """What arrives of what a coordinator sends."""
    repaired = design.is_repaired_on_wire
    if isinstance(message, RegisterConsumerResponse):
        return read_register_response(register_response_bytes(message, repaired=repaired)[4:], repaired=repaired)
    return read_request_to_consumer(request_bytes(message, repaired=repaired)[4:])


def registration_over_the_wire(design: Design, request: RegisterConsumerRequest) -> RegisterConsumerRequest:
    fields = Reader(request_bytes(request, repaired=design.is_repaired_on_wire)[4:])
    found = read_request_to_broker(read_head(fields), fields)
    assert isinstance(found, RegisterConsumerRequest)
    return found


def response_over_the_wire(design: Design, response: ResponseOfConsumer) -> ResponseOfConsumer:
    fields = Reader(request_bytes(response, repaired=design.is_repaired_on_wire)[4:])
    return read_response_of_consumer(read_head(fields), fields)


# Brokers.


def by_broker(cluster: Cluster, broker: int, core: Coordinator, effects: Effects) -> Cluster:
    """Carry out what a core asks for, until its scripts have ended. `core` is a copy that nobody else has."""
    while effects or _arrives(cluster, broker):
        pending, effects = effects, []
        for effect in pending:
            match effect:
                case Submit():
                    cluster, done = _submitted(cluster, broker, effect)
                    effects += [one for result in done for one in core.on_event(result, NOW_MS)]
                case Send(connection=connection, message=message):
                    cluster = _sent(cluster, connection, over_the_wire(cluster.design, message))
                case Close(connection=connection):
                    cluster = _closed(cluster, broker, connection)
                case CloseAll():
                    cluster = without_broker(cluster, broker)
        cluster, heard = _delivered(cluster, broker, core)
        effects += heard
    cluster = cluster.with_broker(broker, replace(cluster.brokers[broker], core=core))
    if Item(Work.READ_BROKERS) in core.queue and core.is_connected:
        return by_broker(cluster, broker, core, core.advance(NOW_MS, Item(Work.READ_BROKERS)))
    return cluster


def _arrives(cluster: Cluster, broker: int) -> bool:
    clients = cluster.zookeeper.clients
    return bool(clients[broker].arriving or clients[cluster.reader(broker)].arriving)


def _submitted(cluster: Cluster, broker: int, submitted: Submit) -> tuple[Cluster, list[Result]]:
    """An operation that is done at once, or fails as its session is over."""
    by = broker
    if isinstance(submitted.operation, Exists | GetData | GetChildren):
        by = cluster.reader(broker)
    elif not cluster.has_session(broker):
        if is_fenced(submitted.operation) or cluster.core(broker).term is None:
            return cluster, [Result(submitted.id, Failed(ErrorCode.SESSION_EXPIRED))]
        by = cluster.reader(broker)
    return replace(cluster, zookeeper=cluster.zookeeper.submit(by, submitted).serve(by)), []


def is_fenced(operation: Operation) -> bool:
    """It is not done once the session is over, or another coordinator was elected."""
    return isinstance(operation, Multi) and any(isinstance(part, Check) for part in operation.operations)


def _delivered(cluster: Cluster, broker: int, core: Coordinator) -> tuple[Cluster, Effects]:
    """Hand in what has arrived by both clients; that the second one is connected is nobody's business."""
    effects: Effects = []
    zookeeper = cluster.zookeeper
    for client in (broker, cluster.reader(broker)):
        while zookeeper.clients[client].arriving:
            event, zookeeper = zookeeper.deliver(client)
            if client == broker or not isinstance(event, Connected):
                effects += core.on_event(event, NOW_MS)
    return replace(cluster, zookeeper=zookeeper), effects


def step_of(cluster: Cluster, broker: int, core: Coordinator, effects: Effects) -> Cluster:
    """As `by_broker`, and the other brokers hear what their watches fired for."""
    return heard(by_broker(cluster, broker, core, effects))


def do_item(cluster: Cluster, broker: int, item: Item) -> Cluster:
    """Let a broker do some work that waits."""
    core = copied(cluster.core(broker))
    return step_of(cluster, broker, core, core.advance(NOW_MS, item))


def heard(cluster: Cluster) -> Cluster:
    """Let the brokers hear what their watches fired for. While there is a coordinator, no election comes of it."""
    for broker, host in enumerate(cluster.brokers):
        if host.core is None:
            continue
        if _arrives(cluster, broker):
            cluster = by_broker(cluster, broker, copied(host.core), [])
        is_held = COORDINATOR in cluster.zookeeper.tree and not cluster.brokers[broker].expired
        if is_held and Item(Work.ELECT) in cluster.core(broker).queue:
            core = copied(cluster.core(broker))
            cluster = by_broker(cluster, broker, core, core.advance(NOW_MS, Item(Work.ELECT)))
    return cluster


def metadata(cluster: Cluster, broker: int) -> tuple[Cluster, ClusterMetadataResponse]:
    """The answer of a broker to who the coordinator is."""
    core = copied(cluster.core(broker))
    effects, found = core.on_metadata(1, NOW_MS), list[ClusterMetadataResponse]()
    while not found:
        pending, effects = effects, []
        for effect in pending:
            if isinstance(effect, Answer):
                found.append(effect.response)
            elif isinstance(effect, Submit):
                cluster, done = _submitted(cluster, broker, effect)
                effects += [one for result in done for one in core.on_event(result, NOW_MS)]
        cluster, more = _delivered(cluster, broker, core)
        effects += more
    return cluster, found[0]


# Connections.


def _sent(cluster: Cluster, connection: int, message: ToConsumer) -> Cluster:
    """What is sent where the other end is gone is lost."""
    for consumer, channel in enumerate(cluster.channels):
        if channel.connection == connection and channel.peer is not None and not channel.broken:
            return cluster.with_channel(consumer, replace(channel, requests=(*channel.requests, message)))
    return cluster


def _closed(cluster: Cluster, broker: int, connection: int) -> Cluster:
    for consumer, channel in enumerate(cluster.channels):
        if channel.connection == connection:
            cluster = cluster.with_channel(consumer, _closed_by_broker(channel, broker))
    return cluster


def _closed_by_broker(channel: Channel, broker: int) -> Channel:
    """What it has sent may still be read."""
    if channel.server == broker:
        channel = replace(channel, server=None, responses=())
    return replace(channel, broken=channel.broken or channel.peer == broker)


def without_broker(cluster: Cluster, broker: int) -> Cluster:
    return replace(cluster, channels=tuple(_closed_by_broker(channel, broker) for channel in cluster.channels))


# Consumers.


def by_consumer(cluster: Cluster, consumer: int, core: Consumer, effects: Effects) -> Cluster:
    """Carry out what the core of a consumer asks for."""
    host = replace(cluster.consumers[consumer], core=core)
    channel = cluster.channels[consumer]
    for effect in effects:
        match effect:
            case Connect():
                host = replace(host, connecting=effect)
            case Disconnect():
                channel = replace(channel, peer=None, broken=False, requests=(), registration=None)
                host = replace(host, lapsed=False)
            case Exit():
                host = replace(host, lapsed=False)
            case Ask(message=RegisterConsumerRequest() as request):
                channel = replace(channel, registration=registration_over_the_wire(cluster.design, request))
            case Ask(message=PingResponse() | StopFetcherResponse() | StartFetcherResponse() as response):
                if channel.server is not None and not channel.broken and channel.peer is not None:
                    sent = response_over_the_wire(cluster.design, response)
                    channel = replace(channel, responses=(*channel.responses, sent))
    return cluster.with_consumer(consumer, host).with_channel(consumer, channel)
