"""The server's side of a SASL login on one connection (KIP-43, KIP-152): first the mechanism, then its exchange."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Protocol

from impl.kraft.security.errors import AuthenticationError
from impl.kraft.security.principals import Principal, of_user

PLAIN = "PLAIN"


class Exchange(Protocol):
    """Of one mechanism. user: None until it is complete."""

    user: str | None

    def respond(self, message: bytes) -> bytes:
        """Raises AuthenticationError."""


class PlainServer:
    """PLAIN (RFC 4616): one message has it all. passwords: by user."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.user: str | None = None

    def respond(self, message: bytes) -> bytes:
        try:
            authorized, user, password = message.decode().split("\0")
        except ValueError:
            raise AuthenticationError("a message that PLAIN does not have") from None
        known = self._passwords.get(user, "")
        right = hmac.compare_digest(known.encode(), password.encode())
        if not right or not known or authorized not in ("", user):
            raise AuthenticationError("the user or the password is not right")
        self.user = user
        return b""


class Login:
    """One connection's, until its principal is known. A login that has failed stays so."""

    def __init__(self, mechanisms: Mapping[str, Callable[[], Exchange]]) -> None:
        """mechanisms: those that are offered, each with what begins an exchange."""
        self._mechanisms = mechanisms
        self._mechanism = ""
        self._exchange: Exchange | None = None
        self._has_ended = False
        self.principal: Principal | None = None

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return tuple(self._mechanisms)

    def choose(self, mechanism: str) -> bool:
        """Whether it is offered. Raises AuthenticationError where one was chosen before."""
        if self._has_ended or self._exchange is not None:
            raise AuthenticationError("a mechanism has been chosen before")
        if mechanism not in self._mechanisms:
            self._has_ended = True
            return False
        self._mechanism, self._exchange = mechanism, self._mechanisms[mechanism]()
        return True

    def respond(self, message: bytes) -> bytes:
        """The answer to the client's next message; the last one makes a principal. Raises AuthenticationError."""
        if self._exchange is None or self._has_ended:
            raise AuthenticationError("a mechanism is to be chosen first")
        try:
            answer = self._exchange.respond(message)
        except AuthenticationError as error:
            self._has_ended = True
            raise AuthenticationError(f"Authentication failed with {self._mechanism}: {error}") from None
        if self._exchange.user is not None:
            self._has_ended = True
            self.principal = of_user(self._exchange.user)
        return answer
