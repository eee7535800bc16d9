"""Three controllers as processes, on the loopback interface and in folders of their own."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from impl.apache.recording.driving import Done
from impl.kraft.recorded.events import Event, is_of_broker, merged
from impl.kraft.simulation.recording import Recording
from impl.kraft.simulation.replayed import hold, hold_replicas
from impl.kraft.simulation.replica_rules import ReplicaRules
from impl.kraft.storage.batches import Header, headers
from impl.kraft.tools.storage import main as storage
from impl.kraft.tools.trace import traces_of
from impl.runtime.loop import monotonic_ms
from impl.runtime.ports import free_ports
from tests.cluster.kafka import java, until
from tests.cluster.processes import ManagedProcess
from tests.impl.kraft.server.decided_run import ahead_ms, expired, traces
from tests.impl.kraft.simulation.decided import judged
from tests.impl.kraft.simulation.judging import judged as quorum_judged

CLUSTER = "3Db5QLSqSZieL3rJBUUegA"
VOTERS = (1, 2, 3)
PROGRAM = ("-m", "impl.kraft.server")
_WRITTEN_S = 0.05
"""After which an event is in its file, whose time was taken before it was written."""

Reach = Callable[[int, int, int], int]
"""The port at which a node reaches another, or itself, given that at which the other listens. Otherwise it is that."""


class Controllers:
    """Formatted, and each started with `start`. processes: the last one of each node."""

    def __init__(
        self, folder: Path, more: Mapping[str, object] | None = None, formatting: Sequence[str] = (),
        reach: Reach | None = None, program: Sequence[str] = PROGRAM, *, records: bool = True,
    ) -> None:  # fmt: skip
        """more: settings of all of them. formatting: further arguments of `kafka-storage format`.

        records: they write raw traces.
        """
        self._records = records
        self._program = program
        self._folder, self._more = folder, {"metadata.max.idle.interval.ms": 100, **(more or {})}
        self.ports = dict(zip(VOTERS, free_ports(len(VOTERS)), strict=True))
        self._reach = reach or (lambda _source, _target, port: port)
        self.processes: dict[int, ManagedProcess] = {}
        self._started: list[ManagedProcess] = []
        self._are_ours = True
        self.journal: list[Done] = []
        """What was done to brokers, by their ids."""
        for node in VOTERS:
            self.properties(node).write_text(self._text(node))
            assert storage(["format", "-c", str(self.properties(node)), "-t", CLUSTER, *formatting]) == 0

    def properties(self, node: int) -> Path:
        return self._folder / f"{node}.properties"

    def configure(self, node: int, more: Mapping[str, object]) -> None:
        """Further settings of one, from its next start on."""
        with self.properties(node).open("a") as text:
            text.writelines(f"{key}={value}\n" for key, value in more.items())

    def directory(self, node: int) -> Path:
        return self._folder / f"data{node}" / "__cluster_metadata-0"

    def raw_trace(self, node: int) -> Path:
        return self._folder / f"raw{node}.ndjson"

    def voters(self, node: int) -> str:
        """As the configuration of a node names them."""
        return ",".join(f"{one}@127.0.0.1:{self._reach(node, one, port)}" for one, port in self.ports.items())

    def _text(self, node: int) -> str:
        return (
            f"process.roles=controller\nnode.id={node}\ncontroller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters={self.voters(node)}\nlisteners=CONTROLLER://127.0.0.1:{self.ports[node]}\n"
            f"log.dirs={self._folder}/data{node}\n"
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        ) + "".join(f"{key}={value}\n" for key, value in (self._more | self._recording(node)).items())

    def _recording(self, node: int) -> dict[str, object]:
        return {"trace.file": self.raw_trace(node)} if self._records else {}

    def start(self, node: int) -> None:
        command = [sys.executable, *self._program, str(self.properties(node))]
        self.processes[node] = ManagedProcess(command, self._folder / f"{node}.log")
        self._started.append(self.processes[node])

    def start_kafka(self, node: int, version: str) -> None:
        """Apache Kafka's own controller in the place of ours, on the directory that ours has formatted."""
        self._are_ours = False
        command = [*java(version), "kafka.Kafka", str(self.properties(node))]
        self.processes[node] = ManagedProcess(command, self._folder / f"{node}.log")
        self._started.append(self.processes[node])

    @property
    def alive(self) -> tuple[int, ...]:
        return tuple(node for node, process in self.processes.items() if process.exit_code is None)

    def kill(self) -> None:
        """All that were started, and may run still."""
        for process in self._started:
            process.kill()

    def log_of(self, node: int) -> list[dict[str, Any]]:
        """The lines of its log, of all its processes."""
        lines = (self._folder / f"{node}.log").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def quorum_of(self, node: int) -> dict[str, Any]:
        """What a node said last of epoch, leader and its own part; nothing since it started: empty."""
        said: dict[str, Any] = {}
        for line in self.log_of(node):
            said = line if line["event"] == "quorum" else {} if line["event"] == "started" else said
        return said

    def leader(self, of: tuple[int, ...] = VOTERS) -> int | None:
        """The controller that all of these follow, and that says that it is active."""
        said = [self.quorum_of(node) for node in of]
        if not all(said) or len({(one["epoch"], one["leader"]) for one in said}) > 1:
            return None
        leader: int | None = said[0]["leader"]
        return leader if leader in of and self.quorum_of(leader)["is_active"] else None

    def await_leader(self, of: tuple[int, ...] = VOTERS) -> int:
        until(lambda: self.leader(of) is not None, f"{of} have a leader")
        leader = self.leader(of)
        assert leader is not None
        return leader

    def await_growth(self, node: int) -> None:
        """No-op records are written, and so reach a node that follows."""
        before = len(self.data(node))
        until(lambda: len(self.data(node)) > before, f"the log of {node} grows")

    def data(self, node: int) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.directory(node).glob("*.log")))

    def batches(self, node: int) -> list[Header]:
        return [header for _, header in headers(self.data(node))]

    # What they decide.

    def note(self, what: str, broker: int) -> None:
        """What is done to a broker now, for traces: START, SIGTERM or CRASH."""
        self.journal.append(Done(monotonic_ms(), what, broker))

    def metadata(self) -> bytes:
        """The log of the active controller."""
        return self.data(self.await_leader(self.alive))

    def traces(self, about: str = "") -> dict[str, str]:
        """By partition, what was decided until now, as traces with names that begin so."""
        nodes = sorted({done.broker for done in self.journal})
        journal = [replace(done, broker=nodes.index(done.broker)) for done in self.journal]
        decided = self.metadata()  # before what controllers have logged: a lease may run out meanwhile
        lapsed = expired(line for node in self.processes for line in self.log_of(node))
        of_day_ms = time.time_ns() // 1_000_000 - monotonic_ms()  # of Kafka's controllers, which do not tell
        clocks_ms: dict[int, int] = defaultdict(lambda: of_day_ms)
        for node in self.processes:
            clocks_ms |= ahead_ms(self.log_of(node))
        return traces(decided, lapsed, journal, nodes, about, clocks_ms)

    def traces_of_requests(self, about: str = "") -> dict[str, str]:
        """As `traces`, by raw traces: with what brokers have asked for and heard. None where a node is Kafka's."""
        nodes = [*VOTERS, *(one for one in sorted({done.broker for done in self.journal}) if one not in VOTERS)]
        files = [self.raw_trace(node) for node in nodes]
        if not self._are_ours or not all(file.exists() for file in files):
            return {}
        found = traces_of(written_by_now(files), f"{about}requests, ")
        return {name: one.text for name, one in found.items()}

    def validate(self) -> None:
        """What was decided about each partition until now, and what the quorum did, are behaviours of the spec.

        Traces are kept in a folder.
        """
        found = self.traces() | self.traces_of_requests()
        folder = self._folder / "traces"
        folder.mkdir(exist_ok=True)
        for name, text in found.items():
            (folder / f"{name}.ndjson").write_text(text)
        summary = judged(len({done.broker for done in self.journal}), found)
        assert summary.counts["accepted"] == len(found), summary.verdicts
        of_quorum = quorum_judged({"quorum": self.hold_rules()})
        assert of_quorum.counts["accepted"] == 1, of_quorum.verdicts

    def hold_rules(self) -> str:
        """What all of them did is held to the rules of the quorum, at every event until now; a trace for its spec."""
        written = written_by_now(self.raw_trace(node) for node in VOTERS)
        lines: list[str] = []
        rules = Recording(len(VOTERS), lines.append, self._folder.name)
        hold([event for event in written if not is_of_broker(event)], rules)
        hold_replicas([event for event in written if is_of_broker(event)], ReplicaRules())
        rules.close()
        return "".join(lines)


def written_by_now(files: Iterable[Path]) -> list[Event]:
    """The events in raw traces, as far as these are there, until now: of none has another node written too little."""
    now_ns = time.monotonic_ns()
    time.sleep(_WRITTEN_S)
    events = merged((file.name, file.read_bytes()) for file in files if file.exists())
    return [event for event in events if event["mono_ns"] <= now_ns]


@contextmanager
def controllers(
    folder: Path,
    more: Mapping[str, object] | None = None,
    formatting: Sequence[str] = (),
    reach: Reach | None = None,
    program: Sequence[str] = PROGRAM,
    *,
    held: bool = True,
) -> Iterator[Controllers]:
    """Three that have started, are gone at the end, and have kept the rules of the quorum.

    more, formatting, reach, program: as of `Controllers`. held: to the rules, which who loses its disk breaks (R7).
    """
    found = Controllers(folder, more, formatting, reach, program)
    try:
        for node in VOTERS:
            found.start(node)
        yield found
        found.kill()
        if held:
            found.hold_rules()
    finally:
        found.kill()
