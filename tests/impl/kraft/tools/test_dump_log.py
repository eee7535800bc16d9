"""kafka-dump-log: what it prints of Kafka's files and of ours, and of damaged ones; line for line as Kafka's tool."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    Endpoint,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    SupportedFeature,
    TopicRecord,
    UnfenceBrokerRecord,
)
from impl.kraft.storage.batches import Record, RecordBatch, encode
from impl.kraft.storage.control import LeaderChange, leader_change
from impl.kraft.storage.directories import bootstrap_bytes
from impl.kraft.tools.dump_log import main, parser
from tests.impl.kraft.released import java, released

FROM_KAFKA = Path(__file__).parent.parent / "storage" / "from_kafka"
SEGMENT, SNAPSHOT = "00000000000000000000.log", "00000000000000000031-0000000001.checkpoint"
DECODE, SKIP = "--cluster-metadata-decoder", "--skip-record-metadata"
TOPIC = UUID(int=77)
RECORDS = (
    FeatureLevelRecord("metadata.version", 7, 7),
    RegisterBrokerRecord(
        1, UUID(int=9), 4, (Endpoint("PLAINTEXT", "localhost", 9092, 0),), (SupportedFeature("metadata.version", 1, 7),)
    ),
    UnfenceBrokerRecord(1, 4),
    TopicRecord("orders", TOPIC),
    PartitionRecord(0, TOPIC, (1, 2), (1,), (), (2,), 1),
    PartitionChangeRecord(0, TOPIC, (1, 2), adding_replicas=()),
    ConfigRecord(2, "orders", "cleanup.policy", None),
    BrokerRegistrationChangeRecord(1, 4, True),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Segments and snapshots of Kafka and of ours."""
    values = tuple(Record(MetadataCodec().encode(record)) for record in RECORDS)
    first = RecordBatch(0, 3, 1_000, (leader_change(LeaderChange(1, (1, 2, 3), (1, 3))),), is_control=True)
    ours = encode(first) + encode(RecordBatch(1, 3, 1_500, values))
    for name, data in (("ours", ours), ("kafkas", (FROM_KAFKA / SEGMENT).read_bytes())):
        (tmp_path / name).mkdir()
        (tmp_path / name / SEGMENT).write_bytes(data)
    (tmp_path / "ours" / SNAPSHOT).write_bytes(bootstrap_bytes(values, 2_000))
    (tmp_path / "kafkas" / "bootstrap.checkpoint").write_bytes((FROM_KAFKA / "bootstrap.checkpoint").read_bytes())
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def dump(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    code = main(arguments)
    return code, capsys.readouterr().out.splitlines()


def kafkas_dump(*arguments: str) -> list[str]:
    done = java("org.apache.kafka.tools.DumpLogSegments", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@released
@pytest.mark.parametrize("options", [(DECODE,), (DECODE, SKIP), ()], ids=str)
def test_kafkas_tool_prints_the_same(
    options: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interop goals 1 and 3: of what we wrote, and of what Kafka wrote."""
    files = ",".join(names(folder))
    code, lines = dump(capsys, *options, "--files", files)
    assert (code, lines) == (0, kafkas_dump(*options, "--files", files))
    assert len(lines) > 35


def test_records_with_and_without_their_metadata(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(folder / "ours" / SEGMENT)
    code, lines = dump(capsys, DECODE, "--files", file)
    assert code == 0 and lines[:2] == [f"Dumping {file}", "Log starting offset: 0"]
    assert lines[3].endswith(
        'headerKeys: [] LeaderChange: {"version":0,"leaderId":1,"voters":[{"voterId":1},{"voterId":2},{"voterId":3}],'
        '"grantingVoters":[{"voterId":1},{"voterId":3}]}'
    )
    payload = (
        'payload: {"type":"PARTITION_CHANGE_RECORD","version":0,"data":{"partitionId":0,'
        '"topicId":"AAAAAAAAAAAAAAAAAAAATQ","isr":[1,2],"addingReplicas":[]}}'
    )
    assert lines[10] == f"| offset: 6 CreateTime: 1500 keySize: -1 valueSize: 38 sequence: -1 headerKeys: [] {payload}"
    _, skipped = dump(capsys, DECODE, SKIP, "--files", file)
    assert skipped[3] == "" and skipped[10] == f"| {payload}"
    assert skipped[2] == lines[2] and skipped[2].startswith("baseOffset: 0 lastOffset: 0 count: 1 ")


def test_a_torn_tail_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "ours" / SEGMENT
    file.write_bytes(file.read_bytes() + b"torn")
    code, lines = dump(capsys, DECODE, "--files", str(file))
    assert (code, lines[-1]) == (1, f"Found 4 invalid bytes at the end of {file}")


def test_a_flipped_bit_is_said_and_what_follows_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "kafkas" / SEGMENT
    data = bytearray(file.read_bytes())
    whole = dump(capsys, DECODE, "--files", str(file))[1]
    data[200] ^= 1
    file.write_bytes(data)
    code, lines = dump(capsys, DECODE, "--files", str(file))
    assert code == 1 and lines[4] == whole[4].replace("isvalid: true", "isvalid: false")
    assert lines[5:] == whole[14:], "all but the nine records of that batch"


def test_a_record_that_cannot_be_decoded_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / SEGMENT
    file.write_bytes(encode(RecordBatch(0, 1, 0, (Record(b"\x01\x06\x00\x00"), Record(b"\x01\x14\x00\x00")))))
    code, lines = dump(capsys, DECODE, SKIP, "--files", str(file))
    assert code == 1 and lines[3:] == [
        "| payload: Error at 0, skipping. a metadata record of the unknown type 6",
        '| payload: {"type":"NO_OP_RECORD","version":0,"data":{}}',
    ]


@pytest.mark.parametrize(("name", "says"), [("other.log", "neither a segment"), ("absent.log", "No such file")])
def test_other_files_are_refused(name: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.log").write_bytes(b"")
    assert main(["--files", str(tmp_path / name)]) == 1
    assert says in capsys.readouterr().err


def test_an_empty_segment_has_no_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / SEGMENT).write_bytes(b"")
    code, lines = dump(capsys, DECODE, "--files", str(tmp_path / SEGMENT))
    assert (code, len(lines)) == (0, 2)


def test_output_that_nobody_reads_ends_it(folder: Path) -> None:
    command = [sys.executable, "-m", "impl.kraft.tools.dump_log", DECODE, "--files"]
    file = folder / "kafkas" / SEGMENT
    whole = file.read_bytes()
    file.write_bytes(whole * (1 + (1 << 20) // len(whole)))
    with subprocess.Popen([*command, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (141, b"")


def test_the_flags_of_the_document_are_there() -> None:
    """KIP-631, Changes to kafka-dump-log-segments.sh: both are named, and their help is Kafka's."""
    text = " ".join(parser().format_help().split())
    for flag in (DECODE, SKIP, "--files"):
        assert flag in text
    assert "Skip metadata when printing records. This flag also skips control records." in text
