"""kafka-metadata-shell: the tree of a snapshot, its commands, and help beside the document's."""

from __future__ import annotations

import io
from difflib import ndiff
from pathlib import Path
from uuid import UUID

import pytest

from impl.kraft.image import Image
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.metadata.encoding import MetadataRecord, encode
from impl.kraft.records import (
    ConfigRecord,
    Endpoint,
    FeatureLevelRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    SupportedFeature,
    TopicRecord,
)
from impl.kraft.snapshot import write_snapshot
from impl.kraft.storage.batches import Record as Stored
from impl.kraft.storage.directories import bootstrap_bytes
from impl.kraft.tools.shell.commands import ExitShell, Shell
from impl.kraft.tools.shell.help_text import COMMANDS, MANUALS
from impl.kraft.tools.shell.tool import main
from impl.kraft.tools.shell.tree import ShellError, Tree
from tests.impl.kraft.tools.running import Tool

FROM_KAFKA = Path(__file__).parents[2] / "storage" / "from_kafka"
DRAFT = Path(__file__).parents[1] / "draft"
run = Tool(main)
TOPIC = UUID(int=77)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAATQ"
REPLAYED: tuple[Record, ...] = (
    FeatureLevelRecord("metadata.version", 7, 7),
    *(
        RegisterBrokerRecord(
            broker, UUID(int=broker), 0, (Endpoint("PLAINTEXT", "host", 9092, 0),),
            (SupportedFeature("metadata.version", 1, 7),),
        )
        for broker in (2, 10)
    ),
    TopicRecord("orders", TOPIC),
    PartitionRecord(0, TOPIC, (2, 10), (2,), leader=2),
    ConfigRecord(2, "orders", "cleanup.policy", "compact"),
)  # fmt: skip
OTHERS = (
    MetadataRecord("PRODUCER_IDS_RECORD", 0, {"brokerId": 2, "brokerEpoch": 1, "nextProducerId": 1000}),
    MetadataRecord(
        "CLIENT_QUOTA_RECORD", 0,
        {
            "entity": ({"entityType": "user", "entityName": None}, {"entityType": "client-id", "entityName": "a/b"}),
            "key": "request_percentage", "value": 50.0, "remove": False,
        },
    ),
    MetadataRecord(
        "USER_SCRAM_CREDENTIAL_RECORD", 0,
        {"name": "alice", "mechanism": 1, "salt": b"s", "storedKey": b"k", "serverKey": b"k", "iterations": 4096},
    ),
)  # fmt: skip


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """One that the core wrote of its image, and what the core has not."""
    image = Image()
    for record in REPLAYED:
        image.replay_record(record)
    codec = MetadataCodec()
    values = [codec.encode(one) for one in write_snapshot(image).records] + [encode(one) for one in OTHERS]
    path = tmp_path / "00000000000000000031-0000000001.checkpoint"
    path.write_bytes(bootstrap_bytes([Stored(value) for value in values], 0))
    return path


