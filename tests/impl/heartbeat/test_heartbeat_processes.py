"""Brokers as processes on a real ZooKeeper: a real client's records survive a kill, and bad input costs nothing."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from impl.heartbeat.client_requests import FETCH, PRODUCE, PRODUCE_VERSION, produce_body
from impl.heartbeat.control_requests import (
    LEADER_AND_ISR,
    LEADER_AND_ISR_VERSION,
    LeaderAndIsrRequest,
    PartitionState,
    TopicPartition,
    read_leader_and_isr_response,
)
from impl.heartbeat.messages import (
    ISR_CHANGE,
    METADATA_HEARTBEAT,
    ErrorCode,
    IsrChangeRequest,
    MetadataHeartbeatRequest,
    PartitionIsr,
    TopicIsr,
    read_heartbeat_response,
    read_isr_response,
)
from impl.heartbeat.tool import main as tool
from impl.heartbeat.znodes import PERSISTENT, assignment_bytes, read_broker, read_state, state_path, topic_path
from impl.runtime.wire import (
    Frames,
    RequestHeader,
    array,
    frame,
    int16,
    int32,
    nullable_bytes,
    nullable_string,
    request_bytes,
)
from tests.cluster.processes import ManagedProcess
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.conftest import ROOT
from tests.impl.heartbeat.clients import CLIENTS, Client
from tests.impl.heartbeat.cluster import batch_of, with_checksum

pytestmark = [pytest.mark.xdist_group("zookeeper"), pytest.mark.long("real time: a minute of wall clock")]
BROKERS = 3
LIMIT_S = 45.0
CONFIG = {
    "zookeeper.session.timeout.ms": "4000",
    "controller.heartbeat.interval.ms": "500",
    "broker.heartbeat.timeout.ms": "2000",
    "controller.heartbeat.timeout.ms": "2500",
    "replica.lag.time.max.ms": "1500",
}


class Brokers:
    """Processes, and an operator's client of ZooKeeper."""

    def __init__(self, ensemble: Ensemble, folder: Path) -> None:
        self.hosts, self.folder = ensemble.hosts, folder
        self.admin = KazooClient(ensemble.hosts)
        self.admin.start()
        for path, data in PERSISTENT:
            self.admin.create(f"/k{path}", data, makepath=True)
        replicas: dict[int, tuple[int, ...]] = {0: (0, 1, 2), 1: (1, 2, 0)}
        self.admin.create(f"/k{topic_path('t')}", assignment_bytes(replicas))
        self.processes = [self.start(broker) for broker in range(BROKERS)]

    def start(self, broker: int) -> ManagedProcess:
        settings = {
            **CONFIG, "broker.id": str(broker), "zookeeper.connect": f"{self.hosts}/k",
            "log.dirs": str(self.folder / f"data{broker}"),
        }  # fmt: skip
        file = self.folder / f"{broker}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command: list[str | Path] = [sys.executable, "-m", "impl.heartbeat.process", file]
        return ManagedProcess(command, self.folder / f"{broker}.log", environment={"PYTHONPATH": str(ROOT)})

    def state(self, partition: int) -> tuple[int, list[int]]:
        """Leader and ISR."""
        with suppress(Exception):
            state = read_state("", self.admin.get(f"/k{state_path(TopicPartition('t', partition))}")[0])
            return state.leader, sorted(state.isr)
        return -1, []

    def address(self, broker: int) -> tuple[str, int]:
        info = read_broker("", self.admin.get(f"/k/brokers/ids/{broker}")[0])
        return info.host, info.port

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        self.admin.stop()
        self.admin.close()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with zookeeper() as ensemble:
        started = Brokers(ensemble, tmp_path_factory.mktemp("brokers"))
        try:
            until(lambda: all(started.state(one)[1] == [0, 1, 2] for one in (0, 1)))
            yield started
        finally:
            started.stop()


def exchange(address: tuple[str, int], data: bytes) -> list[bytes]:
    """The frames that come back until the connection is closed, without their correlation id."""
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        with suppress(ConnectionResetError):
            received = b"".join(iter(lambda: connection.recv(65536), b""))
    return [content[4:] for content in Frames(1 << 24).feed(received)]


def test_bad_input_is_answered_or_costs_the_connection(brokers: Brokers) -> None:

    def controller() -> tuple[str, int]:
        return brokers.address(json.loads(brokers.admin.get("/k/controller")[0])["brokerid"])

    def heartbeat(request: MetadataHeartbeatRequest, version: int = 1) -> Any:
        header = RequestHeader(METADATA_HEARTBEAT, version, 1, "test")
        (answer,) = exchange(controller(), frame(request_bytes(header, request.body(version))))
        return read_heartbeat_response(answer, version)

    def large(request: IsrChangeRequest) -> int:
        """The code of the answer; -1: none, since the controller is out of touch with ZooKeeper just now."""
        header = RequestHeader(ISR_CHANGE, 1, 1, "test")
        answers = exchange(controller(), frame(request_bytes(header, request.body(1))))
        return read_isr_response(answers[0], 1).top_level_error_code if answers else -1

    assert heartbeat(MetadataHeartbeatRequest(-1, 1, 2)).error_code == ErrorCode.INVALID_REQUEST
    assert heartbeat(MetadataHeartbeatRequest(0, 1, 9)).error_code == ErrorCode.INVALID_REQUEST
    assert heartbeat(MetadataHeartbeatRequest(0, 1, 2), 0).error_code == ErrorCode.INVALID_INCARNATION_ID
    many = IsrChangeRequest(0, 1, (TopicIsr("t", tuple(PartitionIsr(n, 0, (), 0) for n in range(100_000))),))
    until(lambda: large(many) == ErrorCode.INVALID_INCARNATION_ID)
    for data in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", frame(b"abc"), frame(b"abcdefgh")[:-2]):
        assert exchange(controller(), data) == []
    assert all(process.exit_code is None for process in brokers.processes)


