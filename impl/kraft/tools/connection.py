"""Nodes of a cluster that a tool asks, one after the other, until one answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

from impl.kraft.config.client import ClientSecurity, client_security
from impl.kraft.errors import ErrorCode
from impl.kraft.server import peers
from impl.kraft.server.entities import NO_TAGS, without_tags
from impl.kraft.server.login import Identity, LoginError
from impl.kraft.server.peers import OPEN, Access
from impl.kraft.server.tls import client_context
from impl.runtime import client
from impl.runtime.client import Address
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.properties import ConfigError, address, listed, read_properties, timeout_ms
from impl.runtime.wire import MAX_FRAME_BYTES

_REQUEST_TIMEOUT = "request.timeout.ms"
_REQUEST_TIMEOUT_MS = 30_000


class RefusedError(Exception):
    """The cluster answered with an error. The message says so in a sentence."""


class Connection(NamedTuple):
    """Nodes of the cluster, of which any may answer, and for how long each may take. client_id: the tool's name.

    most_bytes: as large an answer may be. access: how it connects, and logs in.
    """

    nodes: tuple[Address, ...]
    answer_ms: int
    client_id: str
    most_bytes: int = MAX_FRAME_BYTES
    access: Access = OPEN

    def body(self, api_key: int, version: int, fields: bytes) -> bytes:
        """Of the first node's response that gives one, to a flexible request. Raises WireError, OSError."""
        for number, node in enumerate(self.nodes, 1):
            try:
                return self._asked(node, api_key, version, fields)
            except LoginError:
                raise  # others would not let it in, either
            except OSError:
                if number == len(self.nodes):
                    raise
        raise AssertionError("there is a node")

    def _asked(self, node: Address, api_key: int, version: int, fields: bytes) -> bytes:
        if self.access == OPEN:
            return without_tags(client.ask(
                node, api_key, version, self.client_id, NO_TAGS + fields,
                answer_ms=self.answer_ms, max_frame_bytes=self.most_bytes,
            ))  # fmt: skip
        return asyncio.run(self._asked_with_access(node, api_key, version, fields))

    async def _asked_with_access(self, node: Address, api_key: int, version: int, fields: bytes) -> bytes:
        connection = peers.Connection(node, self.most_bytes, self.access)
        try:
            async with asyncio.timeout(self.answer_ms / 1000):
                return await connection.ask(api_key, version, self.client_id, fields)
        except TimeoutError:
            raise TimeoutError("timed out") from None
        finally:
            connection.close()

    def entity(self, request: Any, response: type) -> Any:
        """What is answered to a request of kio's. response: its type. Raises WireError, OSError."""
        key, version = int(request.__api_key__), int(request.__version__)
        return read_entity(response, self.body(key, version, entity_bytes(request)))


def connection_of(option: str, bootstrap: str, config: Path | None, client_id: str) -> Connection:
    """Raises ConfigError. Of the configuration of an admin client, the security and the timeout count.

    option: which `bootstrap` is the value of.
    """
    nodes = tuple(address(option, one) for one in listed(bootstrap))
    if not nodes:
        raise ConfigError(f"{option}: HOST:PORT,HOST:PORT is expected")
    values = {} if config is None else read_properties(config)
    answer_ms = timeout_ms(_REQUEST_TIMEOUT, values.get(_REQUEST_TIMEOUT, str(_REQUEST_TIMEOUT_MS)))
    return Connection(nodes, answer_ms, client_id, access=access_of(client_security(values)))


def access_of(security: ClientSecurity) -> Access:
    """Raises ConfigError, where a file is not what it should be."""
    identity = None
    if security.mechanism is not None and security.login is not None:
        identity = Identity(security.mechanism, *security.login)
    return Access(None if security.tls is None else client_context(security.tls), identity)


def refuse(error: int, message: str | None, what: str) -> None:
    """Raise RefusedError, unless there is no error."""
    if error != ErrorCode.NONE:
        name = next((code.name for code in ErrorCode if code == error), f"error {error}")
        raise RefusedError(f"The cluster did not {what}: {name}{f', {message}' if message else ''}")
