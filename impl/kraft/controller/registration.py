"""Broker ids: who holds one. KIP-631, Broker Registration, Handling Broker ID Conflicts, UnregisterBroker.

Controllers register, too, since metadata.version 3.7-IV0 (KIP-919).
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.directories import registered_directories
from impl.kraft.controller.features import supports_all
from impl.kraft.controller.partitions import taken_out
from impl.kraft.controller.sessions import Sessions
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, Registration
from impl.kraft.messages import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from impl.kraft.records import Record, RegisterBrokerRecord, RegisterControllerRecord, UnregisterBrokerRecord


def register(
    image: Image, settings: ControllerSettings, sessions: Sessions, request: BrokerRegistrationRequest, now_ms: int
) -> Decision:
    """An incarnation gets the id, fenced and at a new broker epoch, which is the offset of its registration record.

    The incarnation that holds the id gets the same answer again, and has its lease renewed; where it has other log
    directories by now, its registration is amended. Another one is refused while the holder is unfenced and its lease
    runs; once that has run out, it takes the holder's place in one batch.
    """
    if request.broker_id < 0:
        return refused(ErrorCode.INVALID_REQUEST)
    if request.cluster_id != settings.cluster_id:
        return refused(ErrorCode.INCONSISTENT_CLUSTER_ID)
    holder = image.registrations.get(request.broker_id)
    log_dirs = registered_directories(image, request)
    if holder is not None and holder.incarnation_id == request.incarnation_id:
        sessions.renew(request.broker_id, now_ms)
        return Decision(BrokerRegistrationResponse(ErrorCode.NONE, holder.broker_epoch), amended(holder, log_dirs))
    if holder is not None and not holder.fenced and sessions.is_valid(request.broker_id, now_ms):
        return refused(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    if log_dirs is None:
        return refused(ErrorCode.INVALID_REGISTRATION)
    if not supports_all(request.features, image.features):
        return refused(ErrorCode.UNSUPPORTED_VERSION)
    sessions.start(request.broker_id, now_ms)
    broker_epoch = image.offset + 1
    record = RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=broker_epoch,
        endpoints=request.listeners,
        features=request.features,
        rack=request.rack,
        log_dirs=log_dirs,
    )
    response = BrokerRegistrationResponse(ErrorCode.NONE, broker_epoch)
    return Decision(response, (record, *taken_out(image, settings, request.broker_id)))


def amended(holder: Registration, log_dirs: tuple[UUID, ...] | None) -> tuple[Record, ...]:
    """A registration as it is, with the log directories that its broker says, if it says others."""
    if not log_dirs or log_dirs == holder.log_dirs:
        return ()
    return (replace(holder, log_dirs=log_dirs).to_record(),)


def register_controller(image: Image, request: ControllerRegistrationRequest) -> Decision:
    """A controller is known as it last started."""
    if not image.knows_controllers:
        return Decision(ControllerRegistrationResponse(ErrorCode.UNSUPPORTED_VERSION))
    record = RegisterControllerRecord(
        request.controller_id, request.incarnation_id, request.listeners, request.features, request.zk_migration_ready
    )
    is_known = image.controllers.get(request.controller_id) == record
    return Decision(ControllerRegistrationResponse(ErrorCode.NONE), () if is_known else (record,))


def refused(error: ErrorCode) -> Decision:
    return Decision(BrokerRegistrationResponse(error))


def unregister(
    image: Image, settings: ControllerSettings, sessions: Sessions, request: UnregisterBrokerRequest
) -> Decision:
    """An operator takes an id out of the cluster, whether its broker is alive or not."""
    registration = image.registrations.get(request.broker_id)
    if registration is None:
        return Decision(UnregisterBrokerResponse(ErrorCode.BROKER_ID_NOT_REGISTERED))
    sessions.forget(request.broker_id)
    record = UnregisterBrokerRecord(broker_id=request.broker_id, broker_epoch=registration.broker_epoch)
    return Decision(UnregisterBrokerResponse(ErrorCode.NONE), (*taken_out(image, settings, request.broker_id), record))
