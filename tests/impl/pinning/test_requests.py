"""What a broker answers an operator, and what it tells of one that abstains."""

from __future__ import annotations

from impl.pinning.design import Design
from impl.pinning.effects import SetTimer, Timer
from impl.pinning.messages import (
    UNPIN,
    DescribeControllerRequest,
    DescribeControllerResponse,
    ErrorCode,
    PinControllerRequest,
    PinControllerResponse,
)
from impl.pinning.znodes import NEXT
from tests.impl.pinning.in_memory import Brokers


def pinned(brokers: Brokers, broker: int, target: int) -> PinControllerResponse:
    """The answer of a broker that is asked for a target, and acts alone."""
    brokers.ask(broker, PinControllerRequest(target, 0))
    brokers.settle(broker)
    answer = brokers.answers[-1]
    assert isinstance(answer, PinControllerResponse)
    return answer


def described(brokers: Brokers, broker: int) -> DescribeControllerResponse:
    brokers.ask(broker, DescribeControllerRequest())
    brokers.settle(broker)
    answer = brokers.answers[-1]
    assert isinstance(answer, DescribeControllerResponse)
    return answer


def test_a_request_for_the_controller_in_office_writes_nothing() -> None:
    brokers = Brokers(2)
    before = brokers.zookeeper.tree
    assert pinned(brokers, 1, 0) == PinControllerResponse(ErrorCode.NONE, controller_id=0, controller_epoch=1)
    assert brokers.zookeeper.tree == before and NEXT not in before


def test_where_requests_are_not_replaced_the_second_is_refused_until_the_first_is_taken_back() -> None:
    """`next_is_replaced` off. The product never asks for what the spec refuses: who asks is an operator."""
    brokers = Brokers(3, Design(next_is_replaced=False))
    brokers.request(1, through=0)
    stands = brokers.zookeeper.tree[NEXT]
    refused = pinned(brokers, 2, 2)
    assert refused.error_code == ErrorCode.INVALID_REQUEST and "--unpin" in (refused.error_message or "")
    assert brokers.zookeeper.tree[NEXT] == stands
    assert pinned(brokers, 2, UNPIN).error_code == ErrorCode.NONE
    assert pinned(brokers, 2, 2).error_code == ErrorCode.NONE
    assert brokers.zookeeper.tree[NEXT].data == b"2"


def test_who_abstains_says_so_and_warns_of_it_once_a_session() -> None:
    brokers = Brokers(3)
    brokers.request(1, through=2)
    brokers.until_done(1, "set_ready")
    brokers.settle(0, 2)
    found = described(brokers, 2)
    assert (found.controller_id, found.target, found.ready, found.abstaining) == (-1, 1, 1, (2,))
    assert is_warned_again(brokers, 2)
    brokers.settle()
    assert brokers.controllers() == [1] and described(brokers, 2).abstaining == ()
    assert not is_warned_again(brokers, 2), "it abstains no more"


def is_warned_again(brokers: Brokers, broker: int) -> bool:
    """A session's time has passed since it began to abstain: it warns of that, and will again."""
    core, warned = brokers.cores[broker], brokers.warnings.count("abstains for long")
    effects = core.on_timer(Timer.LONG_ABSTENTION, 0) + core.advance(0)
    at_ms = [one.at_ms for one in effects if isinstance(one, SetTimer) and one.timer is Timer.LONG_ABSTENTION]
    brokers.pending[broker] += effects
    brokers.settle(broker)
    assert at_ms in ([], [core.member.session_timeout_ms])
    return bool(at_ms) and brokers.warnings.count("abstains for long") == warned + 1
