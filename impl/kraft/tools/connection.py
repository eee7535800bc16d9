"""Nodes of a cluster that a tool asks, one after the other, until one answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from impl.kraft.errors import ErrorCode
from impl.kraft.server.entities import NO_TAGS, without_tags
from impl.runtime import client
from impl.runtime.client import Address
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.properties import ConfigError, address, listed, read_properties, timeout_ms
from impl.runtime.wire import MAX_FRAME_BYTES

_SECURITY, _REQUEST_TIMEOUT = "security.protocol", "request.timeout.ms"
_REQUEST_TIMEOUT_MS = 30_000


class RefusedError(Exception):
    """The cluster answered with an error. The message says so in a sentence."""


class Connection(NamedTuple):
    """Nodes of the cluster, of which any may answer, and for how long each may take. client_id: the tool's name.

    most_bytes: as large an answer may be.
    """

    nodes: tuple[Address, ...]
    answer_ms: int
    client_id: str
    most_bytes: int = MAX_FRAME_BYTES

    def body(self, api_key: int, version: int, fields: bytes) -> bytes:
        """Of the first node's response that gives one, to a flexible request. Raises WireError, OSError."""
        asked = NO_TAGS + fields
        for number, node in enumerate(self.nodes, 1):
            try:
                answer = client.ask(
                    node, api_key, version, self.client_id, asked,
                    answer_ms=self.answer_ms, max_frame_bytes=self.most_bytes,
                )  # fmt: skip
                break
            except OSError:
                if number == len(self.nodes):
                    raise
        return without_tags(answer)

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
    if values.get(_SECURITY, "PLAINTEXT") != "PLAINTEXT":
        raise ConfigError(f"{_SECURITY}={values[_SECURITY]}: this tool has PLAINTEXT alone yet")
    answer_ms = timeout_ms(_REQUEST_TIMEOUT, values.get(_REQUEST_TIMEOUT, str(_REQUEST_TIMEOUT_MS)))
    return Connection(nodes, answer_ms, client_id)


def refuse(error: int, message: str | None, what: str) -> None:
    """Raise RefusedError, unless there is no error."""
    if error != ErrorCode.NONE:
        name = next((code.name for code in ErrorCode if code == error), f"error {error}")
        raise RefusedError(f"The cluster did not {what}: {name}{f', {message}' if message else ''}")
