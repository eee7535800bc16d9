"""A TCP proxy on a link of a test cluster: cut, delayed, one way, its connections reset, a reply lost.

What is cut is held, not lost: as with TCP, it arrives late once the link is healed, unless its connection was reset.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import TypeVar

T = TypeVar("T")
_CHUNK_BYTES = 1 << 16


class Direction(Enum):
    """A direction of a link, seen from the client that connects to it."""

    TO_SERVER = "to the server"
    TO_CLIENT = "to the client"


BOTH = (Direction.TO_SERVER, Direction.TO_CLIENT)


class Proxy:
    """Passes connections on to a server, at an address of its own. It runs on a thread; all methods can be called.

    tap: is shown all bytes before they are passed on, on that thread, with the number of their connection.
    """

    def __init__(self, server: str, tap: Callable[[int, Direction, bytes], None] | None = None) -> None:
        host, _, port = server.rpartition(":")
        self._server = host, int(port)
        self._loop = asyncio.new_event_loop()
        self._flows = {direction: asyncio.Event() for direction in BOTH}
        self._tap, self._numbers = tap, itertools.count()
        self._delay_s = 0.0
        self._awaited: tuple[Callable[[bytes], bool], Callable[[], None]] | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._listening: asyncio.Server = self._run(self._listen())
        port = self._listening.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self.heal()

    def cut(self, *directions: Direction) -> None:
        """Let nothing through in these directions (default: both). Connections stay open, new ones hang."""
        for direction in directions or BOTH:
            self._call(self._flows[direction].clear)

    def delay(self, delay_ms: int) -> None:
        """Let everything arrive this much later, in order."""
        self._delay_s = delay_ms / 1000

    def reset(self) -> None:
        """Close all connections."""
        self._call(self._abort)

    def lose_reply(self, to: Callable[[bytes], bool], then: Callable[[], None]) -> None:
        """Pass on the next thing that a client sends and that `to` holds for, but nothing that the server answers.

        then: called at that moment, on a thread of its own; `reset` and `heal` end it. What is set later replaces this.
        """
        self._awaited = to, then

    def heal(self) -> None:
        """Let everything through at once, what was held first."""
        self._delay_s = 0.0
        for flow in self._flows.values():
            self._call(flow.set)

    def stop(self) -> None:
        """Close all connections and the listening socket."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # On the thread.

    def _call(self, call: Callable[[], None]) -> None:
        async def called() -> None:
            call()

        self._run(called())

    def _run(self, coroutine: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _end(self) -> None:
        self._listening.close()
        self._abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        opened = [writer]
        self._writers.add(writer)
        try:
            onward, server = await asyncio.open_connection(*self._server)
            opened.append(server)
            self._writers.add(server)
            number = next(self._numbers)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass(number, reader, server, Direction.TO_SERVER))
                both.create_task(self._pass(number, onward, writer, Direction.TO_CLIENT))
        except* (OSError, asyncio.CancelledError):
            pass  # the server is down, an end was reset, or the proxy stops
        finally:
            for end in opened:
                end.transport.abort()
                self._writers.discard(end)
            self._tasks.discard(task)

    def _meet(self, data: bytes) -> None:
        if self._awaited is not None and self._awaited[0](data):
            self._flows[Direction.TO_CLIENT].clear()
            threading.Thread(target=self._awaited[1], daemon=True).start()
            self._awaited = None

    async def _pass(
        self, number: int, source: asyncio.StreamReader, to: asyncio.StreamWriter, direction: Direction
    ) -> None:
        """Pass on chunks in order, each not before it is due and the direction is open."""
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            data = b"-"
            while data:
                data = await source.read(_CHUNK_BYTES)
                chunks.put_nowait((self._loop.time() + self._delay_s, data))

        async def write() -> None:
            while True:
                due_s, data = await chunks.get()
                await asyncio.sleep(max(0.0, due_s - self._loop.time()))
                await self._flows[direction].wait()
                if not data:
                    raise ConnectionResetError("the other end closed it")
                if direction is Direction.TO_SERVER:
                    self._meet(data)
                if self._tap is not None:
                    self._tap(number, direction, data)
                to.write(data)
                await to.drain()

        async with asyncio.TaskGroup() as both:
            both.create_task(read())
            both.create_task(write())


@contextmanager
def proxy(server: str) -> Iterator[Proxy]:
    """A proxy to "host:port", which is stopped in the end."""
    made = Proxy(server)
    try:
        yield made
    finally:
        with suppress(TimeoutError):
            made.stop()
