"""Broker ids: who holds one. KIP-631, Broker Registration, Handling Broker ID Conflicts, UnregisterBroker."""

from __future__ import annotations

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.features import supports_all
from impl.kraft.controller.partitions import taken_out
from impl.kraft.controller.sessions import Sessions
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from impl.kraft.records import RegisterBrokerRecord, UnregisterBrokerRecord


def register(
    image: Image, settings: ControllerSettings, sessions: Sessions, request: BrokerRegistrationRequest, now_ms: int
) -> Decision:
    """An incarnation gets the id, fenced and at a new broker epoch, which is the offset of its registration record.

    The incarnation that holds the id gets the same answer again, and has its lease renewed. Another one is refused
    while the holder is unfenced and its lease runs; once that has run out, it takes the holder's place in one batch.
    """
    if request.broker_id < 0:
        return refused(ErrorCode.INVALID_REQUEST)
    if request.cluster_id != settings.cluster_id:
        return refused(ErrorCode.INCONSISTENT_CLUSTER_ID)
    holder = image.registrations.get(request.broker_id)
    if holder is not None and holder.incarnation_id == request.incarnation_id:
        sessions.renew(request.broker_id, now_ms)
        return Decision(BrokerRegistrationResponse(ErrorCode.NONE, holder.broker_epoch))
    if holder is not None and not holder.fenced and sessions.is_valid(request.broker_id, now_ms):
        return refused(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
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
    )
    response = BrokerRegistrationResponse(ErrorCode.NONE, broker_epoch)
    return Decision(response, (record, *taken_out(image, settings, request.broker_id)))


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
