"""A broker process: its core on an asyncio loop, a real ZooKeeper, a listener for requests, metrics and a trace.

usage: python -m impl.pinning.process server.properties [--trace FILE]
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack

from prometheus_client import CollectorRegistry

from impl.pinning.broker import Broker
from impl.pinning.effects import Effect, Effects, Reply, SetTimer, Timer
from impl.pinning.measures import Measures
from impl.pinning.member import Member
from impl.pinning.messages import (
    API_VERSIONS,
    DESCRIBE_CONTROLLER,
    METADATA,
    METADATA_VERSION,
    PIN_CONTROLLER,
    VERSION,
    ErrorCode,
    MetadataRequest,
    Request,
    Response,
    api_versions_body,
    read_describe_request,
    read_pin_request,
    refusal,
)
from impl.pinning.settings import Settings, load
from impl.runtime.command import run_broker
from impl.runtime.effects import Did, Log
from impl.runtime.listener import Listener
from impl.runtime.logs import log
from impl.runtime.loop import CoreLoop
from impl.runtime.metrics import served
from impl.runtime.recorder import Recorder
from impl.runtime.wire import RequestHeader, WireError
from impl.zookeeper import Event, OutOfTouch, Submit
from impl.zookeeper.client import Client

_LOG = logging.getLogger("impl.pinning")
_WORK = "work"
_READERS: dict[int, Callable[[bytes], Request]] = {
    PIN_CONTROLLER: read_pin_request,
    DESCRIBE_CONTROLLER: read_describe_request,
}


class Process:
    """One broker, from its start to its stop."""

    def __init__(self, settings: Settings, recorder: Recorder | None = None) -> None:
        self._settings = settings
        self._recorder = recorder
        self._registry = CollectorRegistry()
        self._measures = Measures(self._registry)
        member = Member(
            settings.broker_id,
            settings.design,
            session_timeout_ms=settings.session_timeout_ms,
            abstain_timeout_ms=settings.abstain_timeout_ms,
        )
        self.broker = Broker(member)
        self._client = Client(settings.zookeeper_connect, settings.session_timeout_ms, self._deliver)
        self._loop: CoreLoop[Effect] = CoreLoop(self._on_timer, self._carry_out, before_each=self._client.check_contact)
        self._listener = Listener(self._answer, _LOG)
        self._calls = itertools.count(1)
        self._awaiting = dict[int, asyncio.Future[Response]]()
        self._now_ms = 0

    async def run(self) -> None:
        """Serve until `stop`. Raises OSError where an address is taken."""
        with ExitStack() as open_until_end:
            if self._settings.metrics_port is not None:
                host = self._settings.listener[0]
                address = open_until_end.enter_context(served(self._registry, host, self._settings.metrics_port))
                log(_LOG, "metrics", {"address": address})
            host, port = await self._listener.start(*self._settings.listener)
            self.broker.member.endpoint = host, port
            log(_LOG, "listening", {"host": host, "port": port})
            self._client.start()
            if self._settings.write_interval_ms:
                self._loop.set_timer(_WORK, self._settings.write_interval_ms)
            try:
                await self._loop.run()
            finally:
                await self._listener.stop()
                await self._client.stop()
                log(_LOG, "stopped")

    def stop(self) -> None:
        """End `run` in good order: the session is closed."""
        self._loop.stop()

    # Inputs of the core.

    def _deliver(self, event: Event) -> None:
        def step(now_ms: int) -> Effects:
            self._client.handling(event)
            return self._then(self.broker.on_event(event, now_ms), now_ms)

        self._loop.post(step, first=isinstance(event, OutOfTouch))  # before requests that waited through a pause

    def _on_timer(self, timer: Hashable, now_ms: int) -> Effects:
        if timer == _WORK:
            self._loop.set_timer(_WORK, now_ms + self._settings.write_interval_ms)
            return self._then(self.broker.on_work(now_ms), now_ms)
        assert isinstance(timer, Timer | int), "the core sets these"
        return self._then(self.broker.on_timer(timer, now_ms), now_ms)

    def _then(self, effects: Effects, now_ms: int) -> Effects:
        """The effects of a step, and of what the core can do after it without waiting for anything."""
        self._now_ms = now_ms
        while self.broker.can_advance:
            effects = effects + self.broker.advance(now_ms)
        self._measures.after(self.broker, now_ms)
        return effects

    async def _answer(self, header: RequestHeader, body: bytes) -> bytes:
        if header.api_key == API_VERSIONS:
            return api_versions_body(ErrorCode.NONE if header.api_version == 0 else ErrorCode.UNSUPPORTED_VERSION)
        if header.api_key == METADATA and header.api_version == METADATA_VERSION:
            return (await self._ask(MetadataRequest())).body()
        read = _READERS.get(header.api_key)
        if read is None:
            raise WireError(f"api key {header.api_key} in version {header.api_version} is unknown")
        if header.api_version != VERSION:
            what = f"version {header.api_version} of api key {header.api_key}; {VERSION} is served"
            return self._refuse(header.api_key, ErrorCode.UNSUPPORTED_VERSION, what)
        try:
            request = read(body)
        except WireError as error:
            log(_LOG, "bad request", {"what": str(error), "api_key": header.api_key}, level=logging.WARNING)
            return self._refuse(header.api_key, ErrorCode.INVALID_REQUEST, str(error))
        if not self._allows(header):
            what = f"client {header.client_id!r} may not do that"
            return self._refuse(header.api_key, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, what)
        return (await self._ask(request)).body()

    def _refuse(self, api_key: int, error: ErrorCode, what: str) -> bytes:
        """The answer to a request that never gets to the core."""
        response = refusal(api_key, error, what)
        self._measures.answered(response)
        return response.body()

    def _allows(self, header: RequestHeader) -> bool:
        """ALTER on CLUSTER for a pin, DESCRIBE for the rest; no list: everybody."""
        is_pin = header.api_key == PIN_CONTROLLER
        allowed = self._settings.alter_clients if is_pin else self._settings.describe_clients
        return not allowed or header.client_id in allowed

    async def _ask(self, request: Request) -> Response:
        call = next(self._calls)
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._awaiting[call] = answer
        self._loop.post(lambda now_ms: self._then(self.broker.on_request(call, request, now_ms), now_ms))
        try:
            return await answer
        finally:
            self._awaiting.pop(call, None)

    # Effects.

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Submit():
                self._client.submit(effect)
            case SetTimer(timer=timer, at_ms=at_ms):
                self._loop.set_timer(timer, at_ms)
            case Reply(call=call, response=response):
                self._measures.answered(response)
                waiting = self._awaiting.get(call)
                if waiting is not None and not waiting.done():
                    waiting.set_result(response)
            case Did():
                self._measures.did(effect, self._now_ms)
                self._record(effect)
            case Log(event=event, facts=facts, is_warning=is_warning):
                log(_LOG, event, facts, level=logging.WARNING if is_warning else logging.INFO)

    def _record(self, did: Did) -> None:
        if self._recorder is not None:
            broker = {"broker": f"broker{self._settings.broker_id}"}
            self._recorder.record(did.action, broker, at={"zxid": did.zxid}, note=did.facts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a broker until it is told to stop. Returns the exit code."""
    return run_broker("pinning", "A broker that can be pinned (KIP-39).", load, Process, arguments)


if __name__ == "__main__":
    sys.exit(main())
