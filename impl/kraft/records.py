"""The records of the metadata log, field by field as KIP-631 lays them out (section Record Formats).

Where the draft and Kafka differ, a record is Kafka's: PartitionRecord and PartitionChangeRecord as the sample dump
has them, `fenced` of a registration, `value` of a config that may be null, which deletes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar
from uuid import UUID

from impl.kraft.fields import Int8, Int16, Int32, Int64

NO_LEADER = -1
LEADER_UNCHANGED = -2
RECOVERED, RECOVERING, RECOVERY_UNCHANGED = 0, 1, -1
"""Of the leader of a partition."""
TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4


class RecordType(IntEnum):
    """The type numbers of KIP-631; UNREGISTER_BROKER and the rest keep theirs."""

    REGISTER_BROKER = 0
    UNREGISTER_BROKER = 1
    TOPIC = 2
    PARTITION = 3
    CONFIG = 4
    PARTITION_CHANGE = 5
    FENCE_BROKER = 7
    UNFENCE_BROKER = 8
    REMOVE_TOPIC = 9
    USER_SCRAM_CREDENTIAL = 11
    FEATURE_LEVEL = 12
    CLIENT_QUOTA = 14
    PRODUCER_IDS = 15
    BROKER_REGISTRATION_CHANGE = 17
    ACCESS_CONTROL_ENTRY = 18
    REMOVE_ACCESS_CONTROL_ENTRY = 19
    NO_OP = 20
    REMOVE_USER_SCRAM_CREDENTIAL = 22
    BEGIN_TRANSACTION = 23
    END_TRANSACTION = 24
    ABORT_TRANSACTION = 25
    REGISTER_CONTROLLER = 27


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a broker's listener."""

    name: str
    host: str
    port: Int32
    security_protocol: Int16


@dataclass(frozen=True, slots=True)
class SupportedFeature:
    """The levels of a feature that a broker supports."""

    name: str
    min_supported_version: Int16
    max_supported_version: Int16


@dataclass(frozen=True, slots=True)
class RegisterBrokerRecord:
    """log_dirs: the ids of the log directories that are online (KIP-858); none where replicas have none."""

    type: ClassVar = RecordType.REGISTER_BROKER
    broker_id: Int32
    incarnation_id: UUID
    broker_epoch: Int64
    endpoints: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class UnregisterBrokerRecord:
    type: ClassVar = RecordType.UNREGISTER_BROKER
    broker_id: Int32
    broker_epoch: Int64


@dataclass(frozen=True, slots=True)
class TopicRecord:
    type: ClassVar = RecordType.TOPIC
    name: str
    topic_id: UUID


@dataclass(frozen=True, slots=True)
class RemoveTopicRecord:
    type: ClassVar = RecordType.REMOVE_TOPIC
    topic_id: UUID


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """A partition as it is created. `replicas` are in preferred order.

    leader_recovery_state: 1 from an unclean election until the leader has recovered (KIP-704). directories: of each
    replica, its log directory (KIP-858); none where replicas have none.
    """

    type: ClassVar = RecordType.PARTITION
    partition_id: Int32
    topic_id: UUID
    replicas: tuple[Int32, ...]
    isr: tuple[Int32, ...]
    removing_replicas: tuple[Int32, ...] = ()
    adding_replicas: tuple[Int32, ...] = ()
    leader: Int32 = NO_LEADER
    leader_epoch: Int32 = 0
    partition_epoch: Int32 = 0
    leader_recovery_state: Int8 = RECOVERED
    directories: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionChangeRecord:
    """The changed fields of a partition; None, LEADER_UNCHANGED, or RECOVERY_UNCHANGED, stands for an unchanged one.

    Its replay raises the partition epoch; the leader epoch too, where it names a leader or removes a replica.
    """

    type: ClassVar = RecordType.PARTITION_CHANGE
    partition_id: Int32
    topic_id: UUID
    isr: tuple[Int32, ...] | None = None
    leader: Int32 = LEADER_UNCHANGED
    replicas: tuple[Int32, ...] | None = None
    removing_replicas: tuple[Int32, ...] | None = None
    adding_replicas: tuple[Int32, ...] | None = None
    leader_recovery_state: Int8 = RECOVERY_UNCHANGED
    directories: tuple[UUID, ...] | None = None

    @property
    def names_anything(self) -> bool:
        """It changes more than the partition epoch."""
        lists = self.isr, self.replicas, self.removing_replicas, self.adding_replicas, self.directories
        states = self.leader, self.leader_recovery_state
        return states != (LEADER_UNCHANGED, RECOVERY_UNCHANGED) or any(one is not None for one in lists)


@dataclass(frozen=True, slots=True)
class FenceBrokerRecord:
    type: ClassVar = RecordType.FENCE_BROKER
    broker_id: Int32
    broker_epoch: Int64


@dataclass(frozen=True, slots=True)
class UnfenceBrokerRecord:
    type: ClassVar = RecordType.UNFENCE_BROKER
    broker_id: Int32
    broker_epoch: Int64


