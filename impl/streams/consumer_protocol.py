"""The consumer protocol's own bytes, of which the metadata are the user data: topics of a member, partitions for it.

Version 0 is written. Later versions append fields (owned partitions, generation, rack), which readers may leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from impl.streams.cursor import Cursor, int16, int32, listed, nullable_string, octets
from impl.streams.metadata import TopicPartition

PROTOCOL_TYPE = "consumer"
PROTOCOL_NAME = "stream"
_STRING_BYTES, _TOPIC_BYTES = 2, 6


class ConsumerSubscription(NamedTuple):
    """What a member sends with its JoinGroup."""

    topics: tuple[str, ...]
    user_data: bytes


class ConsumerAssignment(NamedTuple):
    """What the leader sends to a member."""

    partitions: tuple[TopicPartition, ...]
    user_data: bytes


def subscription_bytes(topics: Iterable[str], user_data: bytes) -> bytes:
    return int16(0) + listed(nullable_string(topic) for topic in sorted(topics)) + octets(user_data)


def read_subscription(data: bytes) -> ConsumerSubscription:
    """Raises TaskAssignmentException."""
    cursor = Cursor(data)
    cursor.int16("version of the consumer protocol")
    topics = cursor.listed("topics", _STRING_BYTES, lambda: cursor.nullable_string("topic") or "")
    return ConsumerSubscription(topics, cursor.octets("user data"))


def assignment_bytes(partitions: Sequence[TopicPartition], user_data: bytes) -> bytes:
    """partitions: sorted, so that those of a topic stand together."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    parts = [nullable_string(topic) + int32(len(numbers), *numbers) for topic, numbers in topics.items()]
    return int16(0) + listed(parts) + octets(user_data)


def read_assignment(data: bytes) -> ConsumerAssignment:
    """Raises TaskAssignmentException. No bytes at all are an assignment of nothing, as the coordinator has it."""
    if not data:
        return ConsumerAssignment((), b"")
    cursor = Cursor(data)
    cursor.int16("version of the consumer protocol")
    partitions = list[TopicPartition]()
    for _ in range(cursor.count("topics", _TOPIC_BYTES)):
        topic = cursor.nullable_string("topic") or ""
        numbers = cursor.listed("partitions", 4, lambda: cursor.int32("partition"))
        partitions += [TopicPartition(topic, number) for number in numbers]
    return ConsumerAssignment(tuple(partitions), cursor.octets("user data"))
