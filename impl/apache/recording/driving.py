"""A scenario carried out on a cluster, and a journal of what was done to its brokers, with the times."""

from __future__ import annotations

import importlib
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from impl.apache.errors import ApacheError
from impl.apache.recording.cluster import FIRST_CONTROLLER, LAG_MS, SESSION_MS, Cluster, Node, until
from impl.apache.recording.proxies import now_ms
from impl.apache.recording.scenario import OF_CONTROLLER, OF_TOPIC, Step

STARTED = b"Kafka Server started"
START, CRASH, SIGTERM = "start", "crash", "sigterm"
_REQUEST_MS = 10_000
_SHUTDOWN_S = 30.0
_QUIET_S = (SESSION_MS + LAG_MS) / 1000


@dataclass(frozen=True)
class Done:
    """Something that was done to a broker: before its process started, before SIGTERM, after its death."""

    time_ms: int
    what: str
    broker: int


@dataclass
class Driver:
    """Carries out steps. say: is told of each. skipped: steps for which there was no occasion, or that were refused."""

    cluster: Cluster
    say: Callable[[str], None]
    journal: list[Done] = field(default_factory=list)
    skipped: int = 0
    _log_began: dict[int, int] = field(default_factory=dict)

    def run(self, steps: Sequence[Step]) -> None:
        """Start everything, take the steps, and wait until all brokers run. Raises ApacheError."""
        self.begin()
        for step in steps:
            self.take(step)
        self._end()

    def begin(self) -> None:
        """Start everything, and wait until all brokers run. Raises ApacheError."""
        for node in self.cluster.controllers:
            node.start()
        for node in self.cluster.brokers:
            self._start(node)
        for node in self.cluster.brokers:
            self._await(node)

    def take(self, step: Step) -> None:
        """Raises ApacheError."""
        is_done = self._topic(step) if step.do in OF_TOPIC else self._process(step)
        self.skipped += not is_done
        self.say(f"{step.do} {step.topic or step.node}{'' if is_done else ' (not done)'}")
        time.sleep(step.wait_s)

    def _end(self) -> None:
        for node in self.cluster.nodes.values():
            self.cluster.network.heal(node.node_id)
            node.signal(signal.SIGCONT)
        for node in self.cluster.controllers:
            if not node.is_running:
                node.start()
        for node in self.cluster.brokers:
            self._restart(node)
        for node in self.cluster.brokers:
            self._await(node)
        time.sleep(_QUIET_S)

    # Processes.

    def _process(self, step: Step) -> bool:
        node = self.cluster.nodes[step.node + (FIRST_CONTROLLER if step.do in OF_CONTROLLER else 0)]
        network = self.cluster.network
        match step.do:
            case "kill" if node.is_running:
                self._kill(node)
            case "terminate" if node.is_running and self._has_started(node):
                self._note(SIGTERM, node)
                node.signal(signal.SIGTERM)
            case "pause" if node.is_running:
                node.signal(signal.SIGSTOP)
            case "resume" if node.is_running:
                node.signal(signal.SIGCONT)
            case "start":
                return self._restart(node)
            case "await" if node.is_running:
                self._await(node)
            case "kill_controller" if self._may_lose(node):
                node.kill()
            case "start_controller" if not node.is_running:
                node.start()
            case "cut" | "cut_controller":
                network.cut(node.node_id, step.way)
            case "delay":
                network.delay(node.node_id, step.delay_ms)
            case "copy":
                network.copy(node.node_id)
            case "heal" | "heal_controller":
                network.heal(node.node_id)
            case _:
                return False
        return True

    def _may_lose(self, node: Node) -> bool:
        """One is down at a time: a majority goes on."""
        return all(other.is_running for other in self.cluster.controllers) and node.is_running

    def _restart(self, node: Node) -> bool:
        """Start a broker that is down, or is on its way: one that does not get there is killed."""
        is_stopping = bool(self.journal) and self._last(node) == SIGTERM
        if is_stopping and not node.wait(_SHUTDOWN_S):
            self._kill(node)
        if node.is_running:
            return False
        self._start(node)
        return True

    def _last(self, node: Node) -> str:
        return next(done.what for done in reversed(self.journal) if done.broker == node.node_id)

    def _start(self, node: Node) -> None:
        self._note(START, node)
        self._log_began[node.node_id] = node.log.stat().st_size if node.log.exists() else 0
        node.start()

    def _kill(self, node: Node) -> None:
        node.kill()
        self._note(CRASH, node)

    def _note(self, what: str, node: Node) -> None:
        self.journal.append(Done(now_ms(), what, node.node_id))

    def _await(self, node: Node) -> None:
        until(lambda: self._has_started(node), f"broker {node.node_id} starts")

    def _has_started(self, node: Node) -> bool:
        if not node.is_running:
            raise ApacheError(f"broker {node.node_id} has ended by itself: see {node.log}")
        with node.log.open("rb") as log:
            log.seek(self._log_began[node.node_id])
            return STARTED in log.read()

    # Operations of a client.

    def _topic(self, step: Step) -> bool:
        """Ask for an operation, once. False where it is refused, or nobody answers in time: it may be done, then."""
        kafka = client_library()
        running = [address for id_, address in self.cluster.bootstrap.items() if self.cluster.nodes[id_].is_running]
        try:
            client = kafka.KafkaAdminClient(
                bootstrap_servers=running, request_timeout_ms=_REQUEST_MS, bootstrap_timeout_ms=_REQUEST_MS
            )
        except kafka.errors.KafkaError:
            return False
        try:
            return _asked(kafka, client, step)
        except kafka.errors.KafkaError:
            return False
        finally:
            client.close()


def client_library() -> Any:
    """kafka-python, which warns when it is loaded. Raises ApacheError where it is not installed."""
    try:
        importlib.import_module("kafka.errors")
        return importlib.import_module("kafka")
    except ImportError:
        raise ApacheError("operations on topics need kafka-python: pip install kafka-python") from None


def _asked(kafka: Any, client: Any, step: Step) -> bool:
    partition = kafka.TopicPartition(step.topic, 0)
    match step.do:
        case "create":
            client.create_topics({step.topic: {"assignments": {0: list(step.replicas)}}}, timeout_ms=_REQUEST_MS)
        case "delete":
            client.delete_topics([step.topic], timeout_ms=_REQUEST_MS)
        case "elect":
            client.elect_leaders(0, {step.topic: [0]}, timeout_ms=_REQUEST_MS)
        case _:
            target = list(step.replicas) if step.do == "reassign" else None
            answer = client.alter_partition_reassignments({partition: target}, timeout_ms=_REQUEST_MS)
            return answer.get(partition) is None
    return True
