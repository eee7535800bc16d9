"""Figures of a controller of impl/heartbeat as a process on a real ZooKeeper, with a thousand brokers that heartbeat.

usage: python -m tests.benchmarks.heartbeat_scale [--brokers N] [--minutes N]

The brokers are those parts of brokers that load a controller: a registration, a connection that a heartbeat is sent on
every 2 s, and a listener that acknowledges control requests. All of them are in this process, so that what is measured
has its time in it, too. Registrations are made at once; then heartbeats are measured for so many minutes; then the
controller is killed, and another broker takes office. Ctrl-C and SIGTERM end all processes, with exit code 3.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kazoo.client import KazooClient

from checker.running.interrupts import end_as_by_ctrl_c
from impl.heartbeat.control_requests import (
    LEADER_AND_ISR,
    LeaderAndIsrResponse,
    UpdateMetadataResponse,
    read_leader_and_isr_request,
)
from impl.heartbeat.messages import (
    MAX_FRAME_BYTES,
    METADATA_HEARTBEAT,
    REPAIRED,
    BrokerState,
    ErrorCode,
    MetadataHeartbeatRequest,
    read_heartbeat_response,
)
from impl.heartbeat.peers import Peer
from impl.heartbeat.process import main as process_main
from impl.heartbeat.znodes import CONTROLLER, PERSISTENT, BrokerInfo, broker_bytes, id_path, read_broker
from impl.runtime.client import Address
from impl.runtime.listener import Listener
from impl.runtime.wire import RequestHeader, WireError
from impl.zookeeper.znodes import read_controller
from tests.benchmarks.printing import line
from tests.cluster.brokers import BrokerProcess
from tests.cluster.zookeeper import Ensemble, zookeeper

BROKERS = 1_000
MINUTES = 10.0
INTERVAL_S, CONTROLLER_TIMEOUT_S = 2.0, 9.0
_SESSIONS = 8
_FIRST_CONTROLLER = 1_000_000
_REQUEST_MS = 2_000
_LIMIT_S = 60.0
_PER_NETWORK = 250
_WAIT_S = 0.05


@dataclass
class Load:
    """What all brokers share. answered: for each answer, when it came and how long it took, in s, and the state."""

    controller: Address | None
    answered: list[tuple[float, float, int]]


class LoadingBroker:
    """A broker, as far as a controller has to do with it. epoch: of the controller that it was answered by last."""

    def __init__(self, number: int, load: Load) -> None:
        self.number = number
        self.host = f"127.1.{number // _PER_NETWORK}.{number % _PER_NETWORK + 1}"
        self.incarnation = 0
        self.state = BrokerState.INITIAL
        self.epoch = -1
        self.has_taken = asyncio.Event()
        self._load = load

    async def run(self) -> None:
        """Send a heartbeat every interval, and at once when a control request was taken while it is not active.

        Once active, each keeps to a moment of its own in the interval: in a cluster they do not share one loop, nor
        were they started at once.
        """
        peer: Peer | None = None
        due_s = time.monotonic()
        moment_s = random.Random(self.number).uniform(0, INTERVAL_S)
        while True:
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            sent_s, before = time.monotonic(), self.state
            if peer is None or peer.address != self._load.controller:
                if peer is not None:
                    peer.close()
                if self._load.controller is None:
                    due_s = sent_s + _WAIT_S
                    continue
                peer = Peer(self._load.controller, f"broker-{self.number}", MAX_FRAME_BYTES)
            try:
                self.state = await self._ask(peer)
                self._load.answered.append((time.monotonic(), time.monotonic() - sent_s, self.state))
            except (OSError, TimeoutError, WireError):
                self.state = BrokerState.INITIAL
            is_new = self.state is BrokerState.ACTIVE and before is not BrokerState.ACTIVE
            due_s = max(due_s, sent_s - INTERVAL_S) + (moment_s if is_new else INTERVAL_S)
            if self.state is not BrokerState.ACTIVE:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.has_taken.wait(), due_s - time.monotonic())
                    due_s = 0.0
            self.has_taken.clear()

    async def _ask(self, peer: Peer) -> BrokerState:
        request = MetadataHeartbeatRequest(self.number, self.incarnation, BrokerState.ACTIVE, self.epoch)
        answer = await peer.ask(METADATA_HEARTBEAT, REPAIRED, request.body(REPAIRED), _REQUEST_MS)
        response = read_heartbeat_response(answer, REPAIRED)
        if response.error_code != ErrorCode.NONE:
            return BrokerState.INITIAL
        self.epoch = response.controller_epoch
        return BrokerState(response.current_state)


class Scale:
    """Two processes that may be controller, and the brokers of this one."""

    def __init__(self, ensemble: Ensemble, folder: Path, brokers: int) -> None:
        self._sessions = [KazooClient(f"{ensemble.hosts}/scale", timeout=30.0) for _ in range(_SESSIONS)]
        self.admin = self._sessions[0]
        root = KazooClient(ensemble.hosts)
        root.start()
        for path, data in PERSISTENT:
            root.create(f"/scale{path}", data, makepath=True)
        root.stop()
        root.close()
        for session in self._sessions:
            session.start()
        self.load = Load(None, [])
        self.brokers = [LoadingBroker(number, self.load) for number in range(brokers)]
        self.controllers = [self._start(ensemble, folder, number) for number in range(2)]
        self._has_taken = defaultdict[int, asyncio.Event](asyncio.Event)
        """By incarnation; a control request may come before the create is answered."""
        self._running: list[asyncio.Task[None]] = []

    def _start(self, ensemble: Ensemble, folder: Path, number: int) -> BrokerProcess:
        settings = {
            "broker.id": str(_FIRST_CONTROLLER + number),
            "zookeeper.connect": f"{ensemble.hosts}/scale",
            "controller.heartbeat.timeout.ms": str(int(1_000 * CONTROLLER_TIMEOUT_S)),
            "controller.heartbeat.interval.ms": str(int(1_000 * INTERVAL_S)),
        }
        return BrokerProcess(process_main, _FIRST_CONTROLLER + number, folder, number, settings, records=False)

    async def run(self, minutes: float) -> None:
        listener = Listener(self._acknowledge, logging.getLogger(__name__), MAX_FRAME_BYTES)
        _, port = await listener.start("0.0.0.0", 0)
        await self._until(lambda: self._find() is not None)
        self._running = [asyncio.create_task(self._keep_finding())]
        try:
            await self._register(port)
            await self._steady(minutes)
            await self._fail_over()
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            await listener.stop()

    async def _acknowledge(self, header: RequestHeader, body: bytes) -> bytes:
        """Every control request is taken."""
        if header.api_key != LEADER_AND_ISR:
            return UpdateMetadataResponse(ErrorCode.NONE).body()
        request = read_leader_and_isr_request(body, header.api_version)
        self._has_taken[request.incarnation].set()
        return LeaderAndIsrResponse(ErrorCode.NONE).body()

    async def _register(self, port: int) -> None:
        """All at once; the time ends when everybody is answered ACTIVE."""
        spent_s, started_s = self._controllers_cpu_s(), time.monotonic()
        made = [
            self._sessions[one.number % _SESSIONS].create_async(
                id_path(one.number), broker_bytes(BrokerInfo(one.host, port)), ephemeral=True, include_data=True
            )
            for one in self.brokers
        ]
        for one, result in zip(self.brokers, made, strict=True):
            one.incarnation = (await asyncio.to_thread(result.get, timeout=_LIMIT_S))[1].czxid
            one.has_taken = self._has_taken[one.incarnation]
        line(f"{len(made):,} znodes are created", f"{time.monotonic() - started_s:.2f} s")
        self._running += [asyncio.create_task(one.run()) for one in self.brokers]
        await self._until(self._all_are_active)
        what = f"{len(made):,} registrations at once, until all are active"
        line(what, f"{time.monotonic() - started_s:.2f} s", "5 s")
        line("processor time of the controllers for it", f"{self._controllers_cpu_s() - spent_s:.2f} s")

    async def _steady(self, minutes: float) -> None:
        await asyncio.sleep(2 * INTERVAL_S)  # UpdateMetadata of the last registrations is over
        self.load.answered.clear()
        spent_s, own_s, started_s = self._controllers_cpu_s(), time.process_time(), time.monotonic()
        await asyncio.sleep(60 * minutes)
        lasted_s = time.monotonic() - started_s
        spent_ms = sorted(1_000 * latency_s for _, latency_s, _ in self.load.answered)
        line(f"heartbeats a second, for {minutes:g} minutes", f"{len(spent_ms) / lasted_s:,.0f}")
        line("a heartbeat's answer, median", f"{spent_ms[len(spent_ms) // 2]:.1f} ms")
        line("a heartbeat's answer, 99 of 100", f"{spent_ms[len(spent_ms) * 99 // 100]:.1f} ms", "50 ms")
        line("a heartbeat's answer, longest", f"{spent_ms[-1]:.1f} ms")
        wrongly = sum(state is not BrokerState.ACTIVE for _, _, state in self.load.answered)
        line("answers of a broker that is not active", f"{wrongly:,}", "0")
        line("of a core: the controllers", f"{100 * (self._controllers_cpu_s() - spent_s) / lasted_s:.0f} %", "100 %")
        line("of a core: the brokers, in this process", f"{100 * (time.process_time() - own_s) / lasted_s:.0f} %")

    async def _fail_over(self) -> None:
        """The controller is killed; the time counts from when its successor is in office."""
        in_office = self._in_office()
        assert in_office is not None
        before = {one.epoch for one in self.brokers}
        killed_s = time.monotonic()
        self.controllers[in_office - _FIRST_CONTROLLER].kill()
        await self._until(lambda: self._find() is not None and self._in_office() != in_office)
        spent_s, elected_s = self._controllers_cpu_s(), time.monotonic()
        line("a new controller, after the kill", f"{elected_s - killed_s:.2f} s")
        await self._until(lambda: self._all_are_active() and all(one.epoch not in before for one in self.brokers))
        what = f"a failover among {len(self.brokers):,}, until all are active"
        line(what, f"{time.monotonic() - elected_s:.2f} s", f"{CONTROLLER_TIMEOUT_S:g} s")
        line("processor time of the controllers for it", f"{self._controllers_cpu_s() - spent_s:.2f} s")
        inactive = sum(state is BrokerState.INACTIVE for at_s, _, state in self.load.answered if at_s > elected_s)
        line("answers INACTIVE after it", f"{inactive:,}", "0")

    def _all_are_active(self) -> bool:
        return all(one.state is BrokerState.ACTIVE for one in self.brokers)

    async def _keep_finding(self) -> None:
        while True:
            self.load.controller = await asyncio.to_thread(self._find)
            await asyncio.sleep(_WAIT_S)

    def _in_office(self) -> int | None:
        with suppress(Exception):
            return read_controller(CONTROLLER, self.admin.get(CONTROLLER)[0])
        return None

    def _find(self) -> Address | None:
        """Where the controller listens."""
        in_office = self._in_office()
        with suppress(Exception):
            info = read_broker("", self.admin.get(id_path(in_office))[0]) if in_office is not None else None
            return None if info is None else (info.host, info.port)
        return None

    def _controllers_cpu_s(self) -> float:
        return sum(one.cpu_s() for one in self.controllers)

    async def _until(self, holds: Callable[[], bool]) -> None:
        end_s = time.monotonic() + _LIMIT_S
        while not holds():
            if time.monotonic() > end_s:
                raise TimeoutError("the controller is too slow, or gone")
            await asyncio.sleep(0.01)

    def stop(self) -> None:
        for one in self.controllers:
            one.kill()
        for session in self._sessions:
            session.stop()
            session.close()


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.heartbeat_scale")
    parser.add_argument("--brokers", type=int, default=BROKERS)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    end_as_by_ctrl_c()  # else processes are left behind
    with zookeeper() as ensemble, tempfile.TemporaryDirectory() as folder:
        scale = Scale(ensemble, Path(folder), options.brokers)
        try:
            asyncio.run(scale.run(options.minutes))
        except KeyboardInterrupt:
            print("stopped before the end")
            return 3
        finally:
            scale.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
