"""Requests between controller and brokers as Kafka 2.0 has them.

LeaderAndIsr v1 and UpdateMetadata v4 are the controller's; by ControlledShutdown v1 a broker of the former protocol
asks to be shut down.
"""

from __future__ import annotations

from dataclasses import dataclass

from impl.runtime.wire import Reader, array, int8, int16, int32, int32_array, nullable_string

LEADER_AND_ISR, LEADER_AND_ISR_VERSION = 4, 1
UPDATE_METADATA, UPDATE_METADATA_VERSION = 6, 4
CONTROLLED_SHUTDOWN, CONTROLLED_SHUTDOWN_VERSION = 7, 1
NO_LEADER = -1
_PLAINTEXT = "PLAINTEXT"
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
        return (
            nullable_string(self.partition.topic)
            + int32(self.partition.partition)
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
    """The replicas that a broker holds, and who leads them."""

    controller_id: int
    controller_epoch: int
    partitions: tuple[PartitionState, ...]
    live_leaders: tuple[Endpoint, ...]

    def body(self) -> bytes:
        leaders = [int32(one.broker) + nullable_string(one.host) + int32(one.port) for one in self.live_leaders]
        states = [one.fields() + int8(0) for one in self.partitions]  # is_new: false
        return int32(self.controller_id) + int32(self.controller_epoch) + array(states) + array(leaders)


@dataclass(frozen=True, slots=True)
class UpdateMetadataRequest:
    """The partitions and the live brokers, as clients are shown them."""

    controller_id: int
    controller_epoch: int
    partitions: tuple[PartitionState, ...]
    live_brokers: tuple[Endpoint, ...]

    def body(self) -> bytes:
        states = [one.fields() + int32_array(()) for one in self.partitions]  # no replica is on a failed disk
        brokers = [
            int32(one.broker) + array([_end_point(one)]) + nullable_string(None)  # in no rack
            for one in self.live_brokers
        ]
        return int32(self.controller_id) + int32(self.controller_epoch) + array(states) + array(brokers)


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


def read_leader_and_isr_request(data: bytes) -> LeaderAndIsrRequest:
    """Raises WireError."""
    reader = Reader(data)

    def state() -> PartitionState:
        found = _state(reader)
        reader.int8("is_new")
        return found

    def leader() -> Endpoint:
        return Endpoint(reader.int32("leader"), reader.string("host"), reader.int32("port"))

    head = reader.int32("controller_id"), reader.int32("controller_epoch")
    request = LeaderAndIsrRequest(*head, reader.array("partitions", 31, state), reader.array("leaders", 10, leader))
    reader.end()
    return request


def read_update_metadata_request(data: bytes) -> UpdateMetadataRequest:
    """Of a broker with several endpoints the first is kept. Raises WireError."""
    reader = Reader(data)

    def state() -> PartitionState:
        found = _state(reader)
        reader.int32_array("offline_replicas")
        return found

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

    head = reader.int32("controller_id"), reader.int32("controller_epoch")
    partitions = reader.array("partitions", 34, state)
    request = UpdateMetadataRequest(*head, partitions, reader.array("live_brokers", 10, broker))
    reader.end()
    return request


def _end_point(of: Endpoint) -> bytes:
    return int32(of.port) + nullable_string(of.host) + nullable_string(_PLAINTEXT) + int16(_PLAINTEXT_TYPE)


def _state(reader: Reader) -> PartitionState:
    return PartitionState(
        TopicPartition(reader.string("topic"), reader.int32("partition")),
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
