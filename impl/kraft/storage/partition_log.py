"""The log of a replica of a topic's partition on a disk: one segment of batches as producers sent them.

What was appended is there after its process is killed; for what a power loss takes, there are other replicas, as in
Kafka, which flushes as rarely. A start cuts the log where the first batch is not whole, as Kafka does
(LogSegment.recover). Leaves out: several segments, retention, compaction.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from impl.kraft.storage.batches import OF_PRODUCERS, BatchError, Header
from impl.kraft.storage.disk import Disk, File
from impl.kraft.storage.segment import SUFFIX, Window

_PIECE_BYTES = 1 << 20
NO_EPOCH = -1

logger = logging.getLogger(__name__)


class StoredBatch(NamedTuple):
    """A batch of the log, and where in the file it is."""

    header: Header
    position: int

    @property
    def end_offset(self) -> int:
        """Exclusive."""
        return self.header.end_offset

    @property
    def end_position(self) -> int:
        return self.position + self.header.size_bytes


class PartitionLog:
    """Batches from offset 0 on, in one file; all of their headers are in memory. Offsets count records.

    Any method may raise OSError.
    """

    def __init__(self, disk: Disk, directory: str) -> None:
        """What the last process left, if there was one."""
        self._path = f"{directory}/{0:020d}{SUFFIX}"
        self._file: File = disk.open(self._path, create=True)
        self._batches = list[StoredBatch]()
        self._recover()

    @property
    def end_offset(self) -> int:
        return self._batches[-1].end_offset if self._batches else 0

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch, or NO_EPOCH."""
        return self._batches[-1].header.epoch if self._batches else NO_EPOCH

    @property
    def size_bytes(self) -> int:
        return self._batches[-1].end_position if self._batches else 0

    @property
    def batches(self) -> Sequence[StoredBatch]:
        return self._batches

    def append(self, header: Header, data: bytes) -> StoredBatch:
        """Append a batch with this header. Raises BatchError where it cannot follow."""
        self._check(header)
        stored = StoredBatch(header, self.size_bytes)
        self._file.write(stored.position, data)
        self._batches.append(stored)
        return stored

    def truncate(self, end_offset: int) -> None:
        """Cut what is at this offset and behind. A batch is cut as a whole."""
        kept = bisect_right(self._batches, end_offset, key=lambda batch: batch.end_offset)
        if kept < len(self._batches):
            del self._batches[kept:]
            self._file.truncate(self.size_bytes)

    def read(self, offset: int, size_bytes: int, end_offset: int | None = None) -> bytes:
        """Whole batches from the one with this offset on, at least one, then up to so many bytes.

        end_offset: none is read that reaches behind it. b"" where there is no batch.
        """
        found = tuple(self.batches_from(offset, size_bytes, end_offset))
        if not found:
            return b""
        return self._file.read(found[0].position, found[-1].end_position - found[0].position)

    def batches_from(self, offset: int, size_bytes: int, end_offset: int | None = None) -> Iterator[StoredBatch]:
        """Those that `read` reads."""
        at = bisect_right(self._batches, offset, key=lambda batch: batch.end_offset)
        begins = self._batches[at].position if at < len(self._batches) else 0
        most_offset = self.end_offset if end_offset is None else end_offset
        for number in range(at, len(self._batches)):
            batch = self._batches[number]
            too_large = number > at and batch.end_position - begins > size_bytes
            if too_large or batch.end_offset > most_offset:
                return
            yield batch

    def data_of(self, batch: StoredBatch) -> bytes:
        return self._file.read(batch.position, batch.header.size_bytes)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch not above this one, and where it ends. NO_EPOCH ends where the log begins."""
        end = bisect_right(self._batches, epoch, key=lambda batch: batch.header.epoch)
        return (self._batches[end - 1].header.epoch, self._batches[end - 1].end_offset) if end else (NO_EPOCH, 0)

    def epoch_at(self, offset: int) -> int:
        """The leader epoch of the batch with this offset; at the end of the log, of its last one."""
        at = bisect_right(self._batches, offset, key=lambda batch: batch.end_offset)
        return self._batches[at].header.epoch if at < len(self._batches) else self.last_epoch

    def since(self, timestamp_ms: int) -> StoredBatch | None:
        """The first batch that has a record of this time or later."""
        return next((batch for batch in self._batches if batch.header.max_timestamp >= timestamp_ms), None)

    def latest(self) -> StoredBatch | None:
        """The first batch of those that have the latest timestamp."""
        return max(self._batches, key=lambda batch: batch.header.max_timestamp, default=None)

    def flush(self) -> None:
        self._file.fsync()

    def close(self) -> None:
        self._file.close()

    def _check(self, header: Header) -> None:
        if header.base_offset != self.end_offset:
            raise BatchError(f"a batch at offset {header.base_offset}, and the log ends at {self.end_offset}")
        if header.epoch < self.last_epoch:
            raise BatchError(f"a batch of epoch {header.epoch} behind one of epoch {self.last_epoch}")

    def _recover(self) -> None:
        size = self._file.size()
        window = Window(self._file, size, _PIECE_BYTES, OF_PRODUCERS)
        while self.size_bytes < size:
            try:
                header, _ = window.batch(self.size_bytes)
                self._check(header)
            except BatchError as error:
                logger.warning(
                    "%s: cut at position %d, offset %d: %s", self._path, self.size_bytes, self.end_offset, error
                )
                self._file.truncate(self.size_bytes)
                return
            self._batches.append(StoredBatch(header, self.size_bytes))
