"""SCRAM (RFC 5802, RFC 7677): both sides of the exchange, message by message, as Kafka has them (KIP-84).

Names and passwords are taken as UTF-8 as they are, without SASLprep, as in Kafka (ScramFormatter.normalize). There is
no binding to TLS channels. Nonces are arguments.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from impl.kraft.security.errors import AuthenticationError

LEAST_ITERATIONS, MOST_ITERATIONS = 4096, 16384
"""That a credential may have (ScramMechanism, ScramControlManager)."""
_BOUND = ("n", "y", "")
"""What a client says of channel binding, where there is none."""


class Mechanism(NamedTuple):
    """number: in records and requests. algorithm: its name for hashlib."""

    number: int
    algorithm: str

    @property
    def hash_bytes(self) -> int:
        return hashlib.new(self.algorithm).digest_size


MECHANISMS: Mapping[str, Mechanism] = {
    "SCRAM-SHA-256": Mechanism(1, "sha256"), "SCRAM-SHA-512": Mechanism(2, "sha512"),
}  # fmt: skip
BY_NUMBER: Mapping[int, Mechanism] = {one.number: one for one in MECHANISMS.values()}


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server knows of a password: enough to check it, not to log in with."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def credential_of(mechanism: Mechanism, salted_password: bytes, salt: bytes, iterations: int) -> Credential:
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.algorithm)
    stored_key = hashlib.new(mechanism.algorithm, client_key).digest()
    return Credential(salt, stored_key, hmac.digest(salted_password, b"Server Key", mechanism.algorithm), iterations)


def salted(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(mechanism.algorithm, password.encode(), salt, iterations)


def decoy(mechanism: Mechanism, secret: bytes, user: str) -> Credential:
    """A credential that nobody has the password of, the same for a user each time: who asks learns not who exists."""
    salt = hmac.digest(secret, user.encode(), mechanism.algorithm)
    return Credential(salt, hmac.digest(secret, salt, mechanism.algorithm), salt, LEAST_ITERATIONS)


class ScramServer:
    """The server's side of one exchange. user: who it is with, once it is complete.

    found: the credential of a user; where there is none, a decoy.
    """

    def __init__(self, mechanism: Mechanism, found: Callable[[str], Credential], nonce: str) -> None:
        self._mechanism, self._found, self._nonce = mechanism, found, nonce
        self._expects: Callable[[bytes], bytes] | None = self._first
        self.user: str | None = None

    def respond(self, message: bytes) -> bytes:
        """The answer to the client's next message. Raises AuthenticationError."""
        step, self._expects = self._expects, None
        if step is None:
            raise AuthenticationError("the exchange has ended")
        try:
            return step(message)
        except (ValueError, KeyError):
            raise AuthenticationError("a message that SCRAM does not have") from None

    def _first(self, message: bytes) -> bytes:
        binding, authorized, bare = message.decode().split(",", 2)
        if binding not in _BOUND:
            raise AuthenticationError("there is no channel binding here")
        values = attributes(bare)
        if "m" in values or "tokenauth" in values:
            raise AuthenticationError("extensions and delegation tokens are not served")
        name, nonce = _unescaped(values["n"]), values["r"]
        if not nonce or authorized not in ("", f"a={values['n']}"):
            raise AuthenticationError("a user acts as themselves alone")
        self._name, self._header = name, f"{binding},{authorized},"
        self._credential = self._found(name)
        self._nonces = nonce + self._nonce
        answer = f"r={self._nonces},s={b64encode(self._credential.salt).decode()},i={self._credential.iterations}"
        self._so_far = f"{bare},{answer}"
        self._expects = self._last
        return answer.encode()

    def _last(self, message: bytes) -> bytes:
        without_proof, _, _ = message.decode().rpartition(",p=")
        values = attributes(message.decode())
        if values["r"] != self._nonces or b64decode(values["c"], validate=True) != self._header.encode():
            raise AuthenticationError("a message of another exchange")
        signed = f"{self._so_far},{without_proof}".encode()
        algorithm, credential = self._mechanism.algorithm, self._credential
        client_key = _xor(b64decode(values["p"], validate=True), hmac.digest(credential.stored_key, signed, algorithm))
        if not hmac.compare_digest(hashlib.new(algorithm, client_key).digest(), credential.stored_key):
            raise AuthenticationError("the user or the password is not right")
        self.user = self._name
        return b"v=" + b64encode(hmac.digest(credential.server_key, signed, algorithm))


class ScramClient:
    """The client's side of one exchange: `first`, then `last` with the server's answer, then `check` with its next."""

    def __init__(self, mechanism: Mechanism, user: str, password: str, nonce: str) -> None:
        self._mechanism, self._password, self._nonce = mechanism, password, nonce
        self._bare = f"n={_escaped(user)},r={nonce}"
        self._signature = b""

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def last(self, answer: bytes) -> bytes:
        """Raises AuthenticationError."""
        try:
            values = attributes(answer.decode())
            nonces, salt, iterations = values["r"], b64decode(values["s"], validate=True), int(values["i"])
        except (ValueError, KeyError):
            raise AuthenticationError("the server's first message is not one of SCRAM") from None
        if not nonces.startswith(self._nonce) or not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise AuthenticationError("the server has another nonce, or iterations that are not allowed")
        password = salted(self._mechanism, self._password, salt, iterations)
        without_proof = f"c=biws,r={nonces}"
        signed = f"{self._bare},{answer.decode()},{without_proof}".encode()
        algorithm = self._mechanism.algorithm
        own = credential_of(self._mechanism, password, salt, iterations)
        client_key = hmac.digest(password, b"Client Key", algorithm)
        proof = _xor(client_key, hmac.digest(own.stored_key, signed, algorithm))
        self._signature = hmac.digest(own.server_key, signed, algorithm)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """That the server knows the password, too. Raises AuthenticationError."""
        if not hmac.compare_digest(answer, b"v=" + b64encode(self._signature)):
            raise AuthenticationError("the server does not know the password")


def attributes(text: str) -> dict[str, str]:
    """NAME=VALUE,NAME=VALUE, each name once. Raises ValueError."""
    found: dict[str, str] = {}
    for one in text.split(","):
        name, separator, value = one.partition("=")
        if not separator or name in found:
            raise ValueError("not NAME=VALUE, each name once")
        found[name] = value
    return found


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescaped(text: str) -> str:
    """Raises ValueError where an equals sign begins something else, or there is no name."""
    name = text.replace("=2C", ",").replace("=3D", "=")
    if not name or _escaped(name) != text:
        raise ValueError("not the name of a user")
    return name


def _xor(left: bytes, right: bytes) -> bytes:
    """Raises ValueError where one is longer."""
    return bytes(one ^ other for one, other in zip(left, right, strict=True))
