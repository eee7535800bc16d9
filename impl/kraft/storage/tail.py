"""The tail of a log, written again at a start: after an fsync that failed it may be in memory only.

An fsync that failed leaves any part of a batch on disk. Were the batch written again in its place, a power loss could
leave it torn within a sector, as no append leaves one, and the next start would take that for rot. So a copy is on disk
before, `<base offset of the segment>-<position>-<CRC-32C>.tail`, and a start that finds one writes it first.
"""

from __future__ import annotations

import re

from crc32c import crc32c

from impl.kraft.storage.disk import TEMPORARY, Disk, File
from impl.kraft.storage.errors import REBUILD, BitRotError

_NAME = re.compile(r"(\d{20})-(\d{10})-([0-9a-f]{8})\.tail")
_PIECE_BYTES = 4 << 20


def write_again(disk: Disk, directory: str, base_offset: int, segment: File, position: int, end: int) -> None:
    """Make what a segment has from `position` to `end` durable, as the system shows it; both begin a batch."""
    temporary = f"{directory}/tail{TEMPORARY}"
    copy = disk.open(temporary, create=True)
    try:
        copy.truncate(0)
        crc = _copy(segment, position, copy, 0, end - position)
        copy.fsync()
        name = f"{base_offset:020d}-{position:010d}-{crc:08x}.tail"
        disk.rename(temporary, f"{directory}/{name}")
        disk.sync_directory(directory)
        _put_back(disk, directory, name, copy, segment, position)
    finally:
        copy.close()


def finish(disk: Disk, directory: str, base_offset: int, segment: File) -> None:
    """Write what `write_again` was writing when the last process ended. Raises BitRotError: the copy is damaged."""
    for name in disk.names(directory):
        match = _NAME.fullmatch(name)
        if match is None or int(match[1]) != base_offset:
            continue
        copy = disk.open(f"{directory}/{name}")
        try:
            found = crc32c(copy.read(0, copy.size()))
            if found != int(match[3], 16):
                raise BitRotError(f"{directory}/{name}: the CRC is {found:08x}. {REBUILD}")
            _put_back(disk, directory, name, copy, segment, int(match[2]))
        finally:
            copy.close()


def make_size_durable(segment: File, size_bytes: int) -> None:
    """Let the file have this size on disk, too: a truncation to the size that it shows may do nothing."""
    segment.write(size_bytes, b"\0")
    segment.truncate(size_bytes)
    segment.fsync()


def _put_back(disk: Disk, directory: str, name: str, copy: File, segment: File, position: int) -> None:
    _copy(copy, 0, segment, position, copy.size())
    make_size_durable(segment, position + copy.size())
    disk.delete(f"{directory}/{name}")
    disk.sync_directory(directory)


def _copy(source: File, begin: int, target: File, at: int, size_bytes: int) -> int:
    """Copy bytes from one position to another; their CRC-32C."""
    crc = 0
    for done in range(0, size_bytes, _PIECE_BYTES):
        piece = source.read(begin + done, min(_PIECE_BYTES, size_bytes - done))
        target.write(at + done, piece)
        crc = crc32c(piece, crc)
    return crc
