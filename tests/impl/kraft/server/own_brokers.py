"""Brokers of ours as processes, under controllers of ours, on the loopback interface."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from impl.kraft.tools.storage import main as storage
from tests.cluster.kafka import until
from tests.cluster.processes import ManagedProcess, free_ports
from tests.impl.kraft.server.controllers import CLUSTER, Controllers, controllers

BROKERS = (11, 12, 13)


class OwnBrokers:
    """Formatted, and each started with `start`. controllers: started."""

    def __init__(
        self, folder: Path, cluster: Controllers, more: Mapping[str, object], nodes: tuple[int, ...], listener: str
    ) -> None:
        self.controllers, self.nodes, self._folder = cluster, nodes, folder
        self.ports = dict(zip(nodes, free_ports(len(nodes)), strict=True))
        self.processes: dict[int, ManagedProcess] = {}
        for node in nodes:
            self.properties(node).write_text(
                f"process.roles=broker\nnode.id={node}\ncontroller.listener.names=CONTROLLER\n"
                f"controller.quorum.voters={cluster.voters}\nlisteners={listener}://127.0.0.1:{self.ports[node]}\n"
                "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
                f"log.dirs={folder}/broker{node}\n" + "".join(f"{key}={value}\n" for key, value in more.items())
            )
            assert storage(["format", "-c", str(self.properties(node)), "-t", CLUSTER]) == 0

    def properties(self, node: int) -> Path:
        return self._folder / f"broker{node}.properties"

    def log_of(self, node: int, topic: str, partition: int) -> Path:
        """The file with the records that a broker has of a partition."""
        return self._folder / f"broker{node}" / f"{topic}-{partition}" / f"{0:020}.log"

    @property
    def addresses(self) -> str:
        """As clients take them."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def start(self, node: int) -> None:
        command = [sys.executable, "-m", "impl.kraft.server", str(self.properties(node))]
        self.processes[node] = ManagedProcess(command, self._folder / f"broker{node}.log")

    def await_running(self, *nodes: int) -> None:
        for node in nodes:
            until(lambda node=node: self.state_of(node) == "RUNNING", f"broker {node} is unfenced")  # type: ignore[misc]

    def lines_of(self, node: int) -> list[dict[str, Any]]:
        """What it has logged, in all of its processes."""
        lines = (self._folder / f"broker{node}.log").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def state_of(self, node: int) -> str | None:
        """The state that its last process was in last."""
        said: str | None = None
        for line in self.lines_of(node):
            said = line["state"] if line["event"] == "broker" else None if line["event"] == "started" else said
        return said


@contextmanager
def own_cluster(
    folder: Path, more: Mapping[str, object] | None = None, nodes: tuple[int, ...] = BROKERS,
    listener: str = "PLAINTEXT", formatting: Sequence[str] = (),
    of_brokers: Mapping[str, object] | None = None,
) -> Iterator[OwnBrokers]:  # fmt: skip
    """Three controllers and brokers that run, and are gone at the end.

    more: settings of all. listener: of brokers. of_brokers: of these alone. formatting: of controllers, as of
    `Controllers`.
    """
    settings = {"broker.session.timeout.ms": 6_000, "broker.heartbeat.interval.ms": 500, **(more or {})}
    with controllers(folder, settings, formatting) as cluster:
        found = OwnBrokers(folder, cluster, {**settings, **(of_brokers or {})}, nodes, listener)
        try:
            for node in nodes:
                found.start(node)
            found.await_running(*nodes)
            yield found
        finally:
            for process in found.processes.values():
                process.kill()
