"""Three controllers of ours, and three of Apache Kafka 4.3.1, each a process on this machine, asked for the same.

usage: python -m tests.benchmarks.controllers [--topics N] [--repeats N] [--ours | --traced | --uvloop]

Topics have 1,000 partitions of three replicas, all led by one broker. Runs of both take turns; medians are printed, and
the ratio of each. `--ours` measures ours alone, as does a machine without a JVM and Kafka's jars; `--traced` and
`--uvloop` have ours in the place of Kafka that write raw traces, or run on uvloop. Exit code 0.
"""

from __future__ import annotations

import argparse
import logging
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from enum import Enum
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

from kio.schema.alter_partition.v3 import request as isr_request
from kio.schema.alter_partition.v3.response import AlterPartitionResponse
from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse
from kio.schema.broker_registration.v4 import request as registration
from kio.schema.broker_registration.v4.response import BrokerRegistrationResponse
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.types import BrokerId
from kio.static.primitive import i16, i32, i64, u16

from impl.apache.release import jars, missing
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import Frames, Reader, RequestHeader, frame, request_bytes
from tests.cluster import kafka
from tests.cluster.processes import ManagedProcess
from tests.impl.kraft.released import VERSION
from tests.impl.kraft.server.admin_requests import creation, new_topic
from tests.impl.kraft.server.controllers import CLUSTER, PROGRAM, VOTERS, Controllers

BROKERS = (11, 12, 13)
LEADER, OTHERS = BROKERS[0], BROKERS[1:]
PARTITIONS, ALTERED, ROUNDS = 1_000, 100, 60
HEARTBEATS_S, CONNECTIONS = 4.0, 8
_LIMIT_S, _RETRY_S = 180.0, 0.005
_ALREADY_EXISTS, _NOT_CONTROLLER = 36, 41
_SETTINGS = {"broker.session.timeout.ms": 600_000, "metadata.max.idle.interval.ms": 500}

logging.disable(logging.WARNING)


class Connection:
    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_LIMIT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._frames = Frames(200 << 20)

    def exchange(self, data: bytes) -> bytes:
        """Raises OSError."""
        self._socket.sendall(data)
        while chunk := self._socket.recv(1 << 16):
            for content in self._frames.feed(chunk):
                return content
        raise ConnectionError("the controller has closed the connection")

    def close(self) -> None:
        self._socket.close()


def framed(request: Any) -> bytes:
    header = RequestHeader(int(request.__api_key__), int(request.__version__), 1, "bench")
    return frame(request_bytes(header, b"\0" + entity_bytes(request)))


class Side(Enum):
    OURS = "ours"
    KAFKA = "Kafka"
    TRACED = "ours, traced"
    UVLOOP = "on uvloop"


