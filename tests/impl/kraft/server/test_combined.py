"""Processes that are controller and broker: one log for both; nothing acknowledged is lost as they come and go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest

from impl.apache.recording.driving import CRASH, SIGTERM, START
from tests.cluster.kafka import until
from tests.cluster.processes import ManagedProcess, free_ports
from tests.impl.kraft.server.clients import Producing, read_all
from tests.impl.kraft.server.controllers import VOTERS, Controllers
from tests.impl.kraft.server.own_topic import OwnTopic

PARTITIONS = 2


class Combined(Controllers):
    """Three, each with two listeners."""

    nodes = VOTERS

    def __init__(self, folder: Path) -> None:
        self.broker_ports = dict(zip(VOTERS, free_ports(len(VOTERS)), strict=True))
        super().__init__(folder, {"broker.session.timeout.ms": 6_000, "broker.heartbeat.interval.ms": 500})

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
def combined(folder: Path) -> Iterator[Combined]:
    found = Combined(folder)
    try:
        for node in VOTERS:
            found.start(node)
        found.await_running(*VOTERS)
        yield found
        found.validate()
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
