"""Logs that are kept in files: what was appended is there after the process is killed.

A batch is its offset INT64, count INT32, leader epoch INT32, the length of its data INT32 and its data. A file that
ends within a batch is cut to what is whole.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.log import Batch, Log

_HEAD = struct.Struct(">qiii")


class FileLog(Log):
    """A log in one file. Raises OSError where that cannot be written."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        data = path.read_bytes()
        super().__init__(_batches(data))
        self._ends = list[int]()
        """Where each batch ends in the file."""
        at = 0
        for batch in self.batches:
            at += _HEAD.size + len(batch.data)
            self._ends.append(at)
        os.ftruncate(self._file, at)
        os.lseek(self._file, at, os.SEEK_SET)

    def append(self, batch: Batch) -> None:
        super().append(batch)
        record = _HEAD.pack(batch.offset, batch.count, batch.leader_epoch, len(batch.data)) + batch.data
        self._ends.append((self._ends[-1] if self._ends else 0) + len(record))
        left = memoryview(record)
        while left:
            left = left[os.write(self._file, left) :]

    def truncate(self, offset: int) -> None:
        super().truncate(offset)
        del self._ends[len(self.batches) :]
        end = self._ends[-1] if self._ends else 0
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)


def _batches(data: bytes) -> Iterator[Batch]:
    at = 0
    while at + _HEAD.size <= len(data):
        offset, count, epoch, size_bytes = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if size_bytes < 0 or at + size_bytes > len(data):
            return
        yield Batch(offset, count, epoch, data[at : at + size_bytes])
        at += size_bytes


@dataclass(frozen=True)
class Folder:
    """Opens the logs below a folder (log.dirs)."""

    path: Path

    def __call__(self, of: TopicPartition) -> Log:
        return FileLog(self.path / f"{of}" / "00000000000000000000.log")
