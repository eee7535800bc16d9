"""What a reply may say that the spec leaves out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from impl.adapters.kraft.core import ControllerCore, applied_from
from impl.adapters.kraft.reply_rules import ReplyError, look_at
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse

CAUGHT_UP = BrokerHeartbeatResponse(ErrorCode.NONE, is_caught_up=True, is_fenced=False, should_shut_down=False)


def core(broker_epoch: int, amended_at: int) -> ControllerCore:
    """A controller with which broker 0 has registered, and again as the same incarnation."""
    image = SimpleNamespace(registrations={0: SimpleNamespace(broker_epoch=broker_epoch)})
    return cast(ControllerCore, SimpleNamespace(speculative=image, amended={0: amended_at}))


def heartbeat(broker_epoch: int, offset: int) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(0, broker_epoch, offset, want_fence=False, want_shut_down=False)


def test_a_broker_has_to_apply_its_amended_registration() -> None:
    assert applied_from(core(5, 8), 0, 5) == 8
    look_at(heartbeat(5, 8), CAUGHT_UP, core(5, 8))
    with pytest.raises(ReplyError, match="caught up from its own registration on"):
        look_at(heartbeat(5, 7), CAUGHT_UP, core(5, 8))


def test_a_reply_may_leave_once_another_incarnation_has_the_id() -> None:
    """It was decided before that registered, and that one has registered twice since."""
    assert applied_from(core(5, 8), 0, 2) == 2
    look_at(heartbeat(2, 4), CAUGHT_UP, core(5, 8))
