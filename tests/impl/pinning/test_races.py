"""What comes between a broker's reading and its writing: a write never takes one znode for another of the same name.

A znode that was deleted and made anew has version 0 again, so that a check of versions alone cannot tell the two.
"""

from __future__ import annotations

import pytest

from impl.pinning.broker import Broker
from impl.pinning.design import REPAIRED
from impl.pinning.effects import Timer
from impl.pinning.member import Member, Phase
from impl.pinning.messages import (
    UNPIN,
    DescribeControllerRequest,
    DescribeControllerResponse,
    ErrorCode,
    PinControllerRequest,
    PinControllerResponse,
)
from impl.pinning.znodes import NEXT, READY, id_path
from impl.zookeeper import Connected, Create, Delete, OutOfTouch, SetData
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH
from tests.impl.pinning.in_memory import TAKEOVER, Brokers


def test_a_former_target_does_not_delete_the_ready_that_replaced_its_own() -> None:
    """Found by a schedule: broker 1 reads its own, broker 2 puts another in its place, broker 1 deletes."""
    brokers = Brokers(3)
    brokers.request(1, through=2)
    brokers.settle(1)
    brokers.request(2, through=2)
    brokers.until_submits(1, f"Delete(path='{READY}'")
    brokers.settle(2)
    brokers.settle(1)
    assert brokers.ready() == 2
    brokers.settle()
    assert brokers.controllers() == [2]


def test_a_former_target_does_not_delete_the_ready_of_one_that_has_restarted_meanwhile() -> None:
    """Broker 2 has put its own in the place of broker 1's, has died, and has made another."""
    brokers = Brokers(3)
    brokers.request(1, through=2)
    brokers.settle(1)
    brokers.request(2, through=2)
    brokers.until_submits(1, f"Delete(path='{READY}'")
    brokers.settle(2)
    brokers.expire(brokers.die(2))
    brokers.settle(2)
    brokers.settle(1)
    assert brokers.ready() == 2
    brokers.settle()
    assert brokers.controllers() == [2]


def test_who_is_elected_does_not_delete_the_ready_of_one_that_has_restarted_meanwhile() -> None:
    """Broker 1 takes its own `ready` along, which is another's by then; the request that it has read stands."""
    brokers = Brokers(3)
    brokers.request(1, through=2)
    brokers.settle(1)
    brokers.expire(brokers.die(0))
    brokers.until_submits(1, f"path='{CONTROLLER_EPOCH}'")
    brokers.request(2, through=2)
    brokers.until_submits(1, f"Create(path='{CONTROLLER}'")
    brokers.until_done(2, "set_ready")
    brokers.expire(brokers.die(2))
    brokers.until_done(2, "set_ready")
    brokers.settle(1)
    assert brokers.ready() == 2
    brokers.settle()
    assert brokers.controllers() == [2]


@pytest.mark.parametrize("operation", ["watch=False", "watch=True"])
def test_a_target_sets_ready_though_what_was_in_the_way_goes_before_it_watches(operation: str) -> None:
    """That of its former session, which ends between its reading it and its setting a watch."""
    brokers = Brokers(3)
    brokers.request(1, through=2)
    brokers.settle(1)
    former = brokers.die(1)
    brokers.until_submits(1, f"path='{READY}', {operation}")
    brokers.expire(former)
    brokers.settle(1)
    assert brokers.ready() == 1
    brokers.settle()
    assert brokers.controllers() == [1]


def test_a_takeover_does_not_serve_a_later_request_of_the_same_version() -> None:
    """Broker 1 has read the first request; the second is settled by the controller, and the third has version 0."""
    brokers = Brokers(3, TAKEOVER)
    brokers.by_hand(Create(NEXT, b"1"))
    brokers.until_submits(1, f"Create(path='{CONTROLLER}'")
    brokers.by_hand(SetData(NEXT, b"0"))
    brokers.settle(0, 2)
    assert NEXT not in brokers.zookeeper.tree, "it was settled"
    brokers.by_hand(Create(NEXT, b"2"))
    brokers.settle(1)
    assert brokers.controllers() == [0], "its request is gone"
    brokers.settle()
    assert brokers.controllers() == [2]


