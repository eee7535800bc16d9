"""Requests and responses, field by field as KIP-631 and the KIPs that it builds on lay them out.

Named as in Kafka, in snake case. ThrottleTimeMs is left to the runtime, which alone knows quotas.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from impl.kraft.errors import ErrorCode
from impl.kraft.fields import Int8, Int16, Int32, Int64
from impl.kraft.records import Endpoint, SupportedFeature

# KIP-631.


@dataclass(frozen=True, slots=True)
class BrokerRegistrationRequest:
    """Asks for a broker epoch. incarnation_id: drawn at each start of the process."""

    broker_id: Int32
    cluster_id: str
    incarnation_id: UUID
    listeners: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class BrokerRegistrationResponse:
    error: ErrorCode
    broker_epoch: Int64 = -1


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatRequest:
    """Renews the lease. current_metadata_offset: the highest that the broker's image has reached."""

    broker_id: Int32
    broker_epoch: Int64
    current_metadata_offset: Int64
    want_fence: bool
    want_shut_down: bool


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatResponse:
    error: ErrorCode
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


@dataclass(frozen=True, slots=True)
class UnregisterBrokerRequest:
    broker_id: Int32


@dataclass(frozen=True, slots=True)
class UnregisterBrokerResponse:
    error: ErrorCode


# KIP-497, KIP-841, KIP-903: one partition a request; the runtime packs several into one on the wire.


@dataclass(frozen=True, slots=True)
class IsrMember:
    """A member of the ISR that a leader asks for. broker_epoch: at which it saw it; -1 where it need not be checked."""

    broker_id: Int32
    broker_epoch: Int64 = -1


@dataclass(frozen=True, slots=True)
class AlterPartitionRequest:
    """A leader asks for an ISR. partition_epoch: of the partition as the leader knows it."""

    broker_id: Int32
    broker_epoch: Int64
    topic_id: UUID
    partition_id: Int32
    leader_epoch: Int32
    partition_epoch: Int32
    new_isr: tuple[IsrMember, ...]


@dataclass(frozen=True, slots=True)
class AlterPartitionResponse:
    """The partition as it is once the request is answered; of an error, only the code counts."""

    error: ErrorCode
    leader: Int32 = -1
    leader_epoch: Int32 = -1
    isr: tuple[Int32, ...] = ()
    partition_epoch: Int32 = -1


# KIP-455.


@dataclass(frozen=True, slots=True)
class AlterPartitionReassignmentRequest:
    """replicas: the target in preferred order; None cancels."""

    topic: str
    partition_id: Int32
    replicas: tuple[Int32, ...] | None


@dataclass(frozen=True, slots=True)
class AlterPartitionReassignmentResponse:
    error: ErrorCode
    message: str = ""


@dataclass(frozen=True, slots=True)
class ListPartitionReassignmentsRequest:
    """partitions: (topic name, partition id) to look at; None for all."""

    partitions: tuple[tuple[str, Int32], ...] | None = None


@dataclass(frozen=True, slots=True)
class OngoingReassignment:
    topic: str
    partition_id: Int32
    replicas: tuple[Int32, ...]
    adding_replicas: tuple[Int32, ...]
    removing_replicas: tuple[Int32, ...]


@dataclass(frozen=True, slots=True)
class ListPartitionReassignmentsResponse:
    error: ErrorCode
    reassignments: tuple[OngoingReassignment, ...] = ()


# Topics, elections, configs, features.


@dataclass(frozen=True, slots=True)
class CreateTopicRequest:
    """assignments: the replicas of each partition; None lets the controller place them.

    topic_id: drawn by the caller, since randomness is an argument.
    """

    name: str
    topic_id: UUID
    num_partitions: Int32 = 1
    replication_factor: Int16 = 1
    assignments: tuple[tuple[Int32, ...], ...] | None = None
    configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTopicResponse:
    error: ErrorCode
    topic_id: UUID | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class DeleteTopicRequest:
    """By id, or by name where topic_id is None."""

    topic_id: UUID | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteTopicResponse:
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class ElectPreferredLeaderRequest:
    topic: str
    partition_id: Int32


@dataclass(frozen=True, slots=True)
class ElectPreferredLeaderResponse:
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class AlterConfigRequest:
    """resource_type: 2 a topic, 4 a broker. A value of None deletes the config."""

    resource_type: Int8
    resource_name: str
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class AlterConfigResponse:
    error: ErrorCode
    message: str = ""


@dataclass(frozen=True, slots=True)
class UpdateFeatureRequest:
    """max_feature_level: 0 removes the feature. Lowering a level needs allow_downgrade."""

    name: str
    max_feature_level: Int16
    allow_downgrade: bool = False


@dataclass(frozen=True, slots=True)
class UpdateFeatureResponse:
    error: ErrorCode
    message: str = ""


# KIP-730.


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsRequest:
    broker_id: Int32
    broker_epoch: Int64


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsResponse:
    """The ids from producer_id_start on, as many as producer_id_len, are the broker's to give away."""

    error: ErrorCode
    producer_id_start: Int64 = 0
    producer_id_len: Int32 = 0


WriteRequest = (
    BrokerRegistrationRequest
    | BrokerHeartbeatRequest
    | UnregisterBrokerRequest
    | AlterPartitionRequest
    | AlterPartitionReassignmentRequest
    | CreateTopicRequest
    | DeleteTopicRequest
    | ElectPreferredLeaderRequest
    | AlterConfigRequest
    | UpdateFeatureRequest
    | AllocateProducerIdsRequest
)
"""What may change the metadata."""
Request = WriteRequest | ListPartitionReassignmentsRequest
Response = (
    BrokerRegistrationResponse
    | BrokerHeartbeatResponse
    | UnregisterBrokerResponse
    | AlterPartitionResponse
    | AlterPartitionReassignmentResponse
    | ListPartitionReassignmentsResponse
    | CreateTopicResponse
    | DeleteTopicResponse
    | ElectPreferredLeaderResponse
    | AlterConfigResponse
    | UpdateFeatureResponse
    | AllocateProducerIdsResponse
)
