"""Metadata records as bytes: round trips, what is refused, and Kafka's own bytes, JSON and schemas."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from impl.apache.release import has_jars, jars
from impl.kraft.metadata.encoding import MetadataRecord, decode, encode
from impl.kraft.metadata.json_form import payload_json, to_json
from impl.kraft.metadata.schema import ArrayOf, Field, Kind
from impl.kraft.metadata.tables import SCHEMAS
from impl.kraft.storage.batches import decode_all
from impl.runtime.wire import uvarint
from tests.impl.kraft.metadata.arbitrary_records import RECORDS, TYPES, records_of
from tests.impl.kraft.released import VERSION, java, released

HERE = Path(__file__).parent
LOG = HERE.parent / "storage" / "from_kafka" / "00000000000000000000.log"
TOPIC = MetadataRecord("TOPIC_RECORD", 0, {"name": "bar", "topicId": UUID(int=1)})


def record(type_: str, version: int = 0, **fields: Any) -> MetadataRecord:
    return MetadataRecord(type_, version, fields)


@given(RECORDS)
def test_what_is_written_is_read(written: MetadataRecord) -> None:
    assert decode(encode(written)) == written


@given(st.binary(max_size=40))
@example(b"\x01\x02\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
@example(encode(TOPIC)[:-1])
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """What is read is written again, so that it reads the same."""
    try:
        found = decode(data)
    except ValueError:
        return
    assert decode(encode(found)) == found


@given(RECORDS, st.data())
def test_no_piece_of_a_record_is_one(written: MetadataRecord, data: st.DataObject) -> None:
    whole = encode(written)
    with pytest.raises(ValueError, match=r"ends within|null where"):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "ends within a field"),
        (b"\x00\x14\x00\x00", "frame version 0"),
        (b"\x01\x06\x00\x00", "unknown type 6"),
        (b"\x01\x14\x01\x00", "NO_OP_RECORD of version 1"),
        (b"\x01\x14\x00\x00\x00", "1 bytes behind the last field"),
        (b"\x01\x02\x00\x00" + bytes(17), "null where none may be"),
        (b"\x01\x11\x00" + bytes(12) + b"\x01\x00\x02\x01\x00", "1 bytes behind the tagged field fenced"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        decode(data)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (record("TOPIC_RECORD", 1), "no record 'TOPIC_RECORD' of version 1"),
        (record("ACCESS_CONTROL_RECORD"), "no record 'ACCESS_CONTROL_RECORD'"),
        (record("REMOVE_TOPIC_RECORD"), "topicId cannot be None"),
        (record("NO_OP_RECORD", name="x"), "this version has no name"),
        (record("FENCE_BROKER_RECORD", id=1 << 31, epoch=0), "id cannot be 2147483648"),
        (record("FENCE_BROKER_RECORD", id=True, epoch=0), "id cannot be True"),
        (record("FEATURE_LEVEL_RECORD", name="x" * 32_768, featureLevel=1), "name cannot be"),
        (record("FEATURE_LEVEL_RECORD", name=b"x", featureLevel=1), "name cannot be"),
        (record("CLIENT_QUOTA_RECORD", entity=[], key="", value=1.0, remove=False), r"entity cannot be \[\]"),
        (
            record("CLIENT_QUOTA_RECORD", entity=({"entityType": 1},), key="", value=1.0, remove=False),
            "entity.entityType cannot be 1",
        ),
        (
            record("USER_SCRAM_CREDENTIAL_RECORD", name="", mechanism=1, salt=5, storedKey=b"", serverKey=b""),
            "salt cannot be 5",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(wrong: MetadataRecord, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        encode(wrong)


def test_a_tagged_field_of_a_later_version_is_ignored() -> None:
    data = encode(record("FENCE_BROKER_RECORD", id=1, epoch=2))
    later = data[:-1] + uvarint(1) + uvarint(300) + uvarint(2) + b"??"
    assert decode(later) == decode(data)


def test_a_tagged_field_that_is_written_with_its_default_reads_as_absent() -> None:
    data = encode(record("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=1, brokerEpoch=2))
    assert decode(data[:-1] + b"\x01\x00\x01\x00") == decode(data)


def test_the_log_that_kafka_wrote_reads_as_its_own_tool_prints_it() -> None:
    """`kafka-dump-log` of 4.3.1 wrote the expected lines. Written again, the records have Kafka's bytes."""
    written = [
        one.value or b"" for batch in decode_all(LOG.read_bytes()) if not batch.is_control for one in batch.records
    ]
    expected = (HERE / "from_kafka" / "payloads.txt").read_text(encoding="utf-8").splitlines()
    assert [payload_json(decode(value)) for value in written] == expected
    assert [encode(decode(value)) for value in written] == written


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (100.0, "100.0"), (0.0, "0.0"), (-0.0, "-0.0"), (0.001, "0.001"), (9999999.0, "9999999.0"), (1e7, "1.0E7"),
        (0.00015, "1.5E-4"), (123456789.125, "1.23456789125E8"), (float("nan"), '"NaN"'), (float("inf"), '"Infinity"'),
        (float("-inf"), '"-Infinity"'), ("a\x1f\"é\\u001f\n", '"a\\u001F\\"é\\\\u001f\\n"'), (None, "null"),
    ],
)  # fmt: skip
def test_json_as_jackson_writes_it(value: Any, expected: str) -> None:
    assert to_json(value) == expected