def test_a_takeover_does_not_serve_a_request_that_came_between_the_reading_of_another_and_of_the_epoch() -> None:
    """As a former process of its own may bring about, whose last multi arrives late."""
    brokers = Brokers(3, TAKEOVER)
    brokers.by_hand(Create(NEXT, b"1"))
    brokers.until_submits(1, f"GetData(path='{CONTROLLER_EPOCH}'")
    brokers.by_hand(Delete(NEXT))
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"2"))
    brokers.by_hand(Create(NEXT, b"2"))
    brokers.settle(1)
    assert brokers.controllers() == [0] and brokers.zookeeper.tree[NEXT].data == b"2"
    brokers.settle()
    assert brokers.cores[2].member.phase is Phase.IN_OFFICE


def test_a_target_takes_over_once_the_epoch_is_a_number_again() -> None:
    brokers = Brokers(2, TAKEOVER)
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"one"))
    brokers.by_hand(Create(NEXT, b"1"))
    brokers.settle()
    assert brokers.controllers() == [0]
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"1"))
    brokers.settle()
    assert brokers.controllers() == [1] and NEXT not in brokers.zookeeper.tree


def test_a_request_for_the_controller_is_settled_under_the_same_epoch() -> None:
    brokers = Brokers(2)
    before = brokers.zookeeper.tree[CONTROLLER_EPOCH]
    brokers.by_hand(Create(NEXT, b"0"))
    brokers.settle()
    after = brokers.zookeeper.tree[CONTROLLER_EPOCH]
    assert (after.data, after.stat.version) == (before.data, before.stat.version + 1)
    assert NEXT not in brokers.zookeeper.tree and brokers.controllers() == [0]
    brokers.pending[0] += brokers.cores[0].on_work(0)
    brokers.settle()
    assert brokers.steps[-1] == "write", "its term goes on"


def test_a_settling_whose_reply_was_lost_does_not_end_the_term() -> None:
    brokers = Brokers(2)
    brokers.by_hand(Create(NEXT, b"0"))
    brokers.until_submits(0, f"Delete(path='{NEXT}'")
    brokers.lose_reply(0)
    assert NEXT not in brokers.zookeeper.tree
    brokers.settle()
    brokers.pending[0] += brokers.cores[0].on_work(0)
    brokers.settle()
    assert brokers.steps[-1] == "write" and brokers.controllers() == [0]


def test_a_request_for_the_controller_outlives_its_office() -> None:
    """Found by a schedule: its office is deleted by hand when it is about to settle the request."""
    brokers = Brokers(2)
    brokers.by_hand(Create(NEXT, b"0"))
    brokers.until_submits(0, f"Delete(path='{NEXT}'")
    brokers.by_hand(Delete(CONTROLLER))
    brokers.settle(1)
    brokers.settle()
    assert brokers.moves[-2:] == [(0, 1, 2, "by hand"), (1, 0, 3, "request")] or brokers.controllers() == [0]
    assert NEXT not in brokers.zookeeper.tree and brokers.controllers() == [0]


def test_an_election_does_not_end_a_request_that_came_after_the_one_it_read_was_taken_back() -> None:
    brokers = Brokers(3)
    brokers.request(1, through=2)
    brokers.until_submits(1, f"Create(path='{CONTROLLER}'", brokers=(1, 0))
    brokers.ask(2, PinControllerRequest(UNPIN, 0))
    brokers.settle(2)
    brokers.request(2, through=2)
    brokers.settle()
    assert brokers.controllers() == [2]
    assert brokers.zookeeper.tree.get(NEXT) is None


def test_an_election_sees_a_request_that_came_while_it_read_that_there_is_none() -> None:
    """Found by a schedule: of a znode that is absent no version can be checked."""
    brokers = Brokers(3)
    brokers.by_hand(Delete(CONTROLLER))
    brokers.until_submits(1, f"Create(path='{CONTROLLER}'")
    brokers.request(1, through=2)
    brokers.settle(1)
    brokers.settle()
    assert brokers.moves[-1] == (0, 1, 2, "request"), "the multi that elects it ends its request"


def test_a_request_is_heard_of_that_came_while_the_connection_was_lost() -> None:
    """No watch outlives its connection: who is back reads everything."""
    brokers = Brokers(3)
    brokers.zookeeper = brokers.zookeeper.disconnect(1)
    brokers.by_hand(Create(NEXT, b"1"))
    brokers.zookeeper = brokers.zookeeper.reconnect(1)
    brokers.settle()
    assert brokers.controllers() == [1]


