"""Brokers as processes on a real ZooKeeper, each with links of its own to the servers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kazoo.exceptions import KazooException

from impl.pinning.messages import PIN_CONTROLLER, PinControllerRequest
from impl.pinning.process import main
from impl.pinning.tool import ask
from impl.pinning.znodes import NEXT, PERSISTENT
from impl.runtime.wire import WireError
from impl.zookeeper.office import CONTROLLER
from tests.cluster.brokers import BrokerProcess, address_of
from tests.cluster.recordings import NotBegunError
from tests.cluster.running import START_LIMIT_S, RunningCluster
from tests.cluster.zookeeper import Ensemble

BROKERS = 3
SESSION_MS = 1_000


class Cluster(RunningCluster):
    """Brokers of this design. further: entries of their configuration; legacy: the last so many are not upgraded."""

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
        super().__init__(ensemble, root, folder, main, PERSISTENT, brokers)
        self.further = {"controller.pinning.takeover": str(takeover).lower(), **(further or {})}
        self.enables = [broker < brokers - legacy for broker in range(brokers)]

    def settings(self, broker: int) -> dict[str, str]:
        return {
            **super().settings(broker),
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            "controller.pinning.enable": str(self.enables[broker]).lower(),
            **self.further,
        }

    def begin(self) -> None:
        """Broker 0 in office, and all others up: the state that models start from. Raises NotBegunError."""
        self.start(0)
        self._await_step(self.processes[0], "begin_term")
        for broker in range(1, len(self.links)):
            self.start(broker)
        for process in self.processes[1:]:
            self._await_step(process, "start")

    def _await_step(self, process: BrokerProcess, action: str) -> None:
        if not self.wait_for(lambda: process.has_recorded(action), START_LIMIT_S):
            raise NotBegunError(f"broker {process.broker} did not {action} within {START_LIMIT_S:.0f} s")

    def is_quiet(self) -> bool:
        """A broker that runs is in office, and no request stands that is yet to be served."""
        try:
            served = not all(self.enables) or self.admin.exists(f"{self.root}{NEXT}") is None
            controller = self.admin.exists(f"{self.root}{CONTROLLER}")
        except KazooException:
            return False
        return served and controller is not None and self._has_begun(controller.ephemeralOwner)

    def _has_begun(self, session: int) -> bool:
        """A process that runs has begun this session."""
        return any(one is not None and f'"session":{session}' in one.recorded() for one in self.current)

    def pin(self, through: int, target: int) -> None:
        """Ask a broker; without waiting for the move, and whatever becomes of it."""
        process = self.current[through]
        address = None if process is None else address_of(process.log)
        if address is not None:
            with suppress(WireError, OSError):
                ask(*address, PIN_CONTROLLER, PinControllerRequest(target, 0), 0, grace_ms=500)
