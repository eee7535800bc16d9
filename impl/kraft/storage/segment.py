"""A segment of the log: a file of batches, and what is known of it without reading."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from impl.kraft.storage.batches import CONTROL, HEADER_BYTES, LENGTH_END, BatchError, Header, header_at
from impl.kraft.storage.disk import Disk, File
from impl.kraft.storage.errors import BitRotError

SUFFIX = ".log"
INDEX_INTERVAL_BYTES = 4096
_FETCH_BYTES = 64 << 10


class Segment:
    """Batches from a base offset on. size_bytes, end_offset (exclusive): of those that are known to be whole."""

    def __init__(self, disk: Disk, directory: str, base_offset: int) -> None:
        self.base_offset = self.end_offset = base_offset
        self.path = f"{directory}/{base_offset:020d}{SUFFIX}"
        self.file: File = disk.open(self.path, create=True)
        self.forget()

    def forget(self) -> None:
        """As if it were empty."""
        self.end_offset, self.size_bytes = self.base_offset, 0
        self.first_timestamp: int | None = None
        self._latest = (-1, self.base_offset)
        self._last_offsets, self._positions = array("q"), array("q")
        self._times: list[tuple[int, int]] = []
        self._since_entry = 0

    def add(self, header: Header) -> None:
        """The next batch is in the file."""
        if self._since_entry > INDEX_INTERVAL_BYTES:
            self._last_offsets.append(header.end_offset - 1)
            self._positions.append(self.size_bytes)
            self._note_time()
            self._since_entry = 0
        if self.first_timestamp is None:
            self.first_timestamp = header.base_timestamp
        self._see(header)
        self._since_entry += header.size_bytes
        self.size_bytes += header.size_bytes
        self.end_offset = header.end_offset

    def cut(self, end_offset: int) -> None:
        """Forget the batches that reach behind this offset, durably."""
        self.size_bytes = next((position for position, _, _ in self.batches_from(end_offset)), self.size_bytes)
        kept = bisect_left(self._last_offsets, end_offset)
        del self._last_offsets[kept:], self._positions[kept:]
        self._times = [entry for entry in self._times if entry[1] < end_offset]
        self._latest = self._times[-1] if self._times else (-1, self.base_offset)
        near = self._positions[-1] if kept else 0
        self._since_entry, self.end_offset = self.size_bytes - near, self.base_offset
        for _, header, _ in self._batches(near):
            self._see(header)
            self.end_offset = header.end_offset
        if self.size_bytes == 0:
            self.first_timestamp = None
        self.file.truncate(self.size_bytes)
        self.file.fsync()

    def position_before(self, offset: int) -> int:
        """The start of some batch that is not behind the one of this offset, and near."""
        at = bisect_right(self._last_offsets, offset)
        return self._positions[at - 1] if at else 0

    def batches_from(self, offset: int) -> Iterator[tuple[int, Header, memoryview]]:
        """Position, header and bytes of each batch that ends behind this offset. Raises BitRotError."""
        for batch in self._batches(self.position_before(offset)):
            if batch[1].end_offset > offset:
                yield batch

    def _batches(self, position: int) -> Iterator[tuple[int, Header, memoryview]]:
        window = Window(self.file, self.size_bytes, _FETCH_BYTES)
        while position < self.size_bytes:
            try:
                header, data = window.batch(position)
            except BatchError as error:
                raise BitRotError(f"{self.path}, position {position}: {error}") from None
            yield position, header, data
            position += header.size_bytes

    def indexes(self) -> tuple[bytes, bytes]:
        """The offset index and the time index, as Kafka writes them when a segment is closed."""
        offsets = b"".join(
            (offset - self.base_offset).to_bytes(4, "big") + position.to_bytes(4, "big")
            for offset, position in zip(self._last_offsets, self._positions, strict=True)
        )
        self._note_time()
        times = b"".join(
            time.to_bytes(8, "big", signed=True) + (offset - self.base_offset).to_bytes(4, "big")
            for time, offset in self._times
        )
        return offsets, times

    def _see(self, header: Header) -> None:
        if header.max_timestamp > self._latest[0]:
            self._latest = (header.max_timestamp, header.end_offset - 1)

    def _note_time(self) -> None:
        if self._latest[0] > (self._times[-1][0] if self._times else -1):
            self._times.append(self._latest)


class Window:
    """A file that is read from front to back, `piece_bytes` at a time. attributes: those that its batches may have."""

    def __init__(self, file: File, size_bytes: int, piece_bytes: int, attributes: int = CONTROL) -> None:
        self._file, self._size_bytes, self._piece_bytes = file, size_bytes, piece_bytes
        self._attributes = attributes
        self._start = 0
        self._data = memoryview(b"")

    def batch(self, at: int) -> tuple[Header, memoryview]:
        """The checked batch at a position. Raises BatchError."""
        head = self._view(at, HEADER_BYTES)
        if len(head) >= HEADER_BYTES:
            wanted = LENGTH_END + max(0, int.from_bytes(head[8:12], "big", signed=True))
            if wanted > len(head):
                head = self._view(at, wanted)
        header = header_at(head, attributes=self._attributes)
        return header, head[: header.size_bytes]

    def _view(self, at: int, size_bytes: int) -> memoryview:
        """What is in memory from this position on: at least so much, unless the file ends."""
        begin = at - self._start
        if not 0 <= begin <= len(self._data) or len(self._data) - begin < size_bytes:
            wanted = min(max(size_bytes, self._piece_bytes), self._size_bytes - at)
            self._start, begin = at, 0
            self._data = memoryview(self._file.read(at, wanted))
        return self._data[begin:]
