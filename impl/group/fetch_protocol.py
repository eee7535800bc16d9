"""Kafka 0.7's Produce, Fetch and Offsets, and its message format: what consumers fetch by.

A request is its size INT32, its type INT16 and its fields; Produce has no response. An offset is the place in bytes of
a message in the log of its partition: the next message's is higher by the size of the message.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from impl.runtime.wire import Reader, WireError, frame, int8, int16, int32, int64, nullable_string

PRODUCE, FETCH, OFFSETS = 0, 1, 4
LATEST, EARLIEST = -1, -2
"""Times of OffsetsRequest."""
_MAGIC = 1
_HEADER_BYTES = 6
"""Magic, attributes, checksum."""


@dataclass(frozen=True, slots=True)
class ProduceRequest:
    """messages: as they are on disk."""

    topic: str
    partition: int
    messages: bytes


@dataclass(frozen=True, slots=True)
class FetchRequest:
    topic: str
    partition: int
    offset: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FetchResponse:
    error_code: int
    messages: bytes = b""


@dataclass(frozen=True, slots=True)
class OffsetsRequest:
    """time: LATEST, EARLIEST, or in ms."""

    topic: str
    partition: int
    time: int
    max_offsets: int = 1


@dataclass(frozen=True, slots=True)
class OffsetsResponse:
    error_code: int
    offsets: tuple[int, ...] = ()


RequestToLog = ProduceRequest | FetchRequest | OffsetsRequest


class Message(NamedTuple):
    """A message. next_offset: of the one after it."""

    payload: bytes
    next_offset: int


def message_bytes(payload: bytes) -> bytes:
    """A message as it is on the wire and on disk."""
    return int32(_HEADER_BYTES + len(payload)) + int8(_MAGIC) + int8(0) + _crc(payload) + payload


def messages(data: bytes, offset: int) -> Iterator[Message]:
    """The messages in fetched bytes that begin at this offset; the last may be cut off. Raises WireError."""
    at = 0
    while at + 4 <= len(data):
        size_bytes = int.from_bytes(data[at : at + 4], "big", signed=True)
        if size_bytes < _HEADER_BYTES:
            raise WireError(f"offset {offset + at}: a message of {size_bytes} bytes")
        end = at + 4 + size_bytes
        if end > len(data):
            return
        magic, crc, payload = data[at + 4], data[at + 6 : at + 10], data[at + 10 : end]
        if magic != _MAGIC or crc != _crc(payload):
            raise WireError(f"offset {offset + at}: a message that is corrupt")
        yield Message(payload, offset + end)
        at = end


def _crc(payload: bytes) -> bytes:
    return zlib.crc32(payload).to_bytes(4, "big")


def log_request_bytes(request: RequestToLog) -> bytes:
    """A request, framed."""
    place = nullable_string(request.topic) + int32(request.partition)
    match request:
        case ProduceRequest():
            return frame(int16(PRODUCE) + place + int32(len(request.messages)) + request.messages)
        case FetchRequest():
            return frame(int16(FETCH) + place + int64(request.offset) + int32(request.max_bytes))
        case OffsetsRequest():
            return frame(int16(OFFSETS) + place + int64(request.time) + int32(request.max_offsets))


def read_log_request(type_id: int, fields: Reader) -> RequestToLog:
    """The request whose type was read. Raises WireError."""
    if type_id not in (PRODUCE, FETCH, OFFSETS):
        raise WireError(f"request_type_id: {type_id} is unknown here")
    topic, partition = fields.string("topic"), fields.int32("partition")
    request: RequestToLog
    if type_id == PRODUCE:
        request = ProduceRequest(topic, partition, fields.nullable_bytes("messages") or b"")
    elif type_id == FETCH:
        request = FetchRequest(topic, partition, fields.int64("offset"), fields.int32("max_size"))
    else:
        request = OffsetsRequest(topic, partition, fields.int64("time"), fields.int32("max_offsets"))
    fields.end()
    return request


def fetch_response_bytes(response: FetchResponse) -> bytes:
    """FetchResponse, framed."""
    return frame(int16(response.error_code) + response.messages)


def read_fetch_response(data: bytes) -> FetchResponse:
    """Raises WireError."""
    fields = Reader(data)
    return FetchResponse(fields.int16("error_code"), fields.rest())


def offsets_response_bytes(response: OffsetsResponse) -> bytes:
    """OffsetsResponse, framed."""
    return frame(int16(response.error_code) + int32(len(response.offsets)) + b"".join(map(int64, response.offsets)))


def read_offsets_response(data: bytes) -> OffsetsResponse:
    """Raises WireError."""
    fields = Reader(data)
    code = fields.int16("error_code")
    offsets = fields.int64_array("offsets")
    fields.end()
    return OffsetsResponse(code, offsets)


def produced(payloads: Sequence[bytes]) -> bytes:
    """Messages one after the other."""
    return b"".join(map(message_bytes, payloads))
