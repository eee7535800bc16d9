"""Brokers of a design as processes on a real ZooKeeper, each with links of its own to the servers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError
from kazoo.retry import KazooRetry

from tests.cluster import stopping
from tests.cluster.brokers import BrokerProcess, Main
from tests.cluster.links import Links
from tests.cluster.recordings import Life
from tests.cluster.zookeeper import Ensemble

START_LIMIT_S = 60.0
RETRY_LIMIT_S = 60.0


class RunningCluster:
    """Brokers below a chroot, and an operator's client of ZooKeeper. A design says how a broker is configured.

    persistent: the znodes that are there before any broker is, parents first, and their data.
    """

    def __init__(
        self, ensemble: Ensemble, root: str, folder: Path, main: Main, persistent: Iterable[tuple[str, bytes]],
        brokers: int,
    ) -> None:  # fmt: skip
        self.root, self.folder = root, folder
        self._main = main
        self.admin = KazooClient(
            ensemble.hosts, timeout=60.0, command_retry=KazooRetry(max_tries=-1, deadline=RETRY_LIMIT_S)
        )
        self.admin.start(timeout=START_LIMIT_S)
        for path, data in persistent:
            with suppress(NodeExistsError):  # made by a try whose reply was lost
                self.by_hand(self.admin.create, path, data, makepath=True)
        self.links = [Links(ensemble) for _ in range(brokers)]
        self.processes: list[BrokerProcess] = []
        self.current: list[BrokerProcess | None] = [None] * brokers

    def settings(self, broker: int) -> dict[str, str]:
        """The configuration of a broker."""
        return {"broker.id": str(broker), "zookeeper.connect": f"{self.links[broker].hosts}{self.root}"}

    def by_hand(self, call: Callable[..., Any], path: str, *arguments: Any, **options: Any) -> Any:
        """Something done to ZooKeeper from outside, again if the connection is lost."""
        return self.admin.retry(call, f"{self.root}{path}", *arguments, **options)

    def start(self, broker: int) -> BrokerProcess:
        process = BrokerProcess(self._main, broker, self.folder, len(self.processes), self.settings(broker))
        self.processes.append(process)
        self.current[broker] = process
        return process

    def kill(self, broker: int) -> None:
        process = self.current[broker]
        if process is not None:
            process.kill()
            self.current[broker] = None

    def terminate(self, broker: int) -> None:
        """In good order: it closes its session."""
        process = self.current[broker]
        if process is not None:
            process.terminate()
            self.current[broker] = None

    def wait_for(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Wait until it holds; False where it does not in time. Raises StoppedError where the process is to stop."""
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                return False
            stopping.sleep(0.02)
        return True

    def last_zxid(self) -> int:
        """Of the last transaction so far."""
        self.by_hand(self.admin.sync, "")
        self.by_hand(self.admin.exists, "")
        return int(self.admin.last_zxid)

    def lives(self) -> list[Life]:
        return [one.life for one in self.processes]

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for links in self.links:
            links.stop()
        self.admin.stop()
        self.admin.close()