def test_the_tree_of_a_snapshot(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, _ = run(capsys, "-s", str(snapshot), "find", "/image/*/*")
    assert code == 0 and lines == [
        "/image/clientQuotas/user=<default>,client-id=a%2Fb",
        "/image/clientQuotas/user=<default>,client-id=a%2Fb/request_percentage",
        "/image/cluster/brokers",
        "/image/cluster/brokers/2",
        "/image/cluster/brokers/10",
        "/image/configs/TOPIC:orders",
        "/image/configs/TOPIC:orders/cleanup.policy",
        "/image/features/metadata.version",
        "/image/producerIds/nextProducerId",
        "/image/scram/SCRAM-SHA-256",
        "/image/scram/SCRAM-SHA-256/alice",
        "/image/topics/byId",
        f"/image/topics/byId/{TOPIC_ID}",
        f"/image/topics/byId/{TOPIC_ID}/0",
        "/image/topics/byName",
        "/image/topics/byName/orders",
        "/image/topics/byName/orders/0",
    ]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/image/features/metadata.version", "7"),
        ("/image/configs/TOPIC:*/cleanup.policy", "compact"),
        ("/image/producerIds/nextProducerId", "1000"),
        ("/image/clientQuotas/*/request_percentage", "50.0"),
        ("/image/scram/SCRAM-SHA-256/alice", '{"name":"alice","mechanism":1,"iterations":4096}'),
        (
            "/image/topics/byName/orders/0",
            f'{{"partitionId":0,"topicId":"{TOPIC_ID}","replicas":[2,10],"isr":[2],"removingReplicas":[],'
            '"addingReplicas":[],"leader":2,"leaderEpoch":0,"partitionEpoch":0}',
        ),
    ],
)
def test_what_files_say(path: str, says: str, snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a credential, no secret."""
    assert run(capsys, "--snapshot", str(snapshot), "cat", path) == (0, [says], "")


def test_a_snapshot_of_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(FROM_KAFKA / "bootstrap.checkpoint")
    assert run(capsys, "-s", file, "cat", "/image/features/metadata.version") == (0, ["30"], "")


def test_a_session(snapshot: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["pwd", "cd image/cluster", "ls", "cd brokers", "ls", "pwd", "cat 7", "ls /image/topics/by* ../brokers/2"]
    lines += ["", "man pwd", "cat 'x", "history 2", "cd", "pwd", "exit", "pwd"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    code, said, errors = run(capsys, "-s", str(snapshot))
    assert code == 0 and said == [
        *("/", "brokers", "2", "10", "/image/cluster/brokers"),
        *("/image/cluster/brokers/2", "/image/topics/byId:", TOPIC_ID, "/image/topics/byName:", "orders"),
        *(MANUALS["pwd"], "   11  cat 'x", "   12  history 2", "/"),
    ]
    assert errors.splitlines() == ["7: no such file or directory", "cat 'x: No closing quotation"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("cat /image", "/image is not a file"),
        ("cat", "cat PATH"),
        ("cat /image/features/x", "no such file or directory"),
        ("cat /image/features/metadata.version/x", "no such file or directory"),
        ("cd /image/*", "is not one directory"),
        ("cd /image/features/metadata.version", "is not one directory"),
        ("rm /", "rm: no such command"),
        ("history x", "history [COUNT]"),
        ("man rm", "man COMMAND"),
    ],
)
def test_what_a_command_cannot_do(line: str, says: str, snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, error = run(capsys, "-s", str(snapshot), *line.split())
    assert (code, lines) == (1, []) and says in error


def test_files_that_are_no_snapshots(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(snapshot.read_bytes())
    for damaged, says in ((data[:-75], "does not end in a footer"), (data[:-1], "of which"), (b"", "in a footer")):
        snapshot.write_bytes(damaged)
        code, _, error = run(capsys, "-s", str(snapshot), "ls")
        assert code == 1 and f"{snapshot} is no snapshot that is whole" in error and says in error
    data[200] ^= 1
    snapshot.write_bytes(data)
    assert "the CRC is" in run(capsys, "-s", str(snapshot), "ls")[2]
    assert run(capsys, "-s", str(snapshot.parent / "absent"), "ls")[2].endswith("No such file or directory\n")


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (
            MetadataRecord("FENCE_BROKER_RECORD", 0, {"id": 1, "epoch": 2}),
            "FENCE_BROKER_RECORD is no part of a snapshot",
        ),
        (MetadataRecord("PARTITION_RECORD", 0, {"topicId": TOPIC, "partitionId": 0}), f"of the topic {TOPIC_ID}"),
    ],
)
def test_records_that_have_no_place(record: MetadataRecord, says: str) -> None:
    with pytest.raises(ShellError, match=says):
        Tree([record])


def test_a_shell_is_left() -> None:
    with pytest.raises(ExitShell):
        list(Shell(Tree([])).run("exit"))


def test_the_help_of_the_commands_is_that_of_the_document() -> None:
    assert (DRAFT / "kafka-metadata-shell-help.txt").read_text() == COMMANDS
    names = COMMANDS.partition("{")[2].partition("}")[0].split(",")
    assert names == list(MANUALS)
    with pytest.raises(ShellError, match=f"commands are {', '.join(names)}$"):
        Shell(Tree([])).run("rm")


def test_the_help_of_the_tool_beside_the_documents(capsys: pytest.CaptureFixture[str]) -> None:
    """The name is Kafka's."""
    code, lines, _ = run(capsys, "-h")
    drafts = (DRAFT / "kafka-metadata-shell.txt").read_text().splitlines()
    rest = "[-h] [--controllers CONTROLLERS] [--config CONFIG] [--snapshot SNAPSHOT]"
    assert code == 0 and [line for line in ndiff(drafts, lines) if line[0] in "+-"] == [
        f"- usage: metadata-tool {rest} [command [command ...]]",
        f"+ usage: kafka-metadata-shell {rest}",
        f"+ {'':27} [command [command ...]]",
        "+ ",
        "+ Exit codes: 0 done, 1 a command failed, the snapshot is damaged or no quorum answers, "
        "2 usage or configuration.",
    ]
