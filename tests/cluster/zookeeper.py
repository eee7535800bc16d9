"""A real ZooKeeper: one server, or an ensemble, from the jar that comes with pyspark, on the Java that Spark would use.

Ports and folders are its own; sessions may be as short as a second. Data survives the death of a server, and goes with
the ensemble.
"""

from __future__ import annotations

import functools
import os
import shutil
import socket
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pyspark

from checker.spark.java import java_home
from impl.runtime.ports import free_ports
from impl.zookeeper.transaction_log import Logged, read_logs
from tests.cluster.processes import ManagedProcess
from tests.cluster.proxy import Proxy

START_LIMIT_S = 180.0
_TICK_MS = 500
_FOLDER = "fencepost-zookeeper-"
_ALONE = "org.apache.zookeeper.server.ZooKeeperServerMain"
_PEER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_JARS = (
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "metrics-core",
    "log4j-slf4j2-impl",
    "log4j-api",
    "log4j-core",
    "snappy-java",
)
_MULTI = 14
_COUNTER = (1 << 32) - 1
"""The part of a zxid that counts transactions, from 1 under each leader."""
_JVM = (
    "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dlog4j2.level=WARN",
    "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.forceSync=no", "-Dzookeeper.admin.enableServer=false",
)  # fmt: skip
# Not forced to disk: a killed process loses nothing that it handed to the operating system.


class NotServingError(RuntimeError):
    """Servers that were started do not serve in time, or have ended."""


class Server:
    """A server of an ensemble. number: from 1. address: "127.0.0.1:port", for clients."""

    def __init__(self, number: int, folder: Path, client_port: int, main: str, config: Sequence[str]) -> None:
        self.number = number
        self.address = f"127.0.0.1:{client_port}"
        self.process: ManagedProcess | None = None
        self._folder, self._port, self._main = folder, client_port, main
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "myid").write_text(f"{number}\n")
        self._config = folder / "zoo.cfg"
        self._config.write_text("\n".join([*config, ""]))

    def start(self) -> None:
        """Start the process; `mode` says when it serves."""
        command = [str(_java()), *_JVM, "-cp", _class_path(), self._main, str(self._config)]
        self.process = ManagedProcess(command, self._folder / "log")

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    def mode(self) -> str:
        """standalone, leader or follower; "" while it does not serve."""
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=2) as connection:
                connection.sendall(b"srvr")
                answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
        except OSError:
            return ""
        return next((line.partition(": ")[2] for line in answer.splitlines() if line.startswith("Mode: ")), "")

    @property
    def log_folder(self) -> Path:
        """The folder with its transaction log."""
        return self._folder / "data" / "version-2"

    def output(self) -> str:
        """The end of its log."""
        return (self._folder / "log").read_text(errors="replace")[-4000:]


