"""The records of the cores in the log: each is what it was, and nothing that Kafka wrote is lost in silence."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_type_hints
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.kraft.fields import InvalidFieldError, check
from impl.kraft.image import Image
from impl.kraft.metadata.core_records import MetadataCodec, to_core, to_metadata
from impl.kraft.metadata.encoding import MetadataRecord, encode
from impl.kraft.records import (
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    DecidingRecord,
    Endpoint,
    FeatureLevelRecord,
    FenceBrokerRecord,
    LogDirsChangeRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    SupportedFeature,
    UnfenceBrokerRecord,
)
from impl.kraft.snapshot import Snapshot, load_snapshot, write_snapshot
from tests.impl.arbitrary import of

CODEC = MetadataCodec()
KINDS = get_args(DecidingRecord)


def any_record(kind: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{one.name: of(hints[one.name]) for one in fields(kind)})


@given(st.sampled_from(KINDS).flatmap(any_record))
def test_every_record_of_the_cores_comes_back_or_is_refused(record: Any) -> None:
    """Refused is what the fields refuse, and what Kafka's record has no room for."""
    try:
        check("record", record, *KINDS)
        fits = has_room(record)
    except InvalidFieldError:
        fits = False
    if fits:
        again = CODEC.decode(CODEC.encode(record))
        is_quota = isinstance(record, ClientQuotaRecord)  # whose value may be no number, which is like nothing
        assert again == record or (is_quota and repr(again) == repr(record))


def has_room(record: Any) -> bool:
    if isinstance(record, FeatureLevelRecord):
        return record.min_feature_level == record.max_feature_level
    if isinstance(record, RegisterBrokerRecord):
        return all(0 <= endpoint.port < 1 << 16 for endpoint in record.endpoints)
    if isinstance(record, RegisterControllerRecord):
        return all(0 <= endpoint.port < 1 << 16 for endpoint in record.end_points)
    return not isinstance(record, LogDirsChangeRecord) or bool(record.log_dirs)


@pytest.mark.parametrize(
    "record",
    [
        FeatureLevelRecord("metadata.version", 1, 7),
        RegisterBrokerRecord(1, UUID(int=1), 5, (Endpoint("PLAINTEXT", "host", 1 << 16, 0),)),
    ],
)
def test_what_kafkas_record_has_no_room_for_is_refused(record: Any) -> None:
    with pytest.raises(ValueError):
        CODEC.encode(record)


def partition(**more: Any) -> MetadataRecord:
    record = to_metadata(PartitionRecord(0, UUID(int=1), (1, 2), (1,), leader=1))
    return MetadataRecord(record.type, 2, {**record.fields, "directories": (UUID(int=7), UUID(int=8)), **more})


def change(**flags: int) -> MetadataRecord:
    return MetadataRecord("BROKER_REGISTRATION_CHANGE_RECORD", 1, {"brokerId": 1, "brokerEpoch": 2, **flags})


def quota_of(entity_type: str, name: str | None) -> dict[str, Any]:
    return {"entityType": entity_type, "entityName": name}


def test_directories_take_the_version_that_has_them() -> None:
    placed = PartitionRecord(0, UUID(int=1), (1, 2), (1,), leader=1, directories=(UUID(int=7), UUID(int=8)))
    assert to_core(partition()) == placed
    assert to_metadata(placed).version == 1
    moved = PartitionChangeRecord(0, UUID(int=1), directories=(UUID(int=7),))
    broker = RegisterBrokerRecord(1, UUID(int=2), 3, log_dirs=(UUID(int=7),))
    lost = LogDirsChangeRecord(1, 3, (UUID(int=7),))
    assert [to_metadata(record).version for record in (moved, broker, lost)] == [1, 3, 2]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (partition(eligibleLeaderReplicas=(2,)), "eligibleLeaderReplicas"),
        (MetadataRecord("REGISTER_BROKER_RECORD", 3, {"isMigratingZkBroker": True}), "isMigratingZkBroker"),
        (change(), "fenced None, inControlledShutdown None"),
        (change(fenced=1, inControlledShutdown=1), "fenced 1, inControlledShutdown 1"),
    ],
)  # fmt: skip
def test_what_would_be_lost_is_refused(record: MetadataRecord, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        to_core(record)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"fenced": 1}, FenceBrokerRecord(1, 2)),
        ({"fenced": -1}, UnfenceBrokerRecord(1, 2)),
        ({"inControlledShutdown": 1}, BrokerRegistrationChangeRecord(1, 2, True)),
        ({"inControlledShutdown": -1}, BrokerRegistrationChangeRecord(1, 2, False)),
    ],
)
def test_a_registration_change_of_kafka_is_the_record_of_what_changed(flags: dict[str, int], expected: Any) -> None:
    assert to_core(change(**flags)) == expected


