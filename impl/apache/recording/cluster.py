"""The processes of a cluster: controllers and brokers of a release, on ports of the loopback interface.

A node listens at a port that no other is told of: they see it at the port of a proxy (`network`).
"""

from __future__ import annotations

import base64
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from impl.apache.errors import ApacheError
from impl.apache.recording.network import Network
from impl.apache.release import jars, numbers
from impl.runtime.ports import free_ports

FIRST_CONTROLLER = 100
"""The ids of controllers count from here, those of brokers from 0."""
ELR_SINCE = (4, 0)
"""The first release with a feature for eligible leader replicas (KIP-966), which no spec here has."""
DATA, LOG = "data", "log"
"""In a node's folder: its directory, and what it printed."""

SESSION_MS, HEARTBEAT_MS, LAG_MS = 4_000, 500, 3_000
_LIMIT_S = 300.0
_POLL_S = 0.05
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_HEAP = {"controller": "-Xmx96m", "broker": "-Xmx160m"}


class Node:
    """A controller or a broker: its folder, and its process while it runs. log: of all its processes."""

    def __init__(self, folder: Path, version: str, node_id: int, role: str, config: Mapping[str, object]) -> None:
        self.folder, self.node_id, self.role = folder, node_id, role
        self.log = folder / LOG
        self._version = version
        self._config = folder / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        lines = {"node.id": node_id, "process.roles": role, **config, "log.dirs": self.data}
        self._config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    @property
    def data(self) -> Path:
        return self.folder / DATA

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def format(self, cluster_id: str) -> None:
        """Raises ApacheError."""
        tool = ["kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self._config)]
        features = [] if numbers(self._version) < ELR_SINCE else ["--feature", "eligible.leader.replicas.version=0"]
        done = subprocess.run([*self._java(), *tool, *features], capture_output=True, text=True, timeout=_LIMIT_S)
        if done.returncode != 0:
            raise ApacheError(f"node {self.node_id} cannot be formatted: {done.stdout}{done.stderr}")

    def format_as(self, other: Node) -> None:
        """What the tool writes for another node of the cluster, with this one's id: a JVM less."""
        shutil.copytree(other.data, self.data)
        lines = (other.data / "meta.properties").read_text().splitlines()
        own = {"node.id": str(self.node_id), "directory.id": _random_id()}
        named = (line.partition("=")[0] for line in lines)
        changed = [f"{name}={own[name]}" if name in own else line for name, line in zip(named, lines, strict=True)]
        (self.data / "meta.properties").write_text("\n".join(changed) + "\n")

    def start(self) -> None:
        """In a process group of its own: Ctrl-C is this process's, which then stops it."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._java(), "kafka.Kafka", str(self._config)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def kill(self) -> None:
        """kill -9, of a paused process too. Returns when it is gone."""
        self.signal(signal.SIGKILL)
        self.wait(_LIMIT_S)

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def wait(self, limit_s: float) -> bool:
        """True once it has ended; False where it has not by then."""
        if self._process is None:
            return True
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _java(self) -> list[str]:
        log4j = Path(__file__).parent / "log4j.properties"
        path = f"{jars(self._version)}/*"
        return ["java", _HEAP[self.role], *_JVM, f"-Dlog4j.configuration=file:{log4j}", "-cp", path]


class Cluster:
    """Nodes by id, the addresses of the brokers, for clients, and what is between them all."""

    def __init__(self, nodes: Mapping[int, Node], bootstrap: Mapping[int, str], network: Network) -> None:
        self.nodes, self.bootstrap, self.network = nodes, bootstrap, network

    @property
    def controllers(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.role == "controller"]

    @property
    def brokers(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.role == "broker"]

    def stop(self) -> None:
        """Brokers first: they wait for a controller."""
        for nodes in (self.brokers, self.controllers):
            for node in nodes:
                node.signal(signal.SIGCONT)
                node.signal(signal.SIGKILL if node.role == "broker" else signal.SIGTERM)
            for node in nodes:
                if not node.wait(20.0):
                    node.kill()


@contextmanager
def cluster(
    folder: Path, version: str, controllers: int, brokers: int, more: Mapping[str, object] | None = None
) -> Iterator[Cluster]:
    """A cluster that is formatted and not started. In the end its processes are gone; the folder stays.

    more: settings of all nodes.
    """
    with closing(Network()) as network:
        made = _configured(folder, version, controllers, brokers, more or {}, network)
        try:
            first, *others = made.nodes.values()
            first.format(_random_id())
            for node in others:
                node.format_as(first)
            yield made
        finally:
            for node in made.nodes.values():
                node.kill()


def _configured(
    folder: Path, version: str, controllers: int, brokers: int, more: Mapping[str, object], network: Network
) -> Cluster:
    ids = [*range(FIRST_CONTROLLER, FIRST_CONTROLLER + controllers), *range(brokers)]
    at, seen_at = (dict(zip(ids, free_ports(len(ids)), strict=True)) for _ in range(2))
    voters = ",".join(f"{node_id}@127.0.0.1:{seen_at[node_id]}" for node_id in ids[:controllers])
    common = {
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller.quorum.voters": voters,
        "broker.session.timeout.ms": SESSION_MS,
        "broker.heartbeat.interval.ms": HEARTBEAT_MS,
        "replica.lag.time.max.ms": LAG_MS,
        "log.cleaner.dedupe.buffer.size": 2 << 20,  # of 128 MiB by default, which the heap has no room for
        **more,
    }
    nodes = dict[int, Node]()
    for node_id in ids:
        role, listener = ("broker", "PLAINTEXT") if node_id in range(brokers) else ("controller", "CONTROLLER")
        listeners = {
            "listeners": f"{listener}://127.0.0.1:{at[node_id]}",
            "advertised.listeners": f"{listener}://127.0.0.1:{seen_at[node_id]}",
        }
        network.stand_before(node_id, seen_at[node_id], at[node_id])
        nodes[node_id] = Node(folder / f"{role}{node_id}", version, node_id, role, {**common, **listeners})
    return Cluster(nodes, {node_id: f"127.0.0.1:{seen_at[node_id]}" for node_id in range(brokers)}, network)


def _random_id() -> str:
    """As Kafka writes UUIDs. It refuses those that begin with a dash, which a command line takes for an option."""
    return "a" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]


def until(happens: Callable[[], bool], what: str, limit_s: float = _LIMIT_S) -> None:
    """Wait for something. Raises ApacheError, which says what did not happen."""
    end = time.monotonic() + limit_s
    while not happens():
        if time.monotonic() > end:
            raise ApacheError(f"in {limit_s:g} s this did not happen: {what}")
        time.sleep(_POLL_S)