def test_a_legacy_broker_looks_at_nothing_but_the_office_also_when_its_connection_was_lost() -> None:
    """Found by a schedule: it heard of `ready` once it was back, and resigned."""
    brokers = Brokers(2, legacy=1)
    brokers.by_hand(Delete(CONTROLLER))
    brokers.settle(1)
    brokers.settle()
    brokers.by_hand(Create(NEXT, b"0"))
    brokers.settle()
    brokers.lose_connection(1)
    brokers.asked.clear()
    brokers.settle()
    assert brokers.controllers() == [1]
    assert brokers.asked and not any(path in one for one in brokers.asked for path in (NEXT, READY))


def test_the_log_has_a_line_for_each_move_with_its_cause() -> None:
    brokers = Brokers(3)
    assert brokers.moves == [(None, 0, 1, "none")]
    brokers.request(1, through=2)
    brokers.settle()
    assert brokers.moves[1:] == [(0, 1, 2, "request")] and isinstance(brokers.requests[1], int)
    brokers.by_hand(Delete(CONTROLLER))
    brokers.settle(2)
    brokers.settle()
    assert brokers.moves[2:] == [(1, 2, 3, "by hand")] and brokers.requests[2] is None
    brokers.zookeeper = brokers.zookeeper.crash(2).expire(brokers.cores[2].member.session)
    brokers.settle(0)
    assert brokers.moves[3:] == [(2, 0, 4, "failure")]


def test_a_broker_runs_once_the_epoch_is_a_number_again() -> None:
    brokers = Brokers(2)
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"seven"))
    brokers.by_hand(Delete(CONTROLLER))
    brokers.settle()
    assert brokers.controllers() == [] and brokers.zookeeper.tree[CONTROLLER_EPOCH].data == b"seven"
    brokers.by_hand(SetData(CONTROLLER_EPOCH, b"7"))
    brokers.settle(1)
    brokers.settle()
    assert brokers.controllers() == [1] and brokers.moves[-1] == (0, 1, 8, "by hand")


def test_an_epoch_that_is_gone_begins_anew() -> None:
    """As in Kafka. Nothing tells apart who was in office before it was deleted."""
    brokers = Brokers(2)
    brokers.by_hand(Delete(CONTROLLER_EPOCH))
    brokers.by_hand(Delete(CONTROLLER))
    brokers.settle()
    assert len(brokers.controllers()) == 1 and brokers.zookeeper.tree[CONTROLLER_EPOCH].data == b"1"


@pytest.mark.parametrize(
    "operation", ["GetData(path='/brokers/ids", "Create(path='/brokers/ids", f"path='{CONTROLLER}'"]
)
def test_a_start_whose_connection_is_lost_is_begun_again(operation: str) -> None:
    """Found by a schedule: the leader of the ensemble died, and a broker that was starting never registered."""
    brokers = Brokers(2)
    brokers.zookeeper = brokers.zookeeper.crash(1).expire(brokers.cores[1].member.session)
    brokers.cores[1], brokers.pending[1], brokers.steps = Broker(Member(1, REPAIRED)), [], []
    brokers.zookeeper = brokers.zookeeper.open_session(1)
    brokers.until_submits(1, operation)
    brokers.lose_request(1)
    brokers.settle()
    assert id_path(1) in brokers.zookeeper.tree
    assert brokers.steps.count("start") == 1
    brokers.lose_connection(1)
    brokers.settle()
    assert brokers.steps.count("start") == 1, "its session goes on"


def test_a_start_is_not_repeated_where_zookeeper_is_in_touch_again_meanwhile() -> None:
    brokers = Brokers(1)
    core = Broker(Member(0, REPAIRED))
    brokers.zookeeper = brokers.zookeeper.crash(0).open_session(0)
    brokers.cores[0], brokers.pending[0], brokers.steps = core, [], []
    brokers.until_submits(0, f"path='{CONTROLLER}'")
    brokers.pending[0] += core.on_event(OutOfTouch(), 0)
    brokers.pending[0] += core.on_event(Connected(core.member.session, False, 0), 0)
    brokers.settle()
    assert brokers.steps.count("start") == 1


