"""Processes that are controller and broker: one log for both; nothing acknowledged is lost as they come and go."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest

from impl.apache.recording.driving import CRASH, SIGTERM, START
from impl.kraft.config.configuration import load
from impl.kraft.server.combined import CombinedServer
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.tools.storage import main as storage
from impl.runtime.ports import free_ports
from tests.cluster.kafka import until
from tests.cluster.processes import ManagedProcess
from tests.impl.kraft.server.clients import Producing, read_all
from tests.impl.kraft.server.controllers import CLUSTER, PROGRAM, VOTERS, Controllers
from tests.impl.kraft.server.own_topic import OwnTopic
from tests.impl.kraft.server.scraping import scraped
from tests.impl.kraft.server.test_snapshots_of_controllers import SMALL, first_offset

PARTITIONS = 2


class Combined(Controllers):
    """Three, each with two listeners."""

    nodes = VOTERS

    def __init__(self, folder: Path, more: Mapping[str, object] | None = None) -> None:
        self.broker_ports = dict(zip(VOTERS, free_ports(len(VOTERS)), strict=True))
        settings = {"broker.session.timeout.ms": 6_000, "broker.heartbeat.interval.ms": 500}
        super().__init__(folder, {**settings, **(more or {})})

    def _text(self, node: int) -> str:
        ports = f"CONTROLLER://127.0.0.1:{self.ports[node]},PLAINTEXT://127.0.0.1:{self.broker_ports[node]}"
        text = super()._text(node).replace("process.roles=controller", "process.roles=broker,controller")
        return text.replace(f"listeners=CONTROLLER://127.0.0.1:{self.ports[node]}", f"listeners={ports}")

    @property
    def addresses(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.broker_ports.values())

    def start(self, node: int) -> None:
        self.note(START, node)
        super().start(node)

    def process(self, node: int) -> ManagedProcess:
        return self.processes[node]

    def log_file(self, node: int, topic: str, partition: int) -> Path:
        return self.directory(node).parent / f"{topic}-{partition}" / f"{0:020}.log"

    def await_running(self, *nodes: int) -> None:
        for node in nodes:
            until(lambda node=node: self.state_of(node) == "RUNNING", f"{node} is unfenced")  # type: ignore[misc]

    def state_of(self, node: int) -> str | None:
        states = [line["state"] for line in self.log_of(node) if line["event"] == "broker"]
        return states[-1] if states else None


@contextmanager
def combined(folder: Path, more: Mapping[str, object] | None = None) -> Iterator[Combined]:
    found = Combined(folder, more)
    try:
        for node in VOTERS:
            found.start(node)
        found.await_running(*VOTERS)
        yield found
    finally:
        found.kill()


@pytest.mark.long("three processes")
def test_nothing_acknowledged_is_lost_as_they_come_and_go(tmp_path: Path) -> None:
    with combined(tmp_path) as nodes:
        topic = OwnTopic(nodes)
        topic.create(PARTITIONS)
        producing = Producing(nodes.addresses)
        producing.await_more()

        killed = nodes.await_leader()
        nodes.process(killed).kill()
        nodes.note(CRASH, killed)
        producing.await_more()
        nodes.start(killed)
        topic.await_partitions(lambda one: len(one["isr_nodes"]) == len(VOTERS), "who was killed is in the ISR again")

        stopped = nodes.await_leader()
        nodes.note(SIGTERM, stopped)
        assert nodes.process(stopped).terminate(60) == 0
        producing.await_more()
        nodes.start(stopped)
        topic.await_partitions(lambda one: len(one["isr_nodes"]) == len(VOTERS), "and so is who was stopped")

        acknowledged = producing.stop()
        found = list(chain(*read_all(nodes.addresses, PARTITIONS)))
        assert set(acknowledged) <= set(found) and len(found) == len(set(found))
        until(topic.is_alike, "replicas are alike")
        nodes.validate()


@pytest.mark.long("three processes")
def test_a_node_that_has_nothing_begins_with_a_snapshot(tmp_path: Path) -> None:
    """Its controller takes it of the leader, and its broker of its controller."""
    with combined(tmp_path, SMALL) as nodes:
        topic = OwnTopic(nodes)
        topic.create(PARTITIONS)
        emptied = next(node for node in VOTERS if node != nodes.await_leader())
        nodes.process(emptied).kill()
        topic.await_partitions(lambda one: emptied not in one["isr_nodes"], "it is fenced")
        until(lambda: first_offset(nodes, nodes.await_leader(nodes.alive)) > 0, "the leader's log has lost its start")
        shutil.rmtree(nodes.directory(emptied).parent)
        assert storage(["format", "-c", str(nodes.properties(emptied)), "-t", CLUSTER]) == 0
        nodes.start(emptied)
        topic.await_partitions(lambda one: emptied in one["isr_nodes"], "it follows the topic")
        begun = [line for line in nodes.log_of(emptied) if line["event"] == "started"]
        assert [line["log_end"] for line in begun if "log_end" in line][-1] == 0, "it had nothing"


def properties(folder: Path, *more: str) -> Path:
    """Of a node that is a quorum by itself, and formatted."""
    controller, broker = free_ports(2)
    path = folder / "both.properties"
    path.write_text(
        f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"controller.listener.names=CONTROLLER\nlog.dirs={folder}/data\n"
        f"listeners=CONTROLLER://127.0.0.1:{controller},PLAINTEXT://127.0.0.1:{broker}\n" + "\n".join(more)
    )
    assert storage(["format", "-c", str(path), "-t", CLUSTER]) == 0
    return path


def server_of(path: Path) -> CombinedServer:
    found, findings = load(path)
    assert found is not None, findings.problems
    return CombinedServer(found, RealDisk())


def test_an_address_that_is_taken_ends_both(tmp_path: Path) -> None:
    path = properties(tmp_path)
    port = int(path.read_text().rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)), pytest.raises(OSError, match="ddress"):
        asyncio.run(server_of(path).run())
    server_of(path).close()  # the directory is free again


def test_where_the_controller_ends_so_does_the_broker(tmp_path: Path) -> None:
    path = properties(tmp_path)
    port = int(path.read_text().partition("1@127.0.0.1:")[2].partition("\n")[0])
    with socket.create_server(("127.0.0.1", port)), pytest.raises(OSError, match="ddress"):
        asyncio.run(asyncio.wait_for(server_of(path).run(), 20))
    server_of(path).close()


@pytest.mark.long("a process")
def test_it_serves_the_metrics_of_both(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    path = properties(tmp_path, f"metrics.port={port}")
    process = ManagedProcess([sys.executable, *PROGRAM, path], tmp_path / "log")

    try:
        until(lambda: "kafka_server_BrokerState 3.0" in scraped(port), "the broker runs", 60)
        text = scraped(port)
        assert "kafka_controller_ActiveControllerCount 1.0" in text and text.count("\nkafka_raft_current_epoch") == 1
        assert process.terminate() == 0
    finally:
        process.kill()
