"""The end of the log that the controller has not replayed yet, as bytes: what is committed of it is taken off."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from impl.kraft.storage.batches import RecordBatch, decode, headers


class Tail:
    """Whole batches, each with the offset behind it, without a gap."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, bytes]] = deque()

    def append(self, data: bytes) -> None:
        """Raises BatchError for what is no batches."""
        self._batches += [(header.end_offset, data[at : at + header.size_bytes]) for at, header in headers(data)]

    def cut(self, end_offset: int) -> None:
        """The log ends here from now on."""
        while self._batches and self._batches[-1][0] > end_offset:
            self._batches.pop()

    def restart(self) -> None:
        """The log starts anew, at the end of a snapshot."""
        self._batches.clear()

    def take(self, end_offset: int) -> Iterator[RecordBatch]:
        """Take off what is before an offset. Raises BatchError."""
        while self._batches and self._batches[0][0] <= end_offset:
            yield decode(self._batches.popleft()[1])
