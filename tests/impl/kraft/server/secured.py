"""Settings of controllers with TLS and logins, and connections to them as any client makes them."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse

from impl.kraft.security.scram import MECHANISMS, ScramClient
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import Frames, Reader, RequestHeader, frame, request_bytes

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_CHUNK_BYTES = 1 << 16
_LIMIT_S = 20.0


def tls_settings(keystore: Path, truststore: Path) -> dict[str, object]:
    return {
        "ssl.keystore.type": "PEM", "ssl.keystore.location": keystore,
        "ssl.truststore.type": "PEM", "ssl.truststore.location": truststore,
    }  # fmt: skip


def plain_module(login: tuple[str, str], users: Mapping[str, str]) -> str:
    known = " ".join(f'user_{user}="{password}"' for user, password in users.items())
    return f'{PLAIN_MODULE} required username="{login[0]}" password="{login[1]}" {known};'


def voters_log_in(folder_truststore: Path, keystore: Path) -> dict[str, object]:
    """Settings of controllers that let each other in by SASL_SSL, with PLAIN."""
    return {
        "listener.security.protocol.map": "CONTROLLER:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": plain_module(("voter", "v-secret"), {"voter": "v-secret"}),
        **tls_settings(keystore, folder_truststore),
    }


class Refused(Exception):
    """A login was refused. code: of the error in the response."""

    def __init__(self, code: int, says: str) -> None:
        super().__init__(f"{code}: {says}")
        self.code = code


class Wire:
    """A connection of a client; closed with the block that it is for."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _LIMIT_S)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="127.0.0.1")
        self._frames, self._number = Frames(1 << 24), 0

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def answer(self) -> bytes:
        """What comes next; empty where the connection is closed."""
        try:
            while data := self._socket.recv(_CHUNK_BYTES):
                for content in self._frames.feed(data):
                    return content
        except ConnectionResetError:
            pass
        return b""

    def asked(self, request: Any, response: type, *, is_flexible: bool = True) -> Any:
        """Raises ConnectionError where there is no answer."""
        self._number += 1
        header = RequestHeader(int(request.__api_key__), int(request.__version__), self._number, "test")
        self.send(frame(request_bytes(header, (b"\0" if is_flexible else b"") + entity_bytes(request))))
        answer = self.answer()
        if not answer:
            raise ConnectionError("closed")
        fields = Reader(answer)
        assert fields.int32("correlation_id") == self._number
        return read_entity(response, fields.rest()[1 if is_flexible else 0 :])

    def choose(self, mechanism: str) -> Any:
        return self.asked(SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse, is_flexible=False)

    def respond(self, message: bytes) -> bytes:
        """Raises Refused."""
        answer = self.asked(SaslAuthenticateRequest(auth_bytes=message), SaslAuthenticateResponse)
        if int(answer.error_code):
            raise Refused(int(answer.error_code), answer.error_message)
        return bytes(answer.auth_bytes)

    def log_in(self, mechanism: str, user: str, password: str) -> Wire:
        """Raises Refused."""
        chosen = self.choose(mechanism)
        if int(chosen.error_code):
            raise Refused(int(chosen.error_code), ",".join(chosen.mechanisms))
        if mechanism == "PLAIN":
            self.respond(f"\0{user}\0{password}".encode())
            return self
        client = ScramClient(MECHANISMS[mechanism], user, password, "nonce-of-the-test")
        client.check(self.respond(client.last(self.respond(client.first()))))
        return self
