"""The system under test as `fencepost conform` drives it: which step of the spec is which of the implementation."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from checker.conform.system import Receiver, Refusal
from impl.adapters.group.broker_steps import elect, restart_broker
from impl.adapters.group.cluster import BrokerHost, Channel, Cluster, ConsumerHost, Extent, by_broker, step_of
from impl.adapters.group.state_rules import key
from impl.adapters.group.steps import ATTEMPTED, STEPS, started
from impl.adapters.group.views import ClusterView, Look
from impl.group.design import Design
from impl.group.effects import Timer, Timing
from impl.group.protocol import BrokerAddress
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.group.work import Item, Work
from impl.group.znodes import PERSISTENT, broker_bytes, count_path, id_path, offset_path, parents, topic_path
from impl.zookeeper.model import ZooKeeper

Arguments = Mapping[str, Any]
SESSION_MS = 6_000


class Named:
    """A name of the spec, by its number."""

    def __init__(self, index: int) -> None:
        self.index = index


class GroupUnderTest:
    """The cores as `checker.conform.system.System` asks for it."""

    def __init__(self) -> None:
        self._look = Look(Design(), Extent(1, 1, 1, 2, 1, 0, 0), 0)

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        if "brokers" not in constants:
            return "it has no sessions in time: time passes by steps here"
        if not constants["response_first"]:
            return "the answer to a registration always comes first"
        if constants["handlers"] != 1:
            return "which group a rebalance thread takes is not the spec's to say: one thread is driven"
        missing = [action for action in actions if action not in STEPS]
        if missing:
            return f"no step is that of {', '.join(missing)}"
        extent = Extent(*(constants[name] for name in Extent._fields))
        self._look = Look(_design(constants), extent, constants["records"])
        return ""

    def begin(self, constants: Mapping[str, Any], state: Any) -> Cluster:
        extent = self._look.extent
        zookeeper = ZooKeeper.begin(2 * extent.brokers + 1, _znodes(extent)).open_session(2 * extent.brokers)
        _, zookeeper = zookeeper.deliver(2 * extent.brokers)
        cluster = Cluster(
            design=self._look.design,
            extent=extent,
            broker_settings=BrokerSettings(
                0, "", rebalance_threads=1, max_failed_pings=constants["ping_retries"],
                max_retries=constants["max_retries"], design=self._look.design,
            ),
            consumer_settings=ConsumerSettings(
                tuple(("host", broker + 1) for broker in range(extent.brokers)), "g0", "c0",
                "*N*t.*" if constants["wildcard"] else '{"t0": N, "t1": N}' if extent.topics > 1 else '{"t0": N}',
                SESSION_MS, auto_commit=constants["auto_commit"], design=self._look.design,
            ),
            zookeeper=zookeeper,
            brokers=(BrokerHost(None),) * extent.brokers,
            consumers=(ConsumerHost(None),) * extent.consumers,
            channels=(Channel(),) * extent.consumers,
        )  # fmt: skip
        for broker in range(extent.brokers):
            cluster = _done(restart_broker(cluster, {"broker": Named(broker)}))
        cluster = _coordinates(_done(elect(cluster, {"broker": Named(0)})))
        for consumer in range(extent.consumers):
            cluster = started(cluster, consumer)
        return cluster

    def step(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal:
        return STEPS[action](system, arguments)

    def attempts(self, actions: Collection[str]) -> Collection[str]:
        return ATTEMPTED

    def attempt(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
        """Decisions of a coordinator; a rebalance that waits for room in a connection waits in the spec only."""
        if action not in ATTEMPTED or system.brokers[arguments["broker"].index].core is None:
            return None
        waits_for_room = action in ("begin", "write_owners", "commit_and_go_on")
        if waits_for_room and any(len(channel.requests) > 1 for channel in system.channels):
            return None
        return self.step(system, action, arguments, before)

    def receivers(
        self, system: Cluster, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        return ()

    def observe(self, system: Cluster) -> ClusterView:
        return self._look.observe(system)

    def expect(self, state: Any) -> ClusterView:
        return self._look.expect(state)

    def key(self, system: Cluster) -> Hashable:
        return key(system)


def _design(constants: Mapping[str, Any]) -> Design:
    return Design(**{switch.name: constants[switch.name] for switch in fields(Design)})


def _znodes(extent: Extent) -> list[tuple[str, bytes]]:
    """The znodes of the start: brokers, topics, and offsets of 0."""
    found = list(PERSISTENT)
    for broker in range(extent.brokers):
        found.append((id_path(broker), broker_bytes(BrokerAddress(broker, "host", broker + 1), 0)))
    there = [extent.partition(number) for number in range(extent.partitions - extent.new_partitions)]
    for topic in sorted({of.topic for of in there}):
        count = sum(of.topic == topic for of in there)
        found += [(topic_path(topic), b""), (count_path(topic, "0"), b"%d" % count)]
    for group in range(extent.groups):
        for number in range(extent.partitions):
            path = offset_path(f"g{group}", extent.partition(number))
            found += [(parent, b"") for parent in parents(path) if parent not in dict(found)] + [(path, b"0")]
    return found


def _done(after: Cluster | Refusal) -> Cluster:
    assert not isinstance(after, Refusal), after
    return after


def _coordinates(cluster: Cluster) -> Cluster:
    """Broker 0 was elected for long enough."""
    core = cluster.core(0)
    effects = core.on_timer(Timer(Timing.WAITED_OUT), 0)
    cluster = by_broker(cluster, 0, core, effects)
    if Item(Work.READ_TOPICS) in core.queue:
        cluster = step_of(cluster, 0, core, core.advance(0, Item(Work.READ_TOPICS)))
    return cluster


SYSTEM = GroupUnderTest()
