"""A broker process: its cores on an asyncio loop, a real ZooKeeper, requests of clients and brokers, metrics, a trace.

usage: python -m impl.heartbeat.process server.properties [--trace FILE]
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
from collections.abc import Callable, Coroutine, Hashable, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from prometheus_client import CollectorRegistry

from impl.heartbeat.broker import BrokerSettings
from impl.heartbeat.disk import Folder
from impl.heartbeat.effects import Ask, Effect, Effects, Exit, Produce, Reply, SetTimer, Tell, Timer
from impl.heartbeat.links import Links
from impl.heartbeat.measures import Measures
from impl.heartbeat.messages import MAX_FRAME_BYTES
from impl.heartbeat.node import Node
from impl.heartbeat.peers import Peers
from impl.heartbeat.replica import in_memory
from impl.heartbeat.requests import Requests
from impl.heartbeat.scripts import LANES
from impl.heartbeat.settings import Settings, load
from impl.heartbeat.znodes import id_path, read_broker
from impl.runtime.client import Address
from impl.runtime.command import run_broker
from impl.runtime.effects import Did, Log
from impl.runtime.listener import Listener
from impl.runtime.logs import log
from impl.runtime.loop import CoreLoop
from impl.runtime.metrics import served
from impl.runtime.recorder import Recorder
from impl.zookeeper import Event, Found, GetData, OutOfTouch, Result, Submit
from impl.zookeeper.client import Client
from impl.zookeeper.znodes import ZnodeError

_LOG = logging.getLogger("impl.heartbeat")
_PROCESS_LANE = 3
_LONGEST_SHUTDOWN_S = 30.0


class Process:
    """One broker, from its start to its stop."""

    def __init__(self, settings: Settings, recorder: Recorder | None = None) -> None:
        self.settings = settings
        self.node = self._node(settings.listener)
        self._recorder = recorder
        self._registry = CollectorRegistry()
        self._measures = Measures(self._registry)
        self._client = Client(settings.zookeeper_connect, settings.session_timeout_ms, self._deliver)
        self._loop: CoreLoop[Effect] = CoreLoop(self._on_timer, self._carry_out, before_each=self._client.check_contact)
        self.peers = Peers(f"broker-{settings.broker_id}", MAX_FRAME_BYTES)
        self._links = Links(self)
        self._listener = Listener(Requests(self).answer, _LOG, MAX_FRAME_BYTES)
        self._calls = itertools.count(1)
        self._awaiting = dict[int, asyncio.Future[Any]]()
        self._reads = dict[int, asyncio.Future[Result]]()
        self.now_ms = 0

    def _node(self, endpoint: Address) -> Node:
        settings = self.settings
        numbers = BrokerSettings(
            settings.broker_id,
            endpoint,
            settings.design.heartbeats and not settings.sends_heartbeats,
            settings.interval_ms,
            settings.broker_timeout_ms,
            settings.session_timeout_ms,
            settings.replica_lag_ms,
            settings.min_insync_replicas,
        )
        logs = in_memory if settings.log_dir is None else Folder(settings.log_dir)
        return Node(numbers, settings.design, settings.controller_timeout_ms, logs)

    async def run(self) -> None:
        """Serve until `stop`. Raises OSError where an address is taken."""
        with ExitStack() as open_until_end:
            if self.settings.metrics_port is not None:
                host = self.settings.listener[0]
                address = open_until_end.enter_context(served(self._registry, host, self.settings.metrics_port))
                log(_LOG, "metrics", {"address": address})
            host, port = await self._listener.start(*self.settings.listener)
            self.node = self._node(self.settings.advertised or (host, port))
            log(_LOG, "listening", {"host": host, "port": port})
            self._client.start()
            self.begin(self._links.fetch())
            try:
                await self._loop.run()
            finally:
                await self._end()

    async def _end(self) -> None:
        await self._listener.stop()
        self.peers.close()
        await self._client.stop()
        log(_LOG, "stopped")

    def stop(self) -> None:
        """SIGTERM: lead nothing any more, then end; at once where there is no controlled shutdown."""
        if not self.settings.controlled_shutdown or self.node.broker.is_stopping:
            self._loop.stop()
            return
        self.post(lambda now_ms: self.node.broker.stop(now_ms))
        self.begin(self._links.shut_down(self._loop.stop, _LONGEST_SHUTDOWN_S))

    # Inputs of the cores.

    def post(self, step: Callable[[int], Effects]) -> None:
        """Take a step of a core after those that wait."""
        self._loop.post(lambda now_ms: self._then(step(now_ms), now_ms))

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let something run beside the steps, until the process ends. An exception that it does not handle ends it."""
        return self._loop.begin(work)

    async def called(self, step: Callable[[int, int], Effects]) -> Any:
        """Take a step that is given a number; what the effect with this number says."""
        call = next(self._calls)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._awaiting[call] = answer
        self.post(lambda now_ms: step(call, now_ms))
        try:
            return await answer
        finally:
            self._awaiting.pop(call, None)

    async def stepped(self, step: Callable[[int], tuple[Any, Effects]]) -> Any:
        """Take a step that has an answer at once."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def take(now_ms: int) -> Effects:
            found, effects = step(now_ms)
            if not answer.done():
                answer.set_result(found)
            return effects

        self.post(take)
        return await answer

    async def address(self, broker: int) -> Address | None:
        """Where a broker listens, as it is registered now."""
        number = next(self._calls)
        read: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._reads[number] = read
        self._client.submit(Submit(number * LANES + _PROCESS_LANE, GetData(id_path(broker))))
        outcome = (await read).outcome
        if not isinstance(outcome, Found):
            return None
        with suppress(ZnodeError):
            info = read_broker(id_path(broker), outcome.data or b"")
            return info.host, info.port
        return None

    def _deliver(self, event: Event) -> None:
        def step(now_ms: int) -> Effects:
            self._client.handling(event)
            if isinstance(event, Result) and event.id % LANES == _PROCESS_LANE:
                read = self._reads.pop(event.id // LANES, None)
                if read is not None and not read.done():
                    read.set_result(event)
                return []
            return self._then(self.node.on_event(event, now_ms), now_ms)

        self._loop.post(step, first=isinstance(event, OutOfTouch))  # before requests that waited through a pause

    def _on_timer(self, timer: Hashable, now_ms: int) -> Effects:
        assert isinstance(timer, Timer), "the cores set these"
        return self._then(self.node.on_timer(timer, now_ms), now_ms)

    def _then(self, effects: Effects, now_ms: int) -> Effects:
        self.now_ms = now_ms
        effects = effects + self.node.advance(now_ms)
        self._measures.after(self.node, now_ms)
        return effects

    # Effects.

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Submit():
                self._client.submit(effect)
            case SetTimer(timer=timer, at_ms=at_ms):
                self._loop.set_timer(timer, at_ms)
            case Reply(call=call, response=response):
                self._measures.replied(effect)
                self._answer(call, response)
            case Produce(call=call):
                self._answer(call, effect)
            case Ask():
                self.begin(self._links.ask(effect))
            case Tell():
                self.begin(self._links.tell(effect))
            case Exit():
                self._loop.stop()
            case Did():
                self._measures.did(effect)
                self._record(effect)
            case Log(event=event, facts=facts, is_warning=is_warning):
                log(_LOG, event, facts, level=logging.WARNING if is_warning else logging.INFO)

    def _answer(self, call: int, found: object) -> None:
        waiting = self._awaiting.get(call)
        if waiting is not None and not waiting.done():
            waiting.set_result(found)

    def _record(self, did: Did) -> None:
        if self._recorder is not None:
            self._recorder.did(did, {"broker": f"broker{self.settings.broker_id}"})

    def observe_latency(self, latency_ms: int) -> None:
        """A heartbeat was answered after so long."""
        self._measures.heartbeat_answered(latency_ms)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a broker until it is told to stop. Returns the exit code."""
    return run_broker("heartbeat", "A broker with heartbeats (KIP-343).", load, Process, arguments)


if __name__ == "__main__":
    sys.exit(main())
