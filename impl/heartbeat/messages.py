"""MetadataHeartbeat and IsrChange on the wire (KIP-343, Public API Changes).

Version 0 is the document's, byte for byte; version 1 adds the fields that the repaired design needs. The document gives
no api keys and no numbers for its error codes: the keys are Fencepost's, the numbers Kafka's for the same meanings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from impl.runtime.wire import (
    Reader,
    WireError,
    array,
    int8,
    int16,
    int32,
    int32_array,
    int64,
    int64_array,
    nullable_string,
)

METADATA_HEARTBEAT = 1343
ISR_CHANGE = 1344
DOCUMENT, REPAIRED = 0, 1
"""The versions of both requests."""
UNKNOWN = -1
"""No broker, no incarnation, no epoch: where Kafka would say -1, too."""
MAX_FRAME_BYTES = 1 << 24
"""Room for an IsrChange of 100,000 partitions."""


class BrokerState(IntEnum):
    """The states of a broker (BrokerState Enum). INITIAL is the broker's own: it has not heard from a controller."""

    INITIAL = 0
    INACTIVE = 1
    ACTIVE = 2
    STOPPING = 3


class ErrorCode(IntEnum):
    """The outcome of a request, with the numbers of Kafka's protocol."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_FOR_PARTITION = 6
    REQUEST_TIMED_OUT = 7
    STALE_CONTROLLER_EPOCH = 11
    NOT_ENOUGH_REPLICAS = 19
    INVALID_REQUIRED_ACKS = 21
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    FENCED_LEADER_EPOCH = 74
    INVALID_INCARNATION_ID = 77
    """Kafka's STALE_BROKER_EPOCH."""
    INVALID_UPDATE_VERSION = 95
    INELIGIBLE_REPLICA = 107


@dataclass(frozen=True, slots=True)
class MetadataHeartbeatRequest:
    """A broker reports, and says which state it wants to reach.

    target_state: as it was sent, of BrokerState or not. controller_epoch: from version 1, of the controller it is for.
    """

    broker_id: int
    incarnation_id: int
    target_state: int
    controller_epoch: int = UNKNOWN

    def body(self, version: int) -> bytes:
        document = int32(self.broker_id) + int64(self.incarnation_id) + int8(self.target_state)
        return document if version == DOCUMENT else document + int32(self.controller_epoch)


@dataclass(frozen=True, slots=True)
class MetadataHeartbeatResponse:
    """The state that the broker is in now, as the controller has it; from version 1 also which broker and controller.

    The document promises the ids in its text and has no field for them.
    """

    error_code: int
    current_state: int = BrokerState.INITIAL
    error_string: str | None = None
    broker_id: int = UNKNOWN
    incarnation_id: int = UNKNOWN
    controller_epoch: int = UNKNOWN

    def body(self, version: int) -> bytes:
        document = int16(self.error_code) + nullable_string(self.error_string) + int8(self.current_state)
        if version == DOCUMENT:
            return document
        return document + int32(self.broker_id) + int64(self.incarnation_id) + int32(self.controller_epoch)


@dataclass(frozen=True, slots=True)
class PartitionIsr:
    """The ISR that a leader wants. version: of the partition's state; incarnations: in the order of isr (version 1)."""

    partition_index: int
    leader_epoch: int
    isr: tuple[int, ...]
    version: int = UNKNOWN
    incarnations: tuple[int, ...] = ()

    def fields(self, version: int) -> bytes:
        document = int32(self.leader_epoch) + int32(self.partition_index) + int32_array(self.isr)
        return document if version == DOCUMENT else document + int32(self.version) + int64_array(self.incarnations)


@dataclass(frozen=True, slots=True)
class TopicIsr:
    """The partitions of one topic in an IsrChangeRequest."""

    topic_name: str
    partitions: tuple[PartitionIsr, ...]


@dataclass(frozen=True, slots=True)
class IsrChangeRequest:
    """A leader asks the controller to change ISRs (Initiating ISR Changes)."""

    broker_id: int
    incarnation_id: int
    topics: tuple[TopicIsr, ...]

    def body(self, version: int) -> bytes:
        topics = [
            nullable_string(topic.topic_name) + array([one.fields(version) for one in topic.partitions])
            for topic in self.topics
        ]
        return int32(self.broker_id) + int64(self.incarnation_id) + array(topics)


