"""Proxies before nodes of a cluster on the loopback interface, which know requests from responses.

Frames of a connection stay in order: whatever comes after one that is held waits, too.
"""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")
_HEADER = struct.Struct(">hhih")
_LENGTH = struct.Struct(">i")
_LIMIT_S = 10


@dataclass(slots=True)
class Request:
    """A request under way. client: the client's id, "" for none. body: behind that. sent_ms: when it went on."""

    api: int
    version: int
    client: str
    body: bytes
    sent_ms: int = 0


class Passage(Protocol):
    """What decides when frames go on."""

    async def request(self, request: Request) -> int:
        """Return once it may go on; as often as this says it is sent."""

    async def response(self, request: Request, body: bytes, *, is_copy: bool) -> None:
        """Return once it may go on. body: behind the correlation id. The answer to a copy goes nowhere."""


class Proxies:
    """Proxies on one thread. All methods can be called from others."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._listening: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def listen(self, port: int, server: int, passage: Passage) -> None:
        """Pass connections to a port on to the port `server`."""
        self._run(self._listen(port, server, passage))

    def call(self, what: Callable[[], None]) -> None:
        """Do something on the thread, between two frames."""

        async def called() -> None:
            what()

        self._run(called())

    def stop(self) -> None:
        """Listen no more, and close all connections."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # On the thread.

    def _run(self, coroutine: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_LIMIT_S)

    async def _listen(self, port: int, server: int, passage: Passage) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            await _Connection(passage).run(reader, writer, server)

        self._listening.append(await asyncio.start_server(accept, "127.0.0.1", port))

    async def _end(self) -> None:
        for server in self._listening:
            server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)


@dataclass(slots=True)
class _Sent:
    """unanswered: how many of its copies are. is_answered: the client has its answer, or will."""

    request: Request
    unanswered: int
    is_answered: bool = False


class _Connection:
    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._sent: dict[int, _Sent] = {}

    async def run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: int) -> None:
        """Pass frames on in both directions until an end closes."""
        ends = [writer]
        try:
            answers, onward = await asyncio.open_connection("127.0.0.1", server)
            ends.append(onward)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._requests(reader, onward))
                both.create_task(self._responses(answers, writer))
        except* (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # an end is gone, or the proxies stop
        finally:
            for end in ends:
                end.transport.abort()

    async def _requests(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        while True:
            content = await _frame(source)
            api, version, correlation, size = _HEADER.unpack_from(content)
            body = _HEADER.size + max(size, 0)
            request = Request(api, version, content[_HEADER.size : body].decode(), content[body:])
            times = await self._passage.request(request)
            request.sent_ms = now_ms()
            self._sent[correlation] = _Sent(request, times)
            to.write((_LENGTH.pack(len(content)) + content) * times)
            await to.drain()

    async def _responses(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        while True:
            content = await _frame(source)
            (correlation,) = _LENGTH.unpack_from(content)
            sent = self._sent[correlation]
            sent.unanswered -= 1
            if sent.unanswered == 0:
                del self._sent[correlation]
            is_copy, sent.is_answered = sent.is_answered, True
            await self._passage.response(sent.request, content[_LENGTH.size :], is_copy=is_copy)
            if not is_copy:
                to.write(_LENGTH.pack(len(content)) + content)
                await to.drain()


def now_ms() -> int:
    """By the clock that Kafka's batches have, too."""
    return time.time_ns() // 1_000_000


async def _frame(source: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await source.readexactly(_LENGTH.size))
    return await source.readexactly(length)
