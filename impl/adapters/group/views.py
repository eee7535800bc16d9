"""The structures that spec and implementation are compared by, and how each of the two is seen as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from checker.conform.system import Ordinal
from impl.adapters.group import ordinals
from impl.adapters.group.cluster import BrokerHost, Channel, Cluster, ConsumerHost, Extent, ToConsumer
from impl.group.assignment import Owners
from impl.group.coordinator import Coordinator
from impl.group.design import Design
from impl.group.protocol import (
    UNKNOWN,
    ErrorCode,
    PingRequest,
    PingResponse,
    Position,
    RegisterConsumerResponse,
    ResponseOfConsumer,
    StartFetcherRequest,
    StartFetcherResponse,
    StopFetcherRequest,
    StopFetcherResponse,
    ThreadShare,
    TopicPartition,
)
from impl.group.registry import Group, Phase
from impl.group.work import Item, Work
from impl.group.znodes import COORDINATOR, COORDINATOR_EPOCH, TOPICS, member_path, offset_path, owner_path

UNDER_WAY = 2
"""Pings under way at most; so many answers, or more."""
OwnersView = tuple[str | None, ...]
Positions = frozenset[tuple[int, int]]


class GroupView(NamedTuple):
    """The znodes of a group. members: in section 2."""

    owners: OwnersView
    offsets: tuple[int, ...]
    members: frozenset[int]


class RegistryView(NamedTuple):
    members: frozenset[int]
    bit: bool
    gave_up: bool
    started: frozenset[int]
    reported: Positions
    unanswered: tuple[int, ...]
    failed: tuple[int, ...]
    in_a_row: tuple[int, ...]


class HandlerView(NamedTuple):
    queue: frozenset[str]
    group: str | None
    phase: str
    attempt: Ordinal | None
    retries: int
    assignment: OwnersView
    waits_for: frozenset[int]


class BrokerView(NamedTuple):
    """A broker. new_topics, new_partitions: events that wait, once it is started."""

    is_up: bool
    expired: bool
    epoch: Ordinal | None
    waits_out: bool
    starts_up: bool
    topics: frozenset[str]
    new_topics: bool
    new_partitions: frozenset[str]
    registries: tuple[RegistryView, ...]
    handler: HandlerView


class ConsumerView(NamedTuple):
    """A consumer. heard: where it looks at epochs."""

    state: str
    heard: Ordinal | None
    fetched: Positions
    answered: int


class MessageView(NamedTuple):
    """A message. number: of a ping's uncommitted answers."""

    kind: str
    attempt: Ordinal | None = None
    epoch: Ordinal | None = None
    accepted: bool = True
    number: int = 0
    positions: Positions = frozenset()


class ChannelView(NamedTuple):
    peer: int | None
    server: int | None
    broken: bool
    requests: tuple[MessageView, ...]
    responses: tuple[MessageView, ...]


class ClusterView(NamedTuple):
    coordinator: int | None
    epoch: Ordinal
    partitions: frozenset[int]
    groups: tuple[GroupView, ...]
    brokers: tuple[BrokerView, ...]
    consumers: tuple[ConsumerView, ...]
    channels: tuple[ChannelView, ...]


