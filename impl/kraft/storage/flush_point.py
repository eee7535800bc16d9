"""`flush-point`: up to which offset the log was once flushed. Damage below it is bit rot; behind it may be a torn tail.

It follows a flush lazily: a crash may leave an older one, never one that was not true. So it is lowered, on disk,
before the log is truncated below it.
"""

from __future__ import annotations

from crc32c import crc32c

from impl.kraft.storage.disk import Disk, File

NAME = "flush-point"


class FlushPoint:
    """The offset, in memory and in its file: one line in one sector, with its CRC-32C. is_new: no file was there."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._file: File = disk.open(f"{directory}/{NAME}", create=True)
        data = self._file.read(0, len(line(0)))
        self.is_new = not data
        self.offset: int | None = parse(data)

    def advance(self, offset: int) -> None:
        """The log is flushed up to here. On disk at some time."""
        if offset != self.offset:
            self._file.write(0, line(offset))
            self.offset = offset

    def set_durably(self, offset: int) -> None:
        self._file.write(0, line(offset))
        self._file.fsync()
        self.offset = offset

    def close(self) -> None:
        self._file.close()


def line(offset: int) -> bytes:
    number = b"%020d" % offset
    return number + b" %08x\n" % crc32c(number)


def parse(data: bytes) -> int | None:
    """None: it is not there, or torn; then nothing is known to be flushed."""
    number = data[:20]
    return int(number) if number.isdigit() and line(int(number)) == data else None
