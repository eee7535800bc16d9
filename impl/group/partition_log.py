"""A broker's partitions: logs of messages, read by offset in bytes as Kafka 0.7 has it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from impl.group.fetch_protocol import (
    EARLIEST,
    FetchRequest,
    FetchResponse,
    OffsetsRequest,
    OffsetsResponse,
    ProduceRequest,
    messages,
)
from impl.group.protocol import ErrorCode
from impl.runtime.wire import WireError

_MOST_FETCHED_BYTES = 1 << 19


class PartitionLog:
    """The messages of one partition. file: where they are kept; None: in memory only."""

    def __init__(self, file: Path | None = None) -> None:
        self._data = bytearray()
        self._file = None
        if file is not None:
            found = file.read_bytes() if file.exists() else b""
            self._data += found[: _whole(found)]
            self._file = file.open("ab", buffering=0)
            self._file.truncate(len(self._data))  # a message that was cut off as its broker died

    @property
    def end_offset(self) -> int:
        return len(self._data)

    def append(self, data: bytes) -> None:
        """Append messages. What is not stored whole is not there.

        Raises WireError where these are no whole messages, or one cannot be fetched; OSError where they are not stored.
        """
        at = 0
        for message in messages(data, 0):
            if message.next_offset - at > _MOST_FETCHED_BYTES:
                raise WireError(f"messages: one of {message.next_offset - at} bytes, more than a fetch returns")
            at = message.next_offset
        if at != len(data):
            raise WireError("messages: the last one is cut off")
        self._store(data)
        self._data += data

    def _store(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError:
            self._file.truncate(len(self._data))
            raise

    def read(self, offset: int, max_bytes: int) -> bytes | None:
        """Bytes from an offset on, the last message perhaps cut off; None: it is out of range."""
        if not 0 <= offset <= len(self._data):
            return None
        return bytes(self._data[offset : offset + max(0, min(max_bytes, _MOST_FETCHED_BYTES))])


def _whole(data: bytes) -> int:
    """The length of the whole messages at the beginning of a file; what is corrupt ends them."""
    end = 0
    with suppress(WireError):
        for message in messages(data, 0):
            end = message.next_offset
    return end


class Logs:
    """The partitions that a broker has. topics: by name, how many."""

    def __init__(self, topics: dict[str, int], folder: Path | None = None) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._logs = {
            (topic, number): PartitionLog(None if folder is None else folder / f"{topic}-{number}.log")
            for topic, count in topics.items()
            for number in range(count)
        }

    def produce(self, request: ProduceRequest) -> bool:
        """Append; there is no answer. Whether it has the partition. Raises WireError where messages are corrupt."""
        log = self._logs.get((request.topic, request.partition))
        if log is not None:
            log.append(request.messages)
        return log is not None

    def fetch(self, request: FetchRequest) -> FetchResponse:
        log = self._logs.get((request.topic, request.partition))
        found = None if log is None else log.read(request.offset, request.max_bytes)
        if found is None:
            return FetchResponse(ErrorCode.OFFSET_OUT_OF_RANGE if log is not None else ErrorCode.UNKNOWN)
        return FetchResponse(ErrorCode.NONE, found)

    def offsets(self, request: OffsetsRequest) -> OffsetsResponse:
        """Its first or its next offset. There are no segments, so that no other time is told apart from the latest."""
        log = self._logs.get((request.topic, request.partition))
        if log is None or request.max_offsets < 1:
            return OffsetsResponse(ErrorCode.UNKNOWN)
        return OffsetsResponse(ErrorCode.NONE, (0 if request.time == EARLIEST else log.end_offset,))
