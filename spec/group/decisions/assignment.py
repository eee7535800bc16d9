"""Assignments: 0.7's ranges, and what partitions are fetched from where."""

from __future__ import annotations

from checker.lang import Map, Option, Set, choose
from spec.group.design import Design
from spec.group.messages import Offset, Position
from spec.group.state import Cluster, Owners
from spec.group.types import Broker, Consumer, Group, Partition, Thread, consumer_of, number, place


def unowned() -> Owners:
    """Nobody owns anything."""
    return Map({p: None for p in Partition})


def assigned(members: Set[Consumer]) -> Owners:
    """Sorted partitions in runs over sorted threads; the first threads get one more."""
    return Map({p: thread_for(members, p) for p in Partition})


def thread_for(members: Set[Consumer], partition: Partition) -> Option[Thread]:
    """The thread whose run a partition is in."""
    threads = frozenset(t for t in Thread if consumer_of(t) in members)
    if len(threads) == 0:
        return None
    return choose(t for t in threads if is_in_run(number(partition), rank_in(threads, t), len(threads)))


def rank_in(threads: Set[Thread], thread: Thread) -> int:
    return sum(1 for t in threads if place(t) < place(thread))


def is_in_run(partition: int, rank: int, threads: int) -> bool:
    """The thread of this rank gets the partition with this number."""
    each = Design.partitions // threads
    extra = Design.partitions % threads
    first = rank * each + min(rank, extra)
    return first <= partition < first + each + (1 if rank < extra else 0)


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
