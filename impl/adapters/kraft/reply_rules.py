"""The fields of a reply that the spec leaves out, held against what the document says of them."""

from __future__ import annotations

from impl.adapters.kraft.core import ControllerCore, applied_from
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    Request,
    Response,
)


class ReplyError(AssertionError):
    """A reply that the document does not allow."""


def look_at(request: Request, response: Response, core: ControllerCore) -> None:
    """Raise ReplyError where the reply of a controller says something that it should not.

    Of an error, only the code counts.
    """
    if response.error is not ErrorCode.NONE:
        require(response == type(response)(response.error), response, "an error has nothing but its code")
    elif isinstance(request, BrokerHeartbeatRequest) and isinstance(response, BrokerHeartbeatResponse):
        registered_at = applied_from(core, request.broker_id, request.broker_epoch)
        is_caught_up = request.current_metadata_offset >= registered_at
        rule = "a broker is caught up from its own registration on"
        require(response.is_caught_up == is_caught_up, response, rule)
    elif isinstance(request, AlterPartitionRequest) and isinstance(response, AlterPartitionResponse):
        rule = "who asks successfully leads on, at its leader epoch or, where a replica went, at the next"
        raised_by = response.leader_epoch - request.leader_epoch
        require(response.leader == request.broker_id and raised_by in (0, 1), response, rule)
        require(len(set(response.isr)) == len(response.isr), response, "the ISR has each member once")


def require(holds: bool, response: Response, rule: str) -> None:
    if not holds:
        raise ReplyError(f"{response}: {rule}")
