"""A proxy on a link to a node of Apache Kafka that knows requests from responses, and holds those of a kind.

Frames of a connection stay in order: whatever comes after one that is held waits, too.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

T = TypeVar("T")


class Api(IntEnum):
    """Keys of Kafka's requests."""

    FETCH = 1
    ALTER_PARTITION = 56


@dataclass(frozen=True)
class Frame:
    """A request, or the response to one: its key, the client's id, and which of the two it is."""

    api: int
    client: str
    is_response: bool


Kind = Callable[[Frame], bool]


class Gate:
    """A place that all frames of a kind pass, and wait at while it is shut. Proxies open and shut it.

    waiting, passed: how many of them wait now, and went through so far. at_arrival: called when one comes, before it
    waits or goes through; it may shut other gates of the same proxies.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.waiting = self.passed = 0
        self.at_arrival: Callable[[], None] | None = None
        self._open = asyncio.Event()
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    async def go_through(self) -> None:
        if self.at_arrival is not None:
            self.at_arrival()
        self.waiting += 1
        try:
            await self._open.wait()
        finally:
            self.waiting -= 1
        self.passed += 1


class Proxies:
    """Proxies on one thread, and the gates that all their frames go through."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._gates: list[Gate] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def listen(self, port: int, server: int, kinds: Sequence[Kind]) -> list[Gate]:
        """Pass connections to a port of the loopback interface on to the port `server`; a gate for each kind."""
        made = [Gate(kind) for kind in kinds]
        self._run(self._listen(port, server, made))
        return made

    def shut(self, *gates: Gate) -> None:
        """Hold what comes to these gates from now on."""
        self._run(self._each(gates, Gate.close))

    def open(self, *gates: Gate) -> None:
        """Let everything through these gates again, what they held first."""
        self._run(self._each(gates, Gate.open))

    def stop(self) -> None:
        """Close all connections."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # On the thread.

    def _run(self, coroutine: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _each(self, gates: Sequence[Gate], what: Callable[[Gate], None]) -> None:
        for gate in gates:
            what(gate)

    async def _listen(self, port: int, server: int, gates: list[Gate]) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            await _connection(reader, writer, server, gates)

        await asyncio.start_server(accept, "127.0.0.1", port)

    async def _end(self) -> None:
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)


async def _connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: int, gates: list[Gate]
) -> None:
    """Pass frames on in both directions until an end closes."""
    sent: dict[int, Frame] = {}
    ends = [writer]
    try:
        answers, onward = await asyncio.open_connection("127.0.0.1", server)
        ends.append(onward)
        async with asyncio.TaskGroup() as both:
            both.create_task(_pass(reader, onward, gates, sent, is_response=False))
            both.create_task(_pass(answers, writer, gates, sent, is_response=True))
    except* (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
        pass  # an end is gone, or the proxies stop
    finally:
        for end in ends:
            end.transport.abort()


async def _pass(
    source: asyncio.StreamReader, to: asyncio.StreamWriter, gates: list[Gate], sent: dict[int, Frame], is_response: bool
) -> None:
    while True:
        length = await source.readexactly(4)
        body = await source.readexactly(struct.unpack(">i", length)[0])
        frame = _response(body, sent) if is_response else _request(body, sent)
        for gate in gates:
            if gate.kind(frame):
                await gate.go_through()
        to.write(length + body)
        await to.drain()


def _request(body: bytes, sent: dict[int, Frame]) -> Frame:
    """The header of a request: key, version, correlation id, client id."""
    api, _, correlation, size = struct.unpack_from(">hhih", body)
    client = body[10 : 10 + max(size, 0)].decode()
    sent[correlation] = Frame(api, client, is_response=True)
    return Frame(api, client, is_response=False)


def _response(body: bytes, sent: dict[int, Frame]) -> Frame:
    """The header of a response begins with the correlation id."""
    return sent.pop(struct.unpack_from(">i", body)[0])


@contextmanager
def proxies() -> Iterator[Proxies]:
    """Proxies that are stopped in the end."""
    made = Proxies()
    try:
        yield made
    finally:
        made.stop()