@dataclass(frozen=True, slots=True)
class IsrResult:
    """The outcome for one partition, in the order of the request; from version 1 also its state after it."""

    error_code: int
    message: str | None = None
    topic_name: str = ""
    partition_index: int = UNKNOWN
    leader_epoch: int = UNKNOWN
    version: int = UNKNOWN
    isr: tuple[int, ...] = ()

    def fields(self, version: int) -> bytes:
        document = int16(self.error_code) + nullable_string(self.message)
        if version == DOCUMENT:
            return document
        numbers = int32(self.partition_index) + int32(self.leader_epoch) + int32(self.version)
        return document + nullable_string(self.topic_name) + numbers + int32_array(self.isr)


@dataclass(frozen=True, slots=True)
class IsrChangeResponse:
    """A top-level error leaves `results` empty."""

    top_level_error_code: int
    message: str | None = None
    results: tuple[IsrResult, ...] = ()

    def body(self, version: int) -> bytes:
        head = int16(self.top_level_error_code) + nullable_string(self.message)
        return head + array([one.fields(version) for one in self.results])


def read_heartbeat_request(data: bytes, version: int) -> MetadataHeartbeatRequest:
    """Raises WireError."""
    reader = Reader(data)
    request = MetadataHeartbeatRequest(
        reader.int32("broker_id"), reader.int64("incarnation_id"), reader.int8("target_state")
    )
    if version != DOCUMENT:
        request = replace(request, controller_epoch=reader.int32("controller_epoch"))
    reader.end()
    return request


def read_heartbeat_response(data: bytes, version: int) -> MetadataHeartbeatResponse:
    """Raises WireError."""
    reader = Reader(data)
    error_code, error_string = reader.int16("error_code"), reader.nullable_string("error_string")
    response = MetadataHeartbeatResponse(error_code, reader.int8("current_state"), error_string)
    if version != DOCUMENT:
        response = replace(
            response,
            broker_id=reader.int32("broker_id"),
            incarnation_id=reader.int64("incarnation_id"),
            controller_epoch=reader.int32("controller_epoch"),
        )
    reader.end()
    return response


def read_isr_request(data: bytes, version: int) -> IsrChangeRequest:
    """Raises WireError."""
    reader = Reader(data)

    def partition() -> PartitionIsr:
        leader_epoch, index = reader.int32("leader_epoch"), reader.int32("partition_index")
        isr = reader.int32_array("isr")
        if version == DOCUMENT:
            return PartitionIsr(index, leader_epoch, isr)
        found = PartitionIsr(index, leader_epoch, isr, reader.int32("version"), reader.int64_array("incarnations"))
        if len(found.incarnations) != len(isr):
            raise WireError(f"incarnations: {len(found.incarnations)} of them for an isr of {len(isr)}")
        return found

    def topic() -> TopicIsr:
        return TopicIsr(reader.string("topic_name"), reader.array("partitions", 12, partition))

    broker, incarnation = reader.int32("broker_id"), reader.int64("incarnation_id")
    request = IsrChangeRequest(broker, incarnation, reader.array("topics", 6, topic))
    reader.end()
    return request


def read_isr_response(data: bytes, version: int) -> IsrChangeResponse:
    """Raises WireError."""
    reader = Reader(data)

    def result() -> IsrResult:
        error_code, message = reader.int16("error_code"), reader.nullable_string("message")
        if version == DOCUMENT:
            return IsrResult(error_code, message)
        return IsrResult(
            error_code,
            message,
            reader.string("topic_name"),
            reader.int32("partition_index"),
            reader.int32("leader_epoch"),
            reader.int32("version"),
            reader.int32_array("isr"),
        )

    error_code, message = reader.int16("top_level_error_code"), reader.nullable_string("message")
    response = IsrChangeResponse(error_code, message, reader.array("results", 4, result))
    reader.end()
    return response
