"""The records that the cores replay as those of the log, and back: the codec of a node.

Each is written in the lowest version that has all of it, from metadata.version 7 (3.3-IV3) on, the lowest that Kafka's
current tools read; Kafka goes by the level alone. Records that decide nothing in the cores are kept as they are. Of
what Kafka's have beyond that, cordoned directories are left out; anything else that would be lost is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

from impl.kraft.metadata.encoding import MetadataRecord, decode, encode
from impl.kraft.metadata.partition_records import partition_bytes, partition_record
from impl.kraft.metadata.tables import BY_NAME, BY_NUMBER
from impl.kraft.records import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DecidingRecord,
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
    RecordType,
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

_SAME = (
    RegisterBrokerRecord, UnregisterBrokerRecord, TopicRecord, RemoveTopicRecord, PartitionRecord,
    PartitionChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord, LogDirsChangeRecord, ConfigRecord,
    ProducerIdsRecord, NoOpRecord, AccessControlEntryRecord, RemoveAccessControlEntryRecord, UserScramCredentialRecord,
    RemoveUserScramCredentialRecord, ClientQuotaRecord, RegisterControllerRecord, BeginTransactionRecord,
    EndTransactionRecord, AbortTransactionRecord,
)  # fmt: skip
"""Those whose fields are Kafka's, one for one."""

_BROKER_KEYS = {"broker_id": "id", "broker_epoch": "epoch"}
_RENAMED: Mapping[type, Mapping[str, str]] = {
    FenceBrokerRecord: _BROKER_KEYS,
    UnfenceBrokerRecord: _BROKER_KEYS,
    RegisterBrokerRecord: {"endpoints": "endPoints"},
}
_DIRECTORIES = frozenset(("logDirs", "directories"))
"""Of brokers and replicas, which lower versions of their records have not."""
_STRUCTS: Mapping[str, Any] = {"endPoints": Endpoint, "features": SupportedFeature, "entity": QuotaEntity}
_VERSIONS = {RecordType.REGISTER_BROKER: 1, RecordType.BROKER_REGISTRATION_CHANGE: 1}
"""Where it is not 0: with `inControlledShutdown`."""
_VERSIONS_WITH_DIRECTORIES = {
    RecordType.REGISTER_BROKER: 3, RecordType.BROKER_REGISTRATION_CHANGE: 2, RecordType.PARTITION: 1,
    RecordType.PARTITION_CHANGE: 1,
}  # fmt: skip

_KEPT: Mapping[str, tuple[str, ...]] = {
    "DELEGATION_TOKEN_RECORD": ("tokenId",),
    "ZK_MIGRATION_STATE_RECORD": (),
}
"""Those that decide nothing in the cores, each with the fields that say what it is about."""
_REMOVING: Mapping[str, str] = {"REMOVE_DELEGATION_TOKEN_RECORD": "DELEGATION_TOKEN_RECORD"}
"""What removes one of them."""
_LEFT_OUT = frozenset(("cordonedLogDirs",))
_YES, _NO = 1, -1
"""How BrokerRegistrationChangeRecord writes what became of a flag."""


class MetadataCodec:
    """A RecordCodec."""

    def encode(self, record: Record) -> bytes:
        """Raises ValueError where Kafka's record has no room for a value."""
        if (written := partition_bytes(record)) is not None:
            return written
        return record.value if isinstance(record, KeptRecord) else encode(to_metadata(record))

    def decode(self, value: bytes) -> Record:
        """Raises ValueError for what is damaged, and for what the cores have not."""
        if (found := partition_record(value)) is not None:
            return found
        record = decode(value)
        if record.type in _KEPT or record.type in _REMOVING:
            return kept(record, value)
        return to_core(record)


def kept(record: MetadataRecord, value: bytes) -> KeptRecord:
    """A record as it is, by what it is about."""
    of = _REMOVING.get(record.type, record.type)
    named = [record.fields[name] for name in _KEPT[of]]
    key = bytes((BY_NAME[of].number,)) + repr(named).encode()
    return KeptRecord(key, value, record.type in _REMOVING)