KEPT: tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...] = (
    (
        "ACCESS_CONTROL_ENTRY_RECORD",
        {"id": UUID(int=1), "resourceType": 2, "resourceName": "orders", "patternType": 3, "principal": "User:a",
         "host": "*", "operation": 3, "permissionType": 3},
        {"id": UUID(int=1)}, "REMOVE_ACCESS_CONTROL_ENTRY_RECORD",
    ),
    (
        "USER_SCRAM_CREDENTIAL_RECORD",
        {"name": "a", "mechanism": 1, "salt": b"s", "storedKey": b"k", "serverKey": b"l", "iterations": 4096},
        {"name": "a", "mechanism": 1}, "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
    ),
    (
        "DELEGATION_TOKEN_RECORD",
        {"owner": "User:a", "requester": "User:b", "renewers": (), "issueTimestamp": 1, "maxTimestamp": 3,
         "expirationTimestamp": 2, "tokenId": "t"},
        {"tokenId": "t"}, "REMOVE_DELEGATION_TOKEN_RECORD",
    ),
    (
        "CLIENT_QUOTA_RECORD",
        {"entity": (quota_of("client-id", None), quota_of("user", "a")), "key": "rate", "value": 1.5, "remove": False},
        {"entity": (quota_of("user", "a"), quota_of("client-id", None)), "key": "rate", "value": 0.0, "remove": True},
        "CLIENT_QUOTA_RECORD",
    ),
)  # fmt: skip
"""Of a kind: what sets one, and what removes it."""


def replayed(image: Image, kind: str, fields_: dict[str, Any]) -> bytes:
    value = encode(MetadataRecord(kind, 0, fields_))
    record = CODEC.decode(value)
    assert CODEC.encode(record) == value
    image.replay_record(record)
    return value


@pytest.mark.parametrize(("kind", "set_fields", "removed_fields", "removing"), KEPT, ids=[one[0] for one in KEPT])
def test_what_decides_nothing_is_kept_until_it_is_removed(
    kind: str, set_fields: dict[str, Any], removed_fields: dict[str, Any], removing: str
) -> None:
    image = Image()
    value = replayed(image, kind, set_fields)
    assert replayed(image, kind, set_fields) == value
    (record,) = write_snapshot(image).records
    assert CODEC.encode(record) == value
    replayed(image, removing, removed_fields)
    assert write_snapshot(image).records == ()
    replayed(image, removing, removed_fields)


def test_what_is_kept_of_one_is_not_taken_for_another() -> None:
    """Nobody of a name is not everybody who has none; a credential has its mechanism, a quota its key."""
    image = Image()
    quotas = ((("user", None), "a"), (("user", ""), "a"), (("user", ""), "b"), (("ip", ""), "a"))
    for entity, key in quotas:
        set_fields = {"entity": (quota_of(*entity),), "key": key, "value": 1.0, "remove": False}
        replayed(image, "CLIENT_QUOTA_RECORD", set_fields)
    for mechanism in (1, 2):
        credential = {**KEPT[1][1], "mechanism": mechanism}
        replayed(image, "USER_SCRAM_CREDENTIAL_RECORD", credential)
    assert len(write_snapshot(image).records) == len(quotas) + 2


def test_nobody_has_eligible_leader_replicas_to_be_cleared() -> None:
    assert to_core(MetadataRecord("CLEAR_ELR_RECORD", 0, {"topicName": "orders"})) == NoOpRecord()


def test_a_snapshot_goes_to_bytes_and_back() -> None:
    image = Image()
    image.replay_record(FeatureLevelRecord("metadata.version", 7, 7))
    image.replay_record(
        RegisterBrokerRecord(
            1, UUID(int=9), 0, (Endpoint("PLAINTEXT", "host", 9092, 0),), (SupportedFeature("metadata.version", 1, 7),)
        )
    )
    written = write_snapshot(image)
    read = Snapshot(written.offset, written.epoch, tuple(CODEC.decode(CODEC.encode(one)) for one in written.records))
    assert write_snapshot(load_snapshot(read)) == written and len(written.records) == 2
