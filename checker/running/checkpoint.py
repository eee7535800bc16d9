"""A folder to which a search is saved, so that it can be resumed after it was killed.

It holds files that are only ever appended to, and `manifest.json`, which says how much of them counts, and carries
the rest of the search. A level is saved by appending, fsync, then replacing the manifest: killed at any moment, the
folder holds the last level that was saved whole. Bytes beyond what the manifest counts are dropped on resume.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import weakref
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from checker.errors import FencepostError, cannot_write

_MANIFEST = "manifest.json"


class CheckpointError(FencepostError):
    """A folder that cannot be saved to or resumed from; the message says why."""


class Reader:
    """A file of a folder, read from its beginning. crc: of what was read so far."""

    def __init__(self, path: Path) -> None:
        """Raises CheckpointError."""
        self.path, self.crc = path, 0
        try:
            self._file: BinaryIO = path.open("r+b")
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from error

    def read(self, size_bytes: int) -> bytes:
        """Exactly so many bytes. Raises CheckpointError where there are fewer."""
        data = self._file.read(size_bytes)
        if len(data) < size_bytes:
            raise CheckpointError(f"{self.path} is damaged: it is shorter than the manifest says")
        self.crc = zlib.crc32(data, self.crc)
        return data

    def end(self, crc: int) -> None:
        """Drop what was not read. Raises CheckpointError where what was read is not what was written."""
        if self.crc != crc:
            raise CheckpointError(f"{self.path} is damaged: its checksum does not match")
        self._file.truncate(self._file.tell())

    def close(self) -> None:
        self._file.close()


class Folder:
    """A folder that no other process has, until it is closed or gone. key: of what is searched."""

    def __init__(self, place: Path, version: int, key: str) -> None:
        """Raises CheckpointError where another process is at work in it."""
        self.place = place
        self._version, self._key = version, key
        self._unlock: Callable[[], Any] | None = None
        self._lock()

    @classmethod
    def create(cls, place: Path, version: int, key: str, *leftovers: str) -> Folder:
        """A new folder. leftovers: patterns of files that go. Raises CheckpointError where something is saved."""
        try:
            place.mkdir(parents=True, exist_ok=True)
            folder = cls(place, version, key)
            if (place / _MANIFEST).exists():
                again = "resume from it, or name another directory"
                raise CheckpointError(f"{place} already holds a checkpoint: {again}")
            for file in (file for pattern in leftovers for file in place.glob(pattern)):
                file.unlink()
        except OSError as error:
            raise CheckpointError(f"{place}: {error.strerror}") from error
        return folder

    def manifest(self) -> dict[str, Any]:
        """What was last written. Raises CheckpointError where there is nothing that this program can resume."""
        manifest = _read(self.place / _MANIFEST)
        if manifest["version"] != self._version:
            raise CheckpointError(f"{self.place} has format {manifest['version']}, this program reads {self._version}")
        if manifest["key"] != self._key:
            raise CheckpointError(f"{self.place} is of another model, other constants, or an older spec")
        return manifest

    def append(self, name: str, chunks: Iterable[bytes], crc: int, *, is_new: bool) -> int:
        """Append to a file. crc: of what is in it; returns that of all. is_new: no manifest names it.

        A file that none names may be left of a process that was killed before it wrote its manifest. Raises OSError.
        """
        with (self.place / name).open("wb" if is_new else "ab") as file:
            for data in chunks:
                crc = zlib.crc32(data, crc)
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return crc

    def write_manifest(self, content: dict[str, Any]) -> None:
        """From now on this counts. Raises OSError."""
        body = json.dumps({"version": self._version, "key": self._key, **content})
        text = json.dumps({"digest": hashlib.sha256(body.encode()).hexdigest(), "content": body})
        temporary = self.place / f"{_MANIFEST}.new"
        with temporary.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.place / _MANIFEST)
        handle = os.open(self.place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def unwritable(self, error: OSError) -> FencepostError:
        """The error to raise where something could not be written."""
        saved = (self.place / _MANIFEST).exists()
        hint = f"continue with --resume {self.place}" if saved else "start again"
        return cannot_write(error.filename or self.place, error, hint)

    def close(self) -> None:
        """Let other processes have it."""
        if self._unlock is not None:
            self._unlock()

    def _lock(self) -> None:
        """Where the file system has no locks for directories, nothing is held; nor where there is no directory."""
        try:
            handle = os.open(self.place, os.O_RDONLY)
        except OSError:
            return
        self._unlock = weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(
                f"{self.place} is in use by another fencepost: wait until it has ended, or name another directory"
            ) from None
        except OSError:
            return


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise CheckpointError(f"no checkpoint to resume from: {path}: {reason}") from error
    try:
        outer = json.loads(text)
        body, digest = outer["content"], outer["digest"]
        content: dict[str, Any] = json.loads(body)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: not a manifest") from error
    if hashlib.sha256(body.encode()).hexdigest() != digest:
        raise CheckpointError(f"{path} is damaged: its checksum does not match")
    return content
