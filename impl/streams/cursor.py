"""Reading and writing the primitive types of the metadata: big-endian numbers, Java's modified UTF-8, counted lists."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

from impl.streams.errors import TaskAssignmentException

T = TypeVar("T")
INT32 = struct.Struct(">i")
_INT8, _INT16, _UINT16, _INT64 = (struct.Struct(f">{code}") for code in "bhHq")
_MOST_UTF_BYTES = 0xFFFF
_FOUR_BYTE_FORMS = 0xF0
_UNIT_BYTES = 2


class Cursor:
    """Reads from the first byte on. Every method raises TaskAssignmentException with the byte at which it failed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes that were not read."""
        return len(self._data) - self.at

    def int8(self, field: str) -> int:
        return self._number(_INT8, field)

    def int16(self, field: str) -> int:
        return self._number(_INT16, field)

    def int32(self, field: str) -> int:
        return self._number(INT32, field)

    def int64(self, field: str) -> int:
        return self._number(_INT64, field)

    def octets(self, field: str) -> bytes:
        """Bytes after their number as an int32."""
        return self._take(self.count(field, 1), field)

    def utf8(self, field: str) -> str:
        """UTF-8 after its size in bytes as an int32."""
        start = self.at + INT32.size
        return self._decoded(self.octets(field), "utf-8", field, start)

    def nullable_string(self, field: str) -> str | None:
        """UTF-8 after its size in bytes as an int16; -1: None."""
        start = self.at
        size_bytes = self.int16(field)
        if size_bytes < -1:
            raise TaskAssignmentException(f"{field}: a string of {size_bytes} bytes", offset=start)
        return None if size_bytes < 0 else self._decoded(self._take(size_bytes, field), "utf-8", field, start + 2)

    def modified_utf8(self, field: str) -> str:
        """As Java's DataInput.readUTF: two bytes of size, NUL as two bytes, surrogates as three bytes each."""
        start = self.at + _UINT16.size
        data = self._take(self._number(_UINT16, field), field)
        if data.isascii():
            return data.decode()
        if max(data) >= _FOUR_BYTE_FORMS:
            raise TaskAssignmentException(f"{field}: not modified UTF-8 (a form of four bytes)", offset=start)
        try:
            units = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
            return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
        except UnicodeDecodeError as error:
            raise TaskAssignmentException(f"{field}: not modified UTF-8 ({error.reason})", offset=start) from None

    def utf16(self, field: str) -> str:
        """UTF-16 after the number of its code units as an int32."""
        start = self.at + INT32.size
        data = self._take(_UNIT_BYTES * self.count(field, _UNIT_BYTES), field)
        return self._decoded(data, "utf-16-be", field, start)

    def count(self, field: str, least_bytes: int) -> int:
        """The number of entries of at least so many bytes each. One that cannot be true is refused."""
        start = self.at
        count = self.int32(field)
        if count < 0 or count * least_bytes > self.left:
            raise TaskAssignmentException(f"{field}: {count} entries in the {self.left} bytes left", offset=start)
        return count

    def listed(self, field: str, least_bytes: int, read: Callable[[], T]) -> tuple[T, ...]:
        """Entries after their number."""
        return tuple([read() for _ in range(self.count(field, least_bytes))])

    def int32_pairs(self, field: str) -> list[tuple[int, int]]:
        """Pairs of int32 after their number."""
        count = self.count(field, 2 * INT32.size)
        numbers = struct.unpack(f">{2 * count}i", self._take(2 * count * INT32.size, field))
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def end(self) -> None:
        """Refuse bytes that are left over."""
        if self.left:
            raise TaskAssignmentException(f"{self.left} bytes after the last field", offset=self.at)

    def _number(self, form: struct.Struct, field: str) -> int:
        (number,) = form.unpack(self._take(form.size, field))
        return int(number)

    def _decoded(self, data: bytes, encoding: str, field: str, start: int) -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            message = f"{field}: not {encoding.upper()} ({error.reason})"
            raise TaskAssignmentException(message, offset=start + error.start) from None

    def _take(self, size_bytes: int, field: str) -> bytes:
        taken = self._data[self.at : self.at + size_bytes]
        if len(taken) < size_bytes:
            message = f"{field}: {size_bytes} bytes expected, {len(taken)} there"
            raise TaskAssignmentException(message, offset=self.at)
        self.at += size_bytes
        return taken


def int8(value: int) -> bytes:
    return _INT8.pack(value)


def int16(value: int) -> bytes:
    return _INT16.pack(value)


def int32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def int64(*values: int) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


def octets(data: bytes) -> bytes:
    return INT32.pack(len(data)) + data


def nullable_string(value: str | None) -> bytes:
    if value is None:
        return _INT16.pack(-1)
    data = value.encode()
    return _INT16.pack(len(data)) + data


def modified_utf8(value: str) -> bytes:
    """As Java's DataOutput.writeUTF. Raises TaskAssignmentException above 65,535 bytes."""
    if value.isascii() and "\0" not in value:
        data = value.encode()
    else:
        units = value.encode("utf-16-be")
        pairs = (units[at : at + _UNIT_BYTES] for at in range(0, len(units), _UNIT_BYTES))
        data = b"".join(pair.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass") for pair in pairs)
        data = data.replace(b"\0", b"\xc0\x80")
    if len(data) > _MOST_UTF_BYTES:
        raise TaskAssignmentException(f"a name of {len(data)} bytes; up to {_MOST_UTF_BYTES} can be written")
    return _UINT16.pack(len(data)) + data


def utf16(value: str) -> bytes:
    data = value.encode("utf-16-be")
    return INT32.pack(len(data) // _UNIT_BYTES) + data


def listed(entries: Iterable[bytes]) -> bytes:
    """Entries that are bytes already, after their number."""
    entries = list(entries)
    return INT32.pack(len(entries)) + b"".join(entries)
