"""A listener for requests of Kafka's protocol on asyncio: bytes in, bytes out, whatever arrives.

What cannot be read costs its sender the connection and one line in the log, never the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

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

Handler = Callable[[RequestHeader, bytes], Awaitable[bytes | None]]
"""Given the header and the body of a request, the body of its response; None: its sender waits for none.

Raises WireError: the connection is closed.
"""

_CHUNK_BYTES = 1 << 16


class Listener:
    """Takes requests at one address, and answers those of a connection in their order."""

    def __init__(self, handler: Handler, log: logging.Logger, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._handler = handler
        self._log = log
        self._max_frame_bytes = max_frame_bytes
        self._server: asyncio.Server | None = None
        self._connections = set[asyncio.Task[None]]()

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen. Returns the address, with the port that was given for 0. Raises OSError where it is taken."""
        self._server = await asyncio.start_server(self._serve, host, port)
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
        except (ConnectionError, asyncio.CancelledError):
            pass  # its sender left, or this process stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = Frames(self._max_frame_bytes)
        while data := await reader.read(_CHUNK_BYTES):
            for content in frames.feed(data):
                fields = Reader(content)
                header = read_request_header(fields)
                body = await self._handler(header, fields.rest())
                if body is None:
                    continue
                writer.write(frame(response_bytes(header.correlation_id, body)))
                await writer.drain()
        frames.end()
