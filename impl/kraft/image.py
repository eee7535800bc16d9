"""The metadata image: what a replay of the log gives. Controllers and brokers replay the same way.

Values in it are immutable, and copies share what neither changes. Indexes spare a scan of all partitions: of which ones
a broker is in the ISR, and which ones are being reassigned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never
from uuid import UUID

from impl.kraft.copy_on_write import CopyOnWriteDict
from impl.kraft.records import (
    BROKER_RESOURCE,
    LEADER_UNCHANGED,
    NO_LEADER,
    RECOVERED,
    RECOVERY_UNCHANGED,
    TOPIC_RESOURCE,
    AbortTransactionRecord,
    AccessControlEntryRecord,
    Batch,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    Endpoint,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    KeptRecord,
    LogDirsChangeRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntity,
    Record,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    SupportedFeature,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)
from impl.kraft.replica_directories import MIGRATING, UNASSIGNED, is_online

METADATA_VERSION = "metadata.version"
MEMBER_EPOCHS_SINCE, CONTROLLERS_SINCE, DIRECTORIES_SINCE = 10, 15, 17
"""The levels of metadata.version from which on there are broker epochs of members in AlterPartition (3.5-IV1),
registrations of controllers (3.7-IV0), directories of replicas (3.7-IV2)."""
MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"
NO_CONFIGS: Mapping[str, str] = {}
ALL_BROKERS = ""
"""The broker resource whose configs are every broker's default."""

PartitionKey = tuple[UUID, int]
"""A topic id and a partition id."""
Quota = tuple[tuple[tuple[str, str, bool], ...], str]
"""What a quota is for, whatever the order of its parts, and its key: each part has its type, and its name or none."""
RegistrationChange = (
    FenceBrokerRecord
    | UnfenceBrokerRecord
    | BrokerRegistrationChangeRecord
    | LogDirsChangeRecord
    | UnregisterBrokerRecord
)


def quota_of(entity: Iterable[QuotaEntity], key: str) -> Quota:
    return tuple(sorted((one.entity_type, one.entity_name or "", one.entity_name is not None) for one in entity)), key


def entity_of(quota: Quota) -> tuple[QuotaEntity, ...]:
    return tuple(QuotaEntity(kind, name if is_named else None) for kind, name, is_named in quota[0])


class ReplayError(ValueError):
    """A record of the log is about what the image does not have. The log is damaged, or was replayed with a gap."""


def no_gap(batch: Batch, offset: int) -> ReplayError:
    return ReplayError(f"a batch at offset {batch.base_offset} cannot be replayed after offset {offset}")


