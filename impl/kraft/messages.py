"""Requests and responses, field by field as KIP-631 and the KIPs that it builds on lay them out.

Named as in Kafka, in snake case. ThrottleTimeMs is left to the runtime, which alone knows quotas.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from uuid import UUID

from impl.kraft.errors import ErrorCode
from impl.kraft.fields import Int8, Int16, Int32, Int64
from impl.kraft.records import RECOVERED, Endpoint, QuotaEntity, SupportedFeature
from impl.kraft.security.acls import Acl, AclFilter

# KIP-631.


@dataclass(frozen=True, slots=True)
class BrokerRegistrationRequest:
    """Asks for a broker epoch. incarnation_id: drawn at each start of the process. log_dirs: those that are online."""

    broker_id: Int32
    cluster_id: str
    incarnation_id: UUID
    listeners: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    rack: str | None = None
    log_dirs: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokerRegistrationResponse:
    error: ErrorCode
    broker_epoch: Int64 = -1


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatRequest:
    """Renews the lease. current_metadata_offset: the highest that the broker's image has reached.

    offline_log_dirs: all that have failed since the broker started.
    """

    broker_id: Int32
    broker_epoch: Int64
    current_metadata_offset: Int64
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: tuple[UUID, ...] = ()


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
    """A leader asks for an ISR. partition_epoch: of the partition as the leader knows it.

    leader_recovery_state: RECOVERING of a leader that an unclean election has made, until it has recovered (KIP-704).
    """

    broker_id: Int32
    broker_epoch: Int64
    topic_id: UUID
    partition_id: Int32
    leader_epoch: Int32
    partition_epoch: Int32
    new_isr: tuple[IsrMember, ...]
    leader_recovery_state: Int8 = RECOVERED


@dataclass(frozen=True, slots=True)
class AlterPartitionResponse:
    """The partition as it is once the request is answered; of an error, only the code counts."""

    error: ErrorCode
    leader: Int32 = -1
    leader_epoch: Int32 = -1
    isr: tuple[Int32, ...] = ()
    partition_epoch: Int32 = -1
    leader_recovery_state: Int8 = RECOVERED


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

    topic_id: drawn by the caller, since randomness is an argument. validate_only: answered as ever, and not done.
    """

    name: str
    topic_id: UUID
    num_partitions: Int32 = 1
    replication_factor: Int16 = 1
    assignments: tuple[tuple[Int32, ...], ...] | None = None
    configs: tuple[tuple[str, str], ...] = ()
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class CreateTopicResponse:
    error: ErrorCode
    topic_id: UUID | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class CreatePartitionsRequest:
    """Gives a topic more partitions (KIP-195). count: how many it is to have, with those that it has.

    assignments: the replicas of each new one; None lets the controller place them. validate_only: as of a new topic.
    """

    topic: str
    count: Int32
    assignments: tuple[tuple[Int32, ...], ...] | None = None
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class CreatePartitionsResponse:
    error: ErrorCode
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
class ElectUncleanLeaderRequest:
    """Gives a partition without a leader any replica that is alive, though records are lost (KIP-460)."""

    topic: str
    partition_id: Int32


@dataclass(frozen=True, slots=True)
class ElectUncleanLeaderResponse:
    error: ErrorCode


