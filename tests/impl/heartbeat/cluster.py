"""Three brokers as processes on a real ZooKeeper, of which two have a replica of the one partition, and a producer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from crc32c import crc32c
from kazoo.exceptions import KazooException

from impl.heartbeat.client_requests import PRODUCE, PRODUCE_VERSION
from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.disk import Folder
from impl.heartbeat.messages import ErrorCode
from impl.heartbeat.process import main
from impl.heartbeat.znodes import (
    PERSISTENT,
    LeaderAndIsr,
    assignment_bytes,
    id_path,
    read_broker,
    read_state,
    state_path,
    topic_path,
)
from impl.runtime.ports import free_ports
from impl.runtime.wire import (
    Frames,
    Reader,
    RequestHeader,
    WireError,
    array,
    frame,
    int16,
    int32,
    nullable_bytes,
    nullable_string,
    request_bytes,
)
from impl.zookeeper.znodes import ZnodeError
from tests.cluster.proxy import Proxy
from tests.cluster.recordings import NotBegunError
from tests.cluster.running import START_LIMIT_S, RunningCluster
from tests.cluster.zookeeper import Ensemble

BROKERS = 3
REPLICAS = (0, 1)
PARTITION = TopicPartition("t", 0)
SETTLING_S = 0.5
CONFIG = {
    "zookeeper.session.timeout.ms": "2000",
    "controller.heartbeat.interval.ms": "300",
    "broker.heartbeat.timeout.ms": "1200",
    "controller.heartbeat.timeout.ms": "1700",
    "replica.lag.time.max.ms": "900",
}


class Cluster(RunningCluster):
    """Brokers with heartbeats. doors: in front of where they listen."""

    def __init__(self, ensemble: Ensemble, root: str, folder: Path) -> None:
        super().__init__(ensemble, root, folder, main, PERSISTENT, BROKERS)
        self.by_hand(self.admin.create, topic_path(PARTITION.topic), assignment_bytes({PARTITION.partition: REPLICAS}))
        self.ports = free_ports(BROKERS)
        self.doors = [Proxy(f"127.0.0.1:{port}") for port in self.ports]

    def settings(self, broker: int) -> dict[str, str]:
        return {
            **super().settings(broker), **CONFIG,
            "listeners": f"127.0.0.1:{self.ports[broker]}",
            "advertised.listeners": self.doors[broker].address,
            "log.dirs": str(self.folder / f"data{broker}"),
        }  # fmt: skip

    def begin(self) -> None:
        """Broker 2 in office, then 0, which leads, then 1 in the ISR: the state that models start from.

        Raises NotBegunError where it does not come.
        """
        office = self.start(2)
        self._await(lambda: office.has_recorded("take_office"))
        for broker, isr in ((0, [0]), (1, [0, 1])):
            self.start(broker)
            self._await(lambda isr=isr: self.isr() == isr)  # type: ignore[misc]  # a default has no type
        self._await(lambda: all(self._serves(broker) for broker in REPLICAS))
        time.sleep(SETTLING_S)

    def _await(self, holds: Callable[[], bool]) -> None:
        if not self.wait_for(holds, START_LIMIT_S):
            raise NotBegunError("the brokers did not come up")

    def _serves(self, broker: int) -> bool:
        process = self.current[broker]
        return process is not None and process.has_recorded("unfenced")

    def state(self) -> LeaderAndIsr | None:
        """Of the partition."""
        with suppress(KazooException, ZnodeError):
            return read_state("", self.by_hand(self.admin.get, state_path(PARTITION))[0])
        return None

    def isr(self) -> list[int]:
        state = self.state()
        return [] if state is None else sorted(state.isr)

    def address(self, broker: int) -> tuple[str, int] | None:
        """Where a broker is registered."""
        with suppress(KazooException, ZnodeError):
            info = read_broker("", self.admin.get(f"{self.root}{id_path(broker)}")[0])
            return info.host, info.port
        return None

    def is_quiet(self) -> bool:
        """Every replica is in the ISR, and somebody leads."""
        state = self.state()
        return state is not None and state.leader in REPLICAS and sorted(state.isr) == list(REPLICAS)

    def on_disk(self, broker: int) -> set[bytes]:
        """The payloads in the log of a broker, which is down."""
        log = Folder(self.folder / f"data{broker}")(PARTITION)
        return {payload_of(batch.data) for batch in log.batches}

    def stop(self) -> None:
        super().stop()
        for door in self.doors:
            door.stop()


# Records.

_HEAD_BYTES, _LENGTH_AT, _LENGTH_FROM, _MAGIC_AT, _COUNT_AT = 61, 8, 12, 16, 57


def batch_of(payload: bytes) -> bytes:
    """A batch of one record, as far as a broker looks: length, magic 2, checksum, last offset delta 0, count."""
    head = bytearray(_HEAD_BYTES)
    head[_LENGTH_AT:_LENGTH_FROM] = int32(_HEAD_BYTES + len(payload) - _LENGTH_FROM)
    head[_MAGIC_AT] = 2
    head[_COUNT_AT:] = int32(1)
    return with_checksum(bytes(head) + payload)


def with_checksum(batch: bytes) -> bytes:
    """The batch with the checksum of what it holds."""
    return batch[:17] + crc32c(batch[21:]).to_bytes(4, "big") + batch[21:]


def payload_of(batch: bytes) -> bytes:
    return batch[_HEAD_BYTES:]


class Producer:
    """Produces records with acks=all, one after the other, until it is stopped. acknowledged: their payloads."""

    _PAUSE_S, _TIMEOUT_S = 0.04, 1.5

    def __init__(self, cluster: Cluster) -> None:
        self.acknowledged = list[bytes]()
        self.sent = 0
        self._cluster = cluster
        self._connection: socket.socket | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(self._PAUSE_S):
            self.sent += 1
            payload = b"record %d" % self.sent
            try:
                code = self._produce(payload)
            except (OSError, WireError):
                code = None
            if code == ErrorCode.NONE:
                self.acknowledged.append(payload)
            else:
                self._close()
        self._close()

    def _produce(self, payload: bytes) -> int | None:
        connection = self._connected()
        if connection is None:
            return None
        part = int32(PARTITION.partition) + nullable_bytes(batch_of(payload))
        topics = array([nullable_string(PARTITION.topic) + array([part])])
        body = nullable_string(None) + int16(-1) + int32(int(1_000 * self._TIMEOUT_S)) + topics
        header = RequestHeader(PRODUCE, PRODUCE_VERSION, self.sent, "producer")
        connection.sendall(frame(request_bytes(header, body)))
        frames = Frames()
        while data := connection.recv(1 << 16):
            for content in frames.feed(data):
                return _code(content)
        return None

    def _connected(self) -> socket.socket | None:
        if self._connection is None:
            state = self._cluster.state()
            address = None if state is None or state.leader < 0 else self._cluster.address(state.leader)
            if address is None:
                return None
            self._connection = socket.create_connection(address, timeout=self._TIMEOUT_S)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _code(content: bytes) -> int:
    """The error code of the one partition in a response to Produce."""
    reader = Reader(content)
    reader.int32("correlation_id")
    found = list[int]()

    def part() -> None:
        reader.int32("partition")
        found.append(reader.int16("error_code"))
        reader.int64("base_offset")
        reader.int64("log_append_time")

    def topic() -> None:
        reader.string("topic")
        reader.array("partitions", 22, part)

    reader.array("topics", 6, topic)
    return found[0]
