"""A broker's connection to the active controller, and what it forwards there for clients (KIP-590)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from kio.schema.errors import ErrorCode

from impl.kraft.server import envelope
from impl.kraft.server.broker_wire import Request, Response, key_of, read_response, request_bytes
from impl.kraft.server.connections import Caller
from impl.kraft.server.entities import NO_TAGS, without_tags
from impl.kraft.server.features_wire import SAFE_DOWNGRADE, UPGRADE
from impl.kraft.server.peers import OPEN, Access, Connection
from impl.kraft.server.versions import answer_bytes, made, read_body, request_kind, response_kind
from impl.runtime import wire
from impl.runtime.client import Address
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import Reader, RequestHeader, WireError

LOST = (OSError, TimeoutError, WireError)
"""What `ask` and `send` raise where there is no answer."""
_FORWARDED_FOR_S, _RETRY_S = 30.0, 0.1
"""How long a client's request is forwarded until a controller is active, as Kafka's request.timeout.ms."""

DELETE_TOPICS, ELECT_LEADERS, UPDATE_FEATURES = 20, 43, 57
_PREFERRED = 0
"""The only leaders that the first version of ElectLeaders elects."""
FORWARDED: Mapping[int, tuple[int, int]] = {
    19: (2, 7), DELETE_TOPICS: (1, 6), 30: (1, 3), 31: (1, 3), 33: (0, 2), 37: (0, 3), ELECT_LEADERS: (0, 2),
    44: (0, 1), 45: (0, 0), 46: (0, 0), 49: (0, 1), 51: (0, 0), 55: (0, 2), UPDATE_FEATURES: (0, 1), 64: (0, 0),
}  # fmt: skip
"""What clients may ask for through a broker (see `envelope.FORWARDED`): the newest version is forwarded."""


class ControllerChannel:
    """leader: the active controller, as far as is known. addresses: of all controllers."""

    def __init__(
        self, addresses: Mapping[int, Address], client_id: str, timeout_ms: int, max_frame_bytes: int,
        leader: Callable[[], int | None], access: Access = OPEN,
    ) -> None:  # fmt: skip
        self._client_id, self._timeout_s, self._leader = client_id, timeout_ms / 1000, leader
        self._connections = {to: Connection(address, max_frame_bytes, access) for to, address in addresses.items()}
        self._numbers = itertools.count(1)

    async def send(self, request: Request) -> Response:
        """Ask for what this broker wants itself. Raises `LOST`."""
        return read_response(request, await self.ask(*key_of(request), request_bytes(request)))

    async def ask(self, key: int, version: int, body: bytes) -> bytes:
        """The body of the response. Raises `LOST`."""
        leader = self._leader()
        connection = None if leader is None else self._connections.get(leader)
        if connection is None:
            raise ConnectionError("no controller is known to be active")
        try:
            async with asyncio.timeout(self._timeout_s):
                return await connection.ask(key, version, self._client_id, body)
        except LOST:
            connection.close()
            raise

    async def forward(self, header: RequestHeader, body: bytes, caller: Caller) -> bytes:
        """The body of the answer to a client's request. Raises WireError; ConnectionError: no controller was active."""
        key = header.api_key
        _, newest = FORWARDED[key]
        request = upgraded(key, newest, read_body(key, header.api_version, body))
        within = entity_bytes(made(request_kind(key, newest), request))
        answer = read_entity(response_kind(key, newest), await self._forwarded(key, newest, within, caller))
        return answer_bytes(key, header.api_version, answer)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    async def _forwarded(self, key: int, version: int, within: bytes, caller: Caller) -> bytes:
        number = next(self._numbers)
        data = wire.request_bytes(RequestHeader(key, version, number, self._client_id), NO_TAGS + within)
        enveloped = envelope.request_bytes(data, caller)
        ends_s = asyncio.get_running_loop().time() + _FORWARDED_FOR_S
        while asyncio.get_running_loop().time() < ends_s:
            try:
                found = read_entity(
                    response_kind(envelope.KEY, envelope.VERSION),
                    await self.ask(envelope.KEY, envelope.VERSION, enveloped),
                )
            except LOST:
                await asyncio.sleep(_RETRY_S)
                continue
            if found.error_code == ErrorCode.not_controller:
                await asyncio.sleep(_RETRY_S)
                continue
            if found.error_code != ErrorCode.none:
                raise WireError(f"API {key}: the controller refuses the envelope: {found.error_code.name}")
            reader = Reader(bytes(found.response_data or b""))
            if reader.int32("correlation_id") != number:
                raise WireError("the answer within an envelope is to another request")
            return without_tags(reader.rest())
        raise ConnectionError("no controller became active in time")


def upgraded(key: int, newest: int, entity: Any) -> Any:
    """What an older version says in other fields than the newest."""
    if key == DELETE_TOPICS and hasattr(entity, "topic_names"):
        topics = [{"name": name, "topic_id": None} for name in entity.topic_names]
        return {"topics": topics, "timeout": entity.timeout}
    if key == ELECT_LEADERS and not hasattr(entity, "election_type"):
        return {"election_type": _PREFERRED, "topic_partitions": entity.topic_partitions, "timeout": entity.timeout}
    if key == UPDATE_FEATURES and not hasattr(entity, "validate_only"):
        updates = [
            {
                "feature": one.feature, "max_version_level": one.max_version_level,
                "upgrade_type": SAFE_DOWNGRADE if one.allow_downgrade else UPGRADE,
            }
            for one in entity.feature_updates
        ]  # fmt: skip
        return {"timeout": entity.timeout, "feature_updates": updates, "validate_only": False}
    return entity
