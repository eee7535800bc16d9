"""What a broker serves, and to which part of it each request goes."""

from __future__ import annotations

from typing import Any

from impl.kraft.server.access_wire import describe_users
from impl.kraft.server.cluster_told import ClusterTold
from impl.kraft.server.controller_channel import FORWARDED, ControllerChannel
from impl.kraft.server.fetching import Fetching
from impl.kraft.server.producing import Producing
from impl.kraft.server.quotas_wire import describe_quotas
from impl.kraft.server.steps import Steps
from impl.kraft.server.versions import API_VERSIONS, Served, answer_bytes, api_versions, check_served, read_body
from impl.runtime.wire import RequestHeader

PRODUCE, FETCH, LIST_OFFSETS, METADATA, INIT_PRODUCER_ID = 0, 1, 2, 3, 22
DESCRIBE_QUOTAS, DESCRIBE_USERS, DESCRIBE_CLUSTER = 48, 50, 60
SERVED: Served = {
    PRODUCE: (3, 12), FETCH: (4, 17), LIST_OFFSETS: (1, 9), METADATA: (0, 13), INIT_PRODUCER_ID: (0, 5),
    DESCRIBE_QUOTAS: (0, 1), DESCRIBE_USERS: (0, 0), DESCRIBE_CLUSTER: (0, 2), **FORWARDED,
}  # fmt: skip


class ClientRequests:
    """Of clients, and of brokers that follow this one."""

    def __init__(self, steps: Steps, channel: ControllerChannel, told: ClusterTold) -> None:
        self._steps, self._channel, self._told = steps, channel, told
        self._producing, self._fetching = Producing(steps, channel), Fetching(steps)

    async def handle(self, header: RequestHeader, body: bytes) -> bytes | None:
        """The body of the response; None where none is waited for. Raises WireError, ConnectionError."""
        key, version = header.api_key, header.api_version
        if key == API_VERSIONS:
            return api_versions(version, SERVED, self._steps.node.broker.image.features)
        check_served(SERVED, key, version)
        if key in FORWARDED:
            return await self._channel.forward(header, body)
        given = await self._answered(key, version, read_body(key, version, body))
        return None if given is None else answer_bytes(key, version, given)

    async def _answered(self, key: int, version: int, request: Any) -> Any:
        """The response, by field, or as an entity."""
        match key:
            case 0:
                return await self._producing.produce(request)
            case 1:
                return await self._fetching.fetch(request)
            case 2:
                return self._fetching.list_offsets(request)
            case 3:
                return self._told.metadata(request, version)
            case 22:
                return await self._producing.init_producer_id(request)
            case 48:
                return describe_quotas(self._steps.node.broker.image, request)
            case 50:
                return describe_users(request, self._steps.node.broker.image)
        return self._told.describe_cluster(request)