def test_a_broker_whose_id_was_taken_registers_though_its_connection_is_lost_meanwhile() -> None:
    brokers = Brokers(2)
    former = brokers.cores[1].member.session
    brokers.zookeeper = brokers.zookeeper.crash(1)
    brokers.cores[1], brokers.pending[1] = Broker(Member(1, REPAIRED)), []
    brokers.zookeeper = brokers.zookeeper.open_session(1)
    brokers.settle()
    brokers.zookeeper = brokers.zookeeper.expire(former)
    brokers.pending[1] += brokers.cores[1].on_timer(Timer.REGISTER, 0)
    brokers.until_submits(1, "Create(path='/brokers/ids")
    brokers.lose_request(1)
    brokers.settle()
    assert id_path(1) in brokers.zookeeper.tree


@pytest.mark.parametrize("operation", [f"GetData(path='{READY}', watch=True", f"GetData(path='{id_path(0)}'"])
def test_a_term_whose_beginning_is_cut_short_is_begun_again(operation: str) -> None:
    """Found by a schedule: the broker was in office, and neither its log nor its metrics had the move."""
    brokers = Brokers(2)
    brokers.by_hand(Delete(CONTROLLER))
    brokers.until_submits(1, "path='/controller_epoch'")
    brokers.until_done(1, "run")
    brokers.until_submits(1, operation)
    brokers.lose_request(1)
    brokers.settle()
    assert brokers.controllers() == [1]
    assert brokers.moves[1:] == [(0, 1, 2, "by hand")]


def test_a_question_is_answered_though_the_connection_is_lost_meanwhile() -> None:
    brokers = Brokers(2)
    brokers.ask(1, DescribeControllerRequest())
    brokers.until_submits(1, f"path='{CONTROLLER_EPOCH}'")
    brokers.lose_request(1)
    brokers.settle()
    [answer] = brokers.answers
    assert isinstance(answer, DescribeControllerResponse) and answer.controller_id == 0


def test_a_request_that_may_be_written_down_or_not_is_answered_so() -> None:
    brokers = Brokers(2)
    brokers.ask(1, PinControllerRequest(1, 0))
    brokers.until_submits(1, f"Create(path='{NEXT}'")
    brokers.lose_request(1)
    brokers.settle()
    [answer] = brokers.answers
    assert isinstance(answer, PinControllerResponse) and answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_whose_time_is_up_is_answered_though_the_connection_is_lost_meanwhile() -> None:
    brokers = Brokers(3)
    brokers.ask(2, PinControllerRequest(1, 10))
    brokers.settle(2)
    brokers.pending[2] += brokers.cores[2].on_timer(1, 10)
    for _ in range(2):
        brokers.until_submits(2, f"GetData(path='{NEXT}'")
        brokers.lose_request(2)
    brokers.settle(2)
    [answer] = brokers.answers
    assert isinstance(answer, PinControllerResponse) and answer.error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_request_is_taken_back_once() -> None:
    """Nothing is written where none stands: the version of `next` tells requests apart, and nobody is to hear of it."""
    brokers = Brokers(2)
    brokers.ask(0, PinControllerRequest(UNPIN, 0))
    brokers.settle()
    assert brokers.zookeeper.tree.get(NEXT) is None
    brokers.by_hand(Create(NEXT, b"9"))
    for _ in range(2):
        brokers.ask(0, PinControllerRequest(UNPIN, 0))
        brokers.settle()
        standing = brokers.zookeeper.tree.get(NEXT)
        assert standing is not None and (standing.data, standing.stat.version) == (b"-1", 1)
    assert brokers.answers == [PinControllerResponse(ErrorCode.NONE)] * 3


def test_the_request_that_came_while_another_was_taken_back_goes_too() -> None:
    brokers = Brokers(2)
    brokers.by_hand(Create(NEXT, b"9"))
    brokers.ask(0, PinControllerRequest(UNPIN, 0))
    brokers.until_submits(0, "SetData")
    brokers.by_hand(SetData(NEXT, b"8"))
    brokers.settle()
    standing = brokers.zookeeper.tree.get(NEXT)
    assert standing is not None and (standing.data, standing.stat.version) == (b"-1", 2)
