"""A listener for requests of Kafka's protocol on asyncio: bytes in, bytes out, whatever arrives.

What cannot be read costs its sender the connection and one line in the log, never the process.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from impl.runtime.wire import (
    MAX_FRAME_BYTES,
    Frames,
    Reader,
    RequestHeader,
    WireError,
    frame,
    read_request_header,
    response_bytes,
)


class Last(NamedTuple):
    """The body of a response after which the connection is closed."""

    body: bytes


Handler = Callable[[RequestHeader, bytes], Awaitable[bytes | Last | None]]
"""Given the header and the body of a request, the body of its response; None: its sender waits for none.

Raises WireError: the connection is closed.
"""


class Peer(NamedTuple):
    """Who has connected. certificate: as the ssl module has it; empty where none was shown, or none is verified."""

    host: str
    certificate: Mapping[str, Any]


class Session(Protocol):
    """One connection's. max_frame_bytes: as large a request is read next."""

    @property
    def max_frame_bytes(self) -> int: ...

    @property
    def handle(self) -> Handler: ...


_CHUNK_BYTES = 1 << 16
_REQUESTS_A_TURN = 16
"""Others are served after so many requests of a connection, which may have sent thousands."""


class SessionListener:
    """Takes requests at one address, and answers those of a connection in their order.

    begin: of a connection that has come; raises WireError where it is not served. idle_s: a connection on which nothing
    comes, or nothing is read, for so long, is closed; None: never.
    """

    def __init__(self, begin: Callable[[Peer], Session], log: logging.Logger, idle_s: float | None = None) -> None:
        self._begin = begin
        self._log = log
        self._idle_s = idle_s
        self._server: asyncio.Server | None = None
        self._connections = set[asyncio.Task[None]]()

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> tuple[str, int]:
        """Listen. Returns the address, with the port that was given for 0. Raises OSError where it is taken."""
        self._server = await asyncio.start_server(self._serve, host, port, ssl=tls)
        bound: tuple[str, int] = self._server.sockets[0].getsockname()[:2]
        return bound

    async def stop(self) -> None:
        """Take no more connections, and close those there are."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._answer_all(reader, writer)
        except WireError as error:
            self._log.warning("connection of %s closed: %s", writer.get_extra_info("peername"), error)
        except (OSError, asyncio.CancelledError):
            pass  # its sender left or was idle, or this process stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, *_ = writer.get_extra_info("peername") or ("",)
        session = self._begin(Peer(host, writer.get_extra_info("peercert") or {}))
        frames = Frames(session.max_frame_bytes)
        while data := await self._read(reader):
            for number, content in enumerate(frames.feed(data), 1):
                if number % _REQUESTS_A_TURN == 0:
                    await asyncio.sleep(0)
                fields = Reader(content)
                header = read_request_header(fields)
                answer = await session.handle(header, fields.rest())
                frames.max_bytes = session.max_frame_bytes
                if answer is None:
                    continue
                is_last = isinstance(answer, Last)
                body = answer.body if isinstance(answer, Last) else answer
                writer.write(frame(response_bytes(header.correlation_id, body)))
                async with asyncio.timeout(self._idle_s):
                    await writer.drain()
                if is_last:
                    return
        frames.end()

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        async with asyncio.timeout(self._idle_s):
            return await reader.read(_CHUNK_BYTES)


class _Stateless(NamedTuple):
    """A session that is like any other."""

    handle: Handler
    max_frame_bytes: int


class Listener(SessionListener):
    """One that answers a request in the same way whoever sends it."""

    def __init__(self, handler: Handler, log: logging.Logger, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        session = _Stateless(handler, max_frame_bytes)
        super().__init__(lambda _: session, log)
