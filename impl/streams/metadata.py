"""The metadata that Streams puts into the consumer protocol's user data: immutable values, without their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

UNKNOWN = -1
"""The supported version of who sends version 1 or 2."""
ACTIVE = -2
"""The offset sum of an active task (from version 7 on)."""
UNKNOWN_SUM = -3
NO_REBALANCE_MS = (1 << 63) - 1
INCOMPLETE_SOURCE_TOPIC_METADATA = 1
"""The error code of an assignment: a source topic is missing."""


class TaskId(NamedTuple):
    """A task: its topic group, the number of its partitions, and its named topology (from version 10 on; "": none)."""

    topic_group: int
    partition: int
    topology: str = ""

    def __str__(self) -> str:
        return f"{self.topology}__{self.topic_group}_{self.partition}".removeprefix("__")


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class OffsetSum(NamedTuple):
    """A task that is on disk and not active, and how far it has come. Versions below 7 do not carry the sum."""

    task: TaskId
    offset_sum: int = UNKNOWN_SUM


class HostPartitions(NamedTuple):
    """An endpoint, and the partitions of its process."""

    host: str
    port: int
    partitions: tuple[TopicPartition, ...]


class StandbyTask(NamedTuple):
    """A standby task, and the partitions whose state it follows."""

    task: TaskId
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """What a member says of itself. A version carries the fields that it has; the others are as here.

    supported: UNKNOWN in versions 1 and 2. previous: active tasks of the last ownership. endpoint: HOST:PORT, or "".
    """

    used: int
    supported: int
    process_id: UUID
    previous: tuple[TaskId, ...] = ()
    standby: tuple[OffsetSum, ...] = ()
    endpoint: str = ""
    unique: int = 0
    error: int = 0
    tags: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class FutureSubscription:
    """A subscription in a version that its reader does not know. Only both versions can be read."""

    used: int
    supported: int


@dataclass(frozen=True, slots=True)
class AssignmentInfo:
    """What a member is sent. active: a task for each of the assigned partitions, in their order.

    supported: the version that the leader (later: the whole group) supports, UNKNOWN in versions 1 and 2.
    """

    used: int
    supported: int
    active: tuple[TaskId, ...] = ()
    standby: tuple[StandbyTask, ...] = ()
    hosts: tuple[HostPartitions, ...] = ()
    standby_hosts: tuple[HostPartitions, ...] = ()
    error: int = 0
    next_rebalance_ms: int = NO_REBALANCE_MS


@dataclass(frozen=True, slots=True)
class FutureAssignment:
    """An assignment in a version that its reader does not know. Only the first version can be relied on."""

    used: int
