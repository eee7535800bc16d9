"""Records that the log and snapshots write about themselves: control records.

Their fields are Kafka's LeaderChangeMessage, SnapshotHeaderRecord and SnapshotFooterRecord, each in version 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from impl.kraft.storage.batches import BatchError, Reader, Record
from impl.runtime.wire import uvarint

_VERSION = bytes(2)
_NO_TAGGED_FIELDS = b"\0"


class ControlType(IntEnum):
    """The second half of a control record's key."""

    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    VOTERS = 6


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """The first record of an epoch: its leader, all voters, and those that voted for it."""

    leader: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]


def leader_change(change: LeaderChange) -> Record:
    voters = b"".join(_voters(ids) for ids in (change.voters, change.granting))
    return _control(ControlType.LEADER_CHANGE, change.leader.to_bytes(4, "big") + voters)


def snapshot_header(last_contained_ms: int) -> Record:
    """last_contained_ms: the timestamp of the last record that the snapshot stands for."""
    return _control(ControlType.SNAPSHOT_HEADER, last_contained_ms.to_bytes(8, "big", signed=True))


def snapshot_footer() -> Record:
    return _control(ControlType.SNAPSHOT_FOOTER, b"")


def control_type(record: Record) -> ControlType | None:
    """The type of a control record, None where it is unknown. Raises BatchError where the key is none."""
    if record.key is None or len(record.key) != 4:
        raise BatchError(f"a control record with the key {record.key!r}, not of 4 bytes")
    number = int.from_bytes(record.key[2:], "big")
    return next((type_ for type_ in ControlType if type_ == number), None)


def read_leader_change(record: Record) -> LeaderChange:
    """Raises BatchError."""
    reader = _read(record)
    try:
        return LeaderChange(reader.number(4), _read_voters(reader), _read_voters(reader))
    except IndexError as error:
        raise BatchError(f"a LeaderChange record is too short: {error}") from None


def last_contained_ms(record: Record) -> int:
    """Of a SnapshotHeader record. Raises BatchError."""
    try:
        return _read(record).number(8)
    except IndexError as error:
        raise BatchError(f"a SnapshotHeader record is too short: {error}") from None


def _control(type_: ControlType, fields: bytes) -> Record:
    return Record(_VERSION + fields + _NO_TAGGED_FIELDS, key=bytes(2) + type_.to_bytes(2, "big"))


def _voters(ids: Iterable[int]) -> bytes:
    each = [voter.to_bytes(4, "big") + _NO_TAGGED_FIELDS for voter in ids]
    return uvarint(len(each) + 1) + b"".join(each)


def _read(record: Record) -> Reader:
    reader = Reader(memoryview(record.value or b""))
    reader.take(min(reader.left(), len(_VERSION)))
    return reader


def _read_voters(reader: Reader) -> tuple[int, ...]:
    found: list[int] = []
    for _ in range(reader.uvarint() - 1):
        found.append(reader.number(4))
        for _ in range(reader.uvarint()):  # fields of a later version
            reader.uvarint()
            reader.take(reader.uvarint())
    return tuple(found)
