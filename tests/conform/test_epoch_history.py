"""When an epoch, or an offset that is waited for, was issued: what numbers of several controllers are told apart by."""

from __future__ import annotations

from uuid import UUID

from checker.conform.system import Ordinal
from impl.adapters.kraft.epoch_history import BROKER, OFFSET, Entry, EpochHistory
from impl.kraft.records import Batch, BrokerRegistrationChangeRecord, NoOpRecord, RegisterBrokerRecord


def registration(broker_epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=0, incarnation_id=UUID(int=1), broker_epoch=broker_epoch, endpoints=(), features=(), rack=None
    )


NEW = Entry(7, Batch(5, 1, (NoOpRecord(), registration(5))))
AGAIN = Entry(8, Batch(7, 1, (registration(5),)))
SHUTDOWN = Entry(9, Batch(8, 1, (BrokerRegistrationChangeRecord(0, 5, in_controlled_shutdown=True), NoOpRecord())))


def test_a_log_issues_broker_epochs_and_the_offsets_that_are_waited_for() -> None:
    known = EpochHistory({}).beyond([NEW, AGAIN, SHUTDOWN])
    assert known.numbers == {(BROKER, None, 5): 7, (OFFSET, None, 7): 8, (OFFSET, None, 9): 9}
    assert known.broker_epoch(5) == Ordinal("BrokerEpoch", 7)
    assert known.reached((), 6) is None
    assert [known.reached((), at) for at in (7, 8, 9)] == [Ordinal("MetadataOffset", n) for n in (8, 8, 9)]


def test_what_a_report_reaches_is_among_what_is_waited_for_now() -> None:
    """Another offset was waited for, too: a report that reaches it and one that does not are alike."""
    known = EpochHistory({}).beyond([NEW, AGAIN, SHUTDOWN])
    assert [known.last_of({9}, at) for at in (6, 7, 8)] == [None] * 3
    assert known.last_of({7, 9}, 10) == Ordinal("MetadataOffset", 9)


def test_a_number_that_was_issued_twice_is_confused() -> None:
    """A deposed controller has the same number for another registration. One it has not issued it does not know."""
    committed = EpochHistory({(BROKER, None, 5): 6, (BROKER, None, 4): 3})
    assert committed.confuses([NEW], 5)
    assert not committed.confuses([NEW], 4) and not committed.confuses([], 5)
    assert not committed.beyond([NEW]).confuses([NEW], 5)


def test_of_one_controller_numbers_are_themselves() -> None:
    alone = EpochHistory()
    assert alone.beyond([NEW, AGAIN]) is alone and not alone.confuses([NEW], 5)
    assert alone.broker_epoch(5) == Ordinal("BrokerEpoch", 5)
    assert alone.reached((3, 8), 7) == Ordinal("MetadataOffset", 3)