@dataclass(frozen=True, slots=True)
class BrokerRegistrationChangeRecord:
    """Kafka's, for what KIP-631 has no record for: a broker begins its controlled shutdown."""

    type: ClassVar = RecordType.BROKER_REGISTRATION_CHANGE
    broker_id: Int32
    broker_epoch: Int64
    in_controlled_shutdown: bool


@dataclass(frozen=True, slots=True)
class LogDirsChangeRecord:
    """The same record of Kafka's, where log directories have failed. log_dirs: those that are still online."""

    type: ClassVar = RecordType.BROKER_REGISTRATION_CHANGE
    broker_id: Int32
    broker_epoch: Int64
    log_dirs: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class ConfigRecord:
    """resource_type: TOPIC_RESOURCE or BROKER_RESOURCE. A value of None deletes the config."""

    type: ClassVar = RecordType.CONFIG
    resource_type: Int8
    resource_name: str
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class FeatureLevelRecord:
    """The finalized levels of a feature. A max_feature_level of 0 removes it."""

    type: ClassVar = RecordType.FEATURE_LEVEL
    name: str
    min_feature_level: Int16
    max_feature_level: Int16


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord:
    """Kafka's (KIP-730): all producer ids below next_producer_id are given away. The broker got those given last."""

    type: ClassVar = RecordType.PRODUCER_IDS
    broker_id: Int32
    broker_epoch: Int64
    next_producer_id: Int64


@dataclass(frozen=True, slots=True)
class AccessControlEntryRecord:
    """An ACL; its numbers are those of the protocol."""

    type: ClassVar = RecordType.ACCESS_CONTROL_ENTRY
    id: UUID
    resource_type: Int8
    resource_name: str
    pattern_type: Int8
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


@dataclass(frozen=True, slots=True)
class RemoveAccessControlEntryRecord:
    type: ClassVar = RecordType.REMOVE_ACCESS_CONTROL_ENTRY
    id: UUID


@dataclass(frozen=True, slots=True)
class UserScramCredentialRecord:
    """What checks a user's password (RFC 5802). mechanism: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    type: ClassVar = RecordType.USER_SCRAM_CREDENTIAL
    name: str
    mechanism: Int8
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: Int32


@dataclass(frozen=True, slots=True)
class RemoveUserScramCredentialRecord:
    type: ClassVar = RecordType.REMOVE_USER_SCRAM_CREDENTIAL
    name: str
    mechanism: Int8


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """A part of what a quota is for. entity_type: user, client-id or ip. entity_name: None is whoever has no other."""

    entity_type: str
    entity_name: str | None = None


@dataclass(frozen=True, slots=True)
class ClientQuotaRecord:
    """A quota of clients (KIP-546). remove: there is none any more, and its value does not count."""

    type: ClassVar = RecordType.CLIENT_QUOTA
    entity: tuple[QuotaEntity, ...]
    key: str
    value: float
    remove: bool = False


@dataclass(frozen=True, slots=True)
class RegisterControllerRecord:
    """Kafka's (KIP-919): a controller as it last started, where it listens and what it supports."""

    type: ClassVar = RecordType.REGISTER_CONTROLLER
    controller_id: Int32
    incarnation_id: UUID
    end_points: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    zk_migration_ready: bool = False


@dataclass(frozen=True, slots=True)
class BeginTransactionRecord:
    """KIP-868: what follows counts once it ends, all of it, or never, if it is aborted."""

    type: ClassVar = RecordType.BEGIN_TRANSACTION
    name: str | None = None


@dataclass(frozen=True, slots=True)
class EndTransactionRecord:
    type: ClassVar = RecordType.END_TRANSACTION


@dataclass(frozen=True, slots=True)
class AbortTransactionRecord:
    type: ClassVar = RecordType.ABORT_TRANSACTION
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record of Kafka's that decides nothing here, and is kept for those who know it: a delegation token.

    key: what it is about, of which the last one counts. value: the record as it is in the log. removes: nothing of the
    key is left after it.
    """

    key: bytes
    value: bytes
    removes: bool = False


@dataclass(frozen=True, slots=True)
class NoOpRecord:
    """KIP-835: the log grows, and nothing else."""

    type: ClassVar = RecordType.NO_OP


DecidingRecord = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | RemoveTopicRecord
    | PartitionRecord
    | PartitionChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | BrokerRegistrationChangeRecord
    | LogDirsChangeRecord
    | ConfigRecord
    | FeatureLevelRecord
    | ProducerIdsRecord
    | NoOpRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | UserScramCredentialRecord
    | RemoveUserScramCredentialRecord
    | ClientQuotaRecord
    | RegisterControllerRecord
    | BeginTransactionRecord
    | EndTransactionRecord
    | AbortTransactionRecord
)
"""Those that a decision may go by, and that one writes."""
BootstrapRecord = FeatureLevelRecord | UserScramCredentialRecord
"""Those that a cluster may begin with."""
Record = DecidingRecord | KeptRecord


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of one decision: they survive a failover all together or not at all.

    base_offset: of the first record. epoch: of the controller that wrote them. control_records: of a control batch,
    in which the quorum writes about itself: they have offsets, and nothing of them is replayed.
    """

    base_offset: Int64
    epoch: Int32
    records: tuple[Record, ...]
    control_records: Int32 = 0

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(self.records) + self.control_records - 1
