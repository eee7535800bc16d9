"""Brokers and consumers as processes on a real ZooKeeper, and what the consumers have consumed."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kazoo.client import KazooClient

from impl.group.fetch_protocol import ProduceRequest, log_request_bytes, message_bytes
from impl.group.tool import ask
from impl.group.znodes import COORDINATOR
from impl.runtime.client import Address
from impl.runtime.ports import free_ports
from tests.cluster import stopping
from tests.cluster.links import Links
from tests.cluster.proxy import Proxy
from tests.cluster.zookeeper import Ensemble
from tests.impl.group.forked import ForkedProcess

SESSION_MS = 1_200
DATA_SESSION_MS = 30_000
BROKER = {
    "zk.sessiontimeout.ms": "2000",
    "consumer.min.session.timeout.ms": "300",
    "consumer.max.session.timeout.ms": str(SESSION_MS),
    "consumer.max.failed.pings": "1",
    "consumer.offset.commit.interval.ms": "300",
    "rebalance.backoff.ms": "200",
}
CONSUMER = {"session.timeout.ms": str(SESSION_MS), "retry.backoff.ms": "100"}
LIMIT_S = 90.0


@dataclass(frozen=True)
class Consumed:
    """A record as a consumer has consumed it. time_ns: of the machine's monotonic clock."""

    consumer: str
    time_ns: int
    partition: str
    offset: int
    next_offset: int
    payload: str
    epoch: int
    attempt: int


