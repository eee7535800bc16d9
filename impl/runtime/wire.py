"""Kafka's wire format, as far as the designs of the ZooKeeper era need it: primitive types, headers v1, frames.

A frame is size INT32 and as many bytes. A request is header v1 {api_key INT16, api_version INT16, correlation_id INT32,
client_id NULLABLE_STRING} and a body, a response {correlation_id INT32} and a body. Arrays have an INT32 count. All
numbers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

MAX_FRAME_BYTES = 1 << 20
_INT8, _INT16, _INT32, _INT64 = (struct.Struct(f">{code}") for code in "bhiq")
_MAX_STRING_BYTES = 0x7FFF
T = TypeVar("T")


class WireError(ValueError):
    """Bytes that are not what they should be. The message says what was expected, and where."""


class RequestHeader(NamedTuple):
    """Header v1 of a request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None


class Reader:
    """Reads primitive types from bytes, from the first on. Every method raises WireError where bytes are missing."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int8(self, field: str) -> int:
        return self._number(_INT8, field)

    def int16(self, field: str) -> int:
        return self._number(_INT16, field)

    def int32(self, field: str) -> int:
        return self._number(_INT32, field)

    def int64(self, field: str) -> int:
        return self._number(_INT64, field)

    def nullable_string(self, field: str) -> str | None:
        """UTF-8 with its length in bytes as INT16; -1: None."""
        size_bytes = self.int16(field)
        if size_bytes == -1:
            return None
        if size_bytes < 0:
            raise WireError(f"{field}: a string of {size_bytes} bytes")
        try:
            return self._take(size_bytes, field).decode("utf-8")
        except UnicodeDecodeError as error:
            raise WireError(f"{field}: not UTF-8 ({error.reason} at byte {error.start})") from None

    def string(self, field: str) -> str:
        """As a nullable string, and there."""
        value = self.nullable_string(field)
        if value is None:
            raise WireError(f"{field}: null where a string is expected")
        return value

    def nullable_bytes(self, field: str) -> bytes | None:
        """Bytes with their length as INT32; -1: None."""
        size_bytes = self.int32(field)
        if size_bytes == -1:
            return None
        if size_bytes < 0:
            raise WireError(f"{field}: {size_bytes} bytes")
        return self._take(size_bytes, field)

    def array(self, field: str, least_bytes: int, read: Callable[[], T]) -> tuple[T, ...]:
        """Structures of at least so many bytes each. A count that cannot be true is refused before any is read."""
        return tuple([read() for _ in range(self._count(field, least_bytes))])

    def nullable_array(self, field: str, least_bytes: int, read: Callable[[], T]) -> tuple[T, ...] | None:
        """As `array`; a count of -1: None."""
        if self._data[self._at : self._at + _INT32.size] == _INT32.pack(-1):
            self._at += _INT32.size
            return None
        return self.array(field, least_bytes, read)

    def int32_array(self, field: str) -> tuple[int, ...]:
        return self._numbers(_INT32, field)

    def int64_array(self, field: str) -> tuple[int, ...]:
        return self._numbers(_INT64, field)

    def rest(self) -> bytes:
        """The bytes that were not read."""
        return self._data[self._at :]

    def end(self) -> None:
        """Raise WireError where bytes are left over."""
        left = len(self._data) - self._at
        if left:
            raise WireError(f"{left} bytes after the last field")

    def _number(self, form: struct.Struct, field: str) -> int:
        try:
            (number,) = form.unpack_from(self._data, self._at)
        except struct.error:
            self._take(form.size, field)  # raises what says what is missing
            raise
        self._at += form.size
        return int(number)

    def _count(self, field: str, least_bytes: int) -> int:
        count, left = self.int32(field), len(self._data) - self._at
        if count < 0 or count * least_bytes > left:
            raise WireError(f"{field}: an array of {count} in {left} bytes")
        return count

    def _numbers(self, form: struct.Struct, field: str) -> tuple[int, ...]:
        count = self._count(field, form.size)
        return struct.unpack(f">{count}{form.format[-1]}", self._take(count * form.size, field))

    def _take(self, size_bytes: int, field: str) -> bytes:
        taken = self._data[self._at : self._at + size_bytes]
        if len(taken) < size_bytes:
            raise WireError(f"{field}: {size_bytes} bytes expected at byte {self._at}, {len(taken)} there")
        self._at += size_bytes
        return taken


def int8(value: int) -> bytes:
    return _INT8.pack(value)


def int16(value: int) -> bytes:
    return _INT16.pack(value)


def int32(value: int) -> bytes:
    return _INT32.pack(value)


def int64(value: int) -> bytes:
    return _INT64.pack(value)


def uvarint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def nullable_string(value: str | None) -> bytes:
    """A string that is too long for its length field is cut at a character."""
    if value is None:
        return int16(-1)
    data = value.encode("utf-8")
    if len(data) > _MAX_STRING_BYTES:
        data = data[:_MAX_STRING_BYTES].decode("utf-8", errors="ignore").encode("utf-8")
    return int16(len(data)) + data


def nullable_bytes(value: bytes | None) -> bytes:
    return int32(-1) if value is None else int32(len(value)) + value


def array(parts: Sequence[bytes]) -> bytes:
    """Structures that are bytes already."""
    return int32(len(parts)) + b"".join(parts)


def int32_array(values: Sequence[int]) -> bytes:
    return struct.pack(f">i{len(values)}i", len(values), *values)


def int64_array(values: Sequence[int]) -> bytes:
    return struct.pack(f">i{len(values)}q", len(values), *values)


def read_request_header(reader: Reader) -> RequestHeader:
    """Header v1, which leaves the reader at the body. Raises WireError."""
    return RequestHeader(
        reader.int16("api_key"),
        reader.int16("api_version"),
        reader.int32("correlation_id"),
        reader.nullable_string("client_id"),
    )


def request_bytes(header: RequestHeader, body: bytes) -> bytes:
    """A request without its frame."""
    return (
        int16(header.api_key)
        + int16(header.api_version)
        + int32(header.correlation_id)
        + nullable_string(header.client_id)
        + body
    )


def response_bytes(correlation_id: int, body: bytes) -> bytes:
    """A response without its frame."""
    return int32(correlation_id) + body


def frame(content: bytes) -> bytes:
    return int32(len(content)) + content


class Frames:
    """Cuts a stream of bytes into the contents of its frames. max_bytes: of the next one."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self.max_bytes = max_bytes
        self._left = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that end in these bytes, in order; then WireError at a size that is negative or over the limit."""
        self._left += data
        return self._cut()

    def _cut(self) -> Iterator[bytes]:
        while len(self._left) >= _INT32.size:
            (size_bytes,) = _INT32.unpack_from(self._left)
            if not 0 <= size_bytes <= self.max_bytes:
                raise WireError(f"a frame of {size_bytes} bytes; up to {self.max_bytes} are read")
            if len(self._left) < _INT32.size + size_bytes:
                break
            content = bytes(self._left[_INT32.size : _INT32.size + size_bytes])
            del self._left[: _INT32.size + size_bytes]
            yield content

    def end(self) -> None:
        """The stream ended. Raises WireError where it did within a frame."""
        if self._left:
            raise WireError(f"the stream ended within a frame, after {len(self._left)} bytes of it")
