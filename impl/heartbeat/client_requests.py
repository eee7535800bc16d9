"""Requests of clients as Kafka 2.0 has them: ApiVersions, Metadata, Produce, Fetch and ListOffsets.

One version of each is served, of Metadata several; batches of records are opaque but for their count and their place,
which the leader sets.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass

from crc32c import crc32c

from impl.heartbeat.control_requests import (
    CONTROLLED_SHUTDOWN,
    CONTROLLED_SHUTDOWN_VERSION,
    LEADER_AND_ISR,
    LEADER_AND_ISR_TO_INCARNATION,
    LEADER_AND_ISR_VERSION,
    NO_LEADER,
    UPDATE_METADATA,
    UPDATE_METADATA_TO_INCARNATION,
    UPDATE_METADATA_VERSION,
    Endpoint,
    PartitionState,
    TopicPartition,
)
from impl.heartbeat.describe import DESCRIBE_BROKERS, DESCRIBE_BROKERS_VERSION
from impl.heartbeat.log import Batch
from impl.heartbeat.messages import DOCUMENT, ISR_CHANGE, METADATA_HEARTBEAT, REPAIRED, ErrorCode
from impl.heartbeat.replica_fetch import REPLICA_FETCH, REPLICA_FETCH_VERSION
from impl.runtime.wire import (
    Reader,
    WireError,
    array,
    int8,
    int16,
    int32,
    int32_array,
    int64,
    nullable_bytes,
    nullable_string,
)

PRODUCE, PRODUCE_VERSION = 0, 3
ACKS_OF_ALL, NO_ACKS, ACKS_OF_LEADER = -1, 0, 1
"""Whom a producer waits for: the ISR; nobody, so that it is sent no response; the leader."""
FETCH, FETCH_VERSION = 1, 4
LIST_OFFSETS, LIST_OFFSETS_VERSION = 2, 1
METADATA, OLDEST_METADATA, NEWEST_METADATA = 3, 1, 4
"""Clients take a broker that serves version 4 to read batches of magic 2."""
API_VERSIONS, API_VERSIONS_VERSION = 18, 0
EARLIEST = -2
"""As the time that ListOffsets asks for: the first offset; else the end."""
_BATCH_HEAD_BYTES, _INT32, _CHECKSUM = 61, struct.Struct(">i"), struct.Struct(">I")
_CHECKSUM_AT, _CHECKSUM_FROM = 17, 21
_LENGTH_AT, _LENGTH_FROM, _MAGIC_AT, _MAGIC, _DELTA_AT, _COUNT_AT = 8, 12, 16, 2, 23, 57

VERSIONS = (
    (PRODUCE, PRODUCE_VERSION, PRODUCE_VERSION),
    (FETCH, FETCH_VERSION, FETCH_VERSION),
    (LIST_OFFSETS, LIST_OFFSETS_VERSION, LIST_OFFSETS_VERSION),
    (METADATA, OLDEST_METADATA, NEWEST_METADATA),
    (LEADER_AND_ISR, LEADER_AND_ISR_VERSION, LEADER_AND_ISR_TO_INCARNATION),
    (UPDATE_METADATA, UPDATE_METADATA_VERSION, UPDATE_METADATA_TO_INCARNATION),
    (CONTROLLED_SHUTDOWN, CONTROLLED_SHUTDOWN_VERSION, CONTROLLED_SHUTDOWN_VERSION),
    (API_VERSIONS, API_VERSIONS_VERSION, API_VERSIONS_VERSION),
    (METADATA_HEARTBEAT, DOCUMENT, REPAIRED),
    (ISR_CHANGE, DOCUMENT, REPAIRED),
    (REPLICA_FETCH, REPLICA_FETCH_VERSION, REPLICA_FETCH_VERSION),
    (DESCRIBE_BROKERS, DESCRIBE_BROKERS_VERSION, DESCRIBE_BROKERS_VERSION),
)
"""Api key, lowest and highest version that is served."""


def api_versions_body(error: ErrorCode) -> bytes:
    """Version 0, which every client reads: a newer request is answered so, too, with an error."""
    return int16(error) + array([int16(key) + int16(low) + int16(high) for key, low, high in VERSIONS])


@dataclass(frozen=True, slots=True)
class ProducePart:
    """A batch for one partition."""

    of: TopicPartition
    records: bytes


@dataclass(frozen=True, slots=True)
class ProduceRequest:
    """acks: as it was sent, one of those above or not."""

    acks: int
    timeout_ms: int
    parts: tuple[ProducePart, ...]


@dataclass(frozen=True, slots=True)
class FetchPart:
    """What is wanted of one partition."""

    of: TopicPartition
    offset: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """max_wait_ms: how long to wait for records."""

    max_wait_ms: int
    parts: tuple[FetchPart, ...]


def read_produce_request(data: bytes) -> ProduceRequest:
    """Raises WireError."""
    reader = Reader(data)
    reader.nullable_string("transactional_id")
    acks, timeout_ms = reader.int16("acks"), reader.int32("timeout")

    def topic() -> list[ProducePart]:
        name = reader.string("topic")

        def part() -> ProducePart:
            of = TopicPartition(name, reader.int32("partition"))
            return ProducePart(of, reader.nullable_bytes("records") or b"")

        return list(reader.array("partitions", 8, part))

    topics = reader.array("topics", 6, topic)
    reader.end()
    return ProduceRequest(acks, timeout_ms, tuple(part for parts in topics for part in parts))


def produce_body(results: list[tuple[TopicPartition, int, int]]) -> bytes:
    """results: partition, error code, offset of the first record."""
    topics = [
        nullable_string(of.topic) + array([int32(of.partition) + int16(code) + int64(offset) + int64(-1)])
        for of, code, offset in results
    ]
    return array(topics) + int32(0)


def read_fetch_request(data: bytes) -> FetchRequest:
    """Raises WireError."""
    reader = Reader(data)
    reader.int32("replica_id")
    max_wait_ms = reader.int32("max_wait_time")
    reader.int32("min_bytes")
    reader.int32("max_bytes")
    reader.int8("isolation_level")

    def topic() -> list[FetchPart]:
        name = reader.string("topic")

        def part() -> FetchPart:
            of = TopicPartition(name, reader.int32("partition"))
            return FetchPart(of, reader.int64("fetch_offset"), reader.int32("partition_max_bytes"))

        return list(reader.array("partitions", 16, part))

    topics = reader.array("topics", 6, topic)
    reader.end()
    return FetchRequest(max_wait_ms, tuple(part for parts in topics for part in parts))


def fetch_body(results: list[tuple[TopicPartition, int, int, bytes]]) -> bytes:
    """results: partition, error code, high watermark, records."""
    topics = [
        nullable_string(of.topic)
        + array([int32(of.partition) + int16(code) + int64(end) + int64(end) + int32(-1) + nullable_bytes(records)])
        for of, code, end, records in results
    ]
    return int32(0) + array(topics)


def read_list_offsets_request(data: bytes) -> tuple[tuple[TopicPartition, int], ...]:
    """Partitions and times. Raises WireError."""
    reader = Reader(data)
    reader.int32("replica_id")

    def topic() -> list[tuple[TopicPartition, int]]:
        name = reader.string("topic")

        def part() -> tuple[TopicPartition, int]:
            return TopicPartition(name, reader.int32("partition")), reader.int64("timestamp")

        return list(reader.array("partitions", 12, part))

    topics = reader.array("topics", 6, topic)
    reader.end()
    return tuple(part for parts in topics for part in parts)


def list_offsets_body(results: list[tuple[TopicPartition, int, int]]) -> bytes:
    """results: partition, error code, offset."""
    return array(
        [
            nullable_string(of.topic) + array([int32(of.partition) + int16(code) + int64(-1) + int64(offset)])
            for of, code, offset in results
        ]
    )


def read_metadata_request(data: bytes, version: int) -> tuple[str, ...] | None:
    """The topics that are asked for; None: all. Raises WireError."""
    reader = Reader(data)
    topics = reader.nullable_array("topics", 2, lambda: reader.string("topic"))
    if version >= 4:
        reader.int8("allow_auto_topic_creation")
    reader.end()
    return topics


def metadata_body(
    version: int,
    live: tuple[Endpoint, ...],
    controller: int,
    states: dict[TopicPartition, PartitionState],
    topics: tuple[str, ...],
) -> bytes:
    """The live brokers, and of these topics the partitions."""
    brokers = [int32(one.broker) + nullable_string(one.host) + int32(one.port) + nullable_string(None) for one in live]
    leaders = {one.broker for one in live}
    partitions = dict[str, list[bytes]]()
    for of, state in sorted(states.items()):
        partitions.setdefault(of.topic, []).append(_partition(state, leaders))
    found = []
    for topic in topics:
        parts = partitions.get(topic, [])
        code = ErrorCode.NONE if parts else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        found.append(int16(code) + nullable_string(topic) + int8(0) + array(parts))
    throttle = int32(0) if version >= 3 else b""
    cluster = nullable_string(None) if version >= 2 else b""
    return throttle + array(brokers) + cluster + int32(controller) + array(found)


def _partition(state: PartitionState, live: Collection[int]) -> bytes:
    """A leader that is not among the live brokers is none, as Kafka has it: clients could not find it."""
    is_led = state.leader in live
    code = ErrorCode.NONE if is_led else ErrorCode.LEADER_NOT_AVAILABLE
    head = int16(code) + int32(state.partition.partition) + int32(state.leader if is_led else NO_LEADER)
    return head + int32_array(state.replicas) + int32_array(state.isr)


def record_count(records: bytes) -> int:
    """How many offsets a batch takes (RecordBatch of magic 2). Raises WireError where it is none, or not just one.

    As in Kafka, a producer's batch takes as many offsets as it has records; a log has a place for no more than that.
    """
    if len(records) < _BATCH_HEAD_BYTES or records[_MAGIC_AT] != _MAGIC:
        raise WireError(f"records: a batch of magic {_MAGIC} is expected")
    length, delta, count = (int(_INT32.unpack_from(records, at)[0]) for at in (_LENGTH_AT, _DELTA_AT, _COUNT_AT))
    if length != len(records) - _LENGTH_FROM:
        raise WireError(f"records: a batch of {length} bytes in {len(records) - _LENGTH_FROM}")
    if count < 1 or delta != count - 1:
        raise WireError(f"records: a batch of {count}, the last one at {delta}")
    (checksum,) = _CHECKSUM.unpack_from(records, _CHECKSUM_AT)
    if checksum != crc32c(records[_CHECKSUM_FROM:]):
        raise WireError("records: a batch of which the checksum is another one")
    return count


def placed(batch: Batch) -> bytes:
    """A batch with the offset that the leader gave it; its checksum does not cover that."""
    return int64(batch.offset) + batch.data[8:12] + int32(batch.leader_epoch) + batch.data[16:]
