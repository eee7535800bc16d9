"""Requests between controller and brokers as Kafka has them.

LeaderAndIsr v1 and UpdateMetadata v4 are those of Kafka 2.0. The next versions, of Kafka 2.2, name the incarnation that
they are for (KIP-380): a process that was started in the place of another, at its address, is not to take what the
other was sent, nor to acknowledge it. By ControlledShutdown v1 a broker of the former protocol asks to be shut down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from impl.runtime.topics import LEGAL_NAME
from impl.runtime.wire import Reader, WireError, array, int8, int16, int32, int32_array, int64, nullable_string

LEADER_AND_ISR, LEADER_AND_ISR_VERSION, LEADER_AND_ISR_TO_INCARNATION = 4, 1, 2
UPDATE_METADATA, UPDATE_METADATA_VERSION, UPDATE_METADATA_TO_INCARNATION = 6, 4, 5
CONTROLLED_SHUTDOWN, CONTROLLED_SHUTDOWN_VERSION = 7, 1
NO_LEADER = -1
ANY_INCARNATION = -1
"""For whichever process listens there."""
_PLAINTEXT = "PLAINTEXT"
_MOST_SHOWN = 60
_PLAINTEXT_TYPE = 0


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition as a controller sends it. controller_epoch: of whoever wrote it; version: of its znode."""

    partition: TopicPartition
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    version: int
    replicas: tuple[int, ...]

    def fields(self) -> bytes:
        """All but the topic."""
        return (
            int32(self.partition.partition)
            + int32(self.controller_epoch)
            + int32(self.leader)
            + int32(self.leader_epoch)
            + int32_array(self.isr)
            + int32(self.version)
            + int32_array(self.replicas)
        )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A broker, and where it listens."""

    broker: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class LeaderAndIsrRequest:
    """The replicas that a broker holds, and who leads them. incarnation: of the process that it is for."""

    controller_id: int
    controller_epoch: int
    partitions: tuple[PartitionState, ...]
    live_leaders: tuple[Endpoint, ...]
    incarnation: int = ANY_INCARNATION

    def body(self, version: int = LEADER_AND_ISR_VERSION) -> bytes:
        leaders = [int32(one.broker) + nullable_string(one.host) + int32(one.port) for one in self.live_leaders]
        names_incarnation = version >= LEADER_AND_ISR_TO_INCARNATION
        states = _states(self.partitions, int8(0), by_topic=names_incarnation)  # is_new: false
        return _head(self, names_incarnation) + array(states) + array(leaders)


@dataclass(frozen=True, slots=True)
class UpdateMetadataRequest:
    """The partitions and the live brokers, as clients are shown them. incarnation: of the process that it is for."""

    controller_id: int
    controller_epoch: int
    partitions: tuple[PartitionState, ...]
    live_brokers: tuple[Endpoint, ...]
    incarnation: int = ANY_INCARNATION

    def body(self, version: int = UPDATE_METADATA_VERSION) -> bytes:
        names_incarnation = version >= UPDATE_METADATA_TO_INCARNATION
        states = _states(self.partitions, int32_array(()), by_topic=names_incarnation)  # no replica's disk has failed
        return _head(self, names_incarnation) + array(states) + _LIVE.bytes_of(self.live_brokers)


class _Live:
    """The bytes of the live brokers. A controller sends the same ones to all of them: they are kept for the next."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[Endpoint, ...], bytes] = (), array([])

    def bytes_of(self, brokers: tuple[Endpoint, ...]) -> bytes:
        if self._kept[0] is not brokers:
            found = [int32(one.broker) + array([_end_point(one)]) + nullable_string(None) for one in brokers]  # no rack
            self._kept = brokers, array(found)
        return self._kept[1]


_LIVE = _Live()


def _head(request: LeaderAndIsrRequest | UpdateMetadataRequest, names_incarnation: bool) -> bytes:
    incarnation = int64(request.incarnation) if names_incarnation else b""
    return int32(request.controller_id) + int32(request.controller_epoch) + incarnation


def _states(partitions: tuple[PartitionState, ...], last: bytes, *, by_topic: bool) -> list[bytes]:
    """The states, each with a last field; by_topic: an entry for each topic."""
    if not by_topic:
        return [nullable_string(one.partition.topic) + one.fields() + last for one in partitions]
    return [
        nullable_string(topic) + array([one.fields() + last for one in of_topic])
        for topic, of_topic in groupby(partitions, lambda one: one.partition.topic)
    ]


@dataclass(frozen=True, slots=True)
class ControlledShutdownRequest:
    """A broker wants to lead nothing any more."""

    broker_id: int

    def body(self) -> bytes:
        return int32(self.broker_id)


@dataclass(frozen=True, slots=True)
class LeaderAndIsrResponse:
    """The outcome for each partition, or for all of them."""

    error_code: int
    partitions: tuple[tuple[TopicPartition, int], ...] = ()

    def body(self) -> bytes:
        results = [nullable_string(one.topic) + int32(one.partition) + int16(code) for one, code in self.partitions]
        return int16(self.error_code) + array(results)


@dataclass(frozen=True, slots=True)
class UpdateMetadataResponse:
    """Whether it was taken."""

    error_code: int

    def body(self) -> bytes:
        return int16(self.error_code)


