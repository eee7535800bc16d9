"""Names, epochs and enumerations of the consumer coordinator's spec."""

from __future__ import annotations

from enum import Enum

from checker.lang import Identity, Ordinal, choose
from spec.group.design import Design


class Broker(Identity, size=lambda: Design.brokers):
    """A broker, by its id. Each may be the coordinator."""


class Consumer(Identity, size=lambda: Design.consumers):
    """A consumer, by its id in its group."""


class Group(Identity, size=lambda: Design.groups):
    """A consumer group."""


class Topic(Identity, size=lambda: Design.topics):
    """A topic. Every group subscribes to all."""


class Partition(Identity, size=lambda: Design.partitions):
    """A partition of a topic."""


class Thread(Identity, size=lambda: Design.consumers + Design.extra_threads):
    """A consumer's thread, `<consumer>-<i>`: what owns a partition. The first ones are consumer 0's."""


class Handler(Identity, size=lambda: Design.handlers):
    """A thread of the coordinator that rebalances one group at a time."""


class CoordinatorEpoch(Ordinal):
    """Which coordinator: raised by each election. The document has none; it is then in the model for properties."""


class Attempt(Ordinal):
    """An attempt at a rebalance. Soft: it is gone with the coordinator."""


class ConsumerState(Enum):
    """Where a consumer is in its startup (7)."""

    STARTING = "STARTING"  # it looks for the coordinator
    REGISTERING = "REGISTERING"  # it is connected, and awaits the answer to its registration
    JOINED = "JOINED"
    SHUTTING_DOWN = "SHUTTING_DOWN"  # it consumes no more, and waits to leave
    LEFT = "LEFT"  # it was shut down in order
    DOWN = "DOWN"  # it died


class Phase(Enum):
    """Where a rebalance is (9)."""

    IDLE = "IDLE"
    STOPPING = "STOPPING"  # 4.1, 4.2
    COMMITTING = "COMMITTING"  # 4.3
    STARTING = "STARTING"  # 4.4, 4.5
    WRITING = "WRITING"  # 4.6
    BACKOFF = "BACKOFF"  # 5


def number(partition: Partition) -> int:
    """The place of a partition in the sorted list."""
    return sum(1 for p in Partition if p != partition and choose(x for x in Partition if x in {p, partition}) == p)


def topic_of(partition: Partition) -> Topic:
    """The topic that a partition is of."""
    if Design.topics > 1 and number(partition) == Design.partitions - 1:
        return Topic(1)
    return Topic(0)


def place(thread: Thread) -> int:
    """The place of a thread in the sorted list of all threads."""
    return sum(1 for t in Thread if t != thread and choose(x for x in Thread if x in {t, thread}) == t)


def index(consumer: Consumer) -> int:
    """The id of a consumer as a number."""
    return sum(1 for c in Consumer if c != consumer and choose(x for x in Consumer if x in {c, consumer}) == c)


def consumer_of(thread: Thread) -> Consumer:
    """Whose thread it is."""
    return choose(c for c in Consumer if index(c) == max(place(thread) - Design.extra_threads, 0))


def group_of(consumer: Consumer) -> Group:
    """The group that a consumer is in."""
    if Design.groups > 1 and index(consumer) > 0:
        return Group(1)
    return Group(0)
