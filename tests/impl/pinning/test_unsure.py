"""A broker that is not sure of its office, of the epoch or of its session finds out before it acts."""

from __future__ import annotations

import pytest

from impl.pinning.effects import Reply, SetTimer, Timer
from impl.pinning.member import Phase
from impl.pinning.messages import (
    DescribeControllerRequest,
    DescribeControllerResponse,
    ErrorCode,
    PinControllerRequest,
    PinControllerResponse,
)
from impl.pinning.znodes import ADMIN, NEXT, PERSISTENT, STATE, id_path
from impl.runtime.effects import Did
from impl.zookeeper import (
    Connected,
    Create,
    Delete,
    Disconnected,
    Failed,
    OutOfTouch,
    Result,
    SetData,
    Submit,
    WatchEvent,
    WatchType,
)
from impl.zookeeper import ErrorCode as ZkErrorCode
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH
from tests.impl.pinning.in_memory import Brokers


def elected_without_reply(brokers: Brokers, broker: int) -> None:
    """A broker creates /controller, and its connection is lost before the reply."""
    brokers.by_hand(Delete(CONTROLLER))
    brokers.until_submits(broker, f"Create(path='{CONTROLLER}'")
    brokers.lose_reply(broker)


def test_who_had_no_reply_does_not_take_a_later_epoch_for_its_own() -> None:
    """Between its reading of /controller and of the epoch, another is elected."""
    brokers = Brokers(3)
    elected_without_reply(brokers, 1)
    brokers.until_submits(1, f"path='{CONTROLLER_EPOCH}'")
    brokers.by_hand(Delete(CONTROLLER))
    brokers.settle(2)
    brokers.settle()
    assert brokers.controllers() == [2]
    assert [(to, epoch) for _, to, epoch, _ in brokers.moves] == [(0, 1), (2, 3)], "broker 1 began no term of epoch 3"


def test_what_is_answered_late_is_not_taken_for_the_answer_to_something_else() -> None:
    """The client had it as the connection was lost, and sent it once there was another, before what came after."""
    brokers = Brokers(2)
    core = brokers.cores[1]
    core.on_event(WatchEvent(CONTROLLER, WatchType.DATA_CHANGED), 0)
    [late] = [one for one in core.advance(0) if isinstance(one, Submit)]
    core.on_event(Disconnected(), 0)
    core.on_event(Connected(core.member.session, is_new=False), 0)
    [begun] = [one for one in core.advance(0) if isinstance(one, Submit)]
    assert core.on_event(Result(late.id, Failed(ZkErrorCode.NODE_EXISTS)), 0) == []
    assert core.on_event(Result(begun.id, Failed(ZkErrorCode.NODE_EXISTS)), 0) != []


def test_who_had_no_reply_is_in_office_once_the_epoch_is_a_number_again() -> None:
    brokers = Brokers(2)
    elected_without_reply(brokers, 1)
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"two"))
    brokers.settle()
    assert brokers.controllers() == []
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"2"))
    brokers.settle()
    assert brokers.controllers() == [1]


def test_an_epoch_that_is_mended_before_it_is_watched_keeps_nobody_from_running() -> None:
    brokers = Brokers(2)
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"two"))
    brokers.by_hand(Delete(CONTROLLER))
    brokers.until_submits(1, f"GetData(path='{CONTROLLER_EPOCH}', watch=True")
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"2"))
    brokers.settle(1)
    assert brokers.cores[1].member.phase is Phase.IN_OFFICE


def test_a_write_under_an_epoch_that_was_changed_by_hand_costs_a_term() -> None:
    """It is refused as if another had been elected. Its /controller would stand, and nobody be in office."""
    brokers = Brokers(2)
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"1"))
    brokers.pending[0] += brokers.cores[0].on_work(0)
    brokers.settle()
    assert len(brokers.controllers()) == 1
    assert [epoch for _, _, epoch, _ in brokers.moves] == [1, 2]


