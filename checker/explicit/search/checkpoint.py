"""A search on disk. Files are `states-0`, `states-1`, ...: packed states, little-endian words, level after level."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.findings import Findings
from checker.explicit.search.store import OutOfMemoryError, Shard
from checker.running.arrays import Words
from checker.running.checkpoint import CheckpointError, Folder, Reader

VERSION = 1
_CHUNK = 1 << 16  # states read or written at once


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

    def __init__(self, folder: Folder, words: int) -> None:
        self._folder, self._words = folder, words
        self._levels: list[list[int]] = []
        self._crcs: list[int] = []

    @classmethod
    def create(cls, directory: Path, search: Resumable) -> Checkpoint:
        """A new checkpoint. Raises CheckpointError where there already is one, or the directory cannot be made."""
        return cls(Folder.create(directory, VERSION, search.kernel.key, "states-*"), search.kernel.words)

    @classmethod
    def open(cls, directory: Path, search: Resumable) -> Checkpoint:
        """Bring `search` to where the checkpoint left off. Raises CheckpointError where that cannot be."""
        folder = Folder(directory, VERSION, search.kernel.key)
        manifest = folder.manifest()
        checkpoint = cls(folder, search.kernel.words)
        checkpoint._levels, checkpoint._crcs = manifest["levels"], manifest["crcs"]
        try:
            checkpoint._restore_states(search)
        except OutOfMemoryError as error:
            raise CheckpointError(f"{directory} does not fit the memory limit: {error}") from error
        search.restore(manifest["search"])
        return checkpoint

    def save(self, search: Resumable) -> None:
        """Append the levels not saved yet, then replace the manifest. Raises FencepostError on a full disk etc."""
        try:
            for level in range(len(self._levels), len(search.bounds) - 1):
                self._append(search, level)
            content = {"levels": self._levels, "crcs": self._crcs, "search": search.findings.saved()}
            self._folder.write_manifest(content)
        except OSError as error:
            raise self._folder.unwritable(error) from error

    def _append(self, search: Resumable, level: int) -> None:
        known = len(self._crcs)
        counts = [0] * max(known, search.threads)
        self._crcs += [0] * (len(counts) - known)
        for number, shard in enumerate(search.shards):
            first, limit = search.bounds[level][number], search.bounds[level + 1][number]
            counts[number] = limit - first
            chunks = (
                shard.states(start, min(start + _CHUNK, limit)).astype("<u8", copy=False).tobytes()
                for start in range(first, limit, _CHUNK)
            )
            is_new = number >= known
            self._crcs[number] = self._folder.append(_file(number), chunks, self._crcs[number], is_new=is_new)
        self._levels.append(counts)

    def _restore_states(self, search: Resumable) -> None:
        """Enter the states of all levels; the shards they belong to need not be those they were saved by."""
        readers: list[Reader] = []
        try:
            for number in range(len(self._crcs)):
                readers.append(Reader(self._folder.place / _file(number)))
            for counts in self._levels:
                search.begin_level()
                for reader, count in zip(readers, counts, strict=False):
                    for states in self._read(reader, count):
                        search.add(states)
                search.close_level()
            for reader, crc in zip(readers, self._crcs, strict=True):
                reader.end(crc)
        finally:
            for reader in readers:
                reader.close()

    def _read(self, reader: Reader, count: int) -> Iterator[Words]:
        for start in range(0, count, _CHUNK):
            size = min(count - start, _CHUNK)
            data = reader.read(size * 8 * self._words)
            yield np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False).reshape(size, self._words)


def _file(number: int) -> str:
    return f"states-{number}"
