"""Brokers as processes on a real ZooKeeper, each with links of its own to the servers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError
from kazoo.retry import KazooRetry

from impl.pinning.messages import PIN_CONTROLLER, PinControllerRequest
from impl.pinning.process import main
from impl.pinning.tool import ToolError, ask
from impl.pinning.znodes import NEXT, PERSISTENT
from impl.runtime.wire import WireError
from impl.zookeeper.office import CONTROLLER
from tests.cluster.brokers import BrokerProcess, address_of
from tests.cluster.links import Links
from tests.cluster.zookeeper import Ensemble

BROKERS = 3
SESSION_MS = 1_000
START_LIMIT_S = 30.0
RETRY_LIMIT_S = 60.0


class Cluster:
    """Brokers below a chroot. further: entries of their configuration; legacy: the last so many are not upgraded."""

    def __init__(
        self,
        ensemble: Ensemble,
        root: str,
        folder: Path,
        *,
        takeover: bool = False,
        legacy: int = 0,
        brokers: int = BROKERS,
        further: Mapping[str, str] | None = None,
    ) -> None:
        self.root, self.folder = root, folder
        self.further = {"controller.pinning.takeover": str(takeover).lower(), **(further or {})}
        self.enables = [broker < brokers - legacy for broker in range(brokers)]
        retries = KazooRetry(max_tries=-1, deadline=RETRY_LIMIT_S)
        self.admin = KazooClient(ensemble.hosts, timeout=60.0, command_retry=retries)
        self.admin.start(timeout=START_LIMIT_S)
        for path, data in PERSISTENT:
            with suppress(NodeExistsError):  # made by a try whose reply was lost
                self.by_hand(self.admin.create, path, data, makepath=True)
        self.links = [Links(ensemble) for _ in range(brokers)]
        self.processes: list[BrokerProcess] = []
        self.current: list[BrokerProcess | None] = [None] * brokers

    def by_hand(self, call: Callable[..., Any], path: str, *arguments: Any, **options: Any) -> Any:
        """Something done to ZooKeeper from outside, again if the connection is lost."""
        return self.admin.retry(call, f"{self.root}{path}", *arguments, **options)

    def start(self, broker: int) -> None:
        settings = {
            "broker.id": str(broker),
            "zookeeper.connect": f"{self.links[broker].hosts}{self.root}",
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            "controller.pinning.enable": str(self.enables[broker]).lower(),
            **self.further,
        }
        process = BrokerProcess(main, broker, self.folder, len(self.processes), settings)
        self.processes.append(process)
        self.current[broker] = process

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

    def begin(self) -> None:
        """Broker 0 in office, and all others up: the state that models start from."""
        self.start(0)
        first = self.processes[0]
        self.wait_for(lambda: _has(first.trace, '"begin_term"'), START_LIMIT_S)
        for broker in range(1, len(self.links)):
            self.start(broker)
        for process in self.processes[1:]:
            self.wait_for(lambda process=process: _has(process.trace, '"start"'), START_LIMIT_S)  # type: ignore[misc]

    def wait_for(self, condition: Callable[[], bool], limit_s: float) -> bool:
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def is_quiet(self) -> bool:
        """Somebody is in office, and no request stands that is yet to be served."""
        try:
            served = not all(self.enables) or self.admin.exists(f"{self.root}{NEXT}") is None
            return served and self.admin.exists(f"{self.root}{CONTROLLER}") is not None
        except KazooException:
            return False

    def pin(self, through: int, target: int) -> None:
        """Ask a broker; without waiting for the move, and whatever becomes of it."""
        process = self.current[through]
        address = None if process is None else address_of(process.log)
        if address is not None:
            with suppress(ToolError, WireError, OSError):
                ask(*address, PIN_CONTROLLER, PinControllerRequest(target, 0), 0, grace_ms=500)

    def last_zxid(self) -> int:
        """Of the last transaction so far."""
        self.by_hand(self.admin.sync, "/admin")
        self.by_hand(self.admin.get, "/admin")
        return int(self.admin.last_zxid)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for links in self.links:
            links.stop()
        self.admin.stop()
        self.admin.close()


def _has(trace: Path, text: str) -> bool:
    return trace.exists() and text in trace.read_text(encoding="utf-8", errors="replace")