class Ensemble:
    """Servers that have a quorum, or one alone.

    links: (number of a follower, number of a leader) -> the proxy that the first reaches the second through, if there
    are any: what the leader commits reaches a delayed follower late, and so its clients.
    """

    def __init__(self, servers: Sequence[Server], links: Mapping[tuple[int, int], Proxy]) -> None:
        self.servers = servers
        self.links = links

    @property
    def hosts(self) -> str:
        """As in zookeeper.connect."""
        return ",".join(server.address for server in self.servers)

    def start(self) -> None:
        """Start what does not run; returns when every server serves. Raises NotServingError with what one wrote."""
        for server in self.servers:
            if server.process is None:
                server.start()
        self.await_modes(len(self.servers))

    def await_modes(self, count: int) -> None:
        """Wait until so many servers serve."""
        end = time.monotonic() + START_LIMIT_S
        while sum(bool(server.mode()) for server in self.servers) < count:
            dead = [s for s in self.servers if s.process is not None and s.process.exit_code is not None]
            if dead or time.monotonic() > end:
                raise NotServingError(f"ZooKeeper does not serve:\n{(dead or list(self.servers))[0].output()}")
            time.sleep(0.05)

    def leader(self) -> Server | None:
        """The server that leads, if there is a quorum."""
        return next((server for server in self.servers if server.mode() in ("leader", "standalone")), None)

    def transactions(self) -> list[Logged]:
        """All that was committed, by the logs of servers that all serve. Raises RuntimeError where these disagree.

        The end of an epoch that less than a majority has was never committed: its leader was killed before. A server
        that came back by a snapshot keeps it in its log all the same.
        """
        found: dict[int, Logged] = {}
        held = Counter[int]()
        for server in self.servers:
            for one in read_logs(server.log_folder):
                held[one.zxid] += 1
                if found.setdefault(one.zxid, one) != one:
                    raise RuntimeError(f"servers have different transactions of zxid {one.zxid:#x}")
        ends = {zxid & ~_COUNTER: zxid for zxid in sorted(held) if held[zxid] > len(self.servers) // 2}
        newest = max(held, default=0) & ~_COUNTER
        zxids = [zxid for zxid in sorted(found) if zxid & ~_COUNTER == newest or zxid <= ends.get(zxid & ~_COUNTER, 0)]
        for before, after in pairwise(zxids):
            if after != before + 1 and after & _COUNTER != 1:
                raise RuntimeError(f"no server has what is between zxid {before:#x} and {after:#x}")
        return [found[zxid] for zxid in zxids]

    def stop(self) -> None:
        for server in self.servers:
            server.kill()
        for link in self.links.values():
            link.stop()


@contextmanager
def zookeeper(servers: int = 1, *, with_links: bool = False) -> Iterator[Ensemble]:
    """An ensemble that serves; in the end its processes and folders are removed. with_links: see `Ensemble`.

    A run that is killed takes its processes along, and its folders are removed by the next.
    """
    remove_folders_of_killed_runs()
    folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-"))
    try:
        ensemble = _started(folder, servers, with_links)
        try:
            yield ensemble
        finally:
            ensemble.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path, servers: int, with_links: bool, attempts: int = 3) -> Ensemble:
    """An ensemble that serves. A port that was free may be taken by the time it is used: then with others."""
    ensemble = _made(folder / str(attempts), servers, with_links)
    try:
        ensemble.start()
        return ensemble
    except BaseException as error:
        ensemble.stop()
        if attempts == 1 or "BindException" not in str(error):
            raise
    return _started(folder, servers, with_links, attempts - 1)


def _made(folder: Path, count: int, with_links: bool) -> Ensemble:
    ports = free_ports(3 * count)
    clients, peers, elections = ports[:count], ports[count : 2 * count], ports[2 * count :]
    pairs = [(n, other) for n in range(count) for other in range(count) if n != other] if with_links else []
    links = {(n + 1, other + 1): Proxy(f"127.0.0.1:{peers[other]}") for n, other in pairs}
    servers = []
    for n, port in enumerate(clients):
        lines = [
            f"dataDir={folder / str(n + 1) / 'data'}", f"clientPort={port}", "clientPortAddress=127.0.0.1",
            f"tickTime={_TICK_MS}", "initLimit=20", "syncLimit=6", "maxSessionTimeout=60000", "maxClientCnxns=0",
            "4lw.commands.whitelist=srvr",
        ]  # fmt: skip
        for other in range(count) if count > 1 else ():
            link = links.get((n + 1, other + 1))
            peer = f"127.0.0.1:{peers[other]}" if link is None else link.address
            lines.append(f"server.{other + 1}={peer}:{elections[other]}")
        servers.append(Server(n + 1, folder / str(n + 1), port, _ALONE if count == 1 else _PEER, lines))
    return Ensemble(servers, links)


def has_multi(data: bytes) -> bool:
    """What a client sends in one piece has a multi in it. ZooKeeper's framing: length, xid and type, INT32 each."""
    at = 0
    while at + 12 <= len(data):
        size_bytes, xid, kind = struct.unpack_from(">iii", data, at)
        if kind == _MULTI and xid > 0:  # without an xid: the beginning of a connection
            return True
        at += 4 + max(size_bytes, 8)
    return False


def remove_folders_of_killed_runs() -> None:
    """Remove the folders of processes that are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        pid = folder.name.removeprefix(_FOLDER).partition("-")[0]
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except (ValueError, PermissionError):
            pass  # not of this kind, or of somebody else


@functools.cache
def _java() -> Path:
    return Path(java_home()) / "bin" / "java"


@functools.cache
def _class_path() -> str:
    jars = Path(pyspark.__file__).parent / "jars"
    return ":".join(str(jar) for name in _JARS for jar in sorted(jars.glob(f"{name}-[0-9]*.jar")))
