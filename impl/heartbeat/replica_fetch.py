"""ReplicaFetch: how a follower catches up with its leader. Key and fields are Fencepost's.

Kafka 2.0's Fetch has no place for the incarnation of the follower, which the leader has to name when it wants to add it
to the ISR (KIP-903), nor for the epoch that shows where two logs part (KIP-595).
"""

from __future__ import annotations

from dataclasses import dataclass

from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.log import Batch
from impl.runtime.wire import Reader, array, int16, int32, int64, nullable_bytes, nullable_string

REPLICA_FETCH, REPLICA_FETCH_VERSION = 1345, 0


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """Where a follower's log ends: at this offset, with a batch of this epoch."""

    of: TopicPartition
    leader_epoch: int
    offset: int
    last_epoch: int


@dataclass(frozen=True, slots=True)
class ReplicaFetchRequest:
    """incarnation_id: of the follower."""

    broker_id: int
    incarnation_id: int
    positions: tuple[FetchPosition, ...]

    def body(self) -> bytes:
        positions = [
            _partition(one.of) + int32(one.leader_epoch) + int64(one.offset) + int32(one.last_epoch)
            for one in self.positions
        ]
        return int32(self.broker_id) + int64(self.incarnation_id) + array(positions)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What follows a position. truncate_to: the offset that the follower's log is to be cut to; -1: it agrees."""

    of: TopicPartition
    error_code: int
    truncate_to: int = -1
    high_watermark: int = 0
    batches: tuple[Batch, ...] = ()

    def fields(self) -> bytes:
        batches = [
            int64(one.offset) + int32(one.count) + int32(one.leader_epoch) + nullable_bytes(one.data)
            for one in self.batches
        ]
        head = _partition(self.of) + int16(self.error_code)
        return head + int64(self.truncate_to) + int64(self.high_watermark) + array(batches)


@dataclass(frozen=True, slots=True)
class ReplicaFetchResponse:
    """In the order of the request."""

    fetched: tuple[Fetched, ...]

    def body(self) -> bytes:
        return array([one.fields() for one in self.fetched])


def _partition(of: TopicPartition) -> bytes:
    return nullable_string(of.topic) + int32(of.partition)


def read_fetch_request(data: bytes) -> ReplicaFetchRequest:
    """Raises WireError."""
    reader = Reader(data)

    def position() -> FetchPosition:
        of = TopicPartition(reader.string("topic"), reader.int32("partition"))
        return FetchPosition(of, reader.int32("leader_epoch"), reader.int64("offset"), reader.int32("last_epoch"))

    broker, incarnation = reader.int32("broker_id"), reader.int64("incarnation_id")
    request = ReplicaFetchRequest(broker, incarnation, reader.array("positions", 22, position))
    reader.end()
    return request


def read_fetch_response(data: bytes) -> ReplicaFetchResponse:
    """Raises WireError."""
    reader = Reader(data)

    def batch() -> Batch:
        offset, count, epoch = reader.int64("offset"), reader.int32("count"), reader.int32("leader_epoch")
        return Batch(offset, count, epoch, reader.nullable_bytes("data") or b"")

    def fetched() -> Fetched:
        of = TopicPartition(reader.string("topic"), reader.int32("partition"))
        head = reader.int16("error_code"), reader.int64("truncate_to"), reader.int64("high_watermark")
        return Fetched(of, *head, reader.array("batches", 20, batch))

    response = ReplicaFetchResponse(reader.array("fetched", 28, fetched))
    reader.end()
    return response
