"""The records that Kafka 4.3 writes or reads in `__cluster_metadata`, each as its schema file has it.

Numbers 6, 13 and 16 are no longer given to any record; the draft's AccessControlRecord (6), FailedReplicasRecord (13)
and QuotaRecord (14) became AccessControlEntryRecord (18), none, and ClientQuotaRecord (14).
"""

from __future__ import annotations

from impl.kraft.metadata.schema import ArrayOf, Field, Kind, RecordSchema

_BOOL, _INT8, _INT16, _UINT16 = Kind.BOOL, Kind.INT8, Kind.INT16, Kind.UINT16
_INT32, _INT64, _FLOAT64 = Kind.INT32, Kind.INT64, Kind.FLOAT64
_UUID, _STRING, _BYTES = Kind.UUID, Kind.STRING, Kind.BYTES
_INT32S, _UUIDS, _STRINGS = ArrayOf(_INT32), ArrayOf(_UUID), ArrayOf(_STRING)

_ENDPOINTS = ArrayOf(
    (Field("name", _STRING), Field("host", _STRING), Field("port", _UINT16), Field("securityProtocol", _INT16))
)
_SUPPORTED_FEATURES = ArrayOf(
    (Field("name", _STRING), Field("minSupportedVersion", _INT16), Field("maxSupportedVersion", _INT16))
)
_QUOTA_ENTITY = ArrayOf((Field("entityType", _STRING), Field("entityName", _STRING, nullable=True)))


def _changed_list(name: str, kind: ArrayOf, tag: int, since: int = 0) -> Field:
    """Null where it did not change."""
    return Field(name, kind, since, tag, nullable=True)


