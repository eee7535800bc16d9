"""The bytes of what brokers ask of the active controller, by kio's schemas (KIP-631, KIP-841).

Left out of registrations, as the core has none: log directories, and the epoch of an earlier registration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest as WireAllocation
from kio.schema.allocate_producer_ids.v0.response import AllocateProducerIdsResponse as WireAllocationResponse
from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest as WireHeartbeat
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse as WireHeartbeatResponse
from kio.schema.broker_registration.v4.request import BrokerRegistrationRequest as WireRegistration
from kio.schema.broker_registration.v4.response import BrokerRegistrationResponse as WireRegistrationResponse
from kio.schema.types import ProducerId
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest as WireUnregister
from kio.schema.unregister_broker.v0.response import UnregisterBrokerResponse as WireUnregisterResponse
from kio.static.primitive import i32, i64

from impl.kraft.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Request,
    Response,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from impl.kraft.records import Endpoint, SupportedFeature
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError

VERSIONS: Mapping[int, int] = {62: 4, 63: 1, 64: 0, 67: 0}
"""By key, the version that is served: of BrokerRegistration, BrokerHeartbeat, UnregisterBroker, AllocateProducerIds."""


def read_request(key: int, body: bytes) -> Request:
    """Raises WireError."""
    kind, read = _READ[key]
    return read(read_entity(kind, body))


def _registration(entity: Any) -> Request:
    if entity.is_migrating_zk_broker:
        raise WireError("a broker that migrates from ZooKeeper is not served")
    return BrokerRegistrationRequest(
        broker_id=int(entity.broker_id),
        cluster_id=entity.cluster_id,
        incarnation_id=entity.incarnation_id or UUID(int=0),
        listeners=tuple(
            Endpoint(one.name, one.host, int(one.port), int(one.security_protocol)) for one in entity.listeners
        ),
        features=tuple(
            SupportedFeature(one.name, int(one.min_supported_version), int(one.max_supported_version))
            for one in entity.features
        ),
        rack=entity.rack,
    )


def _heartbeat(entity: Any) -> Request:
    if entity.offline_log_dirs:
        raise WireError("log directories that are offline are not served")
    return BrokerHeartbeatRequest(
        int(entity.broker_id), int(entity.broker_epoch), int(entity.current_metadata_offset), entity.want_fence,
        entity.want_shut_down,
    )  # fmt: skip


def _unregister(entity: Any) -> Request:
    return UnregisterBrokerRequest(int(entity.broker_id))


def _allocation(entity: Any) -> Request:
    return AllocateProducerIdsRequest(int(entity.broker_id), int(entity.broker_epoch))


_READ: Mapping[int, tuple[type, Callable[[Any], Request]]] = {
    62: (WireRegistration, _registration),
    63: (WireHeartbeat, _heartbeat),
    64: (WireUnregister, _unregister),
    67: (WireAllocation, _allocation),
}


def response_bytes(response: Response) -> bytes:
    """The body of a response."""
    match response:
        case BrokerRegistrationResponse():
            entity: Any = WireRegistrationResponse(
                throttle_time=NO_TIME, error_code=wire_code(response.error), broker_epoch=i64(response.broker_epoch)
            )
        case BrokerHeartbeatResponse():
            entity = WireHeartbeatResponse(
                throttle_time=NO_TIME, error_code=wire_code(response.error), is_caught_up=response.is_caught_up,
                is_fenced=response.is_fenced, should_shut_down=response.should_shut_down,
            )  # fmt: skip
        case UnregisterBrokerResponse():
            entity = WireUnregisterResponse(
                throttle_time=NO_TIME, error_code=wire_code(response.error), error_message=None
            )
        case AllocateProducerIdsResponse():
            entity = WireAllocationResponse(
                throttle_time=NO_TIME, error_code=wire_code(response.error),
                producer_id_start=ProducerId(response.producer_id_start), producer_id_len=i32(response.producer_id_len),
            )  # fmt: skip
        case _:
            raise TypeError(f"{type(response).__name__} answers nothing that is served")
    return entity_bytes(entity)