class Cluster:
    """Processes below a chroot. further: entries of the brokers' configuration."""

    def __init__(
        self, ensemble: Ensemble, folder: Path, *, brokers: int = 2, topics: str = "t:2",
        further: Mapping[str, str] | None = None, is_linked: bool = False,
    ) -> None:  # fmt: skip
        self.is_linked = is_linked
        self.root, self.folder = f"/{folder.name}", folder
        self.hosts = ensemble.hosts
        self.admin = KazooClient(f"{ensemble.hosts}")
        self.admin.start(timeout=LIMIT_S)
        self.admin.ensure_path(self.root)
        self.further = {**BROKER, **(further or {})}
        self.topics = topics
        self.links: dict[int, Links] = {}
        """Of linked brokers, to ZooKeeper."""
        self.fronts: dict[int, Proxy] = {}
        """Of linked brokers, and of one that has the data, from consumers."""
        self._ensemble = ensemble
        self._listeners: dict[int, str] = {}
        self.brokers: dict[int, ForkedProcess] = {}
        self.consumers: dict[str, ForkedProcess] = {}
        self.processes: list[ForkedProcess] = []
        self.lives: list[tuple[str, Path, ForkedProcess]] = []
        """Of a linked cluster: the name, the trace, and the process of each that records one."""
        for broker in range(brokers):
            self.start_broker(broker)

    def start_broker(self, broker: int) -> None:
        settings = {
            **self.further, "brokerid": str(broker), "zk.connect": f"{self.hosts}{self.root}",
            "topic.partition.count.map": self.topics, "log.dir": str(self.folder / f"data{broker}"),
        }  # fmt: skip
        if self.is_linked:
            if broker not in self.links:
                self.links[broker] = Links(self._ensemble)
            settings["zk.connect"] = f"{self.links[broker].hosts}{self.root}"
            settings |= self._front(broker)
        self.brokers[broker] = self._started("impl.group.process", f"broker{broker}", settings, records=self.is_linked)

    def start_data_broker(self, broker: int, topics: str) -> None:
        """Start a broker that has these topics and is never the coordinator.

        Of a linked cluster it is linked with consumers only, so that who produces always reaches it.
        """
        settings = {
            **self.further, "brokerid": str(broker), "zk.connect": f"{self.hosts}{self.root}",
            "zk.sessiontimeout.ms": str(DATA_SESSION_MS), "topic.partition.count.map": topics,
            **(self._front(broker) if self.is_linked else {}),
        }  # fmt: skip
        self.brokers[broker] = self._started("tests.impl.group.data_broker", f"broker{broker}", settings)

    def _front(self, broker: int) -> dict[str, str]:
        """Where a broker listens, and where consumers reach it instead: the same whenever it is started again."""
        if broker not in self.fronts:
            (port,) = free_ports(1)
            self._listeners[broker] = f"127.0.0.1:{port}"
            self.fronts[broker] = Proxy(self._listeners[broker])
        return {"listeners": self._listeners[broker], "advertised.listeners": self.fronts[broker].address}

    def start_consumer(self, consumer: str, group: str = "g", **further: str) -> None:
        enough = 1 if self.is_linked else len(self.brokers)  # linked brokers may be down
        self.wait_for(lambda: len(self.known_addresses()) >= enough)
        bootstrap = ",".join(f"{host}:{port}" for host, port in self.known_addresses().values())
        settings = {
            **CONSUMER, "bootstrap.brokers": bootstrap, "groupid": group, "consumerid": consumer,
            "topic.count": '{"t": 1}', **{key.replace("_", "."): value for key, value in further.items()},
        }  # fmt: skip
        out = ["--out", str(self.folder / f"{consumer}.records")]
        process = self._started("impl.group.consumer_process", consumer, settings, *out, records=self.is_linked)
        self.consumers[consumer] = process

    def _started(
        self, module: str, name: str, settings: Mapping[str, str], *arguments: str, records: bool = False
    ) -> ForkedProcess:
        path = self.folder / f"{name}-{len(self.processes)}"
        file, trace = path.with_suffix(".properties"), path.with_suffix(".ndjson")
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        traced = ["--trace", str(trace)] if records else []
        process = ForkedProcess(module, [str(file), *arguments, *traced], path.with_suffix(".log"))
        self.processes.append(process)
        if records:
            self.lives.append((name, trace, process))
        return process

    def addresses(self) -> dict[int, Address]:
        """Where all brokers listen."""
        self.wait_for(lambda: len(self.known_addresses()) == len(self.brokers))
        return self.known_addresses()

    def known_addresses(self) -> dict[int, Address]:
        """Where those brokers listen that do so far, as their logs say."""
        found = {number: _address(one.log) for number, one in self.brokers.items()}
        return {number: address for number, address in found.items() if address is not None}

    def coordinator(self) -> int | None:
        with suppress(Exception):
            return int(self.admin.get(f"{self.root}{COORDINATOR}")[0])
        return None

    def describe(self, group: str = "g") -> dict[str, tuple[str, bool]]:
        """By partition its owner, and whether it is fetched; nothing while there is no coordinator."""
        with suppress(OSError, ValueError):
            found = ask(list(self.known_addresses().values()), group)
            return {
                f"{of.topic} {of.partition}": (of.owner, of.is_fetched) for g in found.groups for of in g.partitions
            }
        return {}

    def are_fetched(self, partitions: int, consumers: set[str], group: str = "g") -> bool:
        """So many partitions are fetched, by exactly these consumers."""
        found = self.describe(group)
        owners = {owner.rpartition("-")[0] for owner, _ in found.values()}
        return len(found) == partitions and all(is_fetched for _, is_fetched in found.values()) and owners == consumers

    def produce(self, broker: int, partition: int, payloads: list[str], topic: str = "t") -> None:
        data = b"".join(message_bytes(one.encode()) for one in payloads)
        self.wait_for(lambda: broker in self.known_addresses())
        with socket.create_connection(self.known_addresses()[broker], LIMIT_S) as connection:
            connection.sendall(log_request_bytes(ProduceRequest(topic, partition, data)))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)  # closed once it is read

    def consumed(self) -> list[Consumed]:
        """All records, in the order in which they were consumed."""
        found = []
        for file in self.folder.glob("*.records"):
            for line in file.read_text().splitlines():
                one = json.loads(line)
                partition = f"{one['topic']} {one['partition']}"
                rest = (one["offset"], one["next"], one["payload"], one["epoch"], one["attempt"])
                found.append(Consumed(file.stem, one["time_ns"], partition, *rest))
        return sorted(found, key=lambda one: one.time_ns)

    def wait_for(self, condition: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
        end = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < end, "in vain"
            stopping.sleep(0.05)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for links in self.links.values():
            links.stop()
        for front in self.fronts.values():
            front.stop()
        self.admin.stop()
        self.admin.close()


def _address(log: Path) -> Address | None:
    text = log.read_text(errors="replace") if log.exists() else ""
    found = re.search(r'"event": "listening".*"host": "([^"]*)", "port": (\d+)', text)
    return None if found is None else (found[1], int(found[2]))


@contextmanager
def cluster(ensemble: Ensemble, folder: Path, **further: object) -> Iterator[Cluster]:
    started = Cluster(ensemble, folder, **further)  # type: ignore[arg-type]  # settings by name
    try:
        yield started
    finally:
        started.stop()