def test_no_request_ends_a_process(brokers: Brokers) -> None:
    """A batch that no log has a place for, a folder outside of log.dirs, keys and versions that are not served."""

    def sent(key: int, version: int, body: bytes) -> list[bytes]:
        address = brokers.address(brokers.state(0)[0])
        return exchange(address, frame(request_bytes(RequestHeader(key, version, 1, "test"), body)))

    batch = batch_of(b"record")
    lying = with_checksum(batch[:23] + int32((1 << 31) - 1) + batch[27:])
    for records in (lying, batch[:-1], batch + batch, b""):
        topics = array([nullable_string("t") + array([int32(0) + nullable_bytes(records)])])
        assert sent(PRODUCE, PRODUCE_VERSION, nullable_string(None) + int16(-1) + int32(1_000) + topics) == []
    for topic in ("../../outside", "t" * 250, "t\0"):
        state = PartitionState(TopicPartition(topic, 0), 1, 0, 0, (0,), 0, (0,))
        request = LeaderAndIsrRequest(0, (1 << 31) - 1, (state,), ())
        (refused,) = sent(LEADER_AND_ISR, LEADER_AND_ISR_VERSION, request.body())
        assert read_leader_and_isr_response(refused).error_code == ErrorCode.INVALID_REQUEST
    for key, version in ((999, 0), (-1, 0), (PRODUCE, 99), (FETCH, -1)):
        assert sent(key, version, b"") == []
    assert all(process.exit_code is None for process in brokers.processes)


def test_who_waits_for_no_acknowledgement_gets_no_answer(brokers: Brokers) -> None:
    """But a closed connection, where its records are not taken. Kafka has no acknowledgements of two replicas any more.

    In a partition that no client reads: what is in the batches is none of Kafka's records.
    """

    def produced(partition: int, acks: int) -> bytes:
        part = int32(partition) + nullable_bytes(batch_of(b"record"))
        body = nullable_string(None) + int16(acks) + int32(1_000) + array([nullable_string("t") + array([part])])
        return frame(request_bytes(RequestHeader(PRODUCE, PRODUCE_VERSION, 1, "test"), body))

    def sent(*acks: int, partition: int = 1) -> list[bytes]:
        address = brokers.address(brokers.state(1)[0])
        return exchange(address, b"".join(produced(partition, one) for one in acks))

    of_no_partition = produce_body([(TopicPartition("t", 99), ErrorCode.NOT_LEADER_FOR_PARTITION, -1)])
    assert sent(0) == []
    assert len(sent(0, 1, 0, -1)) == 2
    assert sent(1, 0, 1, partition=99) == [of_no_partition]
    assert sent(2) == [produce_body([(TopicPartition("t", 1), ErrorCode.INVALID_REQUIRED_ACKS, -1)])]


def test_the_brokers_are_listed(brokers: Brokers, capsys: pytest.CaptureFixture[str]) -> None:
    """By way of any broker, controller or not."""
    for broker in range(BROKERS):
        host, port = brokers.address(broker)
        assert tool(["describe", "--bootstrap-server", f"{host}:{port}", "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)["brokers"]
        czxids = [brokers.admin.get(f"/k/brokers/ids/{one}")[1].czxid for one in range(BROKERS)]
        assert [(one["broker"], one["incarnation"], one["is_legacy"]) for one in listed] == [
            (number, czxid, False) for number, czxid in enumerate(czxids)
        ]
    assert tool(["describe", "--bootstrap-server", f"{host}:{port}"]) == 0
    assert "ACTIVE" in capsys.readouterr().out
    assert tool(["describe", "--bootstrap-server", "nowhere"]) == 2
    assert tool(["describe", "--bootstrap-server", "127.0.0.1:1"]) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", CLIENTS, ids=lambda one: one.name)
def test_a_client_loses_nothing_that_was_acknowledged(brokers: Brokers, library: Callable[..., Client]) -> None:
    """The leader is killed under it: the broker list shrinks, comes back, and every record is there."""
    bootstrap = [f"{host}:{port}" for host, port in map(brokers.address, range(BROKERS))]
    client, acknowledged = library(bootstrap, "t", 0), set[bytes]()
    try:
        assert client.live() == [0, 1, 2]
        victim = brokers.state(0)[0]
        others = sorted({0, 1, 2} - {victim})
        for number in range(30):
            if number == 10:
                brokers.processes[victim].kill()
            record = f"{client.name} {number}".encode()
            if client.send(record):
                acknowledged.add(record)
        until(lambda: brokers.state(0)[0] in others and client.live() == others)
        brokers.processes[victim] = brokers.start(victim)
        until(lambda: brokers.state(0)[1] == [0, 1, 2] and client.live() == [0, 1, 2])
        assert len(acknowledged) > 20 and acknowledged <= client.read(acknowledged, LIMIT_S)
    finally:
        client.close()


def test_a_controlled_shutdown_ends(brokers: Brokers) -> None:
    assert brokers.processes[2].terminate(30) == 0
    assert all(brokers.state(partition)[0] in (0, 1) for partition in (0, 1))
