"""Connections to other brokers, each opened when it is needed: a request and its answer at a time."""

from __future__ import annotations

import asyncio
import itertools

from impl.runtime.client import Address, connected
from impl.runtime.wire import Frames, Reader, RequestHeader, WireError, frame, request_bytes

_CHUNK_BYTES = 1 << 16


class Peer:
    """One connection. client_id: what this process calls itself."""

    def __init__(self, address: Address, client_id: str, max_frame_bytes: int) -> None:
        self.address = address
        self._client_id = client_id
        self._max_frame_bytes = max_frame_bytes
        self._numbers = itertools.count(1)
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._lock = asyncio.Lock()

    async def ask(self, api_key: int, version: int, body: bytes, timeout_ms: int) -> bytes:
        """The body of the response. Raises OSError, TimeoutError, WireError; the connection is closed then."""
        async with self._lock:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    return await self._ask(api_key, version, body)
            except BaseException:
                self.close()
                raise

    async def _ask(self, api_key: int, version: int, body: bytes) -> bytes:
        if self._stream is None:
            self._stream = await connected(self.address)
        reader, writer = self._stream
        number = next(self._numbers)
        writer.write(frame(request_bytes(RequestHeader(api_key, version, number, self._client_id), body)))
        await writer.drain()
        frames = Frames(self._max_frame_bytes)
        while data := await reader.read(_CHUNK_BYTES):
            for content in frames.feed(data):
                fields = Reader(content)
                if fields.int32("correlation_id") != number:
                    raise WireError("the answer is to another request")
                return fields.rest()
        raise ConnectionError("closed without an answer")

    def close(self) -> None:
        if self._stream is not None:
            self._stream[1].close()
            self._stream = None


class Peers:
    """The connections of one process: for each purpose and address one."""

    def __init__(self, client_id: str, max_frame_bytes: int) -> None:
        self._client_id = client_id
        self._max_frame_bytes = max_frame_bytes
        self._peers = dict[tuple[str, Address], Peer]()

    def peer(self, purpose: str, address: Address) -> Peer:
        key = purpose, address
        if key not in self._peers:
            self._peers[key] = Peer(address, self._client_id, self._max_frame_bytes)
        return self._peers[key]

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()