class Quorum:
    """Three controllers; what is asked is asked of the active one."""

    def __init__(self, folder: Path, side: Side) -> None:
        self.is_kafka, self._folder = side is Side.KAFKA, folder
        with redirect_stdout(StringIO()):
            program = (*PROGRAM, *(("--uvloop",) if side is Side.UVLOOP else ()))
            self.nodes = Controllers(folder, _SETTINGS, program=program, records=side is Side.TRACED)
        self.active = VOTERS[0]
        self._connection: Connection | None = None

    def start(self, node: int) -> None:
        if not self.is_kafka:
            self.nodes.start(node)
            return
        log4j = Path(kafka.__file__).parent / "kafka_log4j.properties"
        command = [
            "java", "-Xms1g", "-Xmx1g", "-XX:+UseG1GC", f"-Dlog4j.configuration=file:{log4j}",
            "-cp", f"{jars(VERSION)}/*", "kafka.Kafka", str(self.nodes.properties(node)),
        ]  # fmt: skip
        self.nodes.processes[node] = ManagedProcess(command, self._folder / f"{node}.log")

    def stop(self) -> None:
        self._drop()
        for process in self.nodes.processes.values():
            process.kill()

    def ask(self, request: Any, kind: Any) -> Any:
        """The answer of the active controller, whichever that is by then. Raises TimeoutError."""
        data, ends_s = framed(request), time.monotonic() + _LIMIT_S
        while time.monotonic() < ends_s:
            try:
                self._connection = self._connection or Connection(self.nodes.ports[self.active])
                reader = Reader(self._connection.exchange(data))
                reader.int32("correlation id")
                answer = read_entity(kind, reader.rest()[1:])
                if _error(answer) != _NOT_CONTROLLER:
                    return answer
            except OSError:
                pass
            self._drop()
            self.active = VOTERS[(VOTERS.index(self.active) + 1) % len(VOTERS)]
            time.sleep(_RETRY_S)
        raise TimeoutError("no controller is active")

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    # What is asked for.

    def register(self, broker: int) -> int:
        """Its epoch. It is unfenced then."""
        listener = registration.Listener(name="PLAINTEXT", host="127.0.0.1", port=u16(9), security_protocol=i16(0))
        feature = registration.Feature(
            name="metadata.version", min_supported_version=i16(7), max_supported_version=i16(14)
        )
        answer = self.ask(registration.BrokerRegistrationRequest(
            broker_id=BrokerId(broker), cluster_id=CLUSTER, incarnation_id=UUID(int=broker), listeners=(listener,),
            features=(feature,), rack=None,
        ), BrokerRegistrationResponse)  # fmt: skip
        epoch = int(answer.broker_epoch)
        self.heartbeat(broker, epoch)
        return epoch

    def heartbeat(self, broker: int, epoch: int, *, want_fence: bool = False) -> None:
        answer = self.ask(heartbeat(broker, epoch, want_fence=want_fence), BrokerHeartbeatResponse)
        assert int(answer.error_code) == 0 and bool(answer.is_fenced) == want_fence

    def create(self, name: str, partitions: int = 1) -> UUID | None:
        """The id of the topic; None where an answer was lost, and it is there already."""
        answer = self.ask(creation(new_topic(name, *[BROKERS] * partitions)), CreateTopicsResponse)
        (topic,) = answer.topics
        assert int(topic.error_code) in (0, _ALREADY_EXISTS), topic
        return UUID(str(topic.topic_id)) if topic.topic_id is not None else None

    def resident_mib(self) -> float:
        """Of the active controller."""
        status = Path(f"/proc/{self.nodes.processes[self.active].pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024


def heartbeat(broker: int, epoch: int, *, want_fence: bool = False) -> Any:
    return BrokerHeartbeatRequest(
        broker_id=BrokerId(broker), broker_epoch=i64(epoch), current_metadata_offset=i64(1 << 40),
        want_fence=want_fence, want_shut_down=False,
    )  # fmt: skip


def _error(answer: Any) -> int:
    """Of the whole answer, or of its first topic."""
    parts: Any = getattr(answer, "topics", ())
    return int(answer.error_code) if hasattr(answer, "error_code") else int(parts[0].error_code)


# Scenarios.


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def altered_per_s(quorum: Quorum, topics: Sequence[UUID | None], epoch: int) -> float:
    """Partitions whose ISRs are shrunk, or grow again, a hundred in each request, over a connection for each topic."""

    def alter(topic: UUID | None) -> None:
        connection = Connection(quorum.nodes.ports[quorum.active])
        epochs = dict.fromkeys(range(ALTERED), (0, 0))
        for turn in range(ROUNDS):
            reader = Reader(connection.exchange(framed(alteration(topic, epochs, BROKERS[: 2 + turn % 2], epoch))))
            reader.int32("correlation id")
            told = read_entity(AlterPartitionResponse, reader.rest()[1:]).topics[0].partitions
            assert not any(int(one.error_code) for one in told), told[0]
            epochs = {int(one.partition_index): (int(one.leader_epoch), int(one.partition_epoch)) for one in told}
        connection.close()

    took_s = seconds(lambda: at_once([partial(alter, topic) for topic in topics]))
    return len(topics) * ROUNDS * ALTERED / took_s


def alteration(topic: UUID | None, epochs: Mapping[int, tuple[int, int]], isr: Sequence[int], epoch: int) -> Any:
    """epochs: of leader and partition, by partition. epoch: of the broker."""
    return isr_request.AlterPartitionRequest(
        broker_id=BrokerId(LEADER), broker_epoch=i64(epoch), topics=(isr_request.TopicData(
            topic_id=topic, partitions=tuple(
                isr_request.PartitionData(
                    partition_index=i32(number), leader_epoch=i32(of_leader), partition_epoch=i32(of_partition),
                    new_isr_with_epochs=tuple(isr_request.BrokerState(broker_id=BrokerId(one)) for one in isr),
                )
                for number, (of_leader, of_partition) in epochs.items()
            ),
        ),),
    )  # fmt: skip


def at_once(work: Sequence[Callable[[], None]]) -> None:
    """Raises what the first of them raised."""
    with ThreadPoolExecutor(len(work)) as pool:
        for one in [pool.submit(one) for one in work]:
            one.result()


def heartbeats(quorum: Quorum, epochs: dict[int, int]) -> tuple[float, float, float]:
    """Heartbeats a second over some connections, the milliseconds in which 99% of them were answered, and the most."""
    took: list[float] = []

    def beat(broker: int) -> None:
        connection, data = Connection(quorum.nodes.ports[quorum.active]), framed(heartbeat(broker, epochs[broker]))
        ends_s = time.perf_counter() + HEARTBEATS_S
        while (began := time.perf_counter()) < ends_s:
            connection.exchange(data)
            took.append(time.perf_counter() - began)
        connection.close()

    at_once([partial(beat, BROKERS[at % len(BROKERS)]) for at in range(CONNECTIONS)])
    return len(took) / HEARTBEATS_S, 1_000 * sorted(took)[int(0.99 * len(took))], 1_000 * max(took)


def measured(folder: Path, side: Side, topics: int) -> dict[str, float]:
    """One run of one side, by the name of the figure."""
    quorum = Quorum(folder, side)
    found: dict[str, float] = {}
    try:
        for node in VOTERS:
            quorum.start(node)
        epochs = {broker: quorum.register(broker) for broker in BROKERS}
        quorum.create("warm", PARTITIONS)
        ids: list[UUID | None] = []
        made = f"{topics} topics of {PARTITIONS:,} partitions are created in, s"
        found[made] = seconds(lambda: ids.extend(quorum.create(f"t{at}", PARTITIONS) for at in range(topics)))
        for at, connections in ((0, 1), (1, CONNECTIONS)):
            altered = f"AlterPartition of {ALTERED}, {connections} at once: records/s"
            found[altered] = altered_per_s(quorum, ids[at : at + connections], epochs[LEADER])
        rate, late_ms, longest_ms = heartbeats(quorum, epochs)
        found |= {"heartbeats/s": rate, "  99% of them within, ms": late_ms, "  all of them within, ms": longest_ms}
        found["memory of the active controller, MiB"] = quorum.resident_mib()

        killed = quorum.active
        quorum.nodes.processes[killed].kill()
        found["from kill -9 of it to a topic that is created, s"] = seconds(lambda: quorum.create("killed"))
        quorum.start(killed)
        time.sleep(5)
        stopped = quorum.active
        quorum.nodes.processes[stopped].ask_to_stop()
        found["from SIGTERM of it to a topic that is created, s"] = seconds(lambda: quorum.create("resigned"))
        fencing = "the leader of all partitions is fenced in, s"
        found[fencing] = seconds(lambda: quorum.heartbeat(LEADER, epochs[LEADER], want_fence=True))
        quorum.heartbeat(LEADER, epochs[LEADER])

        quorum.stop()
        for node in VOTERS:
            quorum.start(node)
        found["from the start of all to a topic that is created, s"] = seconds(lambda: quorum.create("cold"))
    finally:
        quorum.stop()
    return found


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="controllers-") as folder:
        yield Path(folder)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.controllers")
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument("--ours", action="store_true")
    beside.add_argument("--traced", dest="other", action="store_const", const=Side.TRACED)
    beside.add_argument("--uvloop", dest="other", action="store_const", const=Side.UVLOOP)
    options = parser.parse_args(arguments)
    if options.topics <= CONNECTIONS or options.repeats < 1:
        parser.error(f"--topics must be {CONNECTIONS + 1} or more, of which each is altered once; --repeats 1 or more")
    other = options.other or Side.KAFKA
    why = missing(VERSION, ("java",)) if other is Side.KAFKA and not options.ours else ""
    if why:
        print(f"ours alone: {why}")
    sides = (Side.OURS,) if options.ours or why else (Side.OURS, other)
    runs: dict[Side, list[dict[str, float]]] = {side: [] for side in sides}
    for _ in range(options.repeats):
        for side in sides:
            with scratch() as folder:
                runs[side].append(measured(folder, side, options.topics))
    print(f"{'':<58} {'ours':>10} {other.value:>12} {'ratio':>7}")
    for name in runs[Side.OURS][0]:
        ours, *others = (statistics.median(run[name] for run in runs[side]) for side in sides)
        compared = "".join(f" {one:>12,.2f} {ours / one:>7.2f}" for one in others)
        print(f"{name:<58} {ours:>10,.2f}{compared}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
