"""The interface to a disk, as narrow as recovery allows: nothing else in this package touches files.

`real_disk` has the operating system's, `simulated_disk` one whose crashes are chosen. Paths are text with `/`. Any call
may raise OSError. What a call changes may be lost in a crash until `fsync` (of a file's bytes and size) or
`sync_directory` (of the names in a directory) has returned.
"""

from __future__ import annotations

from typing import Protocol

TEMPORARY = ".tmp"


class File(Protocol):
    """An open file."""

    def size(self) -> int: ...

    def read(self, at: int, size_bytes: int) -> bytes:
        """The bytes from position `at` on; fewer than asked for where the file ends."""

    def write(self, at: int, data: bytes) -> None:
        """All of the bytes, or OSError with any part of them written."""

    def truncate(self, size_bytes: int) -> None: ...

    def fsync(self) -> None: ...

    def close(self) -> None: ...


class Disk(Protocol):
    """Names and files."""

    def open(self, path: str, *, create: bool = False) -> File:
        """A file that is there; with `create` an empty one where there is none."""

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted."""

    def make_directory(self, path: str) -> None:
        """Its parent must be there; it may be there itself."""

    def rename(self, old: str, new: str) -> None:
        """Within one directory; replaces what has the new name."""

    def delete(self, path: str) -> None: ...

    def sync_directory(self, path: str) -> None: ...

    def lock(self, path: str) -> File:
        """A file that no other process has locked, until it is closed. Raises BlockingIOError."""


def read_whole(disk: Disk, path: str) -> bytes:
    file = disk.open(path)
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def write_durably(disk: Disk, directory: str, name: str, data: bytes) -> None:
    """Replace a file as a whole: after a crash it has the old bytes or the new, once this has returned the new."""
    temporary = f"{directory}/{name}{TEMPORARY}"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.write(0, data)
        file.fsync()
    finally:
        file.close()
    disk.rename(temporary, f"{directory}/{name}")
    disk.sync_directory(directory)
