"""The requests that a process sends: to the controller, as a controller, and as a follower."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from impl.heartbeat.control_requests import (
    CONTROLLED_SHUTDOWN,
    CONTROLLED_SHUTDOWN_VERSION,
    LEADER_AND_ISR,
    LEADER_AND_ISR_TO_INCARNATION,
    LEADER_AND_ISR_VERSION,
    UPDATE_METADATA,
    UPDATE_METADATA_TO_INCARNATION,
    UPDATE_METADATA_VERSION,
    ControlledShutdownRequest,
    LeaderAndIsrRequest,
    read_controlled_shutdown_response,
    read_leader_and_isr_response,
    read_update_metadata_response,
)
from impl.heartbeat.effects import Ask, ControlRequest, RequestToController, ResponseOfController, Tell
from impl.heartbeat.messages import (
    DOCUMENT,
    ISR_CHANGE,
    METADATA_HEARTBEAT,
    REPAIRED,
    ErrorCode,
    IsrChangeRequest,
    MetadataHeartbeatRequest,
    read_heartbeat_response,
    read_isr_response,
)
from impl.heartbeat.replica_fetch import (
    REPLICA_FETCH,
    REPLICA_FETCH_VERSION,
    ReplicaFetchRequest,
    read_fetch_response,
)
from impl.runtime.client import Address
from impl.runtime.loop import monotonic_ms
from impl.runtime.wire import WireError

if TYPE_CHECKING:
    from impl.heartbeat.process import Process

_RETRY_S = 0.05
_IDLE_S = 0.02
_FETCH_TIMEOUT_MS = 1_000
_CONTROL, _FETCH, _SHUTDOWN = "control", "fetch", "shutdown"


class Links:
    """The requests of one process."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._addresses = dict[int, Address]()
        design = process.settings.design
        repaired = design.reply_names_incarnation or design.controller_epoch_in_heartbeat or design.partition_version
        self.version = REPAIRED if repaired or design.member_incarnations else DOCUMENT

    # To the controller.

    async def ask(self, ask: Ask) -> None:
        """Send a request to the controller, and hand in its answer."""
        process, started_ms = self.process, monotonic_ms()
        response = await self._answer(ask.controller, ask.request)
        if response is None:
            process.post(lambda now_ms: process.node.broker.on_failure(ask.number, now_ms))
            return
        if isinstance(ask.request, MetadataHeartbeatRequest):
            process.observe_latency(monotonic_ms() - started_ms)
        process.post(lambda now_ms: process.node.broker.on_response(ask.number, response, now_ms))

    async def _answer(self, controller: int | None, request: RequestToController) -> ResponseOfController | None:
        """The controller's answer; None: there is none in time."""
        timeout_ms = self.process.settings.interval_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                if controller == self.process.settings.broker_id:
                    return await self._own(request)
                address = None if controller is None else await self._address(controller)
                return None if address is None else await self._ask(address, request, timeout_ms)
        except (OSError, TimeoutError, WireError):
            self._addresses.pop(controller or 0, None)
            return None

    async def _own(self, request: RequestToController) -> ResponseOfController | None:
        """This process is controller itself."""
        controller = self.process.node.controller
        answer: ResponseOfController | None = await self.process.called(
            lambda call, now_ms: controller.on_request(call, request, now_ms)
        )
        return answer

    async def _ask(self, address: Address, request: RequestToController, timeout_ms: int) -> ResponseOfController:
        match request:
            case MetadataHeartbeatRequest():
                peer, key = self.process.peers.peer("heartbeat", address), METADATA_HEARTBEAT
                answer = await peer.ask(key, self.version, request.body(self.version), timeout_ms)
                return read_heartbeat_response(answer, self.version)
            case IsrChangeRequest():
                peer, key = self.process.peers.peer("isr", address), ISR_CHANGE
                answer = await peer.ask(key, self.version, request.body(self.version), timeout_ms)
                return read_isr_response(answer, self.version)
            case ControlledShutdownRequest():
                peer = self.process.peers.peer(_SHUTDOWN, address)
                answer = await peer.ask(CONTROLLED_SHUTDOWN, CONTROLLED_SHUTDOWN_VERSION, request.body(), timeout_ms)
                return read_controlled_shutdown_response(answer)

    async def _address(self, broker: int) -> Address | None:
        if broker not in self._addresses:
            found = await self.process.address(broker)
            if found is None:
                return None
            self._addresses[broker] = found
        return self._addresses[broker]

    # As a controller.

    async def tell(self, tell: Tell) -> None:
        """Send a broker what is, until it has acknowledged that, or there is something newer."""
        controller = self.process.node.controller
        taken = tell.to.broker, tell.incarnation, tell.number
        while (request := controller.control_request(tell)) is not None:
            if await self._told(tell, request) == ErrorCode.NONE:
                self.process.post(lambda now_ms: controller.on_acknowledged(*taken, now_ms))
                return
            await asyncio.sleep(_RETRY_S)

    async def _told(self, tell: Tell, request: ControlRequest) -> int | None:
        if tell.to.broker == self.process.settings.broker_id:
            node = self.process.node
            response = await self.process.stepped(lambda now_ms: node.on_control_request(request, now_ms))
            code: int = response.error_code
            return code
        peer = self.process.peers.peer(_CONTROL, (tell.to.host, tell.to.port))
        timeout_ms = self.process.settings.interval_ms
        names_incarnation = self.version == REPAIRED and not tell.to_legacy
        try:
            if isinstance(request, LeaderAndIsrRequest):
                version = LEADER_AND_ISR_TO_INCARNATION if names_incarnation else LEADER_AND_ISR_VERSION
                answer = await peer.ask(LEADER_AND_ISR, version, request.body(version), timeout_ms)
                return read_leader_and_isr_response(answer).error_code
            version = UPDATE_METADATA_TO_INCARNATION if names_incarnation else UPDATE_METADATA_VERSION
            answer = await peer.ask(UPDATE_METADATA, version, request.body(version), timeout_ms)
            return read_update_metadata_response(answer).error_code
        except (OSError, TimeoutError, WireError):
            return None

    # As a follower.

    async def fetch(self) -> None:
        """Fetch from the leaders that this broker follows, from each one fetch at a time."""
        fetching = dict[int, asyncio.Task[None]]()
        while True:
            for leader, request in self.process.node.broker.fetch_requests().items():
                if leader not in fetching or fetching[leader].done():
                    fetching[leader] = self.process.begin(self._fetch(leader, request))
            await asyncio.sleep(_IDLE_S)

    async def _fetch(self, leader: int, request: ReplicaFetchRequest) -> None:
        process = self.process
        try:
            async with asyncio.timeout(_FETCH_TIMEOUT_MS / 1000):
                address = await self._address(leader)
                if address is None:
                    return
                peer = process.peers.peer(_FETCH, address)
                answer = await peer.ask(REPLICA_FETCH, REPLICA_FETCH_VERSION, request.body(), _FETCH_TIMEOUT_MS)
                response = read_fetch_response(answer)
        except (OSError, TimeoutError, WireError):
            self._addresses.pop(leader, None)
            return
        process.post(lambda now_ms: process.node.broker.on_fetched(request, response, now_ms))

    # Shutdown.

    async def shut_down(self, end: Callable[[], None], limit_s: float) -> None:
        """Wait until it leads nothing, or for so long. With heartbeats and an exit signal that comes with an answer."""
        process = self.process
        until_ms = monotonic_ms() + int(limit_s * 1000)
        waits_for_signal = process.settings.design.exit_signal and process.settings.sends_heartbeats
        request = ControlledShutdownRequest(process.settings.broker_id)
        while monotonic_ms() < until_ms:
            if not waits_for_signal:
                if not process.settings.sends_heartbeats:
                    await self._answer(process.node.broker.controller, request)
                if not any(replica.leads for replica in process.node.broker.replicas.values()):
                    break
            await asyncio.sleep(_RETRY_S)
        end()
