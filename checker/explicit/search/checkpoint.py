"""A search on disk, so that it can be resumed after it was killed.

DIR holds `states-0`, `states-1`, ... (packed states, little-endian words, level after level; only ever
appended to) and `manifest.json`, which says how much of them counts, and carries the rest of the search.
A level is saved by appending, fsync, then replacing the manifest: killed at any moment, the directory
holds the last level that was saved whole. Bytes beyond what the manifest counts are dropped on resume.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from checker.errors import FencepostError, cannot_write
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.findings import Findings
from checker.explicit.search.store import OutOfMemoryError, Shard
from checker.running.arrays import Words

VERSION = 1
_MANIFEST = "manifest.json"
_CHUNK = 1 << 16  # states read or written at once


class CheckpointError(FencepostError):
    """A directory that cannot be saved to or resumed from; the message says why."""


class Resumable(Protocol):
    """The parts of a search that a checkpoint saves, and the steps by which it restores them (see `Exploration`)."""

    kernel: Kernel
    threads: int
    findings: Findings
    shards: list[Shard]
    bounds: list[list[int]]

    def begin_level(self) -> None: ...
    def add(self, states: Words) -> None: ...
    def close_level(self) -> None: ...
    def restore(self, saved: dict[str, Any]) -> None: ...


class Checkpoint:
    """One directory. levels: per level saved, the number of states in each file; crcs: of each file's bytes."""

    def __init__(self, directory: Path, words: int) -> None:
        self.directory = directory
        self._lock()
        self._words = words
        self._levels: list[list[int]] = []
        self._crcs: list[int] = []

    @classmethod
    def create(cls, directory: Path, search: Resumable) -> Checkpoint:
        """A new checkpoint. Raises CheckpointError where there already is one, or the directory cannot be made."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            checkpoint = cls(directory, search.kernel.words)
            if (directory / _MANIFEST).exists():
                again = "resume from it, or name another directory"
                raise CheckpointError(f"{directory} already holds a checkpoint: {again}")
            for file in directory.glob("states-*"):
                file.unlink()
        except OSError as error:
            raise CheckpointError(f"{directory}: {error.strerror}") from error
        return checkpoint

    @classmethod
    def open(cls, directory: Path, search: Resumable) -> Checkpoint:
        """Bring `search` to where the checkpoint left off. Raises CheckpointError where that cannot be."""
        checkpoint = cls(directory, search.kernel.words)
        manifest = _read_manifest(directory)
        if manifest["version"] != VERSION:
            raise CheckpointError(f"{directory} has format {manifest['version']}, this program reads {VERSION}")
        if manifest["key"] != search.kernel.key:
            raise CheckpointError(f"{directory} is of another model, other constants, or an older spec")
        checkpoint._levels = manifest["levels"]
        try:
            checkpoint._restore_states(search, manifest["crcs"])
        except OutOfMemoryError as error:
            raise CheckpointError(f"{directory} does not fit the memory limit: {error}") from error
        search.restore(manifest["search"])
        return checkpoint

    def save(self, search: Resumable) -> None:
        """Append the levels not saved yet, then replace the manifest. Raises FencepostError on a full disk etc."""
        try:
            for level in range(len(self._levels), len(search.bounds) - 1):
                self._append(search, level)
            content: dict[str, Any] = {
                "version": VERSION,
                "key": search.kernel.key,
                "levels": self._levels,
                "crcs": self._crcs,
                "search": search.findings.saved(),
            }
            self._write_manifest(content)
        except OSError as error:
            saved = (self.directory / _MANIFEST).exists()
            hint = f"continue with --resume {self.directory}" if saved else "start again"
            raise cannot_write(error.filename or self.directory, error, hint) from error

    def _lock(self) -> None:
        """Keep other processes out until this object is gone. Raises CheckpointError where one is at work.

        Where the file system has no locks for directories, nothing is held; nor where there is no directory.
        """
        try:
            handle = os.open(self.directory, os.O_RDONLY)
        except OSError:
            return
        weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(
                f"{self.directory} is in use by another fencepost: wait until it has ended, or name another directory"
            ) from None
        except OSError:
            return

    def _append(self, search: Resumable, level: int) -> None:
        known = len(self._crcs)
        counts = [0] * max(known, search.threads)
        self._crcs += [0] * (len(counts) - known)
        for number, shard in enumerate(search.shards):
            first, limit = search.bounds[level][number], search.bounds[level + 1][number]
            counts[number] = limit - first
            # a file that no manifest names may be left of a process that was killed before it wrote its manifest
            with self._file(number).open("ab" if number < known else "wb") as file:
                for start in range(first, limit, _CHUNK):
                    data = shard.states(start, min(start + _CHUNK, limit)).astype("<u8", copy=False).tobytes()
                    self._crcs[number] = zlib.crc32(data, self._crcs[number])
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
        self._levels.append(counts)

    def _write_manifest(self, content: dict[str, Any]) -> None:
        body = json.dumps(content)
        text = json.dumps({"digest": hashlib.sha256(body.encode()).hexdigest(), "content": body})
        temporary = self.directory / f"{_MANIFEST}.new"
        with temporary.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.directory / _MANIFEST)
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def _file(self, number: int) -> Path:
        return self.directory / f"states-{number}"

    def _restore_states(self, search: Resumable, crcs: list[int]) -> None:
        """Enter the states of all levels; the shards they belong to need not be those they were saved by."""
        self._crcs = [0] * len(crcs)
        files = [self._open(number) for number in range(len(crcs))]
        try:
            for counts in self._levels:
                search.begin_level()
                for number, count in enumerate(counts):
                    for states in self._read(files[number], number, count):
                        search.add(states)
                search.close_level()
            for file in files:
                file.truncate(file.tell())
        finally:
            for file in files:
                file.close()
        for number, crc in enumerate(crcs):
            if self._crcs[number] != crc:
                raise CheckpointError(f"{self._file(number)} is damaged: its checksum does not match")

    def _open(self, number: int) -> BinaryIO:
        try:
            return self._file(number).open("r+b")
        except OSError as error:
            raise CheckpointError(f"{self._file(number)}: {error.strerror}") from error

    def _read(self, file: BinaryIO, number: int, count: int) -> Iterator[Words]:
        while count:
            size = min(count, _CHUNK)
            data = file.read(size * 8 * self._words)
            if len(data) < size * 8 * self._words:
                raise CheckpointError(f"{self._file(number)} is damaged: it is shorter than the manifest says")
            self._crcs[number] = zlib.crc32(data, self._crcs[number])
            yield np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False).reshape(size, self._words)
            count -= size


def _read_manifest(directory: Path) -> dict[str, Any]:
    path = directory / _MANIFEST
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