def test_a_resignation_under_an_epoch_that_was_changed_by_hand_hands_over() -> None:
    brokers = Brokers(3)
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"1"))
    brokers.request(1, through=2)
    brokers.settle()
    assert brokers.controllers() == [1] and NEXT not in brokers.zookeeper.tree


@pytest.mark.parametrize("epoch", [b"1", b"one"])
def test_a_request_for_the_controller_is_not_tried_for_ever_under_an_epoch_that_was_changed_by_hand(
    epoch: bytes,
) -> None:
    brokers = Brokers(2)
    brokers.by_hand(SetData(CONTROLLER_EPOCH, epoch))
    brokers.by_hand(Create(NEXT, b"0"))
    brokers.settle()
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"5"))
    brokers.settle()
    assert brokers.controllers() == [0] and NEXT not in brokers.zookeeper.tree


def restarted(brokers: Brokers, broker: int) -> None:
    """A broker whose former session has ended starts with another."""
    brokers.expire(brokers.die(broker))


def test_the_first_broker_creates_what_all_need() -> None:
    """An empty ZooKeeper: else nobody is registered, and a request for them would be refused, or tried for ever."""
    brokers = Brokers(2, znodes=())
    assert brokers.controllers() == [0]
    assert {path for path, _ in PERSISTENT} | {id_path(0), id_path(1)} <= set(brokers.zookeeper.tree)
    brokers.request(1, through=0)
    brokers.settle()
    assert brokers.controllers() == [1]


def test_a_request_creates_what_it_is_below() -> None:
    brokers = Brokers(2, znodes=[one for one in PERSISTENT if one[0] != ADMIN])
    brokers.request(1, through=0)
    brokers.settle()
    assert brokers.controllers() == [1]


def test_a_broker_whose_id_is_taken_while_it_registers_says_so_and_tries_again() -> None:
    brokers = Brokers(2)
    restarted(brokers, 1)
    brokers.until_submits(1, "Create(path='/brokers/ids")
    brokers.by_hand(Create(id_path(1), b"another", ephemeral=True))
    brokers.settle()
    assert brokers.warnings == ["not registered"]
    brokers.by_hand(Delete(id_path(1)))
    brokers.pending[1] += brokers.cores[1].on_timer(Timer.REGISTER, 0)
    brokers.settle()
    assert brokers.zookeeper.tree[id_path(1)].stat.owner == brokers.cores[1].member.session


def test_who_is_out_of_touch_with_zookeeper_decides_and_writes_nothing() -> None:
    """Its session may be over: it stops by its own clock, before ZooKeeper says so."""
    brokers = Brokers(2)
    core = brokers.cores[0]
    brokers.pending[0] += core.on_work(0)
    core.on_event(OutOfTouch(), 0)
    brokers.settle()
    assert "write" not in brokers.steps, "what it had decided waits"
    brokers.pending[0] += core.on_event(Connected(core.member.session, False, 0), 0)
    brokers.settle()
    assert brokers.steps.count("write") == 1, "it was in office all the time"
    core.on_event(OutOfTouch(), 0)
    assert not any(isinstance(effect, Did) for effect in core.on_work(0))


def test_a_request_that_was_served_while_its_broker_had_no_session_is_answered_then() -> None:
    brokers = Brokers(3)
    brokers.ask(2, PinControllerRequest(1, 30_000))
    brokers.until_done(2, "request")
    brokers.settle(2)
    brokers.zookeeper = brokers.zookeeper.expire(brokers.cores[2].member.session)
    brokers.settle(0, 1)
    assert brokers.controllers() == [1] and brokers.answers == []
    brokers.begin_session(2)
    brokers.settle()
    [answer] = brokers.answers
    assert isinstance(answer, PinControllerResponse) and answer.error_code == ErrorCode.NONE


