"""Controllers as processes write snapshots by themselves, clean their logs, and take each other's; Kafka reads them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from impl.apache.release import jars
from impl.kraft.tools.dump_log import main as dump_log
from impl.kraft.tools.shell.tool import main as shell
from impl.kraft.tools.storage import main as storage
from impl.runtime.client import ask
from impl.runtime.entities import entity_bytes
from tests.cluster.kafka import tool, until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.brokers import BROKER, Broker
from tests.impl.kraft.server.controllers import CLUSTER, VOTERS, Controllers, controllers
from tests.impl.kraft.server.test_controller_wire import REGISTRATION

SMALL = {
    "metadata.log.max.record.bytes.between.snapshots": 1_000,
    "metadata.max.retention.bytes": 0,
    "internal.metadata.log.segment.bytes": 500,
    "internal.metadata.clean.interval.ms": 500,
}
"""A no-op record is written every 100 ms, so that a second or two make a snapshot."""
SHELL = jars(VERSION) / f"kafka-shell-{VERSION}.jar"

pytestmark = pytest.mark.long("three processes")


def snapshots(cluster: Controllers, node: int) -> list[Path]:
    return sorted(cluster.directory(node).glob("*.checkpoint"))


def first_offset(cluster: Controllers, node: int) -> int:
    """Of the log; 0 where it has no file: a snapshot that is fetched is about to take its place."""
    return int(min((path.stem for path in cluster.directory(node).glob("*.log")), default=0))


def is_clean(cluster: Controllers, node: int) -> bool:
    """Its log has been deleted up to a snapshot, and it keeps the last one, or with it one more."""
    found = snapshots(cluster, node)
    return 1 <= len(found) <= 2 and 0 < first_offset(cluster, node) <= int(found[-1].name[:20])


def register(cluster: Controllers, leader: int) -> None:
    body = entity_bytes(replace(REGISTRATION, cluster_id=CLUSTER))
    answer = ask(("127.0.0.1", cluster.ports[leader]), 62, 4, "test", b"\0" + body)
    assert answer[5:7] == bytes(2), "without an error"


def test_controllers_write_snapshots_and_take_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with controllers(tmp_path, SMALL, held=False) as cluster:
        register(cluster, cluster.await_leader())
        until(lambda: all(is_clean(cluster, node) for node in VOTERS), "all write snapshots, and delete their logs")
        killed, emptied = (node for node in VOTERS if node != cluster.await_leader())
        for node in (killed, emptied):
            cluster.processes[node].kill()
        shutil.rmtree(tmp_path / f"data{emptied}")
        assert storage(["format", "-c", str(cluster.properties(emptied)), "-t", CLUSTER]) == 0
        for node in (killed, emptied):
            cluster.start(node)
        until(lambda: is_clean(cluster, emptied), "it takes a snapshot, and goes on by itself")
        cluster.await_leader()
        begun = [line for line in cluster.log_of(emptied) if line["event"] == "started"]
        assert begun[-1]["log_end"] == 0, "it had nothing"
        until(lambda: is_clean(cluster, killed), "a node that starts from its snapshot goes on")
        for process in cluster.processes.values():
            process.pause()
        newest = [max(snapshots(cluster, node)) for node in VOTERS]
    capsys.readouterr()
    for snapshot in newest:
        assert shell(["-s", str(snapshot), "ls", "/image/cluster/brokers"]) == 0
        assert capsys.readouterr().out == f"{REGISTRATION.broker_id}\n"


@released
def test_a_broker_of_kafka_begins_with_a_snapshot(tmp_path: Path) -> None:
    """The start of the log is gone when it comes."""
    with controllers(tmp_path, {**SMALL, "broker.session.timeout.ms": 30_000}) as cluster:
        cluster.await_leader()
        until(lambda: all(is_clean(cluster, node) for node in VOTERS), "all have deleted the start of their logs")
        broker = Broker(tmp_path, cluster)
        try:
            until(broker.has_started, "the broker is unfenced")
            loaded = [path.name for path in (tmp_path / f"broker{BROKER}").glob("__cluster_metadata-0/*.checkpoint")]
            assert loaded, "a snapshot was fetched"
        finally:
            broker.process.kill()


@released
@pytest.mark.skipif(not SHELL.exists(), reason=f"there is no {SHELL.name} (impl.apache.release fetches it)")
def test_kafkas_own_tools_read_a_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with controllers(tmp_path, SMALL) as cluster:
        register(cluster, leader := cluster.await_leader())
        until(lambda: is_clean(cluster, leader), "there is a snapshot")
        for process in cluster.processes.values():
            process.pause()
        snapshot = max(snapshots(cluster, leader))
    options = ("--cluster-metadata-decoder", "--files", str(snapshot))
    capsys.readouterr()
    dump_log(options)
    ours = capsys.readouterr().out.splitlines()
    assert ours == tool(VERSION, "org.apache.kafka.tools.DumpLogSegments", *options).splitlines()
    assert kafkas_shell(snapshot, "ls", "/image/cluster/brokers") == str(REGISTRATION.broker_id)
    assert "3.3-IV3" in kafkas_shell(snapshot, "cat", "/image/features/metadataVersion")


def kafkas_shell(snapshot: Path, *command: str) -> str:
    """What it prints; on a busy machine it may end before it has read the snapshot, and is run again."""
    printed: list[str] = []

    def prints() -> bool:
        printed.append(tool(VERSION, "org.apache.kafka.shell.MetadataShell", "-s", snapshot, *command).strip())
        return bool(printed[-1])

    until(prints, "the shell prints something")
    return printed[-1]
