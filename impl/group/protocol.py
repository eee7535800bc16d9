"""The messages of the consumer coordinator on the wire (Consumer Coordinator, 7 and 11).

A message is its size INT32, without itself, and its fields, big-endian. A string is INT16 length and UTF-8, a boolean a
byte, a list's count the INT16 before it. The document gives no type ids: 5 to 9 are Fencepost's (0.7 has 0 to 4), and
those messages are the document's byte for byte. 15 to 19 are those of the repaired design, which name the
coordinator's epoch, and in 17 to 19 the attempt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, TypeVar

from impl.group.topic_count import is_topic
from impl.runtime.wire import Reader, WireError, frame, int8, int16, int32, int64, nullable_string

CLUSTER_METADATA, REGISTER_CONSUMER, PING, STOP_FETCHER, START_FETCHER = 5, 6, 7, 8, 9
REPAIRED_OFFSET = 10
"""Added to a type id of the document: the message of the repaired design."""
MAX_FRAME_BYTES = 1 << 20
UNKNOWN = -1
"""No coordinator, no epoch, no attempt."""
ALL = (1 << 31) - 1
"""As `PingRequest.uncommitted`: of no answer it is known that it is committed."""
_MOST_COUNT = (1 << 15) - 1
_PARTITIONS_KEPT = 1 << 14
_PARTITION = re.compile(r"[0-9]{1,10}-[0-9]{1,10}")
T = TypeVar("T")


class ErrorCode(IntEnum):
    """The outcome of a request. -1 to 1 are 0.7's numbers, the document gives no others."""

    UNKNOWN = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    NOT_COORDINATOR = 5
    CONSUMER_ID_IN_USE = 6
    SESSION_TIMEOUT_OUT_OF_BOUNDS = 7
    NO_COORDINATOR_KNOWN = 8
    BAD_TOPIC_COUNT = 9
    STALE_ATTEMPT = 10
    BAD_GROUP = 11


class TopicPartition(NamedTuple):
    """A partition. partition: `<broker>-<n>`."""

    topic: str
    partition: str