class ConfigOperation(IntEnum):
    """What becomes of a config (KIP-339); the last two change the members of one that is a list."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """value: None of one that is deleted."""

    name: str
    operation: ConfigOperation
    value: str | None


@dataclass(frozen=True, slots=True)
class AlterConfigsRequest:
    """Changes of one resource, all of which are made, or none. resource_type: 2 a topic, 4 a broker.

    validate_only: answered as ever, and not done. replaces: what is not named is deleted.
    """

    resource_type: Int8
    resource_name: str
    changes: tuple[ConfigChange, ...]
    validate_only: bool = False
    replaces: bool = False

    @classmethod
    def of_one(cls, resource_type: int, resource_name: str, name: str, value: str | None) -> AlterConfigsRequest:
        """Sets one config; a value of None deletes it."""
        operation = ConfigOperation.DELETE if value is None else ConfigOperation.SET
        return cls(resource_type, resource_name, (ConfigChange(name, operation, value),))


@dataclass(frozen=True, slots=True)
class AlterConfigsResponse:
    error: ErrorCode
    message: str = ""


@dataclass(frozen=True, slots=True)
class UpdateFeatureRequest:
    """max_feature_level: 0 removes the feature. Lowering a level needs allow_downgrade."""

    name: str
    max_feature_level: Int16
    allow_downgrade: bool = False
    validate_only: bool = False


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


# KIP-858, KIP-919.


@dataclass(frozen=True, slots=True)
class ReplicaDirectory:
    """The log directory that a replica is in."""

    directory: UUID
    topic_id: UUID
    partition_id: Int32


@dataclass(frozen=True, slots=True)
class AssignReplicasToDirsRequest:
    """A broker says where its replicas are."""

    broker_id: Int32
    broker_epoch: Int64
    replicas: tuple[ReplicaDirectory, ...]


@dataclass(frozen=True, slots=True)
class AssignReplicasToDirsResponse:
    """errors: of each replica, in the order of the request; none where the request is refused as a whole."""

    error: ErrorCode
    errors: tuple[ErrorCode, ...] = ()


@dataclass(frozen=True, slots=True)
class ControllerRegistrationRequest:
    """A controller says where it listens and what it supports. incarnation_id: drawn at each start of the process."""

    controller_id: Int32
    incarnation_id: UUID
    listeners: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    zk_migration_ready: bool = False


@dataclass(frozen=True, slots=True)
class ControllerRegistrationResponse:
    error: ErrorCode


# KIP-11, KIP-140: ACLs. One a request; the runtime packs several into one on the wire.


@dataclass(frozen=True, slots=True)
class CreateAclRequest:
    """acl_id: drawn by the caller."""

    acl_id: UUID
    acl: Acl


@dataclass(frozen=True, slots=True)
class CreateAclResponse:
    error: ErrorCode
    message: str = ""


@dataclass(frozen=True, slots=True)
class DeleteAclsRequest:
    filter: AclFilter


@dataclass(frozen=True, slots=True)
class DeleteAclsResponse:
    error: ErrorCode
    message: str = ""
    deleted: tuple[Acl, ...] = ()


# KIP-554: SCRAM credentials, of one user.


@dataclass(frozen=True, slots=True)
class ScramChange:
    """salted_password: as the client has made it of the password; None: the credential is removed."""

    mechanism: Int8
    salted_password: bytes | None = field(default=None, repr=False)
    salt: bytes = field(default=b"", repr=False)
    iterations: Int32 = 0


@dataclass(frozen=True, slots=True)
class AlterUserScramCredentialsRequest:
    user: str
    changes: tuple[ScramChange, ...]


@dataclass(frozen=True, slots=True)
class AlterUserScramCredentialsResponse:
    error: ErrorCode
    message: str = ""


# KIP-546: quotas of clients, of one entity.


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """value: None removes the quota."""

    key: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class AlterClientQuotasRequest:
    entity: tuple[QuotaEntity, ...]
    changes: tuple[QuotaChange, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class AlterClientQuotasResponse:
    error: ErrorCode
    message: str = ""


WriteRequest = (
    BrokerRegistrationRequest
    | BrokerHeartbeatRequest
    | UnregisterBrokerRequest
    | AlterPartitionRequest
    | AlterPartitionReassignmentRequest
    | CreateTopicRequest
    | CreatePartitionsRequest
    | DeleteTopicRequest
    | ElectPreferredLeaderRequest
    | ElectUncleanLeaderRequest
    | AssignReplicasToDirsRequest
    | ControllerRegistrationRequest
    | AlterConfigsRequest
    | UpdateFeatureRequest
    | AllocateProducerIdsRequest
    | CreateAclRequest
    | DeleteAclsRequest
    | AlterUserScramCredentialsRequest
    | AlterClientQuotasRequest
)
"""What may change the metadata."""
ValidatedRequest = (
    CreateTopicRequest | CreatePartitionsRequest | AlterConfigsRequest | AlterClientQuotasRequest | UpdateFeatureRequest
)
"""Those of which an operator may ask what would become of them."""
Request = WriteRequest | ListPartitionReassignmentsRequest
Response = (
    BrokerRegistrationResponse
    | BrokerHeartbeatResponse
    | UnregisterBrokerResponse
    | AlterPartitionResponse
    | AlterPartitionReassignmentResponse
    | ListPartitionReassignmentsResponse
    | CreateTopicResponse
    | CreatePartitionsResponse
    | DeleteTopicResponse
    | ElectPreferredLeaderResponse
    | ElectUncleanLeaderResponse
    | AssignReplicasToDirsResponse
    | ControllerRegistrationResponse
    | AlterConfigsResponse
    | UpdateFeatureResponse
    | AllocateProducerIdsResponse
    | CreateAclResponse
    | DeleteAclsResponse
    | AlterUserScramCredentialsResponse
    | AlterClientQuotasResponse
)
