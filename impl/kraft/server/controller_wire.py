"""The bytes of what nodes ask of the active controller, by kio's schemas (KIP-631, KIP-841, KIP-858, KIP-919).

Left out, as the core has none: the epoch of an earlier registration, and directories that are cordoned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any
from uuid import UUID

from impl.kraft.messages import (
    AllocateProducerIdsRequest,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
    ReplicaDirectory,
    Request,
    Response,
    UnregisterBrokerRequest,
)
from impl.kraft.records import Endpoint, SupportedFeature
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.versions import made, request_kind, response_kind
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError

REGISTRATION, HEARTBEAT, UNREGISTRATION, ALLOCATION, CONTROLLER_REGISTRATION, ASSIGNMENT = 62, 63, 64, 67, 70, 73
SERVED: Mapping[int, tuple[int, int]] = {
    REGISTRATION: (0, 4), HEARTBEAT: (0, 2), UNREGISTRATION: (0, 0), ALLOCATION: (0, 0),
    CONTROLLER_REGISTRATION: (0, 0), ASSIGNMENT: (0, 0),
}  # fmt: skip
"""By key, the versions that are served. All are flexible."""
_NONE = UUID(int=0)
"""Which kio has no UUID for."""


def read_request(key: int, version: int, body: bytes) -> Request:
    """Raises WireError."""
    return _READ[key](read_entity(request_kind(key, version), body))


def _registration(entity: Any) -> Request:
    if getattr(entity, "is_migrating_zk_broker", False):
        raise WireError("a broker that migrates from ZooKeeper is not served")
    return BrokerRegistrationRequest(
        broker_id=int(entity.broker_id),
        cluster_id=entity.cluster_id,
        incarnation_id=entity.incarnation_id or _NONE,
        listeners=_listeners(entity),
        features=_features(entity),
        rack=entity.rack,
        log_dirs=tuple(one or _NONE for one in getattr(entity, "log_dirs", ())),
    )


def _listeners(entity: Any) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(one.name, one.host, int(one.port), int(one.security_protocol)) for one in entity.listeners)


def _features(entity: Any) -> tuple[SupportedFeature, ...]:
    return tuple(
        SupportedFeature(one.name, int(one.min_supported_version), int(one.max_supported_version))
        for one in entity.features
    )


def _heartbeat(entity: Any) -> Request:
    return BrokerHeartbeatRequest(
        int(entity.broker_id), int(entity.broker_epoch), int(entity.current_metadata_offset), entity.want_fence,
        entity.want_shut_down, tuple(one or _NONE for one in getattr(entity, "offline_log_dirs", ())),
    )  # fmt: skip


def _unregister(entity: Any) -> Request:
    return UnregisterBrokerRequest(int(entity.broker_id))


def _allocation(entity: Any) -> Request:
    return AllocateProducerIdsRequest(int(entity.broker_id), int(entity.broker_epoch))


def _controller(entity: Any) -> Request:
    return ControllerRegistrationRequest(
        int(entity.controller_id), entity.incarnation_id or _NONE, _listeners(entity), _features(entity),
        entity.zk_migration_ready,
    )  # fmt: skip


def _assignment(entity: Any) -> Request:
    replicas = tuple(
        ReplicaDirectory(directory.id_ or _NONE, topic.topic_id or _NONE, int(partition.partition_index))
        for directory in entity.directories
        for topic in directory.topics
        for partition in topic.partitions
    )
    return AssignReplicasToDirsRequest(int(entity.broker_id), int(entity.broker_epoch), replicas)


_READ: Mapping[int, Callable[[Any], Request]] = {
    REGISTRATION: _registration, HEARTBEAT: _heartbeat, UNREGISTRATION: _unregister, ALLOCATION: _allocation,
    CONTROLLER_REGISTRATION: _controller, ASSIGNMENT: _assignment,
}  # fmt: skip


def response_bytes(key: int, version: int, request: Request, response: Response) -> bytes:
    """The body of the response to a request."""
    given = {
        **{name: getattr(response, name) for name in response.__dataclass_fields__},
        "throttle_time": NO_TIME, "error_code": wire_code(response.error), "error_message": None,
    }  # fmt: skip
    if isinstance(request, AssignReplicasToDirsRequest) and isinstance(response, AssignReplicasToDirsResponse):
        given["directories"] = _assigned(request, response)
    return entity_bytes(made(response_kind(key, version), given))


def _assigned(request: AssignReplicasToDirsRequest, response: AssignReplicasToDirsResponse) -> list[dict[str, Any]]:
    """The replicas with their errors; none of a request that is refused as a whole."""
    answered = zip(request.replicas, map(wire_code, response.errors), strict=False)
    return nested_replicas((one, {"error_code": code}) for one, code in answered)


def nested_replicas(replicas: Iterator[tuple[ReplicaDirectory, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Replicas by directory and topic, as AssignReplicasToDirs has them. Each has further fields of its partition."""
    return [
        {
            "id_": directory,
            "topics": [
                {
                    "topic_id": topic_id,
                    "partitions": [{"partition_index": one.partition_id, **more} for one, more in of_topic],
                }
                for topic_id, of_topic in groupby(of_directory, key=lambda found: found[0].topic_id)
            ],
        }
        for directory, of_directory in groupby(replicas, key=lambda found: found[0].directory)
    ]