def test_what_is_not_read_since_the_session_has_ended_is_not_taken_for_absent() -> None:
    """Else an operator would hear that nobody is in office."""
    brokers = Brokers(2)
    brokers.ask(1, DescribeControllerRequest())
    brokers.until_submits(1, f"GetData(path='{CONTROLLER}'")
    [submitted] = brokers.pending[1]
    brokers.pending[1] = []
    assert isinstance(submitted, Submit)
    expired = Result(submitted.id, Failed(ZkErrorCode.SESSION_EXPIRED))
    assert brokers.cores[1].on_event(expired, 0) == []
    brokers.expire(brokers.cores[1].member.session)
    brokers.begin_session(1)
    brokers.settle()
    [answer] = brokers.answers
    assert isinstance(answer, DescribeControllerResponse) and answer.controller_id == 0


def test_garbage_in_a_znode_is_one_line_in_the_log_however_often_it_is_read() -> None:
    brokers = Brokers(2)
    for _ in range(2):  # the same again is another line
        brokers.by_hand(SetData(CONTROLLER, b"{"))
        brokers.settle()
        for _ in range(3):
            brokers.ask(1, DescribeControllerRequest())
            brokers.settle()
    assert brokers.warnings.count("garbage in a znode") == 4, "two lines of each broker"


def test_a_write_that_fails_is_none() -> None:
    brokers = Brokers(1)
    brokers.by_hand(Delete(STATE))
    brokers.pending[0] += brokers.cores[0].on_work(0)
    brokers.settle()
    assert "write" not in brokers.steps and brokers.warnings == ["not written"]
    assert brokers.controllers() == [0]


def test_a_restart_of_all_at_once_keeps_the_request_and_drops_ready() -> None:
    brokers = Brokers(3)
    brokers.request(1, through=2)
    brokers.until_done(1, "set_ready")
    for former in [brokers.die(broker) for broker in range(3)]:
        brokers.expire(former)
    assert NEXT in brokers.zookeeper.tree and brokers.ready() is None
    brokers.settle()
    assert brokers.controllers() == [1] and NEXT not in brokers.zookeeper.tree


@pytest.mark.parametrize("step", ["request", "set_ready", "resign", "hear_controller", "run", "begin_term"])
@pytest.mark.parametrize("broker", [0, 1, 2])
def test_a_session_that_ends_at_any_step_of_a_move_delays_it(step: str, broker: int) -> None:
    """Of the controller, the target, or another: the target is in office in the end, if it was not elected before."""
    brokers = Brokers(3)
    brokers.steps.clear()
    brokers.ask(2, PinControllerRequest(1, 0))
    while step not in brokers.steps:
        moved = [brokers.step(one) for one in range(3)]
        assert any(moved), f"nobody gets to {step}"
    brokers.expire(brokers.cores[broker].member.session)
    brokers.begin_session(broker)
    brokers.settle()
    was_served = broker == 1 and step in ("run", "begin_term")
    assert brokers.controllers() == [2 if was_served else 1]
    assert NEXT not in brokers.zookeeper.tree and brokers.ready() is None


def test_a_request_is_answered_in_time_though_zookeeper_cannot_be_reached() -> None:
    brokers = Brokers(2)
    core = brokers.cores[1]
    core.on_event(Disconnected(), 0)
    assert core.on_request(1, PinControllerRequest(1, 50), 0) == [SetTimer(1, 50)]
    [reply] = core.on_timer(1, 50)
    assert isinstance(reply, Reply) and isinstance(reply.response, PinControllerResponse)
    assert reply.response.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "nothing was written down" in (reply.response.error_message or "")


def test_a_request_that_was_written_down_is_answered_in_time_though_zookeeper_is_gone_since() -> None:
    brokers = Brokers(3)
    brokers.ask(2, PinControllerRequest(1, 50))
    brokers.until_done(2, "request")
    core = brokers.cores[2]
    core.on_event(Disconnected(), 0)
    [reply] = [effect for effect in core.on_timer(1, 50) if isinstance(effect, Reply)]
    assert isinstance(reply.response, PinControllerResponse) and reply.response.request_id > 0
    assert "--describe" in (reply.response.error_message or "")
    brokers.zookeeper = brokers.zookeeper.disconnect(2).reconnect(2)
    brokers.settle()
    assert brokers.answers == [], "once is enough"
