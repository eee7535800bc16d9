"""Connections to the other voters: a request, and its response or that there is none in time."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine, Mapping
from ssl import SSLContext, SSLError
from typing import Any, NamedTuple

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.messages import (
    FetchRequest,
    FetchSnapshotRequest,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.server.entities import NO_TAGS, without_tags
from impl.kraft.server.login import Identity, LoginError, log_in
from impl.kraft.server.quorum_wire import PREVOTE_SINCE, SERVED, key_of, read_response, request_bytes
from impl.kraft.server.versions import API_VERSIONS, request_kind, response_kind
from impl.runtime import wire
from impl.runtime.client import Address, connected
from impl.runtime.entities import read_entity
from impl.runtime.wire import Frames, Reader, RequestHeader, WireError, frame

Answered = Callable[[int, Request, Response | None], None]
_CHUNK_BYTES = 1 << 16

logger = logging.getLogger(__name__)


class Access(NamedTuple):
    """How this node connects: with TLS or without, and as whom it logs in, if at all."""

    tls: SSLContext | None = None
    identity: Identity | None = None


OPEN = Access()


class Connection:
    """One connection, on which responses come in any order."""

    def __init__(self, address: Address, max_frame_bytes: int, access: Access = OPEN) -> None:
        self._address, self._access = address, access
        self._max_frame_bytes = max_frame_bytes
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._awaited: dict[int, tuple[asyncio.Future[bytes], bool]] = {}
        """By number, each with whether its response has tags."""
        self._served: Mapping[int, tuple[int, int]] | None = None
        self._numbers = itertools.count(1)
        self._opening = asyncio.Lock()

    async def ask(self, key: int, version: int, client_id: str, body: bytes, *, is_flexible: bool = True) -> bytes:
        """The body of the response. Raises OSError, WireError."""
        writer = await self._writer(client_id)
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._awaited[number] = answer, is_flexible
        try:
            header = RequestHeader(key, version, number, client_id)
            writer.write(frame(wire.request_bytes(header, NO_TAGS + body if is_flexible else body)))
            await writer.drain()
            return await answer
        finally:
            self._awaited.pop(number, None)

    async def served(self, client_id: str) -> Mapping[int, tuple[int, int]]:
        """By key, the versions that the other side serves, asked for once a connection. Raises OSError, WireError."""
        if self._served is None:
            body = await self.ask(API_VERSIONS, 0, client_id, b"", is_flexible=False)
            told = read_entity(response_kind(API_VERSIONS, 0), body)
            self._served = {int(one.api_key): (int(one.min_version), int(one.max_version)) for one in told.api_keys}
        return self._served

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        if self._streams is not None:
            self._streams[1].close()
        self._streams = self._reading = self._served = None
        for answer, _ in self._awaited.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the connection is lost"))

    async def _writer(self, client_id: str) -> asyncio.StreamWriter:
        async with self._opening:
            if self._streams is None:
                self._streams = await self._opened(client_id)
                self._reading = asyncio.get_running_loop().create_task(self._read(self._streams[0]))
            return self._streams[1]

    async def _opened(self, client_id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await connected(self._address, self._access.tls)
        if self._access.identity is not None:
            try:
                await log_in(reader, writer, client_id, self._access.identity)
            except BaseException:
                writer.close()
                raise
        return reader, writer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        frames = Frames(self._max_frame_bytes)
        try:
            while data := await reader.read(_CHUNK_BYTES):
                for content in frames.feed(data):
                    fields = Reader(content)
                    answer, has_tags = self._awaited.get(fields.int32("correlation_id"), (None, False))
                    if answer is not None and not answer.done():
                        answer.set_result(without_tags(fields.rest()) if has_tags else fields.rest())
        except (OSError, WireError):
            pass  # the requests that wait are told by `close`
        self._reading = None
        self.close()


class Peers:
    """The other voters. begin: lets something run beside the steps. answered: is given the outcome of each request."""

    def __init__(
        self, addresses: Mapping[int, Address], client_id: str, timeout_ms: int, max_frame_bytes: int,
        begin: Callable[[Coroutine[Any, Any, None]], object], answered: Answered, access: Access = OPEN,
    ) -> None:  # fmt: skip
        self._client_id, self._timeout_ms = client_id, timeout_ms
        self._begin, self._answered = begin, answered
        self._refusals: dict[int, str] = {}
        # A fetch waits at the leader, and what is behind it on its connection waits, too.
        self._connections = {
            (to, is_fetch): Connection(address, max_frame_bytes, access)
            for to, address in addresses.items()
            for is_fetch in (False, True)
        }

    def send(self, to: int, request: Request) -> None:
        self._begin(self._ask(to, request))

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def _note_refusal(self, to: int, error: Exception) -> None:
        """A line for the log where a voter does not let this node in, or is not trusted, once for each reason."""
        if isinstance(error, LoginError | SSLError) and self._refusals.get(to) != str(error):
            self._refusals[to] = str(error)
            logger.warning("voter %s does not let this node in, or is not trusted: %s", to, error)

    async def _ask(self, to: int, request: Request) -> None:
        connection = self._connections[to, isinstance(request, FetchRequest | FetchSnapshotRequest)]
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                response: Response | None = await self._answer(connection, request)
            self._refusals.pop(to, None)
        except (OSError, TimeoutError, WireError) as error:
            connection.close()
            response = None
            self._note_refusal(to, error)
        self._answered(to, request, response)

    async def _answer(self, connection: Connection, request: Request) -> Response:
        """In the newest version that both sides speak. Raises OSError, WireError."""
        key = key_of(request)
        least, newest = SERVED[key]
        version = min(newest, (await connection.served(self._client_id)).get(key, (0, -1))[1])
        if version < least:
            raise WireError(f"a voter speaks API {key} up to version {version}, and {least} is the least here")
        if isinstance(request, VoteRequest) and request.pre_vote and version < PREVOTE_SINCE:
            return VoteResponse(ErrorCode.NONE, None, request.epoch, vote_granted=True)  # who knows none refuses none
        is_flexible = bool(request_kind(key, version).__flexible__)
        body = await connection.ask(
            key, version, self._client_id, request_bytes(request, version), is_flexible=is_flexible
        )
        return read_response(request, body, version)
