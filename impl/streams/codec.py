"""The bytes of the metadata, versions 1 to 11, as Kafka Streams 0.10.0 to 3.9 have them.

A *simulated* version has the layout of the version before it: so Kafka's own tests try a version that is not there yet,
and the document its version 4. Versions that a reader does not support are read as far as they say which they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from impl.streams.cursor import (
    INT32,
    Cursor,
    int8,
    int32,
    int64,
    listed,
    modified_utf8,
    nullable_string,
    octets,
    utf16,
)
from impl.streams.errors import Cause, TaskAssignmentException
from impl.streams.metadata import (
    ACTIVE,
    NO_REBALANCE_MS,
    UNKNOWN,
    AssignmentInfo,
    FutureAssignment,
    FutureSubscription,
    HostPartitions,
    OffsetSum,
    StandbyTask,
    SubscriptionInfo,
    TaskId,
    TopicPartition,
)

LATEST = 11
"""The newest version that any release has."""
_TASK_BYTES, _HOST_BYTES, _PAIR_BYTES = 8, 10, 6
# From which version on: see the tables of docs/streams.md.
_SUPPORTED, _ENDPOINT, _ERROR, _DICTIONARY, _STANDBY_HOSTS = 3, 2, 4, 5, 6
_SUMS, _NEXT_REBALANCE, _UNIQUE, _SUBSCRIPTION_ERROR, _TOPOLOGIES, _TAGS = 7, 7, 8, 9, 10, 11


class Format(NamedTuple):
    """The versions that a release reads and writes.

    latest: the newest. is_simulated: that has the layout of the one before. has_tail: version 1 is written with version
    2's tail after it, as the back ports of KAFKA-6054 to 0.10.1-1.1 do.
    """

    latest: int
    is_simulated: bool = False
    has_tail: bool = False

    def layout(self, version: int) -> int:
        """The version whose fields are there."""
        return version - 1 if self.is_simulated and version == self.latest else version


SHIPPED = Format(LATEST)


# Subscriptions.


def encode_subscription(info: SubscriptionInfo, form: Format = SHIPPED) -> bytes:
    """The user data of a subscription. Raises TaskAssignmentException above what the release supports."""
    version = _writable(info.used, form)
    process = int64(*_halves(info.process_id))
    head = int32(info.used) if version < _SUPPORTED else int32(info.used, info.supported)
    endpoint = octets(info.endpoint.encode())
    if version < _SUMS:
        standby = [one.task for one in info.standby]
        has_endpoint = version >= _ENDPOINT or form.has_tail
        return b"".join([head, process, _tasks(info.previous), _tasks(standby), endpoint if has_endpoint else b""])
    sums = [OffsetSum(task, ACTIVE) for task in info.previous] + list(info.standby)
    parts = [head, process, endpoint, _sums(sums) if version < _TOPOLOGIES else listed(map(_sum, sums))]
    if version >= _UNIQUE:
        parts.append(int8(info.unique))
    if version >= _SUBSCRIPTION_ERROR:
        parts.append(int32(info.error))
    if version >= _TAGS:
        parts.append(listed(octets(key) + octets(value) for key, value in info.tags))
    return b"".join(parts)


def decode_subscription(data: bytes, form: Format = SHIPPED) -> SubscriptionInfo | FutureSubscription:
    """What is in the user data of a subscription. Raises TaskAssignmentException."""
    cursor = Cursor(data)
    used = _version(cursor)
    if used > form.latest:
        return FutureSubscription(used, cursor.int32("supported version"))
    version = form.layout(used)
    supported = cursor.int32("supported version") if version >= _SUPPORTED else UNKNOWN
    process_id = UUID(int=_unsigned(cursor.int64("process id")) << 64 | _unsigned(cursor.int64("process id")))
    if version < _SUMS:
        previous, standby = _read_tasks(cursor, "previous tasks"), _read_tasks(cursor, "standby tasks")
        endpoint = cursor.utf8("user endpoint") if version >= _ENDPOINT else ""
        _end(cursor, version)
        return SubscriptionInfo(used, supported, process_id, previous, tuple(map(OffsetSum, standby)), endpoint)
    endpoint = cursor.utf8("user endpoint")
    sums = _read_sums(cursor) if version < _TOPOLOGIES else cursor.listed("offset sums", 18, lambda: _read_sum(cursor))
    found = SubscriptionInfo(
        used,
        supported,
        process_id,
        tuple(one.task for one in sums if one.offset_sum == ACTIVE),
        tuple(one for one in sums if one.offset_sum != ACTIVE),
        endpoint,
        cursor.int8("unique field") if version >= _UNIQUE else 0,
        cursor.int32("error code") if version >= _SUBSCRIPTION_ERROR else 0,
        cursor.listed("client tags", _TASK_BYTES, lambda: (cursor.octets("tag"), cursor.octets("tag's value")))
        if version >= _TAGS
        else (),
    )
    cursor.end()
    return found


def _halves(process_id: UUID) -> tuple[int, int]:
    most, least = process_id.int >> 64, process_id.int & (1 << 64) - 1
    return most - (most >> 63 << 64), least - (least >> 63 << 64)


def _unsigned(half: int) -> int:
    return half & (1 << 64) - 1


def _tasks(tasks: Sequence[TaskId]) -> bytes:
    return int32(len(tasks), *(number for task in tasks for number in task[:2]))


def _read_tasks(cursor: Cursor, field: str) -> tuple[TaskId, ...]:
    return tuple([TaskId(*pair) for pair in cursor.int32_pairs(field)])


def _sums(sums: Iterable[OffsetSum]) -> bytes:
    """Versions 7 to 9: by topic group."""
    groups: dict[int, list[bytes]] = {}
    for task, offset_sum in sums:
        groups.setdefault(task.topic_group, []).append(int32(task.partition) + int64(offset_sum))
    return listed(int32(group) + listed(partitions) for group, partitions in sorted(groups.items()))


def _read_sums(cursor: Cursor) -> tuple[OffsetSum, ...]:
    found = list[OffsetSum]()
    for _ in range(cursor.count("offset sums", _TASK_BYTES)):
        group = cursor.int32("topic group")
        for _ in range(cursor.count("offset sums", 12)):
            found.append(OffsetSum(TaskId(group, cursor.int32("partition")), cursor.int64("offset sum")))
    return tuple(found)


def _sum(one: OffsetSum) -> bytes:
    """From version 10 on: by task."""
    task, offset_sum = one
    return int32(task.topic_group, task.partition) + int64(offset_sum) + nullable_string(task.topology or None)


def _read_sum(cursor: Cursor) -> OffsetSum:
    group, partition, offset_sum = cursor.int32("topic group"), cursor.int32("partition"), cursor.int64("offset sum")
    return OffsetSum(TaskId(group, partition, cursor.nullable_string("topology") or ""), offset_sum)


# Assignments.


def encode_assignment(info: AssignmentInfo, form: Format = SHIPPED, shared: bytes | None = None) -> bytes:
    """The user data of an assignment. shared: `shared_bytes` of its hosts, which are the same for all members.

    Raises TaskAssignmentException above what the release supports.
    """
    version = _writable(info.used, form)
    head = int32(info.used) if version < _SUPPORTED else int32(info.used, info.supported)
    active = _tasks(info.active) if version < _TOPOLOGIES else listed(map(_task, info.active))
    write = _task if version >= _TOPOLOGIES else _short_task
    standby = listed(write(one.task) + listed(map(_pair, one.partitions)) for one in info.standby)
    if shared is None:
        shared = shared_bytes(info.used, info.hosts, info.standby_hosts, form)
    error = int32(info.error) if version >= _ERROR else b""
    return (
        head
        + active
        + standby
        + shared
        + error
        + (int64(info.next_rebalance_ms) if version >= _NEXT_REBALANCE else b"")
    )


def shared_bytes(
    used: int, hosts: Sequence[HostPartitions], standby_hosts: Sequence[HostPartitions], form: Format = SHIPPED
) -> bytes:
    """The part of an assignment that all members of a generation are sent: the topic dictionary, and who has what."""
    version = form.layout(used)
    if version < _ENDPOINT and not form.has_tail:
        return b""
    if version < _DICTIONARY:
        names: dict[str, bytes] = {}
        return _hosts(hosts, names)
    topics = sorted({of.topic for host in (*hosts, *standby_hosts) for of in host.partitions})
    dictionary = listed(int32(index) + modified_utf8(topic) for index, topic in enumerate(topics))
    names = {topic: int32(index) for index, topic in enumerate(topics)}
    return dictionary + _hosts(hosts, names) + (_hosts(standby_hosts, names) if version >= _STANDBY_HOSTS else b"")


def decode_assignment(data: bytes, form: Format = SHIPPED) -> AssignmentInfo | FutureAssignment:
    """What is in the user data of an assignment. Raises TaskAssignmentException."""
    cursor = Cursor(data)
    used = _version(cursor)
    if used > form.latest:
        return FutureAssignment(used)
    version = form.layout(used)
    supported = cursor.int32("supported version") if version >= _SUPPORTED else UNKNOWN
    has_topologies = version >= _TOPOLOGIES
    if has_topologies:
        active = cursor.listed("active tasks", 12, lambda: _read_task(cursor))
    else:
        active = _read_tasks(cursor, "active tasks")
    standby = cursor.listed("standby tasks", 12, lambda: _read_standby(cursor, has_topologies))
    topics: dict[int, str] | None = None
    if version >= _DICTIONARY:
        entry = _PAIR_BYTES
        topics = dict(cursor.listed("topics", entry, lambda: (cursor.int32("index"), cursor.modified_utf8("topic"))))
    hosts = _read_hosts(cursor, "partitions by host", topics) if version >= _ENDPOINT else ()
    found = AssignmentInfo(
        used,
        supported,
        active,
        standby,
        hosts,
        _read_hosts(cursor, "standby partitions by host", topics) if version >= _STANDBY_HOSTS else (),
        cursor.int32("error code") if version >= _ERROR else 0,
        cursor.int64("next rebalance") if version >= _NEXT_REBALANCE else NO_REBALANCE_MS,
    )
    _end(cursor, version)
    return found


def _short_task(task: TaskId) -> bytes:
    return int32(task.topic_group, task.partition)


def _task(task: TaskId) -> bytes:
    """From version 10 on."""
    return _short_task(task) + utf16(task.topology)


def _read_task(cursor: Cursor) -> TaskId:
    return TaskId(cursor.int32("topic group"), cursor.int32("partition"), cursor.utf16("topology"))


def _read_standby(cursor: Cursor, has_topologies: bool) -> StandbyTask:
    task = _read_task(cursor) if has_topologies else TaskId(cursor.int32("topic group"), cursor.int32("partition"))
    return StandbyTask(task, cursor.listed("standby partitions", _PAIR_BYTES, lambda: _read_pair(cursor, None)))


def _pair(of: TopicPartition) -> bytes:
    return modified_utf8(of.topic) + int32(of.partition)


def _read_pair(cursor: Cursor, topics: dict[int, str] | None) -> TopicPartition:
    """topics: the dictionary, where a topic is named by its index."""
    if topics is None:
        return TopicPartition(cursor.modified_utf8("topic"), cursor.int32("partition"))
    start = cursor.at
    index = cursor.int32("index of a topic")
    if index not in topics:
        raise TaskAssignmentException(f"topic {index} is not in the dictionary", offset=start)
    return TopicPartition(topics[index], cursor.int32("partition"))


def _hosts(hosts: Sequence[HostPartitions], names: dict[str, bytes]) -> bytes:
    """names: how topics are written; those that are missing, by name."""
    parts = [INT32.pack(len(hosts))]
    for host, port, partitions in hosts:
        parts += [modified_utf8(host), int32(port, len(partitions))]
        for topic, partition in partitions:
            if topic not in names:
                names[topic] = modified_utf8(topic)
            parts += [names[topic], INT32.pack(partition)]
    return b"".join(parts)


def _read_hosts(cursor: Cursor, field: str, topics: dict[int, str] | None) -> tuple[HostPartitions, ...]:
    least = _PAIR_BYTES if topics is None else _TASK_BYTES
    return cursor.listed(
        field,
        _HOST_BYTES,
        lambda: HostPartitions(
            cursor.modified_utf8("host"),
            cursor.int32("port"),
            cursor.listed(field, least, lambda: _read_pair(cursor, topics)),
        ),
    )


# Versions.


def _writable(used: int, form: Format) -> int:
    if not 1 <= used <= form.latest:
        message = f"version {used} cannot be written: versions 1 to {form.latest} are supported"
        raise TaskAssignmentException(message, Cause.CANNOT_ENCODE)
    return form.layout(used)


def _version(cursor: Cursor) -> int:
    used = cursor.int32("version")
    if used < 1:
        raise TaskAssignmentException(f"version {used}: versions begin at 1", offset=0)
    return used


def _end(cursor: Cursor, version: int) -> None:
    """What follows version 1 is the tail of the back ports, and ignored by every reader."""
    if version > 1:
        cursor.end()
