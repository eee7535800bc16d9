"""Connections to brokers, and a tool's request over one of its own, which waits for nothing without a limit."""

from __future__ import annotations

import asyncio
import socket
import ssl

from impl.runtime.properties import MOST_PORT
from impl.runtime.wire import MAX_FRAME_BYTES, Frames, Reader, RequestHeader, WireError, frame, request_bytes

Address = tuple[str, int]
TIMEOUT_MS = 5_000
"""To connect, and for an answer that a broker gives at once."""
_CORRELATION_ID = 1
_CHUNK_BYTES = 1 << 16


async def connected(
    address: Address, tls: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection. Raises OSError (ssl.SSLError is one), also of a host or a port that cannot be one.

    Others have announced them.
    """
    if not 0 <= address[1] <= MOST_PORT:
        raise OSError(f"{address[0]}:{address[1]}: a port from 0 to {MOST_PORT} expected")
    try:
        return await asyncio.open_connection(*address, ssl=tls)
    except ssl.SSLError:  # of which some are a ValueError, too
        raise
    except ValueError as error:
        raise OSError(f"{address[0]}:{address[1]}: {error}") from error


def ask(
    address: Address, api_key: int, version: int, client_id: str, body: bytes, *, connect_ms: int = TIMEOUT_MS,
    answer_ms: int = TIMEOUT_MS, max_frame_bytes: int = MAX_FRAME_BYTES,
) -> bytes:  # fmt: skip
    """The body of the response to a request with header v1. Raises WireError, OSError."""
    request = frame(request_bytes(RequestHeader(api_key, version, _CORRELATION_ID, client_id), body))
    reader = Reader(exchange(address, request, connect_ms, answer_ms, max_frame_bytes))
    if reader.int32("correlation_id") != _CORRELATION_ID:
        raise WireError("the answer is to another request")
    return reader.rest()


def exchange(
    address: Address, request: bytes, connect_ms: int = TIMEOUT_MS, answer_ms: int = TIMEOUT_MS,
    max_frame_bytes: int = MAX_FRAME_BYTES,
) -> bytes:  # fmt: skip
    """The first frame that a broker answers with. connect_ms, answer_ms: limits. Raises WireError, OSError."""
    frames = Frames(max_frame_bytes)
    if not 0 <= address[1] <= MOST_PORT:  # as another broker may have answered
        raise WireError(f"port {address[1]}: from 0 to {MOST_PORT} expected")
    with socket.create_connection(address, connect_ms / 1000) as connection:
        connection.settimeout(answer_ms / 1000)
        connection.sendall(request)
        while data := connection.recv(_CHUNK_BYTES):
            for content in frames.feed(data):
                return content
    frames.end()
    raise ConnectionError("the broker closed the connection without an answer")
