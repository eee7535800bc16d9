"""This node's own login at a controller's listener: SaslHandshake, then SaslAuthenticate until it is complete."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, NamedTuple

from kio.schema.sasl_authenticate.v1.request import SaslAuthenticateRequest
from kio.schema.sasl_authenticate.v1.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse

from impl.kraft.security.errors import AuthenticationError
from impl.kraft.security.sasl import PLAIN
from impl.kraft.security.scram import MECHANISMS, ScramClient
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import Reader, RequestHeader, WireError, frame, request_bytes

_MOST_BYTES = 1 << 16
"""Of an answer before the login is complete."""
_NONCE_BYTES = 24


class LoginError(ConnectionError):
    """The other side did not let this node in, or is not who it should be."""


class Identity(NamedTuple):
    """How this node logs in."""

    mechanism: str
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Identity({self.mechanism}, {self.user})"


async def log_in(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str, identity: Identity
) -> None:
    """Raises LoginError, OSError, WireError."""
    asking = _Asking(reader, writer, client_id)
    chosen = await asking.answer(SaslHandshakeRequest(mechanism=identity.mechanism), SaslHandshakeResponse)
    if chosen.error_code:
        raise LoginError(f"{identity.mechanism} is not offered, but {', '.join(chosen.mechanisms) or 'nothing'}")
    if identity.mechanism == PLAIN:
        await asking.respond(f"\0{identity.user}\0{identity.password}".encode())
        return
    nonce = secrets.token_urlsafe(_NONCE_BYTES)
    client = ScramClient(MECHANISMS[identity.mechanism], identity.user, identity.password, nonce)
    try:
        client.check(await asking.respond(client.last(await asking.respond(client.first()))))
    except AuthenticationError as error:
        raise LoginError(str(error)) from None


class _Asking:
    """Requests one after the other on a connection on which there is nothing else yet."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str) -> None:
        self._reader, self._writer, self._client_id = reader, writer, client_id
        self._number = 0

    async def respond(self, message: bytes) -> bytes:
        """The answer to a message of an exchange. Raises LoginError."""
        answer = await self.answer(SaslAuthenticateRequest(auth_bytes=message), SaslAuthenticateResponse)
        if answer.error_code:
            raise LoginError(answer.error_message or f"error {int(answer.error_code)}")
        return bytes(answer.auth_bytes)

    async def answer(self, request: Any, response: type) -> Any:
        self._number += 1
        header = RequestHeader(int(request.__api_key__), int(request.__version__), self._number, self._client_id)
        self._writer.write(frame(request_bytes(header, entity_bytes(request))))
        await self._writer.drain()
        try:
            size_bytes = int.from_bytes(await self._reader.readexactly(4), "big", signed=True)
            if not 4 <= size_bytes <= _MOST_BYTES:
                raise WireError(f"an answer of {size_bytes} bytes to a login")
            fields = Reader(await self._reader.readexactly(size_bytes))
        except asyncio.IncompleteReadError:
            raise LoginError("the connection was closed during the login") from None
        if fields.int32("correlation_id") != self._number:
            raise WireError("the answer is to another request")
        return read_entity(response, fields.rest())