class Position(NamedTuple):
    """A partition, and an offset in it."""

    topic: str
    partition: str
    offset: int

    @property
    def of(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class BrokerAddress(NamedTuple):
    """A broker, and where it listens."""

    id: int
    host: str
    port: int


class ThreadShare(NamedTuple):
    """The partitions of one thread of a consumer, `<consumer>-<i>`, and where to start."""

    thread: str
    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class ClusterMetadataRequest:
    """Asks any broker who the coordinator is. coordinator_epoch: the newest that the consumer knows."""

    coordinator_epoch: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class ClusterMetadataResponse:
    error_code: int
    coordinator_id: int = UNKNOWN
    brokers: tuple[BrokerAddress, ...] = ()
    coordinator_epoch: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class RegisterConsumerRequest:
    group: str
    consumer: str
    topic_count: str
    auto_commit: bool
    auto_offset_reset: str
    session_timeout_ms: int
    coordinator_epoch: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class RegisterConsumerResponse:
    """session_ms: for how long the consumer may fetch after an answer that arrived (repaired only).

    threads, brokers: what the consumer owns, and who has it; None where a StartFetcherRequest says so. Section 2 only.
    """

    error_code: int
    coordinator_epoch: int = UNKNOWN
    session_ms: int = UNKNOWN
    threads: tuple[ThreadShare, ...] | None = None
    brokers: tuple[BrokerAddress, ...] = ()


@dataclass(frozen=True, slots=True)
class PingRequest:
    """num_retries: pings that failed in a row; in the repaired design, pings before this one without an answer yet.

    uncommitted: of the last so many pings before this one the answers may not be committed yet (repaired only).
    """

    consumer: str
    num_retries: int
    coordinator_epoch: int = UNKNOWN
    attempt: int = UNKNOWN
    uncommitted: int = ALL


@dataclass(frozen=True, slots=True)
class PingResponse:
    """offsets: consumed so far; None without auto commit."""

    error_code: int
    consumer: str
    offsets: tuple[Position, ...] | None
    coordinator_epoch: int = UNKNOWN
    attempt: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class StopFetcherRequest:
    consumer: str
    coordinator_epoch: int = UNKNOWN
    attempt: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class StopFetcherResponse:
    """offsets: consumed so far; None without auto commit."""

    error_code: int
    consumer: str
    offsets: tuple[Position, ...] | None
    coordinator_epoch: int = UNKNOWN
    attempt: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class StartFetcherRequest:
    consumer: str
    threads: tuple[ThreadShare, ...]
    brokers: tuple[BrokerAddress, ...]
    coordinator_epoch: int = UNKNOWN
    attempt: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class StartFetcherResponse:
    error_code: int
    consumer: str
    coordinator_epoch: int = UNKNOWN
    attempt: int = UNKNOWN


RequestToConsumer = PingRequest | StopFetcherRequest | StartFetcherRequest
ResponseOfConsumer = PingResponse | StopFetcherResponse | StartFetcherResponse
RequestToBroker = ClusterMetadataRequest | RegisterConsumerRequest
_TYPE_IDS: dict[type, int] = {
    ClusterMetadataRequest: CLUSTER_METADATA,
    RegisterConsumerRequest: REGISTER_CONSUMER,
    PingRequest: PING,
    PingResponse: PING,
    StopFetcherRequest: STOP_FETCHER,
    StopFetcherResponse: STOP_FETCHER,
    StartFetcherRequest: START_FETCHER,
    StartFetcherResponse: START_FETCHER,
}


# Writing. repaired: as types 15 to 19.


def request_bytes(message: RequestToBroker | RequestToConsumer | ResponseOfConsumer, *, repaired: bool) -> bytes:
    """A message that begins with its type, framed. Raises WireError where it has more entries than can be counted."""
    head = int16(_TYPE_IDS[type(message)] + (REPAIRED_OFFSET if repaired else 0))
    if repaired:
        head += int32(message.coordinator_epoch)
        if not isinstance(message, ClusterMetadataRequest | RegisterConsumerRequest):
            head += int32(message.attempt)
    return frame(head + _body(message, repaired))


def _body(message: RequestToBroker | RequestToConsumer | ResponseOfConsumer, repaired: bool) -> bytes:
    match message:
        case ClusterMetadataRequest():
            return b""
        case RegisterConsumerRequest():
            names = (message.group, message.consumer, message.topic_count)
            strings = b"".join(map(nullable_string, names))
            reset = nullable_string(message.auto_offset_reset)
            return strings + int8(message.auto_commit) + reset + int32(message.session_timeout_ms)
        case PingRequest():
            last = int32(message.uncommitted) if repaired else b""
            return nullable_string(message.consumer) + int32(message.num_retries) + last
        case StopFetcherRequest():
            return nullable_string(message.consumer)
        case StartFetcherRequest():
            threads = _list([_share_bytes(one) for one in message.threads])
            return nullable_string(message.consumer) + threads + _brokers_bytes(message.brokers)
        case StartFetcherResponse():
            return int16(message.error_code) + nullable_string(message.consumer)
    offsets = b"" if message.offsets is None else _list([_position_bytes(one) for one in message.offsets])
    return int16(message.error_code) + nullable_string(message.consumer) + offsets


def metadata_response_bytes(response: ClusterMetadataResponse, *, repaired: bool) -> bytes:
    """ClusterMetadataResponse, framed."""
    epoch = int32(response.coordinator_epoch) if repaired else b""
    code = int16(response.error_code)
    return frame(code + epoch + int32(response.coordinator_id) + _brokers_bytes(response.brokers))


def register_response_bytes(response: RegisterConsumerResponse, *, repaired: bool) -> bytes:
    """RegisterConsumerResponse, framed: 6 bytes in all as the document has it; in section 2 with the partitions."""
    further = int32(response.coordinator_epoch) + int32(response.session_ms) if repaired else b""
    if response.threads is not None:
        further += _list([_share_bytes(one) for one in response.threads]) + _brokers_bytes(response.brokers)
    return frame(int16(response.error_code) + further)


def _list(parts: Sequence[bytes]) -> bytes:
    if len(parts) > _MOST_COUNT:
        raise WireError(f"a list of {len(parts)}; its count is an INT16")
    return int16(len(parts)) + b"".join(parts)


def _position_bytes(position: Position) -> bytes:
    return nullable_string(position.topic) + nullable_string(position.partition) + int64(position.offset)


def _share_bytes(share: ThreadShare) -> bytes:
    return nullable_string(share.thread) + _list([_position_bytes(one) for one in share.positions])


def _brokers_bytes(brokers: Sequence[BrokerAddress]) -> bytes:
    return _list([int32(one.id) + nullable_string(one.host) + int32(one.port) for one in brokers])


# Reading. Every function raises WireError, at an unknown type, too.


class Head(NamedTuple):
    """The beginning of a message. type_id: the document's."""

    type_id: int
    repaired: bool
    coordinator_epoch: int
    attempt: int


_REPAIRED_TYPES = range(CLUSTER_METADATA + REPAIRED_OFFSET, START_FETCHER + REPAIRED_OFFSET + 1)


def read_head(fields: Reader) -> Head:
    """The type of a message, and what the repaired design adds to it."""
    type_id = fields.int16("request_type_id")
    if type_id not in _REPAIRED_TYPES:
        return Head(type_id, False, UNKNOWN, UNKNOWN)
    document_id = type_id - REPAIRED_OFFSET
    epoch = fields.int32("coordinator_epoch")
    return Head(document_id, True, epoch, fields.int32("attempt") if document_id >= PING else UNKNOWN)


def read_request_to_broker(head: Head, fields: Reader) -> RequestToBroker:
    """The request of a consumer that looks for the coordinator, or registers."""
    if head.type_id == CLUSTER_METADATA:
        request: RequestToBroker = ClusterMetadataRequest(head.coordinator_epoch)
    elif head.type_id == REGISTER_CONSUMER:
        request = RegisterConsumerRequest(
            fields.string("group_id"),
            fields.string("consumer_id"),
            fields.string("topic_count"),
            _boolean(fields, "auto_commit"),
            fields.string("auto_offset_rest"),
            fields.int32("session_timeout_ms"),
            head.coordinator_epoch,
        )
    else:
        raise WireError(f"request_type_id: {head.type_id} is unknown here")
    fields.end()
    return request


def read_request_to_consumer(data: bytes) -> RequestToConsumer:
    """The request of the coordinator to a consumer."""
    fields = Reader(data)
    head = read_head(fields)
    if head.type_id == PING:
        request: RequestToConsumer = PingRequest(
            fields.string("consumer_id"),
            fields.int32("num_retries"),
            head.coordinator_epoch,
            head.attempt,
            fields.int32("uncommitted") if head.repaired else ALL,
        )
    elif head.type_id == STOP_FETCHER:
        request = StopFetcherRequest(fields.string("consumer_id"), head.coordinator_epoch, head.attempt)
    elif head.type_id == START_FETCHER:
        consumer = fields.string("consumer_id")
        threads = _counted(fields, "num_threads", lambda: _read_share(fields))
        brokers = _read_brokers(fields)
        request = StartFetcherRequest(consumer, threads, brokers, head.coordinator_epoch, head.attempt)
    else:
        raise WireError(f"request_type_id: {head.type_id} is unknown here")
    fields.end()
    return request


def read_response_of_consumer(head: Head, fields: Reader) -> ResponseOfConsumer:
    """The response of a consumer to the coordinator. Offsets are absent where the size leaves no room for them."""
    if head.type_id not in (PING, STOP_FETCHER, START_FETCHER):
        raise WireError(f"request_type_id: {head.type_id} is unknown here")
    code, consumer = fields.int16("error_code"), fields.string("consumer_id")
    if head.type_id == START_FETCHER:
        fields.end()
        return StartFetcherResponse(code, consumer, head.coordinator_epoch, head.attempt)
    offsets = _counted(fields, "num_partition", lambda: _read_position(fields)) if fields.rest() else None
    if any(one.offset < 0 for one in offsets or ()):
        raise WireError("offset: one below 0 was consumed")
    fields.end()
    kind = PingResponse if head.type_id == PING else StopFetcherResponse
    return kind(code, consumer, offsets, head.coordinator_epoch, head.attempt)


def read_metadata_response(data: bytes, *, repaired: bool) -> ClusterMetadataResponse:
    fields = Reader(data)
    code = fields.int16("error_code")
    epoch = fields.int32("coordinator_epoch") if repaired else UNKNOWN
    response = ClusterMetadataResponse(code, fields.int32("coordinator_id"), _read_brokers(fields), epoch)
    fields.end()
    return response


def read_register_response(data: bytes, *, repaired: bool) -> RegisterConsumerResponse:
    """The answer to a registration. Partitions are absent where the size leaves no room for them."""
    fields = Reader(data)
    code, epoch, session_ms = fields.int16("error_code"), UNKNOWN, UNKNOWN
    if repaired:
        epoch, session_ms = fields.int32("coordinator_epoch"), fields.int32("session_ms")
    threads = _counted(fields, "num_threads", lambda: _read_share(fields)) if fields.rest() else None
    brokers = () if threads is None else _read_brokers(fields)
    fields.end()
    return RegisterConsumerResponse(code, epoch, session_ms, threads, brokers)


def _boolean(fields: Reader, field: str) -> bool:
    value = fields.int8(field)
    if value not in (0, 1):
        raise WireError(f"{field}: a byte of {value}, 0 or 1 is expected")
    return value == 1


def _counted(fields: Reader, field: str, read: Callable[[], T]) -> tuple[T, ...]:
    count = fields.int16(field)
    if count < 0:
        raise WireError(f"{field}: {count}")
    return tuple([read() for _ in range(count)])


def _read_position(fields: Reader) -> Position:
    position = Position(fields.string("topic"), fields.string("partition"), fields.int64("offset"))
    _judge_partition(position.topic, position.partition)
    return position


@lru_cache(_PARTITIONS_KEPT)
def _judge_partition(topic: str, partition: str) -> None:
    """Raise WireError where it is none. Those that are one are remembered: each answer to a ping names the same."""
    if not is_topic(topic) or _PARTITION.fullmatch(partition) is None:
        raise WireError(f"partition: {topic[:40]!r} {partition[:40]!r} is none")


def _read_share(fields: Reader) -> ThreadShare:
    thread = fields.string("consumer_thread_id")
    return ThreadShare(thread, _counted(fields, "num_partitions", lambda: _read_position(fields)))


def _read_brokers(fields: Reader) -> tuple[BrokerAddress, ...]:
    return _counted(
        fields,
        "num_brokers",
        lambda: BrokerAddress(fields.int32("id"), fields.string("host"), fields.int32("port")),
    )
