"""Log directories of brokers and registered controllers, ours and Kafka's together: the metadata says what there is."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from impl.kraft.storage.directories import read_identity
from impl.kraft.storage.real_disk import RealDisk
from tests.cluster.kafka import until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.brokers import TERMINATED, Broker, records
from tests.impl.kraft.server.clients import TOPIC
from tests.impl.kraft.server.controllers import VOTERS, Controllers, controllers
from tests.impl.kraft.server.own_brokers import own_cluster
from tests.impl.kraft.server.own_topic import OwnTopic
from tests.impl.kraft.server.test_mixed_quorum import KAFKA, let_kafka_lead

LEVEL = ("-r", "3.7-IV4")
PARTITIONS = 4


def metadata(cluster: Controllers, node: int | None = None) -> list[tuple[str, dict[str, Any]]]:
    """The records in the log of a node, or of who is active, with their types."""
    found = cluster.await_leader(cluster.alive) if node is None else node
    lines = records(cluster, found).splitlines()
    payloads = [json.loads(line.split("payload: ", 1)[1]) for line in lines if "payload: " in line]
    return [(one["type"], one["data"]) for one in payloads]


def said(cluster: Controllers) -> dict[int, str]:
    """By partition, the directory of its only replica."""
    return {
        data["partitionId"]: data["directories"][0]
        for kind, data in metadata(cluster)
        if kind in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD") and data.get("directories")
    }


def there(folders: Sequence[Path]) -> dict[int, str]:
    """The same, by what is on disk."""
    return {int(log.name.rpartition("-")[2]): id_of(folder) for folder in folders for log in folder.glob(f"{TOPIC}-*")}


def id_of(folder: Path) -> str:
    return read_identity(RealDisk(), str(folder)).directory_id


def registrations(cluster: Controllers, node: int | None = None) -> Counter[int]:
    """By controller, how many processes of it have registered."""
    return Counter(
        data["controllerId"] for kind, data in metadata(cluster, node) if kind == "REGISTER_CONTROLLER_RECORD"
    )


@pytest.mark.long("four processes")
def test_brokers_of_ours_say_where_replicas_are_and_controllers_register(tmp_path: Path) -> None:
    folders = [tmp_path / "x", tmp_path / "y"]
    directories = {"log.dirs": ",".join(map(str, folders))}
    with own_cluster(tmp_path, nodes=(11,), formatting=LEVEL, of_brokers=directories) as brokers:
        cluster = brokers.controllers
        OwnTopic(brokers).create(PARTITIONS, {})
        until(lambda: said(cluster) == there(folders), "the metadata has all of them")
        assert len(said(cluster)) == PARTITIONS and len(set(said(cluster).values())) == 2
        until(lambda: registrations(cluster) == Counter(VOTERS), "all controllers are registered")
        first = cluster.await_leader()
        cluster.processes[first].kill()
        cluster.await_leader(tuple(node for node in VOTERS if node != first))
        cluster.start(first)
        cluster.await_leader()
        until(lambda: registrations(cluster)[first] == 2, "so is its next process")


@pytest.mark.long("a JVM and three processes")
@released
def test_a_broker_of_kafka_says_so_and_lives_on_as_a_directory_fails(tmp_path: Path) -> None:
    folders = [tmp_path / "x", tmp_path / "y"]
    with controllers(tmp_path, formatting=LEVEL) as cluster:
        cluster.await_leader()
        broker = Broker(tmp_path, cluster, folders=folders)
        try:
            until(broker.has_started, "the broker is unfenced")
            broker.topics("--create", "--topic", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "1")
            until(lambda: len(there(folders)) == PARTITIONS and said(cluster) == there(folders), "it has said all")
            lost, left = said(cluster), id_of(folders[0])
            shutil.rmtree(folders[1])
            until(lambda: ("BROKER_REGISTRATION_CHANGE_RECORD", [left]) in of_directories(cluster), "it says so", 60)
            without = [partition for partition, directory in lost.items() if directory != left]
            assert sorted(without_leader(cluster)) == sorted(without) and without
            assert broker.process.exit_code is None
            assert broker.terminate() == TERMINATED
        finally:
            broker.process.kill()


def of_directories(cluster: Controllers) -> list[tuple[str, object]]:
    return [(kind, data.get("logDirs")) for kind, data in metadata(cluster)]


def without_leader(cluster: Controllers) -> list[int]:
    changes = [data for kind, data in metadata(cluster) if kind == "PARTITION_CHANGE_RECORD"]
    return [data["partitionId"] for data in changes if data.get("leader") == -1]


@pytest.mark.long("a JVM and two processes")
@released
def test_controllers_of_ours_register_with_one_of_kafka_and_it_with_ours(tmp_path: Path) -> None:
    cluster = Controllers(tmp_path, formatting=LEVEL)
    try:
        let_kafka_lead(cluster, VERSION)
        until(lambda: registrations(cluster, 1) == Counter((1, KAFKA)), "both are registered")
        cluster.start(2)
        until(lambda: registrations(cluster, 2) == Counter(VOTERS), "and the third")
        cluster.processes[KAFKA].kill()
        cluster.await_leader((1, 2))
        cluster.start_kafka(KAFKA, VERSION)
        until(lambda: registrations(cluster, 2)[KAFKA] == 2, "Kafka registers with ours", 60)
    finally:
        cluster.kill()