SCHEMAS = (
    RecordSchema(0, "REGISTER_BROKER_RECORD", 4, (
        Field("brokerId", _INT32),
        Field("isMigratingZkBroker", _BOOL, since=2),
        Field("incarnationId", _UUID),
        Field("brokerEpoch", _INT64),
        Field("endPoints", _ENDPOINTS),
        Field("features", _SUPPORTED_FEATURES),
        Field("rack", _STRING, nullable=True),
        Field("fenced", _BOOL),
        Field("inControlledShutdown", _BOOL, since=1),
        Field("logDirs", _UUIDS, since=3, tag=0, default=()),
        Field("cordonedLogDirs", _UUIDS, since=4, tag=1, nullable=True),
    )),
    RecordSchema(1, "UNREGISTER_BROKER_RECORD", 0, (Field("brokerId", _INT32), Field("brokerEpoch", _INT64))),
    RecordSchema(2, "TOPIC_RECORD", 0, (Field("name", _STRING), Field("topicId", _UUID))),
    RecordSchema(3, "PARTITION_RECORD", 2, (
        Field("partitionId", _INT32),
        Field("topicId", _UUID),
        Field("replicas", _INT32S),
        Field("isr", _INT32S),
        Field("removingReplicas", _INT32S),
        Field("addingReplicas", _INT32S),
        Field("leader", _INT32),
        Field("leaderRecoveryState", _INT8, tag=0, default=0),
        Field("leaderEpoch", _INT32),
        Field("partitionEpoch", _INT32),
        Field("directories", _UUIDS, since=1),
        Field("eligibleLeaderReplicas", _INT32S, since=2, tag=1, nullable=True),
        Field("lastKnownElr", _INT32S, since=2, tag=2, nullable=True),
    )),
    RecordSchema(4, "CONFIG_RECORD", 0, (
        Field("resourceType", _INT8),
        Field("resourceName", _STRING),
        Field("name", _STRING),
        Field("value", _STRING, nullable=True),
    )),
    RecordSchema(5, "PARTITION_CHANGE_RECORD", 2, (
        Field("partitionId", _INT32),
        Field("topicId", _UUID),
        _changed_list("isr", _INT32S, 0),
        Field("leader", _INT32, tag=1, default=-2),
        _changed_list("replicas", _INT32S, 2),
        _changed_list("removingReplicas", _INT32S, 3),
        _changed_list("addingReplicas", _INT32S, 4),
        Field("leaderRecoveryState", _INT8, tag=5, default=-1),
        _changed_list("directories", _UUIDS, 8, since=1),
        _changed_list("eligibleLeaderReplicas", _INT32S, 6, since=2),
        _changed_list("lastKnownElr", _INT32S, 7, since=2),
    )),
    RecordSchema(7, "FENCE_BROKER_RECORD", 0, (Field("id", _INT32), Field("epoch", _INT64))),
    RecordSchema(8, "UNFENCE_BROKER_RECORD", 0, (Field("id", _INT32), Field("epoch", _INT64))),
    RecordSchema(9, "REMOVE_TOPIC_RECORD", 0, (Field("topicId", _UUID),)),
    RecordSchema(10, "DELEGATION_TOKEN_RECORD", 0, (
        Field("owner", _STRING),
        Field("requester", _STRING),
        Field("renewers", _STRINGS),
        Field("issueTimestamp", _INT64),
        Field("maxTimestamp", _INT64),
        Field("expirationTimestamp", _INT64),
        Field("tokenId", _STRING),
    )),
    RecordSchema(11, "USER_SCRAM_CREDENTIAL_RECORD", 0, (
        Field("name", _STRING),
        Field("mechanism", _INT8),
        Field("salt", _BYTES),
        Field("storedKey", _BYTES),
        Field("serverKey", _BYTES),
        Field("iterations", _INT32),
    )),
    RecordSchema(12, "FEATURE_LEVEL_RECORD", 0, (Field("name", _STRING), Field("featureLevel", _INT16))),
    RecordSchema(14, "CLIENT_QUOTA_RECORD", 0, (
        Field("entity", _QUOTA_ENTITY),
        Field("key", _STRING),
        Field("value", _FLOAT64),
        Field("remove", _BOOL),
    )),
    RecordSchema(15, "PRODUCER_IDS_RECORD", 0, (
        Field("brokerId", _INT32),
        Field("brokerEpoch", _INT64),
        Field("nextProducerId", _INT64),
    )),
    RecordSchema(17, "BROKER_REGISTRATION_CHANGE_RECORD", 3, (
        Field("brokerId", _INT32),
        Field("brokerEpoch", _INT64),
        Field("fenced", _INT8, tag=0, default=0),
        Field("inControlledShutdown", _INT8, since=1, tag=1, default=0),
        Field("logDirs", _UUIDS, since=2, tag=2, default=()),
        Field("cordonedLogDirs", _UUIDS, since=3, tag=3, nullable=True),
    )),
    RecordSchema(18, "ACCESS_CONTROL_ENTRY_RECORD", 0, (
        Field("id", _UUID),
        Field("resourceType", _INT8),
        Field("resourceName", _STRING),
        Field("patternType", _INT8),
        Field("principal", _STRING),
        Field("host", _STRING),
        Field("operation", _INT8),
        Field("permissionType", _INT8),
    )),
    RecordSchema(19, "REMOVE_ACCESS_CONTROL_ENTRY_RECORD", 0, (Field("id", _UUID),)),
    RecordSchema(20, "NO_OP_RECORD", 0, ()),
    RecordSchema(21, "ZK_MIGRATION_STATE_RECORD", 0, (Field("zkMigrationState", _INT8),)),
    RecordSchema(22, "REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, (Field("name", _STRING), Field("mechanism", _INT8))),
    RecordSchema(23, "BEGIN_TRANSACTION_RECORD", 0, (Field("name", _STRING, tag=0, nullable=True),)),
    RecordSchema(24, "END_TRANSACTION_RECORD", 0, ()),
    RecordSchema(25, "ABORT_TRANSACTION_RECORD", 0, (Field("reason", _STRING, tag=0, nullable=True),)),
    RecordSchema(26, "REMOVE_DELEGATION_TOKEN_RECORD", 0, (Field("tokenId", _STRING),)),
    RecordSchema(27, "REGISTER_CONTROLLER_RECORD", 0, (
        Field("controllerId", _INT32),
        Field("incarnationId", _UUID),
        Field("zkMigrationReady", _BOOL),
        Field("endPoints", _ENDPOINTS),
        Field("features", _SUPPORTED_FEATURES),
    )),
    RecordSchema(28, "CLEAR_ELR_RECORD", 0, (Field("topicName", _STRING),)),
)  # fmt: skip
BY_NUMBER = {schema.number: schema for schema in SCHEMAS}
BY_NAME = {schema.name: schema for schema in SCHEMAS}