def to_metadata(record: DecidingRecord) -> MetadataRecord:
    """Raises ValueError."""
    type_ = record.type
    if isinstance(record, FeatureLevelRecord):
        if record.min_feature_level != record.max_feature_level:
            raise ValueError(f"{record}: Kafka's record has one level, the highest")
        values: dict[str, Any] = {"name": record.name, "featureLevel": record.max_feature_level}
    elif isinstance(record, BrokerRegistrationChangeRecord):
        flag = _YES if record.in_controlled_shutdown else _NO
        values = {"brokerId": record.broker_id, "brokerEpoch": record.broker_epoch, "inControlledShutdown": flag}
    else:
        values = {name: getattr(record, own) for own, name in _NAMES[type(record)].items()}
        for name in _STRUCTS.keys() & values.keys():
            values[name] = tuple(map(_to_struct, values[name]))
    if isinstance(record, LogDirsChangeRecord) and not record.log_dirs:
        raise ValueError(f"{record}: Kafka's record says nothing where no directory is left")
    if _has_directories(record):
        if type_ is RecordType.REGISTER_BROKER:
            values["isMigratingZkBroker"] = False
        return MetadataRecord(BY_NUMBER[type_].name, _VERSIONS_WITH_DIRECTORIES[type_], values)
    own = {name: value for name, value in values.items() if name not in _DIRECTORIES}
    return MetadataRecord(BY_NUMBER[type_].name, _VERSIONS.get(type_, 0), own)


def _has_directories(record: DecidingRecord) -> bool:
    match record:
        case PartitionChangeRecord():
            return record.directories is not None
        case PartitionRecord():
            return bool(record.directories)
        case RegisterBrokerRecord():
            return bool(record.log_dirs)
    return isinstance(record, LogDirsChangeRecord)


def to_core(record: MetadataRecord) -> DecidingRecord:
    """Raises ValueError where the cores have no such record, or not all of its fields."""
    values = record.fields
    if record.type == "FEATURE_LEVEL_RECORD":
        level = values["featureLevel"]
        return FeatureLevelRecord(values["name"], level, level)
    if record.type == "BROKER_REGISTRATION_CHANGE_RECORD":
        return _registration_change(record)
    if record.type == "CLEAR_ELR_RECORD":  # of what no partition has here
        return NoOpRecord()
    kind = _KINDS.get(record.type)
    if kind is None:
        raise ValueError(f"{record.type}: the cores have no such record")
    own_names = _OWN_NAMES[kind]
    if not own_names.keys() >= values.keys():
        _refuse_loss(record, own_names)
    found = {own_names[name]: value for name, value in values.items() if name in own_names}
    for name in _STRUCTS.keys() & values.keys():
        found[own_names[name]] = _to_own(name, values[name])
    made: DecidingRecord = kind(**found)
    return made


def _registration_change(record: MetadataRecord) -> DecidingRecord:
    """Kafka writes changes of fencing as this record, too, where KIP-631 has one of their own."""
    _refuse_loss(record, {"brokerId", "brokerEpoch", "fenced", "inControlledShutdown", "logDirs"})
    broker = record.fields["brokerId"], record.fields["brokerEpoch"]
    fenced, shuts_down, log_dirs = (record.fields.get(name) for name in ("fenced", "inControlledShutdown", "logDirs"))
    match fenced, shuts_down, log_dirs:
        case (1, None, None):
            return FenceBrokerRecord(*broker)
        case (-1, None, None):
            return UnfenceBrokerRecord(*broker)
        case (None, 1 | -1, None):
            return BrokerRegistrationChangeRecord(*broker, in_controlled_shutdown=shuts_down == _YES)
        case (None, None, [*_]):
            return LogDirsChangeRecord(*broker, log_dirs)
    raise ValueError(
        f"{record.type} with fenced {fenced}, inControlledShutdown {shuts_down}, logDirs {log_dirs}: "
        "the cores change one"
    )


def _refuse_loss(record: MetadataRecord, known: Collection[str]) -> None:
    """A tagged field that has its default is absent, so that what is there says something."""
    lost = {name for name, value in record.fields.items() if name not in known and value is not False} - _LEFT_OUT
    if lost:
        raise ValueError(f"{record.type} with {', '.join(sorted(lost))}: the cores have no such field")


def _to_struct(value: Any) -> Mapping[str, Any]:
    return {name: getattr(value, own) for own, name in _NAMES[type(value)].items()}


def _to_own(name: str, structs: Iterable[Mapping[str, Any]]) -> Any:
    """An array of structs as a tuple of their dataclass."""
    kind = _STRUCTS[name]
    names = _NAMES[kind]
    return tuple(kind(**{own: struct[of] for own, of in names.items()}) for struct in structs)


def _names(kind: Any) -> dict[str, str]:
    """A class's fields, and what Kafka calls them."""
    renamed = _RENAMED.get(kind, {})
    return {one.name: renamed.get(one.name) or _camel_case(one.name) for one in fields(kind)}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


_NAMES: Mapping[type, Mapping[str, str]] = {kind: _names(kind) for kind in (*_SAME, *_STRUCTS.values())}
_OWN_NAMES = {kind: {name: own for own, name in names.items()} for kind, names in _NAMES.items()}
_KINDS: Mapping[str, Any] = {BY_NUMBER[kind.type].name: kind for kind in _SAME}
