"""Assignments: 0.7's ranges, and what partitions are fetched from where."""

from __future__ import annotations

from checker.lang import Map, Option, Set, choose
from spec.group.design import Design
from spec.group.messages import Offset, Position
from spec.group.state import BrokerProcess, Cluster, Owners
from spec.group.types import Broker, Consumer, Group, Partition, Thread, Topic, consumer_of, number, place, topic_of


def unowned() -> Owners:
    """Nobody owns anything."""
    return Map({p: None for p in Partition})


def topics_of(s: Cluster) -> Set[Topic]:
    """The topics that are there."""
    return frozenset(topic_of(p) for p in s.zookeeper.partitions)


def is_interested(process: BrokerProcess, topic: Topic) -> bool:
    """The coordinator has the group, of whatever members, in the list of the topic (handleAddedConsumer 3.1, 3.2)."""
    return Design.wildcard == 0 or topic in process.topics


def assigned(s: Cluster, broker: Broker, members: Set[Consumer]) -> Owners:
    """For each topic, sorted partitions in runs over sorted threads; the first threads get one more (1.1-1.3)."""
    return Map(
        {
            p: thread_for(s, members, p)
            if p in s.zookeeper.partitions and is_interested(s.brokers[broker], topic_of(p))
            else None
            for p in Partition
        }
    )


def thread_for(s: Cluster, members: Set[Consumer], partition: Partition) -> Option[Thread]:
    """The thread whose run a partition is in."""
    threads = frozenset(t for t in Thread if consumer_of(t) in members)
    if len(threads) == 0:
        return None
    alike = frozenset(p for p in s.zookeeper.partitions if topic_of(p) == topic_of(partition))
    rank = sum(1 for p in alike if number(p) < number(partition))
    return choose(t for t in threads if is_in_run(rank, len(alike), rank_in(threads, t), len(threads)))


def rank_in(threads: Set[Thread], thread: Thread) -> int:
    return sum(1 for t in threads if place(t) < place(thread))


def is_in_run(partition: int, partitions: int, thread: int, threads: int) -> bool:
    """Of so many, the thread of this rank gets the partition of this rank."""
    each = partitions // threads
    extra = partitions % threads
    first = thread * each + min(thread, extra)
    return first <= partition < first + each + (1 if thread < extra else 0)


def is_owner(owners: Owners, consumer: Consumer, partition: Partition) -> bool:
    """A thread of the consumer owns the partition."""
    return any(owners[partition] == t for t in Thread if consumer_of(t) == consumer)


def start_offset(s: Cluster, broker: Broker, group: Group, partition: Partition) -> Offset:
    """From where a partition is fetched: the offset last reported, else ZooKeeper's."""
    reported = s.brokers[broker].registries[group].reported
    if any(p.partition == partition for p in reported):
        return choose(p for p in reported if p.partition == partition).offset
    return s.zookeeper.groups[group].offsets[partition]


def share_of(s: Cluster, broker: Broker, group: Group, owners: Owners, consumer: Consumer) -> Set[Position]:
    """What a consumer is to fetch, and from where."""
    return frozenset(Position(p, start_offset(s, broker, group, p)) for p in Partition if is_owner(owners, consumer, p))
