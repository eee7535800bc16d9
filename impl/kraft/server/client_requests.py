"""What a broker serves, and to which part of it each request goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.levels import SUPPORTED
from impl.kraft.security.authorizer import Authorizer
from impl.kraft.server import connections
from impl.kraft.server.access_wire import describe_acls, describe_users
from impl.kraft.server.authorization import rights_of
from impl.kraft.server.cluster_told import ClusterTold
from impl.kraft.server.connections import Caller
from impl.kraft.server.controller_channel import FORWARDED, ControllerChannel
from impl.kraft.server.describe_configs import OwnConfigs, describe_configs
from impl.kraft.server.features_wire import features_told
from impl.kraft.server.fetching import Fetching
from impl.kraft.server.producing import Producing
from impl.kraft.server.quotas_wire import describe_quotas
from impl.kraft.server.steps import Steps
from impl.kraft.server.versions import API_VERSIONS, Served, answer_bytes, api_versions, check_served, read_body
from impl.runtime.wire import RequestHeader

PRODUCE, FETCH, LIST_OFFSETS, METADATA, INIT_PRODUCER_ID = 0, 1, 2, 3, 22
DESCRIBE_ACLS, DESCRIBE_CONFIGS, DESCRIBE_QUOTAS, DESCRIBE_USERS, DESCRIBE_CLUSTER = 29, 32, 48, 50, 60
SERVED: Served = {
    PRODUCE: (3, 12), FETCH: (4, 17), LIST_OFFSETS: (1, 9), METADATA: (0, 13), INIT_PRODUCER_ID: (0, 5),
    DESCRIBE_ACLS: (1, 3), DESCRIBE_CONFIGS: (1, 4), DESCRIBE_QUOTAS: (0, 1), DESCRIBE_USERS: (0, 0),
    DESCRIBE_CLUSTER: (0, 2), **FORWARDED,
}  # fmt: skip


class ClientRequests:
    """Of clients, and of brokers that follow this one. authorizer: None where everybody may do everything."""

    def __init__(
        self, steps: Steps, channel: ControllerChannel, told: ClusterTold, own: OwnConfigs,
        authorizer: Authorizer | None = None,
    ) -> None:  # fmt: skip
        self._steps, self._channel, self._told, self._own, self._authorizer = steps, channel, told, own, authorizer
        self._producing, self._fetching = Producing(steps, channel), Fetching(steps)

    async def handle(self, header: RequestHeader, body: bytes, caller: Caller) -> bytes | None:
        """The body of the response; None where none is waited for. Raises WireError, ConnectionError."""
        key, version = header.api_key, header.api_version
        if key == API_VERSIONS:
            image = self._steps.node.broker.image
            features = features_told(SUPPORTED, image.features, max(image.offset, 0))
            return api_versions(version, {**SERVED, **connections.VERSIONS}, features)
        check_served(SERVED, key, version)
        if key in FORWARDED:
            return await self._channel.forward(header, body, caller)
        given = await self._answered(key, version, read_body(key, version, body), caller)
        return None if given is None else answer_bytes(key, version, given)

    async def _answered(self, key: int, version: int, request: Any, caller: Caller) -> Any:
        """The response, by field, or as an entity."""
        image = self._steps.node.broker.image
        rights = rights_of(self._authorizer, image, caller)
        match key:
            case 0:
                return await self._producing.produce(request, rights)
            case 1:
                return await self._fetching.fetch(request, rights)
            case 2:
                return self._fetching.list_offsets(request, rights)
            case 3:
                return self._told.metadata(request, version, caller.listener, rights)
            case 22:
                return await self._producing.init_producer_id(request, rights)
            case 32:
                return describe_configs(request, image, self._own, rights)
            case 60:
                return self._told.describe_cluster(request, caller.listener)
        refusal = ErrorCode.NONE if rights.permit(key) else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        if key == DESCRIBE_ACLS and self._authorizer is None:
            refusal = ErrorCode.SECURITY_DISABLED
        return _DESCRIBED[key](request, image, refusal)


_DESCRIBED: Mapping[int, Callable[[Any, Image, ErrorCode], Any]] = {
    DESCRIBE_ACLS: describe_acls, DESCRIBE_QUOTAS: describe_quotas, DESCRIBE_USERS: describe_users,
}  # fmt: skip
