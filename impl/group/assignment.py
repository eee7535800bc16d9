"""The assignment of partitions to threads: 0.7's ranges (Consumer Coordinator, 9, 1.1 to 1.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from impl.group.protocol import TopicPartition

Owners = dict[TopicPartition, str]
"""For each partition the thread that owns it."""


def ranges(partitions: Mapping[str, Sequence[str]], threads: Mapping[str, Sequence[str]]) -> Owners:
    """For each topic, its sorted partitions in runs over its sorted threads; the first threads get one more.

    partitions, threads: by topic. A topic without threads is assigned to nobody.
    """
    owners: Owners = {}
    for topic, found in partitions.items():
        takers = sorted(threads.get(topic, ()))
        if not takers:
            continue
        each, extra = divmod(len(found), len(takers))
        in_order, at = sorted(found, key=partition_order), 0
        for number, thread in enumerate(takers):
            end = at + each + (number < extra)
            for partition in in_order[at:end]:
                owners[TopicPartition(topic, partition)] = thread
            at = end
    return owners


def partition_order(partition: str) -> tuple[int, int]:
    """Partitions `<broker>-<n>` sort by their numbers."""
    broker, _, number = partition.partition("-")
    return int(broker), int(number)


def thread_id(consumer: str, number: int) -> str:
    return f"{consumer}-{number}"


def consumer_of(thread: str) -> str:
    return thread.rpartition("-")[0]