class Look:
    """Sees clusters and states of one model."""

    def __init__(self, design: Design, extent: Extent, records: int) -> None:
        self.design = design
        self.extent = extent
        self.records = records
        self.groups = [f"g{number}" for number in range(extent.groups)]

    # The implementation.

    def observe(self, cluster: Cluster) -> ClusterView:
        tree, extent = cluster.zookeeper.tree, self.extent
        holder = tree.get(COORDINATOR)
        partitions = range(extent.partitions)
        return ClusterView(
            coordinator=None if holder is None else int(holder.data),
            epoch=ordinals.epoch(int(tree[COORDINATOR_EPOCH].data)),
            partitions=frozenset(number for number in partitions if self._is_there(cluster, number)),
            groups=tuple(
                GroupView(
                    tuple(
                        tree[path].data.decode()
                        if (path := owner_path(group, extent.partition(number))) in tree
                        else None
                        for number in partitions
                    ),
                    tuple(int(tree[offset_path(group, extent.partition(number))].data) for number in partitions),
                    frozenset(one for one in range(extent.consumers) if member_path(group, f"c{one}") in tree),
                )
                for group in self.groups
            ),
            brokers=tuple(self._broker(number, host) for number, host in enumerate(cluster.brokers)),
            consumers=tuple(map(self._consumer, cluster.consumers)),
            channels=tuple(map(self._channel, cluster.channels)),
        )

    def _is_there(self, cluster: Cluster, number: int) -> bool:
        of = self.extent.partition(number)
        count = cluster.zookeeper.tree.get(f"{TOPICS}/{of.topic}/0")
        return count is not None and int(of.partition.partition("-")[2]) < int(count.data)

    def _owners(self, owners: Owners) -> OwnersView:
        return tuple(owners.get(self.extent.partition(number)) for number in range(self.extent.partitions))

    def _positions(self, positions: Iterable[tuple[TopicPartition, int]]) -> Positions:
        return frozenset((self.extent.number_of(of), offset) for of, offset in positions)

    def _broker(self, number: int, host: BrokerHost) -> BrokerView:
        core = host.core
        if core is None or core.term is None:
            nobody = tuple(self._registry(Group(name)) for name in self.groups)
            idle = HandlerView(frozenset(), None, "IDLE", None, 0, self._owners({}), frozenset())
            nothing = frozenset[str]()
            return BrokerView(core is not None, host.expired, None, False, False, nothing, False, nothing, nobody, idle)
        return BrokerView(
            is_up=True,
            expired=host.expired,
            epoch=ordinals.epoch(core.term.epoch),
            waits_out=core.waits_out,
            starts_up=core.hearing.starts_up and self.extent.new_partitions > 0,
            topics=core.topics.known,
            new_topics=Item(Work.HEAR_TOPICS) in core.queue,
            new_partitions=frozenset(item.of for item in core.queue if item.work is Work.HEAR_PARTITIONS),
            registries=tuple(self._registry(core.groups.get(name, Group(name))) for name in self.groups),
            handler=self._handler(number, core),
        )

    def _registry(self, group: Group) -> RegistryView:
        members = [group.members.get(f"c{number}") for number in range(self.extent.consumers)]
        reported = self._positions(group.reported.items()) if self.records else frozenset()
        return RegistryView(
            members=_numbers(group.members),
            bit=group.bit,
            gave_up=group.gave_up,
            started=_numbers(group.started),
            reported=reported,
            unanswered=tuple(0 if one is None else len(one.unanswered_ms) for one in members),
            failed=tuple(0 if one is None else one.failed for one in members),
            in_a_row=tuple(0 if one is None else one.in_a_row for one in members),
        )

    def _handler(self, broker: int, core: Coordinator) -> HandlerView:
        queue = frozenset(group.name for group in core.rebalances.queue)
        group = next((group for group in core.groups.values() if group.rebalance is not None), None)
        if group is None or group.rebalance is None:
            return HandlerView(queue, None, "IDLE", None, 0, self._owners({}), frozenset())
        rebalance = group.rebalance
        has_none = rebalance.phase is Phase.BACKOFF or rebalance.attempt == UNKNOWN
        attempt = None if has_none else ordinals.attempt(broker, rebalance.attempt)
        return HandlerView(
            queue,
            group.name,
            rebalance.phase.name,
            attempt,
            rebalance.retries,
            self._owners(rebalance.assignment),
            _numbers(rebalance.waits_for),
        )

    def _consumer(self, host: ConsumerHost) -> ConsumerView:
        core = host.core
        if core is None:
            return ConsumerView("DOWN", None, frozenset(), 0)
        knows = self.design.coordinator_epoch and core.coordinator_epoch >= 0
        return ConsumerView(
            core.state.name,
            ordinals.epoch(core.coordinator_epoch) if knows else None,
            self._positions((of, fetched.offset) for of, fetched in core.fetched.items()),
            min(core.answered, UNDER_WAY),
        )

    def _channel(self, channel: Channel) -> ChannelView:
        return ChannelView(
            channel.peer,
            channel.server,
            channel.broken,
            tuple(self._request(channel.peer, one) for one in channel.requests),
            tuple(self._response(channel.server, one) for one in channel.responses),
        )

    def _request(self, broker: int | None, message: ToConsumer) -> MessageView:
        match message:
            case RegisterConsumerResponse():
                accepted = message.error_code == ErrorCode.NONE
                epoch, share = self._named(message.coordinator_epoch), self._share(message.threads or ())
                return MessageView("Registered", epoch=epoch, accepted=accepted, positions=share)
            case PingRequest():
                number = min(message.uncommitted, UNDER_WAY) if self.design.shutdown_commits else 0
                return MessageView("Ping", number=number)
            case StopFetcherRequest():
                return MessageView("StopFetcher", self._of_attempt(broker, message.attempt))
            case StartFetcherRequest():
                attempt = self._of_attempt(broker, message.attempt)
                return MessageView("StartFetcher", attempt, positions=self._share(message.threads))

    def _response(self, broker: int | None, message: ResponseOfConsumer) -> MessageView:
        match message:
            case PingResponse():
                return MessageView("PingAnswer", positions=self._reported(message.offsets))
            case StopFetcherResponse():
                attempt = self._of_attempt(broker, message.attempt)
                return MessageView("Stopped", attempt, positions=self._reported(message.offsets))
            case StartFetcherResponse():
                return MessageView("Started", self._of_attempt(broker, message.attempt))

    def _share(self, threads: tuple[ThreadShare, ...]) -> Positions:
        return self._positions((one.of, one.offset) for thread in threads for one in thread.positions)

    def _reported(self, offsets: tuple[Position, ...] | None) -> Positions:
        return self._positions((one.of, one.offset) for one in offsets or ())

    def _named(self, epoch: int) -> Ordinal | None:
        return ordinals.epoch(epoch) if self.design.coordinator_epoch else None

    def _of_attempt(self, broker: int | None, attempt: int) -> Ordinal | None:
        return ordinals.attempt(broker, attempt) if self.design.attempt_ids else None

    # The spec.

    def expect(self, state: Any) -> ClusterView:
        zookeeper = state.zookeeper
        return ClusterView(
            coordinator=None if zookeeper.coordinator is None else zookeeper.coordinator.index,
            epoch=ordinals.epoch(zookeeper.epoch.value),
            partitions=_indices(zookeeper.partitions),
            groups=tuple(
                GroupView(self._expected_owners(group.owners), tuple(group.offsets.values()), _indices(group.members))
                for group in zookeeper.groups.values()
            ),
            brokers=tuple(self._expected_broker(broker.index, one) for broker, one in state.brokers.items()),
            consumers=tuple(map(self._expected_consumer, state.consumers.values())),
            channels=tuple(map(self._expected_channel, state.channels.values())),
        )

    def _expected_owners(self, owners: Any) -> OwnersView:
        return tuple(None if thread is None else self.extent.thread(thread.index) for thread in owners.values())

    def _expected_broker(self, number: int, broker: Any) -> BrokerView:
        (handler,) = broker.handlers.values()
        return BrokerView(
            is_up=broker.is_up,
            expired=broker.expired,
            epoch=None if broker.epoch is None else ordinals.epoch(broker.epoch.value),
            waits_out=broker.waits_out,
            starts_up=broker.starts_up,
            topics=frozenset(f"t{topic.index}" for topic in broker.topics) if broker.epoch is not None else frozenset(),
            new_topics=broker.new_topics and not broker.starts_up,
            new_partitions=frozenset(f"t{topic.index}" for topic in broker.new_partitions),
            registries=tuple(map(self._expected_registry, broker.registries.values())),
            handler=HandlerView(
                queue=frozenset(f"g{group.index}" for group in handler.queue),
                group=None if handler.group is None else f"g{handler.group.index}",
                phase=handler.phase.name,
                attempt=None if handler.attempt is None else ordinals.attempt(number, handler.attempt.value),
                retries=handler.retries,
                assignment=self._expected_owners(handler.assignment),
                waits_for=_indices(handler.waits_for),
            ),
        )

    def _expected_registry(self, registry: Any) -> RegistryView:
        return RegistryView(
            members=_indices(registry.members),
            bit=registry.bit,
            gave_up=registry.gave_up,
            started=_indices(registry.started),
            reported=self._expected_positions(registry.reported),
            unanswered=tuple(registry.unanswered.values()),
            failed=tuple(registry.failed.values()),
            in_a_row=tuple(registry.in_a_row.values()),
        )

    @staticmethod
    def _expected_positions(positions: Any) -> Positions:
        return frozenset((one.partition.index, one.offset) for one in positions)

    def _expected_consumer(self, consumer: Any) -> ConsumerView:
        knows = self.design.coordinator_epoch and consumer.heard is not None
        return ConsumerView(
            consumer.state.name,
            ordinals.epoch(consumer.heard.value) if knows else None,
            self._expected_positions(consumer.fetched),
            consumer.answered,
        )

    def _expected_channel(self, channel: Any) -> ChannelView:
        peer = None if channel.peer is None else channel.peer.index
        server = None if channel.server is None else channel.server.index
        return ChannelView(
            peer,
            server,
            channel.broken,
            tuple(self._expected_message(peer, one) for one in channel.requests),
            tuple(self._expected_message(server, one) for one in channel.responses),
        )

    def _expected_message(self, broker: int | None, message: Any) -> MessageView:
        kind = type(message).__name__
        names_attempt = self.design.attempt_ids and hasattr(message, "attempt")
        positions = getattr(message, "positions", None) or getattr(message, "share", None) or ()
        names_epoch = self.design.coordinator_epoch and kind == "Registered"
        return MessageView(
            kind,
            ordinals.attempt(broker, message.attempt.value) if names_attempt else None,
            ordinals.epoch(message.epoch.value) if names_epoch else None,
            getattr(message, "accepted", True),
            message.behind if kind == "Ping" and self.design.shutdown_commits else 0,
            self._expected_positions(positions),
        )


def _numbers(consumers: Iterable[str]) -> frozenset[int]:
    return frozenset(int(consumer.removeprefix("c")) for consumer in consumers)


def _indices(found: Any) -> frozenset[int]:
    return frozenset(one.index for one in found)
