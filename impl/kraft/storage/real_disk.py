"""The disk of the operating system."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RealFile:
    """A file descriptor, read and written by position."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read(self, at: int, size_bytes: int) -> bytes:
        parts: list[bytes] = []
        while size_bytes > 0:
            part = os.pread(self._descriptor, size_bytes, at)
            if not part:
                break
            parts.append(part)
            at, size_bytes = at + len(part), size_bytes - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, at: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = os.pwrite(self._descriptor, left, at)  # may be short: a signal, a limit
            at, left = at + written, left[written:]

    def truncate(self, size_bytes: int) -> None:
        os.ftruncate(self._descriptor, size_bytes)

    def fsync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class RealDisk:
    """All directories of this machine."""

    def open(self, path: str, *, create: bool = False) -> RealFile:
        return RealFile(os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644))

    def names(self, directory: str) -> list[str]:
        return sorted(entry.name for entry in Path(directory).iterdir())

    def make_directory(self, path: str) -> None:
        Path(path).mkdir(exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        Path(old).replace(new)

    def delete(self, path: str) -> None:
        Path(path).unlink()

    def delete_directory(self, path: str) -> None:
        """One that is empty."""
        Path(path).rmdir()

    def sync_directory(self, path: str) -> None:
        with opened_directory(path) as descriptor:
            os.fsync(descriptor)

    def lock(self, path: str) -> RealFile:
        """A lock of fcntl, as Java takes: a Kafka on the same directory is kept out, too."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise BlockingIOError(error.errno, f"{path} is locked by another process") from None
        return RealFile(descriptor)


@contextmanager
def opened_directory(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
