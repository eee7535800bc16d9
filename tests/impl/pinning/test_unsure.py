"""A broker that is not sure of its office, of the epoch or of its session finds out before it acts."""

from __future__ import annotations

from impl.pinning.member import Phase
from impl.zookeeper import Delete, SetData
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
