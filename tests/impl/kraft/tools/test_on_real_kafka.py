"""A real Kafka starts on directories that ours formatted, and both tools print the log that it wrote there."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.kraft.tools.cluster import main as cluster
from impl.kraft.tools.dump_log import main as dump_log
from impl.kraft.tools.shell.tool import main as shell
from impl.kraft.tools.shell.tree import read_snapshot, text_of
from impl.kraft.tools.storage import main as storage
from impl.runtime.ports import free_ports
from tests.cluster.kafka import VERSION, java, missing, tool, until
from tests.cluster.processes import ManagedProcess

DUMPED_BY = "4.3.1"
"""It prints control records as the current tool does."""

CLUSTER = "3Db5QLSqSZieL3rJBUUegA"
WHY = missing() or missing(DUMPED_BY)
pytestmark = [
    pytest.mark.long("a JVM with a controller and a broker"),
    pytest.mark.skipif(bool(WHY), reason=WHY or "there is an Apache Kafka"),
]


def snapshots_with_topic(directory: Path) -> list[Path]:
    """And with its config, which comes behind its partitions."""
    found = sorted(directory.glob("*.checkpoint"))
    return [path for path in found if "orders/cleanup.policy" in "\n".join(paths(path))]


def paths(snapshot: Path) -> list[str]:
    return list(map(text_of, read_snapshot(snapshot).below(())))


def test_a_real_kafka_starts_where_ours_formatted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of interop goal 4, and goal 3 on a log and a snapshot with brokers, topics and configs."""
    client, controller = free_ports(2)
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}\n"
        f"log.dirs={tmp_path}/data\nmetadata.log.max.record.bytes.between.snapshots=1\n"
    )
    assert storage(["format", "-c", str(config), "-t", CLUSTER]) == 0
    output = tmp_path / "log"
    process = ManagedProcess([*java(VERSION), "kafka.Kafka", str(config)], output)
    try:
        until(lambda: "Kafka Server started" in output.read_text(errors="replace"), "Kafka starts")
        bootstrap = f"127.0.0.1:{client}"
        capsys.readouterr()
        assert cluster(["cluster-id", "-b", bootstrap]) == 0
        assert capsys.readouterr().out == f"Cluster ID: {CLUSTER}\n"
        topic = ("--create", "--topic", "orders", "--partitions", "3", "--config", "cleanup.policy=compact")
        tool(VERSION, "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", bootstrap, *topic)
        directory = tmp_path / "data" / "__cluster_metadata-0"
        until(lambda: bool(snapshots_with_topic(directory)), "a snapshot is written that has the topic")
    finally:
        process.kill()
    snapshot = str(snapshots_with_topic(directory)[0])
    assert shell(["-s", snapshot, "ls", "/image/topics/byName/orders", "/image/cluster/brokers"]) == 0
    assert capsys.readouterr().out.splitlines()[1:4] == ["0", "1", "2"]
    assert shell(["-s", snapshot, "cat", "/image/configs/TOPIC:orders/cleanup.policy"]) == 0
    assert capsys.readouterr().out == "compact\n"
    options = ("--cluster-metadata-decoder", "--files", f"{directory}/00000000000000000000.log,{snapshot}")
    dump_log(options)
    ours = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("Found ")]
    assert ours == tool(DUMPED_BY, "org.apache.kafka.tools.DumpLogSegments", *options).splitlines()
    text = "\n".join(ours)
    for type_ in ("REGISTER_BROKER", "TOPIC", "PARTITION", "CONFIG", "FEATURE_LEVEL", "BROKER_REGISTRATION_CHANGE"):
        assert f'"{type_}_RECORD"' in text
