"""DescribeGroups, which is Fencepost's: groups as the coordinator has them, for an operator's tool."""

from __future__ import annotations

from dataclasses import dataclass

from impl.group.coordinator import Coordinator
from impl.group.protocol import UNKNOWN, ErrorCode
from impl.group.registry import Group
from impl.runtime.wire import Reader, frame, int8, int16, int32, int64, nullable_string

DESCRIBE_GROUPS = 20
"""Its type id: {type INT16, group string; empty: all}."""


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition of a group. offset, committed: as last reported, as known to be in ZooKeeper; UNKNOWN: neither.

    owner: a thread, in ZooKeeper. is_fetched: its consumer is a member that has started.
    """

    topic: str
    partition: str
    owner: str
    is_fetched: bool
    offset: int
    committed: int


@dataclass(frozen=True, slots=True)
class MemberDescription:
    consumer: str
    session_timeout_ms: int
    silent_ms: int
    is_started: bool


@dataclass(frozen=True, slots=True)
class GroupDescription:
    group: str
    phase: str
    members: tuple[MemberDescription, ...]
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True)
class DescribeGroupsResponse:
    error_code: int
    coordinator_id: int = UNKNOWN
    coordinator_epoch: int = UNKNOWN
    groups: tuple[GroupDescription, ...] = ()


def describe(core: Coordinator, name: str, now_ms: int) -> DescribeGroupsResponse:
    """The groups of a coordinator: one, or all."""
    if core.term is None:
        return DescribeGroupsResponse(ErrorCode.NOT_COORDINATOR)
    groups = [group for group in core.groups.values() if name in ("", group.name)]
    if name and not groups:
        return DescribeGroupsResponse(ErrorCode.BAD_GROUP, core.settings.broker_id, core.term.epoch)
    found = tuple(_group(group, now_ms) for group in sorted(groups, key=lambda group: group.name))
    return DescribeGroupsResponse(ErrorCode.NONE, core.settings.broker_id, core.term.epoch, found)


def _group(group: Group, now_ms: int) -> GroupDescription:
    members = tuple(
        MemberDescription(
            one.consumer, one.session_timeout_ms, max(0, now_ms - one.heard_ms), one.consumer in group.started
        )
        for one in group.members.values()
    )
    fetching = {of for consumer in group.started for of in group.owned.get(consumer, ())}
    partitions = tuple(
        PartitionDescription(
            of.topic,
            of.partition,
            group.owners.get(of, ""),
            of in fetching,
            group.reported.get(of, UNKNOWN),
            _known(group.committed.get(of)),
        )
        for of in sorted({*group.owners, *group.reported})
    )
    return GroupDescription(group.name, group.phase.name, members, partitions)


def _known(offset: int | None) -> int:
    return UNKNOWN if offset is None else offset


def describe_request_bytes(group: str) -> bytes:
    """The request, framed."""
    return frame(int16(DESCRIBE_GROUPS) + nullable_string(group))


def describe_response_bytes(response: DescribeGroupsResponse) -> bytes:
    """The response, framed."""
    head = int16(response.error_code) + int32(response.coordinator_id) + int32(response.coordinator_epoch)
    return frame(head + int32(len(response.groups)) + b"".join(map(_group_bytes, response.groups)))


def _group_bytes(group: GroupDescription) -> bytes:
    members = b"".join(
        nullable_string(one.consumer) + int32(one.session_timeout_ms) + int64(one.silent_ms) + int8(one.is_started)
        for one in group.members
    )
    partitions = b"".join(
        nullable_string(one.topic) + nullable_string(one.partition) + nullable_string(one.owner)
        + int8(one.is_fetched) + int64(one.offset) + int64(one.committed)
        for one in group.partitions
    )  # fmt: skip
    head = nullable_string(group.group) + nullable_string(group.phase)
    return head + int32(len(group.members)) + members + int32(len(group.partitions)) + partitions


def read_describe_response(data: bytes) -> DescribeGroupsResponse:
    """Raises WireError."""
    fields = Reader(data)
    code, broker, epoch = fields.int16("error_code"), fields.int32("coordinator_id"), fields.int32("coordinator_epoch")
    groups = fields.array("groups", 12, lambda: _read_group(fields))
    fields.end()
    return DescribeGroupsResponse(code, broker, epoch, groups)


def _read_group(fields: Reader) -> GroupDescription:
    return GroupDescription(
        fields.string("group"),
        fields.string("phase"),
        fields.array("members", 15, lambda: _read_member(fields)),
        fields.array("partitions", 23, lambda: _read_partition(fields)),
    )


def _read_member(fields: Reader) -> MemberDescription:
    return MemberDescription(
        fields.string("consumer"), fields.int32("session"), fields.int64("silent"), fields.int8("started") == 1
    )


def _read_partition(fields: Reader) -> PartitionDescription:
    return PartitionDescription(
        fields.string("topic"),
        fields.string("partition"),
        fields.string("owner"),
        fields.int8("is_fetched") == 1,
        fields.int64("offset"),
        fields.int64("committed"),
    )
