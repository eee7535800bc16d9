"""The two records that nearly all of a log is, PartitionRecord and PartitionChangeRecord, as bytes and back at once.

Several times as fast as by the tables, and only what is ordinary: version 0, or 1 with directories, short lists, no
leader that recovers. Of everything else nothing is said here, so that the tables read or refuse it.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, error
from typing import Any
from uuid import UUID

from impl.kraft.metadata.encoding import FRAME_VERSION, uuid_of
from impl.kraft.records import (
    LEADER_UNCHANGED,
    RECOVERED,
    RECOVERY_UNCHANGED,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
)

_PARTITION, _PLACED_PARTITION = (bytes((FRAME_VERSION, PartitionRecord.type, version)) for version in (0, 1))
_CHANGE, _PLACED_CHANGE = (bytes((FRAME_VERSION, PartitionChangeRecord.type, version)) for version in (0, 1))
"""With directories in the second version."""
_ABOUT = Struct(">3si16sB")
"""Frame, type and version; partition id, topic id; how many tagged fields follow."""
_KEY = Struct(">i16s")
_KEY_AT, _KEY_END = 3, 23
_LEADERSHIP = Struct(">iii")
_TAGGED_LEADER = Struct(">BBi")
_LEADER_TAG, _LEADER_BYTES = 1, 4
_DIRECTORIES_TAG = 8
_LIST_TAGS = {0: "isr", 2: "replicas", 3: "removing_replicas", 4: "adding_replicas"}
_MOST_LISTED = 30
"""So that a length, and the size of a tagged field, are one byte each."""
_INT32S = [Struct(f">{length}i") for length in range(_MOST_LISTED + 1)]
_TAGGED_INT32S = [Struct(f">BBB{length}i") for length in range(_MOST_LISTED + 1)]
_UUID_BYTES = 16
_MOST_PLACED = 7
"""Directories, for the same reason."""
_MOST_LAYOUTS = 1 << 8


def partition_bytes(record: Record) -> bytes | None:
    """The value of a data record in the log; None where the tables have to say."""
    try:
        if isinstance(record, PartitionChangeRecord):
            return _change_bytes(record)
        if isinstance(record, PartitionRecord):
            return _new_partition_bytes(record)
    except (error, IndexError):
        pass
    return None


def partition_record(value: bytes) -> PartitionRecord | PartitionChangeRecord | None:
    """The record in the value of a data record; None where the tables have to say."""
    try:
        if value.startswith((_CHANGE, _PLACED_CHANGE)):
            return _change(value)
        if value.startswith((_PARTITION, _PLACED_PARTITION)):
            return _new_partition(value)
    except (error, IndexError):
        pass
    return None


@lru_cache(_MOST_LAYOUTS)
def _layout(replicas: int, isr: int, removing: int, adding: int) -> Struct:
    return Struct(f">3si16sB{replicas}iB{isr}iB{removing}iB{adding}iiii")


def _new_partition_bytes(record: PartitionRecord) -> bytes | None:
    lists = record.replicas, record.isr, record.removing_replicas, record.adding_replicas
    replicas, isr, removing, adding = map(len, lists)
    if max(replicas, isr, removing, adding) > _MOST_LISTED or record.leader_recovery_state != RECOVERED:
        return None
    if len(record.directories) > _MOST_PLACED:
        return None
    return _layout(replicas, isr, removing, adding).pack(
        _PLACED_PARTITION if record.directories else _PARTITION,
        record.partition_id, record.topic_id.bytes, replicas + 1, *record.replicas, isr + 1, *record.isr,
        removing + 1, *record.removing_replicas, adding + 1, *record.adding_replicas,
        record.leader, record.leader_epoch, record.partition_epoch,
    ) + (_uuids_bytes(record.directories) if record.directories else b"") + b"\0"  # fmt: skip


def _uuids_bytes(uuids: tuple[UUID, ...]) -> bytes:
    return bytes((len(uuids) + 1,)) + b"".join([one.bytes for one in uuids])


def _uuids(value: bytes, at: int, length: int) -> tuple[UUID, ...]:
    return tuple(
        [uuid_of(value[start : start + _UUID_BYTES]) for start in range(at, at + _UUID_BYTES * length, _UUID_BYTES)]
    )


def _new_partition(value: bytes) -> PartitionRecord | None:
    partition_id, topic_id = _KEY.unpack_from(value, _KEY_AT)
    at = _KEY_END
    lists: list[tuple[int, ...]] = []
    for _ in range(4):
        length = value[at] - 1
        if length < 0:
            return None
        lists.append(_INT32S[length].unpack_from(value, at + 1))
        at += 1 + 4 * length
    replicas, isr, removing, adding = lists
    leader, leader_epoch, partition_epoch = _LEADERSHIP.unpack_from(value, at)
    at += _LEADERSHIP.size
    directories: tuple[UUID, ...] = ()
    if value.startswith(_PLACED_PARTITION):
        placed = value[at] - 1
        if not 0 < placed <= _MOST_PLACED:
            return None
        directories = _uuids(value, at + 1, placed)
        at += 1 + _UUID_BYTES * placed
    if value[at] or len(value) != at + 1:
        return None
    return PartitionRecord(
        partition_id, uuid_of(topic_id), replicas, isr, removing, adding, leader, leader_epoch, partition_epoch,
        RECOVERED, directories,
    )  # fmt: skip


def _change_bytes(record: PartitionChangeRecord) -> bytes | None:
    """Tagged fields stand by rising tag."""
    if record.leader_recovery_state != RECOVERY_UNCHANGED or len(record.directories or ()) > _MOST_PLACED:
        return None
    parts = []
    if record.isr is not None:
        parts.append(_tagged(0, record.isr))
    if record.leader != LEADER_UNCHANGED:
        parts.append(_TAGGED_LEADER.pack(_LEADER_TAG, _LEADER_BYTES, record.leader))
    for tag, listed in (2, record.replicas), (3, record.removing_replicas), (4, record.adding_replicas):
        if listed is not None:
            parts.append(_tagged(tag, listed))
    if record.directories is not None:
        placed = _uuids_bytes(record.directories)
        parts.append(bytes((_DIRECTORIES_TAG, len(placed))) + placed)
    begins = _CHANGE if record.directories is None else _PLACED_CHANGE
    return _ABOUT.pack(begins, record.partition_id, record.topic_id.bytes, len(parts)) + b"".join(parts)


def _tagged(tag: int, listed: tuple[int, ...]) -> bytes:
    length = len(listed)
    return _TAGGED_INT32S[length].pack(tag, 1 + 4 * length, length + 1, *listed)


def _change(value: bytes) -> PartitionChangeRecord | None:
    partition_id, topic_id = _KEY.unpack_from(value, _KEY_AT)
    at, last = _KEY_END + 1, -1
    found: dict[str, Any] = {}
    for _ in range(value[_KEY_END]):
        tag, size_bytes, length = value[at], value[at + 1], value[at + 2] - 1
        if tag <= last:
            return None
        if tag == _LEADER_TAG and size_bytes == _LEADER_BYTES:
            _, _, found["leader"] = _TAGGED_LEADER.unpack_from(value, at)
        elif tag in _LIST_TAGS and length >= 0 and size_bytes == 1 + 4 * length:
            found[_LIST_TAGS[tag]] = _INT32S[length].unpack_from(value, at + 3)
        elif tag == _DIRECTORIES_TAG and 0 <= length <= _MOST_PLACED and size_bytes == 1 + _UUID_BYTES * length:
            if not value.startswith(_PLACED_CHANGE):
                return None
            found["directories"] = _uuids(value, at + 3, length)
        else:
            return None
        at, last = at + 2 + size_bytes, tag
    return PartitionChangeRecord(partition_id, uuid_of(topic_id), **found) if at == len(value) else None
