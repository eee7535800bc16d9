"""A consumer process: prints what it consumes, a JSON object a line, until it is told to stop.

usage: python -m impl.group.consumer_process consumer.properties [--out FILE] [--trace FILE]

Exit codes: 0 it was told to stop, and left; 1 it could not leave in order; 2 usage; 6 a record cannot be written: it
stops at once, and its offset is not reported.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import time
from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from impl.group.consumer import Consumer, State
from impl.group.effects import Ask, Connect, Disconnect, Effect, Effects, Exit, Fetching, SetTimer, Timer
from impl.group.fetchers import Fetchers
from impl.group.protocol import (
    MAX_FRAME_BYTES,
    RequestToBroker,
    ResponseOfConsumer,
    TopicPartition,
    read_metadata_response,
    read_register_response,
    read_request_to_consumer,
    request_bytes,
)
from impl.group.settings import ConsumerSettings, load_consumer
from impl.runtime.effects import Did, Log
from impl.runtime.logs import log, log_to
from impl.runtime.loop import CoreLoop, on_signals
from impl.runtime.properties import ConfigError
from impl.runtime.recorder import Recorder
from impl.runtime.wire import Frames, WireError

_LOG = logging.getLogger("impl.group")
LEFT, COULD_NOT_LEAVE, USAGE, UNWRITABLE = 0, 1, 2, 6


class UnwritableError(Exception):
    """A record cannot be handed on."""


class Link(asyncio.Protocol):
    """A connection with a broker: what comes is handed in, in order, and its end."""

    def __init__(self, process: ConsumerProcess, number: int) -> None:
        self.transport: asyncio.Transport
        self._process = process
        self._number = number
        self._frames = Frames(MAX_FRAME_BYTES)
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for content in () if self._is_over else self._frames.feed(data):
                self._process.has_come(self._number, content)
        except WireError:
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._process.is_closed(self._number)

    def close(self) -> None:
        """It is wanted no more, and is not handed in either."""
        self._is_over = True
        self.transport.close()


class ConsumerProcess:
    """One consumer, from its start to its stop. out: takes a line for each record."""

    def __init__(self, settings: ConsumerSettings, out: BinaryIO, recorder: Recorder | None = None) -> None:
        self.core = Consumer(settings)
        self._repaired = settings.design.is_repaired_on_wire
        self._out = out
        self._recorder = recorder
        self._loop: CoreLoop[Effect] = CoreLoop(self._on_timer, self._carry_out)
        self._fetchers = Fetchers(self.core, self._hand, self._carry_out_all)
        self._connecting: asyncio.Task[None] | None = None
        self._link: Link | None = None
        self._is_unwritable = False

    async def run(self) -> int:
        """Consume until `stop`. Returns the exit code."""
        self._loop.post(lambda now_ms: self.core.start(now_ms))
        try:
            await self._loop.run()
        finally:
            await self._fetchers.stop()
            self._disconnect()
        if self._is_unwritable:
            return UNWRITABLE
        return LEFT if self.core.state is State.LEFT else COULD_NOT_LEAVE

    def stop(self) -> None:
        """SIGTERM: leave at a ping."""
        self._loop.post(lambda now_ms: self.core.stop(now_ms))

    def _on_timer(self, timer: Hashable, now_ms: int) -> Effects:
        assert isinstance(timer, Timer), "the core sets these"
        return self.core.on_timer(timer, now_ms)

    # The connection with the coordinator.

    async def _open(self, number: int, host: str, port: int) -> None:
        try:
            loop = asyncio.get_running_loop()
            _, self._link = await loop.create_connection(lambda: Link(self, number), host, port)
            self._loop.post(lambda now_ms: self.core.on_connected(number, now_ms))
        except (OSError, ValueError, OverflowError):  # or a host or a port that cannot be one
            self.is_closed(number)

    def has_come(self, number: int, content: bytes) -> None:
        """A message was read from a connection."""
        self._loop.post(lambda now_ms: self._take(number, content, now_ms))

    def is_closed(self, number: int) -> None:
        """A connection was not made, or is closed by the other end, or cannot be read."""
        self._loop.post(lambda now_ms: self.core.on_closed(number, now_ms))

    def _take(self, number: int, content: bytes, now_ms: int) -> Effects:
        """What the first message on a connection is, the state says."""
        if number != self.core.connection:
            return []
        try:
            if self.core.state is State.STARTING:
                return self.core.on_metadata(read_metadata_response(content, repaired=self._repaired), now_ms)
            if self.core.state is State.REGISTERING:
                return self.core.on_registered(read_register_response(content, repaired=self._repaired), now_ms)
            return self.core.on_request(read_request_to_consumer(content), now_ms)
        except WireError as error:
            log(_LOG, "what the broker sends cannot be read", {"what": str(error)}, level=logging.WARNING)
            return self.core.on_closed(number, now_ms)

    def _connect(self, number: int, host: str, port: int) -> None:
        self._disconnect()
        self._connecting = asyncio.get_running_loop().create_task(self._open(number, host, port))

    def _disconnect(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        if self._link is not None:
            self._link.close()
            self._link = None

    def _send(self, message: RequestToBroker | ResponseOfConsumer) -> None:
        if self._link is None:
            return
        try:
            self._link.transport.write(request_bytes(message, repaired=self._repaired))
        except WireError as error:
            log(_LOG, "what is to be sent cannot be", {"what": str(error)}, level=logging.ERROR)
            self.is_closed(self.core.connection or 0)

    # Effects.

    def _carry_out_all(self, effects: Effects) -> None:
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Connect(connection=number, host=host, port=port):
                self._connect(number, host, port)
            case Ask(message=message):
                self._send(message)
            case Disconnect():
                self._disconnect()
            case Fetching():
                self._fetchers.changed()
            case SetTimer(timer=timer, at_ms=at_ms):
                self._loop.set_timer(timer, at_ms)
            case Exit():
                self._loop.stop()
            case Did():
                self._record(effect)
            case Log(event=event, facts=facts, is_warning=is_warning):
                log(_LOG, event, facts, level=logging.WARNING if is_warning else logging.INFO)

    def _hand(self, of: TopicPartition, offset: int, next_offset: int, payload: bytes) -> None:
        line = {
            "time_ns": time.monotonic_ns(), "topic": of.topic, "partition": of.partition, "offset": offset,
            "next": next_offset, "payload": payload.decode("utf-8", errors="replace"),
            "epoch": self.core.coordinator_epoch, "attempt": self.core.attempt,
        }  # fmt: skip
        data = json.dumps(line).encode() + b"\n"
        try:
            while data:
                data = data[self._out.write(data) :]
        except OSError as error:
            log(_LOG, "a record cannot be written", {"what": str(error)}, level=logging.ERROR)
            self._is_unwritable = True
            self._loop.stop()
            raise UnwritableError from error

    def _record(self, did: Did) -> None:
        if self._recorder is not None:
            self._recorder.did(did, {"consumer": self.core.settings.consumer})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a consumer until it is told to stop. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="impl.group.consumer_process", description="A consumer of a group.")
    parser.add_argument("properties", type=Path, help="its configuration")
    parser.add_argument("--out", type=Path, metavar="FILE", help="append records there; default: standard output")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="record the steps that it takes")
    options = parser.parse_args(arguments)
    try:
        settings = load_consumer(options.properties)
    except ConfigError as error:
        print(f"{options.properties}: {error}", file=sys.stderr)
        return USAGE
    log_to(consumer=settings.consumer)
    try:
        with ExitStack() as open_until_end:
            file = options.out or Path("/dev/stdout")
            out = cast(BinaryIO, open_until_end.enter_context(file.open("ab", buffering=0)))
            recorder = None
            if options.trace is not None:
                recorder = open_until_end.enter_context(Recorder(options.trace, "group", settings.consumer))
            return asyncio.run(_until_told(ConsumerProcess(settings, out, recorder)))
    except OSError as error:
        print(f"{options.properties}: {error}", file=sys.stderr)
        return USAGE


async def _until_told(process: ConsumerProcess) -> int:
    on_signals(process.stop)
    return await process.run()


if __name__ == "__main__":
    sys.exit(main())
