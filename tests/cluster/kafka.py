"""A real Apache Kafka in KRaft mode: one controller and brokers, from jars that Maven puts into a cache.

    python -m impl.apache.release 3.9.2

fetches them; tests that want a Kafka are skipped where there are none.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from impl.apache import release
from impl.apache.release import jars
from tests.cluster.processes import ManagedProcess

VERSION = "3.9.2"
CONTROLLER = 9
LIMIT_S = 180.0
_CLUSTER_ID = "ZmVuY2Vwb3N0LXRlc3Q0Mg"
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


def missing(version: str = VERSION) -> str:
    """What there is no Kafka for want of; "" where there is one."""
    return release.missing(version, ("java",))


class Node:
    """A controller or broker: its configuration, and its process while it runs."""

    def __init__(self, folder: Path, version: str, config: Mapping[str, object]) -> None:
        self.folder, self.version = folder, version
        folder.mkdir(parents=True)
        self._config = folder / "server.properties"
        self._config.write_text("".join(f"{k}={v}\n" for k, v in {**config, "log.dirs": folder / "data"}.items()))
        self.process: ManagedProcess | None = None
        tool(version, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", self._config)

    def start(self) -> None:
        command = [*java(self.version), "kafka.Kafka", str(self._config)]
        self.process = ManagedProcess(command, self.folder / "log")

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    def has_started(self) -> bool:
        return "Kafka Server started" in self.output()

    def output(self) -> str:
        """What it logged so far."""
        return (self.folder / "log").read_text(errors="replace")


def java(version: str) -> list[str]:
    log4j = Path(__file__).parent / "kafka_log4j.properties"
    return ["java", *_JVM, f"-Dlog4j.configuration=file:{log4j}", "-cp", f"{jars(version)}/*"]


def tool(version: str, name: str, *arguments: object) -> str:
    """What a tool of Kafka prints. Raises CalledProcessError."""
    command = [*java(version), name, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    return done.stdout


def until(happens: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    """Wait for something. Raises TimeoutError, which says what did not happen."""
    end = time.monotonic() + limit_s
    while not happens():
        if time.monotonic() > end:
            raise TimeoutError(f"in {limit_s:g} s this did not happen: {what}")
        time.sleep(0.02)


@contextmanager
def nodes(configs: Mapping[int, Mapping[str, object]], version: str = VERSION) -> Iterator[dict[int, Node]]:
    """Nodes that are formatted and not started, by id. In the end they are gone, and their folders."""
    with tempfile.TemporaryDirectory(prefix="fencepost-kafka-") as folder:
        made = {i: Node(Path(folder) / str(i), version, {"node.id": i, **config}) for i, config in configs.items()}
        try:
            yield made
        finally:
            for node in made.values():
                node.kill()


def controller_config(port: int) -> dict[str, object]:
    return {
        "process.roles": "controller",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CONTROLLER://127.0.0.1:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{port}",
    }


def broker_config(port: int, advertised: int, controller: int, more: Mapping[str, object]) -> dict[str, object]:
    """advertised: the port that others are told; controller: the port by which this broker reaches the controller."""
    return {
        "process.roles": "broker",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{advertised}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{controller}",
        **more,
    }