@released
def test_kafka_reads_what_is_written_and_would_write_the_same() -> None:
    """Some records of every type and version."""
    written = [encode(one) for name, version in TYPES for one in examples(name, version)]
    done = java(HERE / "Records.java", stdin="".join(f"{value.hex()}\n" for value in written))
    assert done.returncode == 0, done.stderr
    expected = [f"{value.hex()} {payload_json(decode(value))}" for value in written]
    assert done.stdout.removesuffix("\n").split("\n") == expected


def examples(name: str, version: int) -> list[MetadataRecord]:
    """The same at each run."""
    found: list[MetadataRecord] = []

    @settings(max_examples=30, derandomize=True, database=None, phases=[Phase.generate], deadline=None)
    @given(records_of(name, version))
    def collect(one: MetadataRecord) -> None:
        found.append(one)

    collect()
    return found


@pytest.mark.skipif(not has_jars(VERSION), reason=f"there are no jars of Apache Kafka {VERSION}")
def test_the_tables_are_kafkas_schemas() -> None:
    with zipfile.ZipFile(next(jars(VERSION).glob("kafka-metadata-*.jar"))) as jar:
        files = [name for name in jar.namelist() if re.fullmatch(r"common/metadata/\w+Record\.json", name)]
        schemas = [json.loads(re.sub(r"(?m)^\s*//.*$", "", jar.read(name).decode())) for name in files]
    assert {one["apiKey"]: kafkas(one) for one in schemas} == {one.number: ours(one) for one in SCHEMAS}


def kafkas(schema: Any) -> Any:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", schema["name"]).upper()
    highest = int(schema["validVersions"].rpartition("-")[2])
    assert (schema["type"], schema["flexibleVersions"]) == ("metadata", "0+")
    return name, highest, [kafkas_field(field, highest) for field in schema["fields"]]


def kafkas_field(field: Any, highest: int) -> Any:
    """The versions in which it is null or tagged are those that have it, or this has no equal."""
    versions = field["versions"]
    assert versions.endswith("+")
    tag = int(field["tag"]) if field.get("taggedVersions") == versions else None
    nullable = field.get("nullableVersions") == versions
    members = [kafkas_field(one, highest) for one in field.get("fields", ())]
    type_ = "[]struct" if members else field["type"]
    name = field["name"][0].lower() + field["name"][1:]
    default = None if tag is None else field.get("default", {"[]uuid": "()"}.get(field["type"], "0"))
    return name, type_, int(versions[:-1]), tag, nullable, default if default != "null" else "None", members


def ours(schema: Any) -> Any:
    return schema.name, schema.highest_version, [our_field(field) for field in schema.fields]


def our_field(field: Field) -> Any:
    kind, members = field.kind, []
    if isinstance(kind, ArrayOf) and not isinstance(kind.element, Kind):
        type_, members = "[]struct", [our_field(one) for one in kind.element]
    else:
        type_ = f"[]{kind.element.value}" if isinstance(kind, ArrayOf) else kind.value  # type: ignore[union-attr]
    default = None if field.tag is None else str(field.default)
    return field.name, type_, field.since, field.tag, field.nullable, default, members
