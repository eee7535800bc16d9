"""A broker process: its cores on an asyncio loop, a real ZooKeeper, connections of consumers, metrics, a trace.

usage: python -m impl.group.process server.properties [--trace FILE]
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import sys
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from typing import Any

from prometheus_client import CollectorRegistry

from impl.group.connections import Connection, Connections
from impl.group.effects import Answer, Close, CloseAll, Effect, Effects, Send, SetTimer, Timer, Timing
from impl.group.measures import Measures
from impl.group.partition_log import Logs
from impl.group.presence import FIRST_ID, Presence
from impl.group.protocol import BrokerAddress, ClusterMetadataResponse
from impl.group.settings import BrokerSettings, load_broker
from impl.group.sockets import coordinator_of
from impl.runtime.command import run_broker
from impl.runtime.effects import Did, Log
from impl.runtime.lag import Lag, watch_lag
from impl.runtime.logs import log
from impl.runtime.loop import CoreLoop
from impl.runtime.metrics import served
from impl.runtime.recorder import Recorder
from impl.zookeeper import Event, OutOfTouch, Result, Submit
from impl.zookeeper.client import Client

_LOG = logging.getLogger("impl.group")
_LATE_MS = 1_000
"""Late by so much, a line of the log says so."""


class Process:
    """One broker, from its start to its stop."""

    def __init__(self, settings: BrokerSettings, recorder: Recorder | None = None) -> None:
        self.settings = settings
        self.coordinator = coordinator_of(settings)
        self.logs = Logs(dict(settings.topics), settings.log_dir)
        self._presence = Presence(BrokerAddress(settings.broker_id, "", 0), dict(settings.topics))
        self._held: list[Event] = []
        """Events that the coordinator is handed once this broker is registered."""
        self._recorder = recorder
        self._registry = CollectorRegistry()
        self._measures = Measures(self._registry)
        self._client = Client(settings.zookeeper_connect, settings.session_timeout_ms, self._deliver)
        self._loop: CoreLoop[Effect] = CoreLoop(self._on_timer, self._carry_out, before_each=self._client.check_contact)
        self._connections = Connections(self, settings.design, _LOG, settings.max_idle_ms)
        self._works_on = False
        """A step waits that begins more work."""
        self._calls = itertools.count(1)
        self._awaiting = dict[int, asyncio.Future[ClusterMetadataResponse]]()

    async def run(self) -> None:
        """Serve until `stop`. Raises OSError where an address is taken."""
        with ExitStack() as open_until_end:
            if self.settings.metrics_port is not None:
                host = self.settings.listener[0]
                address = open_until_end.enter_context(served(self._registry, host, self.settings.metrics_port))
                log(_LOG, "metrics", {"address": address})
            host, port = await self._connections.start(*self.settings.listener)
            self._presence.address = BrokerAddress(self.settings.broker_id, *(self.settings.advertised or (host, port)))
            log(_LOG, "listening", {"host": host, "port": port})
            self._client.start()
            self._loop.begin(watch_lag(self._lagged))
            try:
                await self._loop.run()
            finally:
                await self._connections.stop()
                await self._client.stop()
                log(_LOG, "stopped")

    def stop(self) -> None:
        """SIGTERM: close the session, so that another coordinator is elected at once."""
        self._loop.stop()

    # Inputs of the cores.

    def post(self, step: Callable[[int], Effects]) -> None:
        """Take a step of the coordinator after those that wait."""
        self._loop.post(lambda now_ms: self._then(step(now_ms), now_ms))

    async def metadata(self) -> ClusterMetadataResponse:
        """The answer to who the coordinator is."""
        call = next(self._calls)
        answer: asyncio.Future[ClusterMetadataResponse] = asyncio.get_running_loop().create_future()
        self._awaiting[call] = answer
        self.post(lambda now_ms: self.coordinator.on_metadata(call, now_ms))
        try:
            return await answer
        finally:
            self._awaiting.pop(call, None)

    async def asked(self, question: Callable[[int], Any]) -> Any:
        """What the cores' state says, between two steps."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def ask(now_ms: int) -> Effects:
            if not answer.done():
                answer.set_result(question(now_ms))
            return []

        self.post(ask)
        return await answer

    def _deliver(self, event: Event) -> None:
        def step(now_ms: int) -> Effects:
            self._client.handling(event)
            effects = self._presence.on_event(event, now_ms)
            if not isinstance(event, Result) or event.id < FIRST_ID:
                self._held.append(event)
            return self._then(effects + self._handed_on(now_ms), now_ms)

        self._loop.post(step, first=isinstance(event, OutOfTouch))  # before requests that waited through a pause

    def _handed_on(self, now_ms: int) -> Effects:
        """A broker that is not registered yet cannot be found: it is not elected either."""
        effects: Effects = []
        while self._held and (self._presence.is_registered or self.coordinator.term is not None):
            effects += self.coordinator.on_event(self._held.pop(0), now_ms)
        return effects

    def _on_timer(self, timer: Hashable, now_ms: int) -> Effects:
        assert isinstance(timer, Timer), "the cores set these"
        if timer.timing is Timing.REGISTER:
            return self._then(self._presence.on_timer(now_ms), now_ms)
        return self._then(self.coordinator.on_timer(timer, now_ms), now_ms)

    def _then(self, effects: Effects, now_ms: int) -> Effects:
        """One piece of work is begun, and the next in another step: pings do not wait for the offsets of all groups."""
        effects = list(effects)
        if self.coordinator.can_advance:
            effects += self.coordinator.advance(now_ms)
            if not self._works_on and self.coordinator.can_advance:
                self._works_on = True
                self._loop.post(self._work_on)
        self._measures.after(self.coordinator)
        return effects

    def _work_on(self, now_ms: int) -> Effects:
        self._works_on = False
        return self._then([], now_ms)

    def _lagged(self, lag: Lag) -> None:
        self._measures.lagged(lag)
        if lag.late_ms >= _LATE_MS:
            facts = {name: round(value) for name, value in lag._asdict().items()}
            log(_LOG, "this process is late", facts, level=logging.WARNING)

    # Effects.

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send(connection=connection, message=message):
                self._connections.send(connection, message)
            case Submit():
                self._client.submit(effect)
            case SetTimer(timer=timer, at_ms=at_ms):
                self._loop.set_timer(timer, at_ms)
            case Close(connection=connection):
                self._connections.close(connection)
            case CloseAll():
                self._connections.close_all()
            case Answer(call=call, response=response):
                waiting = self._awaiting.get(call)
                if waiting is not None and not waiting.done():
                    waiting.set_result(response)
            case Did():
                self._measures.did(effect)
                self._record(effect)
            case Log(event=event, facts=facts, is_warning=is_warning):
                self._measures.logged(effect)
                log(_LOG, event, facts, level=logging.WARNING if is_warning else logging.INFO)

    def _record(self, did: Did) -> None:
        if self._recorder is not None:
            self._recorder.did(did, {"broker": f"broker{self.settings.broker_id}"})

    def is_closed(self, connection: Connection) -> None:
        """The other end of a connection has closed it."""
        self.post(lambda now_ms: self.coordinator.on_closed(connection.number, now_ms))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a broker until it is told to stop. Returns the exit code."""
    gc.freeze()  # what was imported stays: no collection, in which pings wait, is to look at it
    return run_broker("group", "A broker that may be the consumer coordinator.", load_broker, Process, arguments)


if __name__ == "__main__":
    sys.exit(main())
