"""The end of the log that the controller has not replayed yet, as bytes: what is committed of it is taken off.

It may be read before it is committed, while there is nothing else to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from impl.kraft.records import Batch
from impl.kraft.storage.batches import headers


@dataclass(slots=True)
class TailBatch:
    """A whole batch. timestamp_ms: of its last record. content: once it is read."""

    end_offset: int
    timestamp_ms: int
    data: bytes
    content: Batch | None = None


class Tail:
    """Whole batches without a gap."""

    def __init__(self) -> None:
        self._batches: deque[TailBatch] = deque()
        self._read = 0
        """So many of them are read, from the first on."""

    def append(self, data: bytes) -> None:
        """Raises BatchError for what is no batches."""
        self._batches += [
            TailBatch(header.end_offset, header.max_timestamp, data[at : at + header.size_bytes])
            for at, header in headers(data)
        ]

    def cut(self, end_offset: int) -> None:
        """The log ends here from now on."""
        while self._batches and self._batches[-1].end_offset > end_offset:
            self._batches.pop()
        self._read = min(self._read, len(self._batches))

    def restart(self) -> None:
        """The log starts anew, at the end of a snapshot."""
        self._batches.clear()
        self._read = 0

    def read_ahead(self, read: Callable[[bytes], Batch], most_records: int) -> bool:
        """Read the next batches, until they have so many records; whether there are more.

        What cannot be read is left as it is: it may never be committed.
        """
        records = 0
        for batch in islice(self._batches, self._read, None):
            if records >= most_records:
                return True
            try:
                batch.content = read(batch.data)
            except ValueError:
                return False
            records += len(batch.content.records)
            self._read += 1
        return False

    def begins_before(self, end_offset: int) -> bool:
        """There is something to take off."""
        return bool(self._batches) and self._batches[0].end_offset <= end_offset

    def take(self, end_offset: int) -> Iterator[TailBatch]:
        """Take off what is before an offset."""
        while self.begins_before(end_offset):
            self._read = max(0, self._read - 1)
            yield self._batches.popleft()
