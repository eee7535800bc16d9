"""Brokers of Apache Kafka under controllers of ours, and what its tools say through them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from impl.apache.recording.driving import CRASH, SIGTERM, START
from impl.kraft.tools.dump_log import main as dump_log
from impl.kraft.tools.storage import main as storage
from impl.runtime.ports import free_ports
from tests.cluster.kafka import java, tool
from tests.cluster.processes import ManagedProcess
from tests.impl.kraft.released import VERSION
from tests.impl.kraft.server.controllers import CLUSTER, Controllers

TERMINATED = 143
_SHUTDOWN_S = 60
BROKER = 11


class Broker:
    """Formatted by ours, and started."""

    def __init__(
        self, folder: Path, cluster: Controllers, node: int = BROKER, version: str = VERSION,
        folders: Sequence[Path] = (),
    ) -> None:  # fmt: skip
        """folders: its log directories, one of its own if they are not said."""
        (self.port,) = free_ports(1)
        self._folder, self._node, self._cluster = folder, node, cluster
        properties = folder / f"broker{node}.properties"
        properties.write_text(
            f"process.roles=broker\nnode.id={node}\ncontroller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters={cluster.voters(node)}\nlisteners=PLAINTEXT://127.0.0.1:{self.port}\n"
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
            f"log.dirs={','.join(map(str, folders or [folder / f'broker{node}']))}\n"
            "log.flush.offset.checkpoint.interval.ms=1000\n"
            "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\nreplica.lag.time.max.ms=3000\n"
        )
        assert storage(["format", "-c", str(properties), "-t", CLUSTER]) == 0
        self._command = [*java(version), "kafka.Kafka", str(properties)]
        self.start()

    def start(self) -> None:
        self._cluster.note(START, self._node)
        self.process = ManagedProcess(self._command, self._folder / f"broker{self._node}.log")

    def kill(self) -> None:
        self.process.kill()
        self._cluster.note(CRASH, self._node)

    def terminate(self) -> int:
        """Its exit code."""
        self._cluster.note(SIGTERM, self._node)
        return self.process.terminate(_SHUTDOWN_S)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def has_started(self, times: int = 1) -> bool:
        return self.process.output().count("Kafka Server started") >= times

    def topics(self, *arguments: str) -> str:
        """What `kafka-topics` prints. Raises CalledProcessError."""
        return tool(VERSION, "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.address, *arguments)

    def configs(self, *arguments: str) -> str:
        """What `kafka-configs` prints. Raises CalledProcessError."""
        return tool(VERSION, "kafka.admin.ConfigCommand", "--bootstrap-server", self.address, *arguments)

    def quorum(self) -> str:
        """What `kafka-metadata-quorum describe --replication` prints."""
        name = "org.apache.kafka.tools.MetadataQuorumCommand"
        return tool(VERSION, name, "--bootstrap-server", self.address, "describe", "--replication")


def records(cluster: Controllers, node: int) -> str:
    """What the log of a controller has, as our tool prints it."""
    out = io.StringIO()
    with redirect_stdout(out):
        dump_log(["--cluster-metadata-decoder", "--files", str(cluster.directory(node) / f"{0:020}.log")])
    return out.getvalue()
