"""Recovery of a segment: what of it is whole, and whether what is not is a torn tail or bit rot.

A torn tail was never flushed, so cutting it takes back nothing. It is told from rot by what a crash can do: sectors
that were not written read as zeros, since a log only grows (and a truncation is on disk before the next append), or
the file is too short. A later batch that is whole proves nothing: sectors reach the disk in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from crc32c import crc32c

from impl.kraft.storage.batches import CRC_END, HEADER_BYTES, LENGTH_END, MAGIC, BatchError, header_at
from impl.kraft.storage.epochs import EpochHistory
from impl.kraft.storage.segment import Segment, Window

_START = Struct(">qi")
_PIECE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Damage:
    """Where the first batch begins that is not as it must be, the offset that it had to have, and why."""

    position: int
    offset: int
    reason: str


def scan(segment: Segment, epochs: EpochHistory) -> Damage | None:
    """Read a whole segment: each CRC, offsets without a gap, epochs that do not fall. It knows what is whole then.

    epochs: of the log up to here; they are continued.
    """
    segment.forget()
    size = segment.file.size()
    window = Window(segment.file, size, _PIECE_BYTES)
    while segment.size_bytes < size:
        try:
            header, _ = window.batch(segment.size_bytes)
            if header.base_offset != segment.end_offset:
                raise BatchError(f"a batch at offset {header.base_offset}")
            if header.epoch < epochs.last():
                raise BatchError(f"a batch of epoch {header.epoch} behind one of epoch {epochs.last()}")
        except BatchError as error:
            return Damage(segment.size_bytes, segment.end_offset, str(error))
        segment.add(header)
        epochs.note(header.epoch, header.base_offset)
    return None


def is_torn(segment: Segment, damage: Damage, sector_bytes: int) -> bool:
    """Can a crash have left this, of bytes that were appended and not flushed?

    sector_bytes: the least that a disk writes as a whole.
    """
    rest = segment.file.read(damage.position, segment.file.size() - damage.position)
    if len(rest) < HEADER_BYTES:
        return True
    following = _next_batch(rest, damage.offset)
    base_offset, length = _START.unpack_from(rest)
    end = len(rest) if following is None else following
    if base_offset == damage.offset and length > 0:
        end = min(end, LENGTH_END + length)
    return _has_hole(rest, end, damage, sector_bytes) or (following is None and _is_cut_off(rest))


def _next_batch(data: bytes, offset: int) -> int | None:
    """Where a batch begins that is whole and of a later offset."""
    at = data.find(MAGIC, 17)
    while at != -1:
        start = at - 16
        if start + HEADER_BYTES <= len(data):
            base_offset, length = _START.unpack_from(data, start)
            if base_offset > offset and 0 < length <= len(data) - start - LENGTH_END and _is_whole(data, start):
                return start
        at = data.find(MAGIC, at + 1)
    return None


def _is_whole(data: bytes, at: int) -> bool:
    try:
        header_at(data, at)
    except BatchError:
        return False
    return True


def _has_hole(data: bytes, end: int, damage: Damage, sector_bytes: int) -> bool:
    """Is there a sector that was not written, among those of the batch, which may reach up to `end`?"""
    first = min(-damage.position % sector_bytes, len(data))
    begins = damage.offset.to_bytes(8, "big")
    if first and not any(data[:first]) and any(begins[:first]):
        return True
    return any(not any(data[at : at + sector_bytes]) for at in range(first, end, sector_bytes))


def _is_cut_off(data: bytes) -> bool:
    """Does the file end within a batch? Not where only its length is damaged: then the CRC is of all that is there."""
    crc = int.from_bytes(data[CRC_END - 4 : CRC_END], "big")
    claimed = LENGTH_END + int.from_bytes(data[LENGTH_END - 4 : LENGTH_END], "big", signed=True)
    return claimed > len(data) and crc32c(memoryview(data)[CRC_END:]) != crc
