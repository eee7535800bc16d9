"""Record batches of version 2, byte for byte as Kafka writes them (its message format, section Record Batch).

Base offset and leader epoch are outside of the CRC: a reader compares them with what must come next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from impl.runtime.wire import uvarint

MAGIC = 2
CONTROL = 0x20
"""The attribute of a batch of control records. No other attribute is written: no compression, no transactions."""
OF_PRODUCERS = 0x0F
"""The attributes that a producer's batch may have here: compression, and whose timestamps it has. No transactions."""

HEADER = Struct(">qiibIhiqqqhii")
HEADER_BYTES = 61
LENGTH_END = 12
"""The length field counts what follows it, and ends here."""

CRC_END = 21
"""The CRC-32C is of everything after it."""

_NO_PRODUCER = (-1, -1, -1)
_LEAST_LENGTH = HEADER_BYTES - LENGTH_END


class BatchError(ValueError):
    """Bytes that are no batch. The message says in what; where it is the CRC, with both values."""


class Header(NamedTuple):
    """The header of a batch. length_bytes: of what follows the length field."""

    base_offset: int
    length_bytes: int
    epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int

    @property
    def size_bytes(self) -> int:
        """Of the whole batch."""
        return LENGTH_END + self.length_bytes

    @property
    def end_offset(self) -> int:
        """Exclusive."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a batch; its offset is its place. timestamp_delta_ms: from the batch's base timestamp."""

    value: bytes | None
    key: bytes | None = None
    timestamp_delta_ms: int = 0


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A batch before it has bytes. timestamp_ms: the base; the deltas of its records count from it."""

    base_offset: int
    epoch: int
    timestamp_ms: int
    records: tuple[Record, ...]
    is_control: bool = False

    @property
    def end_offset(self) -> int:
        """Exclusive."""
        return self.base_offset + len(self.records)


def encode(batch: RecordBatch) -> bytes:
    """The bytes of a batch. Raises ValueError where it has no records."""
    if not batch.records:
        raise ValueError(f"a batch at offset {batch.base_offset} without records")
    body = b"".join(_record(delta, record) for delta, record in enumerate(batch.records))
    latest = batch.timestamp_ms + max(record.timestamp_delta_ms for record in batch.records)
    data = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        data, 0, batch.base_offset, _LEAST_LENGTH + len(body), batch.epoch, MAGIC, 0,
        CONTROL if batch.is_control else 0, len(batch.records) - 1, batch.timestamp_ms, latest, *_NO_PRODUCER,
        len(batch.records),
    )  # fmt: skip
    data += body
    data[CRC_END - 4 : CRC_END] = crc32c(memoryview(data)[CRC_END:]).to_bytes(4, "big")
    return bytes(data)


def size_of(records: Sequence[Record]) -> int:
    """How many bytes a batch of these records has."""
    return HEADER_BYTES + sum(_size_of_record(delta, record) for delta, record in enumerate(records))


def header_at(data: bytes | memoryview, at: int = 0, attributes: int = CONTROL) -> Header:
    """The checked header of the batch that begins at a position. Raises BatchError, also where the batch is cut off.

    attributes: those that it may have.
    """
    left = len(data) - at
    if left < HEADER_BYTES:
        raise BatchError(f"{left} bytes, and a batch has at least {HEADER_BYTES}")
    header = Header(*HEADER.unpack_from(data, at))
    if header.magic != MAGIC:
        raise BatchError(f"magic {header.magic}, not {MAGIC}")
    if header.length_bytes < _LEAST_LENGTH:
        raise BatchError(f"a length of {header.length_bytes}, below {_LEAST_LENGTH}")
    if header.size_bytes > left:
        raise BatchError(f"a batch of {header.size_bytes} bytes, of which {left} are there")
    found = crc32c(memoryview(data)[at + CRC_END : at + header.size_bytes])
    if found != header.crc:
        raise BatchError(f"the CRC is {found:#010x}, expected {header.crc:#010x}")
    if header.attributes & ~attributes:
        refused = "neither compression nor transactions are" if attributes == CONTROL else "transactions are not"
        raise BatchError(f"attributes {header.attributes:#06x}: {refused} in this log")
    if header.records < 1 or header.last_offset_delta != header.records - 1:
        raise BatchError(f"{header.records} records up to offset delta {header.last_offset_delta}")
    return header


def headers(data: bytes | memoryview) -> Iterator[tuple[int, Header]]:
    """Position and header of each batch; nothing but whole batches may be there. Raises BatchError."""
    at = 0
    while at < len(data):
        header = header_at(data, at)
        yield at, header
        at += header.size_bytes


class Entry(NamedTuple):
    """What tells a batch of a log from any other. crc: of what is in it."""

    end_offset: int
    epoch: int
    crc: int


def entries_of(data: bytes) -> list[Entry]:
    """Of whole batches, which have been checked."""
    found, at = list[Entry](), 0
    while at < len(data):
        base_offset, length_bytes, epoch, _, crc, _, last_offset_delta, *_ = HEADER.unpack_from(data, at)
        found.append(Entry(base_offset + last_offset_delta + 1, epoch, crc))
        at += LENGTH_END + length_bytes
    return found


def decode(data: bytes | memoryview, at: int = 0) -> RecordBatch:
    """The batch that begins at a position. Raises BatchError."""
    header = header_at(data, at)
    reader = Reader(memoryview(data)[at + HEADER_BYTES : at + header.size_bytes])
    try:
        records = tuple(_read_record(reader, delta) for delta in range(header.records))
    except IndexError as error:
        raise BatchError(f"the records of the batch at offset {header.base_offset} end within one: {error}") from None
    if reader.left():
        raise BatchError(f"{reader.left()} bytes behind the last record of the batch at offset {header.base_offset}")
    return RecordBatch(header.base_offset, header.epoch, header.base_timestamp, records, header.is_control)


def decode_all(data: bytes | memoryview) -> list[RecordBatch]:
    """The batches in these bytes. Raises BatchError."""
    return [decode(data, at) for at, _ in headers(data)]


def _record(offset_delta: int, record: Record) -> bytes:
    body = bytearray(b"\0")
    body += varint(record.timestamp_delta_ms)
    body += varint(offset_delta)
    for field in (record.key, record.value):
        body += varint(-1 if field is None else len(field))
        body += field or b""
    body += varint(0)
    return varint(len(body)) + bytes(body)


def _size_of_record(offset_delta: int, record: Record) -> int:
    size_bytes = 2 + _size_of_varint(record.timestamp_delta_ms) + _size_of_varint(offset_delta)
    for field in (record.key, record.value):
        size_bytes += 1 if field is None else _size_of_varint(len(field)) + len(field)
    return _size_of_varint(size_bytes) + size_bytes


def _size_of_varint(value: int) -> int:
    bits = ((value << 1) ^ (value >> 63)).bit_length()
    return (bits + 6) // 7 or 1


def _read_record(reader: Reader, offset_delta: int) -> Record:
    length = reader.varint()
    if not 0 <= length <= reader.left():
        raise BatchError(f"a record of {length} bytes, of which {reader.left()} are there")
    end = reader.at + length
    reader.take(1)
    timestamp_delta_ms = reader.varint()
    if (found := reader.varint()) != offset_delta:
        raise BatchError(f"a record with offset delta {found} in place {offset_delta}")
    key, value = reader.optional(reader.varint()), reader.optional(reader.varint())
    if headers := reader.varint():
        raise BatchError(f"a record with {headers} headers: metadata records have none")
    if reader.at != end:
        raise BatchError("a record whose fields do not add up to its length")
    return Record(value, key, timestamp_delta_ms)


def varint(value: int) -> bytes:
    """A signed number: zigzag, then seven bits a byte, the lowest first."""
    return uvarint((value << 1) ^ (value >> 63))


class Reader:
    """Bytes that are read from the front. Raises IndexError past their end."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size_bytes: int) -> bytes:
        if not 0 <= size_bytes <= self.left():
            raise IndexError(f"{size_bytes} bytes are to be read, and {self.left()} are there")
        self.at += size_bytes
        return bytes(self.data[self.at - size_bytes : self.at])

    def optional(self, size_bytes: int) -> bytes | None:
        return None if size_bytes == -1 else self.take(size_bytes)

    def number(self, size_bytes: int) -> int:
        """A signed one, big-endian."""
        return int.from_bytes(self.take(size_bytes), "big", signed=True)

    def uvarint(self) -> int:
        if (only := self.data[self.at]) < 0x80:
            self.at += 1
            return only
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise IndexError("a number of more than ten bytes")

    def varint(self) -> int:
        if (value := self.data[self.at]) < 0x80:
            self.at += 1
        else:
            value = self.uvarint()
        return (value >> 1) ^ -(value & 1)