@dataclass(frozen=True, slots=True)
class ControlledShutdownResponse:
    """partitions_remaining: those that the broker still leads; it may exit when there is none."""

    error_code: int
    partitions_remaining: tuple[TopicPartition, ...] = ()

    def body(self) -> bytes:
        return int16(self.error_code) + array(
            [nullable_string(one.topic) + int32(one.partition) for one in self.partitions_remaining]
        )


def read_leader_and_isr_request(data: bytes, version: int = LEADER_AND_ISR_VERSION) -> LeaderAndIsrRequest:
    """Raises WireError."""
    reader = Reader(data)

    def leader() -> Endpoint:
        return Endpoint(reader.int32("leader"), reader.string("host"), reader.int32("port"))

    names_incarnation = version >= LEADER_AND_ISR_TO_INCARNATION
    controller, epoch, incarnation = _read_head(reader, names_incarnation)
    states = _read_states(reader, lambda: reader.int8("is_new"), 29, by_topic=names_incarnation)
    request = LeaderAndIsrRequest(controller, epoch, states, reader.array("leaders", 10, leader), incarnation)
    reader.end()
    return request


def read_update_metadata_request(data: bytes, version: int = UPDATE_METADATA_VERSION) -> UpdateMetadataRequest:
    """Of a broker with several endpoints the first is kept. Raises WireError."""
    reader = Reader(data)

    def endpoint() -> tuple[str, int]:
        port, host = reader.int32("port"), reader.string("host")
        reader.string("listener_name")
        reader.int16("security_protocol_type")
        return host, port

    def broker() -> Endpoint:
        broker_id, endpoints = reader.int32("broker"), reader.array("end_points", 10, endpoint)
        reader.nullable_string("rack")
        host, port = endpoints[0] if endpoints else ("", 0)
        return Endpoint(broker_id, host, port)

    names_incarnation = version >= UPDATE_METADATA_TO_INCARNATION
    controller, epoch, incarnation = _read_head(reader, names_incarnation)
    states = _read_states(reader, lambda: reader.int32_array("offline_replicas"), 32, by_topic=names_incarnation)
    live = reader.array("live_brokers", 10, broker)
    request = UpdateMetadataRequest(controller, epoch, states, live, incarnation)
    reader.end()
    return request


def _end_point(of: Endpoint) -> bytes:
    return int32(of.port) + nullable_string(of.host) + nullable_string(_PLAINTEXT) + int16(_PLAINTEXT_TYPE)


def _read_head(reader: Reader, names_incarnation: bool) -> tuple[int, int, int]:
    """Controller, its epoch, and the incarnation that the request is for."""
    controller, epoch = reader.int32("controller_id"), reader.int32("controller_epoch")
    return controller, epoch, reader.int64("broker_epoch") if names_incarnation else ANY_INCARNATION


def _read_states(
    reader: Reader, read_last: Callable[[], object], least_bytes: int, *, by_topic: bool
) -> tuple[PartitionState, ...]:
    """The states, each with a last field that nobody looks at; least_bytes: of one without its topic."""

    def state(topic: str) -> PartitionState:
        found = _state(reader, topic)
        read_last()
        return found

    if not by_topic:
        return reader.array("partitions", least_bytes + 2, lambda: state(reader.string("topic")))

    def of_topic() -> tuple[PartitionState, ...]:
        topic = reader.string("topic")
        return reader.array("partitions", least_bytes, lambda: state(topic))

    return tuple(state for states in reader.array("topics", 6, of_topic) for state in states)


def _state(reader: Reader, topic: str) -> PartitionState:
    of = TopicPartition(topic, reader.int32("partition"))
    if not LEGAL_NAME.match(topic) or of.partition < 0:
        raise WireError(f"partition {of.partition} of {topic[:_MOST_SHOWN]!r}")
    return PartitionState(
        of,
        reader.int32("controller_epoch"),
        reader.int32("leader"),
        reader.int32("leader_epoch"),
        reader.int32_array("isr"),
        reader.int32("zk_version"),
        reader.int32_array("replicas"),
    )


def read_controlled_shutdown_request(data: bytes) -> ControlledShutdownRequest:
    """Raises WireError."""
    reader = Reader(data)
    request = ControlledShutdownRequest(reader.int32("broker_id"))
    reader.end()
    return request


def read_leader_and_isr_response(data: bytes) -> LeaderAndIsrResponse:
    """Raises WireError."""
    reader = Reader(data)

    def result() -> tuple[TopicPartition, int]:
        return TopicPartition(reader.string("topic"), reader.int32("partition")), reader.int16("error_code")

    response = LeaderAndIsrResponse(reader.int16("error_code"), reader.array("partitions", 8, result))
    reader.end()
    return response


def read_update_metadata_response(data: bytes) -> UpdateMetadataResponse:
    """Raises WireError."""
    reader = Reader(data)
    response = UpdateMetadataResponse(reader.int16("error_code"))
    reader.end()
    return response


def read_controlled_shutdown_response(data: bytes) -> ControlledShutdownResponse:
    """Raises WireError."""
    reader = Reader(data)

    def partition() -> TopicPartition:
        return TopicPartition(reader.string("topic"), reader.int32("partition"))

    response = ControlledShutdownResponse(
        reader.int16("error_code"), reader.array("partitions_remaining", 6, partition)
    )
    reader.end()
    return response