@dataclass(frozen=True, slots=True)
class Registration:
    """The entry of a broker id in the log. broker_epoch: the offset of its registration record.

    log_dirs: those that are online, as far as the broker has said; none where it has not.
    """

    broker_id: int
    incarnation_id: UUID
    broker_epoch: int
    endpoints: tuple[Endpoint, ...]
    features: tuple[SupportedFeature, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[UUID, ...] = ()

    @property
    def is_active(self) -> bool:
        """It may lead, and may join an ISR."""
        return not self.fenced and not self.in_controlled_shutdown

    def to_record(self) -> RegisterBrokerRecord:
        """The record whose replay makes it."""
        return RegisterBrokerRecord(
            broker_id=self.broker_id,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.broker_epoch,
            endpoints=self.endpoints,
            features=self.features,
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=self.log_dirs,
        )


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition. `replicas` are in preferred order; leader: NO_LEADER where there is none.

    leader_recovery_state, directories: as in PartitionRecord.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int = RECOVERED
    directories: tuple[UUID, ...] = ()

    @property
    def is_reassigning(self) -> bool:
        return bool(self.removing_replicas or self.adding_replicas)

    def with_isr(self, isr: tuple[int, ...]) -> Partition:
        """The partition with another ISR, and all else as it is."""
        return Partition(
            self.replicas, isr, self.removing_replicas, self.adding_replicas, self.leader, self.leader_epoch,
            self.partition_epoch, self.leader_recovery_state, self.directories,
        )  # fmt: skip

    @property
    def known_directories(self) -> tuple[UUID, ...]:
        """Where each replica is; MIGRATING where nobody has said so."""
        return self.directories or (MIGRATING,) * len(self.replicas)

    def directory_of(self, broker_id: int) -> UUID:
        """Where a broker's replica is; MIGRATING of one that has none, too."""
        return self.known_directories[self.replicas.index(broker_id)] if broker_id in self.replicas else MIGRATING

    def changed(self, record: PartitionChangeRecord) -> Partition:
        """The partition after a change of it. A leader that is named leads in a new leader epoch."""
        leads_anew = record.leader != LEADER_UNCHANGED
        return Partition(
            replicas=self.replicas if record.replicas is None else record.replicas,
            isr=self.isr if record.isr is None else record.isr,
            removing_replicas=(
                self.removing_replicas if record.removing_replicas is None else record.removing_replicas
            ),
            adding_replicas=self.adding_replicas if record.adding_replicas is None else record.adding_replicas,
            leader=record.leader if leads_anew else self.leader,
            leader_epoch=self.leader_epoch + 1 if leads_anew else self.leader_epoch,
            partition_epoch=self.partition_epoch + 1,
            leader_recovery_state=(
                self.leader_recovery_state
                if record.leader_recovery_state == RECOVERY_UNCHANGED
                else record.leader_recovery_state
            ),
            directories=self.directories if record.directories is None else record.directories,
        )


class Image:
    """The metadata up to `offset`, the last one replayed; -1 where nothing is.

    next_producer_id: those below it are given away. kept: records that decide nothing, by what they are about.
    acls: by id. credentials: of SCRAM, by user and mechanism. controllers: by id, as they last registered.
    transaction: what was written since one began that has not ended; None: none has begun.
    in_isr: by broker, the partitions in whose ISR it is. reassigning, leaderless: the partitions that are. Of all
    three, the keys count.
    """

    def __init__(self) -> None:
        self.offset = -1
        self.epoch = 0
        self.transaction: list[Record] | None = None
        self.registrations: dict[int, Registration] = {}
        self.controllers: dict[int, RegisterControllerRecord] = {}
        self.features: dict[str, tuple[int, int]] = {}
        self.next_producer_id = 0
        self.kept: CopyOnWriteDict[bytes, bytes] = CopyOnWriteDict()
        self.acls: CopyOnWriteDict[UUID, AccessControlEntryRecord] = CopyOnWriteDict()
        self.credentials: CopyOnWriteDict[tuple[str, int], UserScramCredentialRecord] = CopyOnWriteDict()
        self.topics: CopyOnWriteDict[UUID, str] = CopyOnWriteDict()
        self.topic_ids: CopyOnWriteDict[str, UUID] = CopyOnWriteDict()
        self.quotas: CopyOnWriteDict[Quota, float] = CopyOnWriteDict()
        self.partition_counts: CopyOnWriteDict[UUID, int] = CopyOnWriteDict()
        self.configs: CopyOnWriteDict[tuple[int, str], CopyOnWriteDict[str, str]] = CopyOnWriteDict()
        self.partitions: CopyOnWriteDict[PartitionKey, Partition] = CopyOnWriteDict()
        self.in_isr: dict[int, CopyOnWriteDict[PartitionKey, None]] = {}
        self.reassigning: CopyOnWriteDict[PartitionKey, None] = CopyOnWriteDict()
        self.leaderless: CopyOnWriteDict[PartitionKey, None] = CopyOnWriteDict()

    def copy(self) -> Image:
        """An image that changes on its own. Every copy but the first costs what the number of brokers makes it cost."""
        other = Image.__new__(Image)
        other.offset, other.epoch = self.offset, self.epoch
        other.transaction = None if self.transaction is None else self.transaction.copy()
        other.registrations, other.features = self.registrations.copy(), self.features.copy()
        other.controllers = self.controllers.copy()
        other.next_producer_id, other.kept = self.next_producer_id, self.kept.copy()
        other.acls, other.credentials = self.acls.copy(), self.credentials.copy()
        other.quotas = self.quotas.copy()
        other.topics, other.topic_ids = self.topics.copy(), self.topic_ids.copy()
        other.partition_counts, other.configs = self.partition_counts.copy(), self.configs.copy()
        other.partitions, other.reassigning = self.partitions.copy(), self.reassigning.copy()
        other.leaderless = self.leaderless.copy()
        other.in_isr = {broker_id: keys.copy() for broker_id, keys in self.in_isr.items()}
        return other

    def is_active(self, broker_id: int) -> bool:
        """The broker is registered, unfenced and not shutting down."""
        registration = self.registrations.get(broker_id)
        return registration is not None and registration.is_active

    def may_lead(self, broker_id: int, partition: Partition) -> bool:
        """The broker is active, and the directory of its replica online."""
        return self.is_active(broker_id) and self.is_online(broker_id, partition)

    def is_online(self, broker_id: int, partition: Partition) -> bool:
        """The directory of the replica is, as far as the broker has said; of one that is not registered none is."""
        if not partition.directories:
            return True
        registration = self.registrations.get(broker_id)
        return registration is not None and is_online(partition.directory_of(broker_id), registration.log_dirs)

    @property
    def knows_member_epochs(self) -> bool:
        """Leaders see, and say in AlterPartition, at which broker epoch a member is (KIP-903).

        Below, brokers put -1 for it. Without a metadata.version, the cluster is taken to have this.
        """
        return self._level(MEMBER_EPOCHS_SINCE) >= MEMBER_EPOCHS_SINCE

    @property
    def knows_controllers(self) -> bool:
        """Controllers register (KIP-919). Without a metadata.version, they do not."""
        return self._level(0) >= CONTROLLERS_SINCE

    @property
    def knows_directories(self) -> bool:
        """Replicas have directories (KIP-858). Without a metadata.version, they have not."""
        return self._level(0) >= DIRECTORIES_SINCE

    def _level(self, of_none: int) -> int:
        """The level of metadata.version. of_none: where there is none."""
        return self.features.get(METADATA_VERSION, (0, of_none))[1]

    def default_directory(self, broker_id: int) -> UUID:
        """The directory of a replica that a broker is to get: its only one, else the one that it will say."""
        registration = self.registrations.get(broker_id)
        if registration is None or len(registration.log_dirs) > 1:
            return UNASSIGNED
        return registration.log_dirs[0] if registration.log_dirs else MIGRATING

    def min_insync_replicas(self, topic_id: UUID, default: int) -> int:
        """min.insync.replicas of a topic: its own, else that of all brokers, else the default of whoever asks."""
        return next(
            (int(value) for value in self._said_of(topic_id, MIN_INSYNC_REPLICAS) if value.isdecimal()), default
        )

    def allows_unclean_election(self, topic_id: UUID, default: bool) -> bool:
        """unclean.leader.election.enable of a topic: its own, else that of all brokers, else the default."""
        return next((value.lower() == "true" for value in self._said_of(topic_id, UNCLEAN_ELECTION)), default)

    def _said_of(self, topic_id: UUID, name: str) -> Iterator[str]:
        """What a config of a topic is, as far as it is set: of the topic, then of all brokers."""
        for resource in ((TOPIC_RESOURCE, self.topics.get(topic_id, "")), (BROKER_RESOURCE, ALL_BROKERS)):
            if (value := self.configs_of(*resource).get(name)) is not None:
                yield value

    def configs_of(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        return self.configs.get((resource_type, resource_name), NO_CONFIGS)

    def of_topic(self, topic_id: UUID) -> Iterator[tuple[PartitionKey, Partition]]:
        """The partitions of a topic, by partition id."""
        for partition_id in range(self.partition_counts.get(topic_id, 0)):
            yield (topic_id, partition_id), self.partitions[topic_id, partition_id]

    # Replay.

    def replay(self, batch: Batch) -> None:
        """Take over the records of a batch that can follow (see `continuity`); it begins where the image ends."""
        if batch.base_offset != self.offset + 1:
            raise no_gap(batch, self.offset)
        for record in batch.records:
            self.replay_record(record)
        self.offset = batch.last_offset
        self.epoch = batch.epoch

    def replay_record(self, record: Record) -> None:
        """Take over one record; within a transaction, as it ends."""
        match record:
            case BeginTransactionRecord():
                self.transaction = []
            case AbortTransactionRecord():
                self.transaction = None
            case EndTransactionRecord():
                within, self.transaction = self.transaction or [], None
                for one in within:
                    self.replay_record(one)
            case _ if self.transaction is not None:
                self.transaction.append(record)
            case _:
                self.take_over(record)

    def take_over(self, record: Record) -> None:
        """Change what the record is about."""
        match record:
            case PartitionChangeRecord():
                key = (record.topic_id, record.partition_id)
                before = self.partitions[key]
                self.partitions[key] = after = before.changed(record)
                self.index(key, before, after)
            case PartitionRecord():
                self.create_partition(record)
            case RegisterBrokerRecord():
                self.register(record)
            case FenceBrokerRecord() | UnfenceBrokerRecord():
                registration = self.registrations[record.broker_id]
                fenced = isinstance(record, FenceBrokerRecord)
                self.registrations[record.broker_id] = replace(registration, fenced=fenced)
            case BrokerRegistrationChangeRecord(in_controlled_shutdown=shuts_down):
                registration = self.registrations[record.broker_id]
                self.registrations[record.broker_id] = replace(registration, in_controlled_shutdown=shuts_down)
            case LogDirsChangeRecord():
                registration = self.registrations[record.broker_id]
                self.registrations[record.broker_id] = replace(registration, log_dirs=record.log_dirs)
            case RegisterControllerRecord():
                self.controllers[record.controller_id] = record
            case UnregisterBrokerRecord():
                del self.registrations[record.broker_id]
            case TopicRecord():
                self.topics[record.topic_id] = record.name
                self.topic_ids[record.name] = record.topic_id
                self.partition_counts[record.topic_id] = 0
            case RemoveTopicRecord():
                self.remove_topic(record.topic_id)
            case ConfigRecord():
                self.set_config(record)
            case FeatureLevelRecord():
                self.set_feature(record)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case KeptRecord(removes=True):
                self.kept.pop(record.key, None)
            case KeptRecord():
                self.kept[record.key] = record.value
            case NoOpRecord() | BeginTransactionRecord() | EndTransactionRecord() | AbortTransactionRecord():
                pass
            case AccessControlEntryRecord() | RemoveAccessControlEntryRecord():
                self.set_acl(record)
            case UserScramCredentialRecord():
                self.credentials[record.name, record.mechanism] = record
            case RemoveUserScramCredentialRecord():
                self.credentials.pop((record.name, record.mechanism), None)
            case ClientQuotaRecord(entity, key, remove=True):
                self.quotas.pop(quota_of(entity, key), None)
            case ClientQuotaRecord(entity, key, value):
                self.quotas[quota_of(entity, key)] = value
            case _:
                assert_never(record)

    def set_acl(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        if isinstance(record, AccessControlEntryRecord):
            self.acls[record.id] = record
        else:
            self.acls.pop(record.id, None)

    def register(self, record: RegisterBrokerRecord) -> None:
        self.registrations[record.broker_id] = Registration(
            broker_id=record.broker_id,
            incarnation_id=record.incarnation_id,
            broker_epoch=record.broker_epoch,
            endpoints=record.endpoints,
            features=record.features,
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            log_dirs=record.log_dirs,
        )

    def create_partition(self, record: PartitionRecord) -> None:
        self.partition_counts[record.topic_id] = max(self.partition_counts[record.topic_id], record.partition_id + 1)
        self.put_partition(
            (record.topic_id, record.partition_id),
            Partition(
                replicas=record.replicas,
                isr=record.isr,
                removing_replicas=record.removing_replicas,
                adding_replicas=record.adding_replicas,
                leader=record.leader,
                leader_epoch=record.leader_epoch,
                partition_epoch=record.partition_epoch,
                leader_recovery_state=record.leader_recovery_state,
                directories=record.directories,
            ),
        )

    def put_partition(self, key: PartitionKey, partition: Partition) -> None:
        """Set a partition, and keep the indexes right."""
        before = self.partitions.get(key)
        self.partitions[key] = partition
        self.index(key, before, partition)

    def index(self, key: PartitionKey, before: Partition | None, after: Partition | None) -> None:
        """Keep the indexes right where a partition has changed; None stands for no partition."""
        old = () if before is None else before.isr
        new = () if after is None else after.isr
        if old != new:
            for broker_id in set(old).difference(new):
                del self.in_isr[broker_id][key]
            for broker_id in set(new).difference(old):
                keys = self.in_isr.get(broker_id)
                if keys is None:
                    keys = self.in_isr[broker_id] = CopyOnWriteDict()
                keys[key] = None
        if after is not None and after.is_reassigning:
            self.reassigning[key] = None
        elif before is not None and before.is_reassigning:
            del self.reassigning[key]
        if after is not None and after.leader == NO_LEADER:
            self.leaderless[key] = None
        elif before is not None and before.leader == NO_LEADER:
            del self.leaderless[key]

    def remove_topic(self, topic_id: UUID) -> None:
        for key, partition in list(self.of_topic(topic_id)):
            del self.partitions[key]
            self.index(key, partition, None)
        del self.partition_counts[topic_id]
        name = self.topics.pop(topic_id)
        del self.topic_ids[name]
        self.configs.pop((TOPIC_RESOURCE, name), None)

    def set_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        held = self.configs.get(resource)
        configs: CopyOnWriteDict[str, str] = CopyOnWriteDict() if held is None else held.copy()
        if record.value is not None:
            configs[record.name] = record.value
        else:
            configs.pop(record.name, None)
        if configs:
            self.configs[resource] = configs
        else:
            self.configs.pop(resource, None)

    def set_feature(self, record: FeatureLevelRecord) -> None:
        if record.max_feature_level == 0:
            self.features.pop(record.name, None)
        else:
            self.features[record.name] = (record.min_feature_level, record.max_feature_level)
