"""What is answered by a broker that is not the controller, to requests that only a controller can take."""

from __future__ import annotations

from impl.heartbeat.control_requests import ControlledShutdownRequest, ControlledShutdownResponse
from impl.heartbeat.design import Design
from impl.heartbeat.effects import RequestToController, ResponseOfController
from impl.heartbeat.messages import (
    BrokerState,
    ErrorCode,
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
)


def refusal(request: RequestToController, design: Design) -> ResponseOfController | None:
    """The answer NOT_CONTROLLER. None: there is no answer, for the document's heartbeat has no error for that."""
    match request:
        case MetadataHeartbeatRequest(broker_id=broker, incarnation_id=incarnation):
            if not design.controller_epoch_in_heartbeat:
                return None
            return MetadataHeartbeatResponse(ErrorCode.NOT_CONTROLLER, BrokerState.INACTIVE, None, broker, incarnation)
        case IsrChangeRequest():
            return IsrChangeResponse(ErrorCode.NOT_CONTROLLER)
        case ControlledShutdownRequest():
            return ControlledShutdownResponse(ErrorCode.NOT_CONTROLLER)
