"""Topics, partitions and brokers as they stand in ZooKeeper, and the watches on them (Consumer Coordinator, 5, 6)."""

from __future__ import annotations

from collections.abc import Iterable

from impl.group.effects import Context
from impl.group.protocol import BrokerAddress
from impl.group.scripts import Script, children, data
from impl.group.topic_count import is_topic
from impl.group.znodes import BROKER_IDS, TOPICS, count_path, id_path, read_broker, read_count, topic_path
from impl.zookeeper.znodes import ZnodeError, read_id

Partitions = dict[str, list[str]]
"""By topic, `<broker>-<n>`."""


class Topics:
    """The topics that a coordinator knows, and the brokers that every broker does."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.known = frozenset[str]()
        self.brokers = dict[int, BrokerAddress]()

    def names(self, *, watch: bool) -> Script[frozenset[str]]:
        """The topics that are there."""
        (found,) = yield from children([TOPICS], watch=watch)
        return frozenset(name for name in found or () if is_topic(name))

    def partitions(self, topics: Iterable[str], *, watch: bool = False) -> Script[Partitions]:
        """The partitions of some topics; of one that is not there none. Counts that are no numbers are logged."""
        names = sorted(topics)
        found = yield from children([topic_path(topic) for topic in names], watch=watch)
        places = [
            (topic, broker)
            for topic, brokers in zip(names, found, strict=True)
            for broker in brokers or ()
            if read_id(broker) is not None
        ]
        counts = yield from data([count_path(topic, broker) for topic, broker in places], watch=watch)
        partitions: Partitions = {topic: [] for topic in names}
        for (topic, broker), count in zip(places, counts, strict=True):
            if count is not None:
                partitions[topic] += [f"{broker}-{number}" for number in range(self._count(topic, broker, count))]
        return partitions

    def _count(self, topic: str, broker: str, count: bytes) -> int:
        try:
            return read_count(topic, broker, count)
        except ZnodeError as error:
            self.context.log("garbage in a znode", is_warning=True, what=str(error))
            return 0

    def read_brokers(self) -> Script[None]:
        """The brokers that are there, with a watch."""
        (names,) = yield from children([BROKER_IDS], watch=True)
        ids = sorted(broker for name in names or () if (broker := read_id(name)) is not None)
        registered = yield from data([id_path(broker) for broker in ids])
        brokers = dict[int, BrokerAddress]()
        for broker, found in zip(ids, registered, strict=True):
            if found is not None:
                try:
                    brokers[broker] = read_broker(broker, found)
                except ZnodeError as error:
                    self.context.log("garbage in a znode", is_warning=True, what=str(error))
        self.brokers = brokers
