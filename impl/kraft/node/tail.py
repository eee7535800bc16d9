"""The end of the log that the controller has not replayed yet, as bytes: what is committed of it is taken off."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from impl.kraft.storage.batches import headers


class TailBatch(NamedTuple):
    """A whole batch. timestamp_ms: of its last record."""

    end_offset: int
    timestamp_ms: int
    data: bytes


class Tail:
    """Whole batches without a gap."""

    def __init__(self) -> None:
        self._batches: deque[TailBatch] = deque()

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

    def restart(self) -> None:
        """The log starts anew, at the end of a snapshot."""
        self._batches.clear()

    def take(self, end_offset: int) -> Iterator[TailBatch]:
        """Take off what is before an offset."""
        while self._batches and self._batches[0].end_offset <= end_offset:
            yield self._batches.popleft()
