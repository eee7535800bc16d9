"""Brokers of ours as processes, under controllers of ours, on the loopback interface."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from impl.apache.recording.driving import CRASH, SIGTERM, START
from impl.kraft.simulation.replayed import hold_replicas
from impl.kraft.simulation.replica_rules import ReplicaRules
from impl.kraft.tools.storage import main as storage
from impl.runtime.ports import free_ports
from tests.cluster.kafka import until
from tests.cluster.mesh import CLIENTS, Mesh
from tests.cluster.processes import ManagedProcess
from tests.impl.kraft.server.controllers import CLUSTER, PROGRAM, Controllers, controllers, written_by_now

BROKERS = (11, 12, 13)
_SHUTDOWN_S = 180


class OwnBrokers:
    """Formatted, and each started with `start`. controllers: started."""

    def __init__(
        self, folder: Path, cluster: Controllers, more: Mapping[str, object], nodes: tuple[int, ...], listener: str,
        mesh: Mesh | None, program: Sequence[str],
    ) -> None:  # fmt: skip
        self._program = program
        self.controllers, self.nodes, self._folder = cluster, nodes, folder
        self.ports = dict(zip(nodes, free_ports(len(nodes)), strict=True))
        self.processes: dict[int, ManagedProcess] = {}
        self._doors = self.ports if mesh is None else {
            node: mesh.port(CLIENTS, node, port) for node, port in self.ports.items()
        }  # fmt: skip
        """Where clients and other brokers find them."""
        for node in nodes:
            self.properties(node).write_text(
                f"process.roles=broker\nnode.id={node}\ncontroller.listener.names=CONTROLLER\n"
                f"controller.quorum.voters={cluster.voters(node)}\n"
                f"listeners={listener}://127.0.0.1:{self.ports[node]}\n"
                f"advertised.listeners={listener}://127.0.0.1:{self._doors[node]}\n"
                "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
                f"log.dirs={folder}/broker{node}\ntrace.file={self.raw_trace(node)}\n"
                + "".join(f"{key}={value}\n" for key, value in more.items())
            )
            assert storage(["format", "-c", str(self.properties(node)), "-t", CLUSTER]) == 0

    def properties(self, node: int) -> Path:
        return self._folder / f"broker{node}.properties"

    def raw_trace(self, node: int) -> Path:
        return self._folder / f"raw{node}.ndjson"

    def hold_rules(self) -> None:
        """What brokers did to their replicas is held to rules, at every event until now."""
        hold_replicas(written_by_now(self.raw_trace(node) for node in self.nodes), ReplicaRules())

    def log_file(self, node: int, topic: str, partition: int) -> Path:
        """The file with the records that a broker has of a partition."""
        return self._folder / f"broker{node}" / f"{topic}-{partition}" / f"{0:020}.log"

    @property
    def addresses(self) -> str:
        """As clients take them."""
        return ",".join(f"127.0.0.1:{port}" for port in self._doors.values())

    def process(self, node: int) -> ManagedProcess:
        """The last one of a broker or a controller."""
        return self.processes[node] if node in self.nodes else self.controllers.processes[node]

    # What is done to a broker, or a controller.

    def start(self, node: int) -> None:
        self._note(START, node)
        if node not in self.nodes:
            self.controllers.start(node)
            return
        command = [sys.executable, *self._program, str(self.properties(node))]
        self.processes[node] = ManagedProcess(command, self._folder / f"broker{node}.log")

    def kill(self, node: int) -> None:
        """Nothing where it has ended as it was asked to."""
        if self.process(node).exit_code != 0:
            self.process(node).kill()
            self._note(CRASH, node)

    def restart(self, node: int) -> None:
        self.kill(node)
        self.start(node)

    def ask_to_stop(self, node: int) -> None:
        """SIGTERM."""
        self._note(SIGTERM, node)
        self.process(node).ask_to_stop()

    def terminate(self, node: int) -> int:
        """Its exit code."""
        self.ask_to_stop(node)
        return self.process(node).terminate(_SHUTDOWN_S)

    def _note(self, what: str, node: int) -> None:
        if node in self.nodes:
            self.controllers.note(what, node)

    def metadata_bytes(self, node: int) -> int:
        """The size of the log of a broker or a controller."""
        name = f"broker{node}" if node in self.nodes else f"data{node}"
        return sum(path.stat().st_size for path in (self._folder / name / "__cluster_metadata-0").glob("*.log"))

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
    of_brokers: Mapping[str, object] | None = None, mesh: Mesh | None = None, validated: bool = True,
    program: Sequence[str] = PROGRAM, held: bool = True,
) -> Iterator[OwnBrokers]:  # fmt: skip
    """Three controllers and brokers that run, and are gone at the end.

    more: settings of all. listener: of brokers. of_brokers: of these alone. formatting: of controllers, as of
    `Controllers`. mesh: the links between them. validated: what was decided is, by the spec, in the end.
    program: of nodes. held: to the rules of replicas, of which all are ours.
    """
    settings = {"broker.session.timeout.ms": 6_000, "broker.heartbeat.interval.ms": 500, **(more or {})}
    with controllers(folder, settings, formatting, None if mesh is None else mesh.port, program) as cluster:
        found = OwnBrokers(folder, cluster, {**settings, **(of_brokers or {})}, nodes, listener, mesh, program)
        try:
            for node in nodes:
                found.start(node)
            found.await_running(*nodes)
            yield found
            if held:
                found.hold_rules()
            if validated:
                cluster.validate()
        finally:
            for process in found.processes.values():
                process.kill()
