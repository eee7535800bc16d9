"""A connection that was accepted: who is on it, and what they may ask before that is known.

Before a login is complete, nothing but ApiVersions and the two requests of SASL is served, and no large request read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from kio.schema.sasl_authenticate.v0 import request as authenticate_0_request
from kio.schema.sasl_authenticate.v0 import response as authenticate_0
from kio.schema.sasl_authenticate.v1 import request as authenticate_1_request
from kio.schema.sasl_authenticate.v1 import response as authenticate_1
from kio.schema.sasl_authenticate.v2 import request as authenticate_2_request
from kio.schema.sasl_authenticate.v2 import response as authenticate_2
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse

from impl.kraft.config.security import ListenerSecurity
from impl.kraft.errors import ErrorCode
from impl.kraft.security.errors import AuthenticationError
from impl.kraft.security.principals import ANONYMOUS, Principal, of_certificate
from impl.kraft.security.sasl import Exchange, Login
from impl.kraft.server.entities import NO_TAGS, wire_code, without_tags
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.listener import Last, Peer
from impl.runtime.wire import RequestHeader, WireError

HANDSHAKE, API_VERSIONS, AUTHENTICATE = 17, 18, 36
VERSIONS: Mapping[int, tuple[int, int]] = {HANDSHAKE: (1, 1), AUTHENTICATE: (0, 2)}
"""By key, the versions that are served."""
_AUTHENTICATE: Mapping[int, tuple[Any, Any]] = {
    0: (authenticate_0_request.SaslAuthenticateRequest, authenticate_0.SaslAuthenticateResponse),
    1: (authenticate_1_request.SaslAuthenticateRequest, authenticate_1.SaslAuthenticateResponse),
    2: (authenticate_2_request.SaslAuthenticateRequest, authenticate_2.SaslAuthenticateResponse),
}
_FLEXIBLE = 2


class Caller(NamedTuple):
    """Who asks, and from where. listener: at which; empty where a broker forwards it."""

    principal: Principal
    host: str
    listener: str = ""


Serve = Callable[[RequestHeader, bytes, Caller], Awaitable[bytes | None]]


class Limits(NamedTuple):
    """frame_bytes: of a request; login_bytes: of one before the login is complete. delay_ms: of a login that fails."""

    frame_bytes: int
    login_bytes: int
    delay_ms: int


class Connection:
    """A session of a listener. exchanges: of the mechanisms that this offers, each with what begins one."""

    def __init__(
        self, name: str, security: ListenerSecurity, exchanges: Mapping[str, Callable[[], Exchange]], limits: Limits,
        serve: Serve, peer: Peer,
    ) -> None:  # fmt: skip
        """Raises WireError where its certificate is nobody's."""
        self._limits, self._serve, self._of = limits, serve, partial(Caller, host=peer.host, listener=name)
        self._login = Login(exchanges) if security.sasl is not None else None
        self._caller = None if self._login is not None else self._of(_of_certificate(security, peer))

    @property
    def max_frame_bytes(self) -> int:
        return self._limits.login_bytes if self._caller is None else self._limits.frame_bytes

    async def handle(self, header: RequestHeader, body: bytes) -> bytes | Last | None:
        if header.api_key == HANDSHAKE:
            return self._handshake(header, body)
        if header.api_key == AUTHENTICATE:
            return await self._authenticate(header, body)
        if self._caller is None and header.api_key != API_VERSIONS:
            raise WireError(f"API {header.api_key} before a login is complete")
        return await self._serve(header, body, self._caller or self._of(ANONYMOUS))

    def _handshake(self, header: RequestHeader, body: bytes) -> bytes | Last:
        _require_version(header)
        mechanism = read_entity(SaslHandshakeRequest, body).mechanism
        error = ErrorCode.ILLEGAL_SASL_STATE
        if self._login is not None and self._caller is None:
            try:
                known = self._login.choose(mechanism)
            except AuthenticationError as again:
                raise WireError(str(again)) from None
            error = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
        offered = () if self._login is None else self._login.mechanisms
        answer = entity_bytes(SaslHandshakeResponse(error_code=wire_code(error), mechanisms=offered))
        return Last(answer) if error is ErrorCode.UNSUPPORTED_SASL_MECHANISM else answer

    async def _authenticate(self, header: RequestHeader, body: bytes) -> bytes | Last:
        _require_version(header)
        is_flexible = header.api_version >= _FLEXIBLE
        kind, response = _AUTHENTICATE[header.api_version]
        message = bytes(read_entity(kind, without_tags(body) if is_flexible else body).auth_bytes)
        error, says, answer = ErrorCode.NONE, None, b""
        if self._login is None or self._caller is not None:
            error, says = ErrorCode.ILLEGAL_SASL_STATE, "nobody is to log in now"
        else:
            try:
                answer = self._login.respond(message)
            except AuthenticationError as failed:
                error, says = ErrorCode.SASL_AUTHENTICATION_FAILED, str(failed)
                await asyncio.sleep(self._limits.delay_ms / 1000)
            if self._login.principal is not None:
                self._caller = self._of(self._login.principal)
        entity = response(error_code=wire_code(error), error_message=says, auth_bytes=answer)
        written = (NO_TAGS if is_flexible else b"") + entity_bytes(entity)
        return Last(written) if error is ErrorCode.SASL_AUTHENTICATION_FAILED else written


def _require_version(header: RequestHeader) -> None:
    least, most = VERSIONS[header.api_key]
    if not least <= header.api_version <= most:
        raise WireError(f"API {header.api_key}: version {header.api_version} is not served")


def _of_certificate(security: ListenerSecurity, peer: Peer) -> Principal:
    if security.tls is None or not peer.certificate:
        return ANONYMOUS
    try:
        return of_certificate(peer.certificate["subject"], security.tls.rules)
    except AuthenticationError as error:
        raise WireError(str(error)) from None
