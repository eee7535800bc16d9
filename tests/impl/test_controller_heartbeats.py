"""Heartbeats and leases: fencing, unfencing, controlled shutdown."""

from __future__ import annotations

from typing import Any

import pytest

from impl.kraft.controller import lease_timer
from impl.kraft.effects import SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerHeartbeatRequest
from impl.kraft.records import (
    NO_LEADER,
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    UnfenceBrokerRecord,
)
from tests.impl.office import TIMEOUT_MS, Office


def kinds(office: Office) -> list[type]:
    return [type(record) for record in office.records()]


# Fence and unfence.


@pytest.mark.parametrize("epoch", [0, 2])
def test_another_broker_epoch_is_stale_and_renews_nothing(epoch: int) -> None:
    office = Office()
    office.activate(0)
    office.now_ms += TIMEOUT_MS
    assert office.heartbeat(0, epoch=epoch).error is ErrorCode.STALE_BROKER_EPOCH
    assert not office.controller.has_valid_session(0, office.now_ms)


def test_a_broker_is_unfenced_once_its_image_reaches_its_registration() -> None:
    office = Office()
    epoch = office.register(0).broker_epoch
    office.register(1)
    behind = office.heartbeat(0, offset=epoch - 1)
    assert behind.is_fenced and not behind.is_caught_up and not office.records()
    there = office.heartbeat(0, offset=epoch)
    assert not there.is_fenced and there.is_caught_up
    assert kinds(office) == [UnfenceBrokerRecord]


def test_a_broker_that_serves_is_not_fenced_for_an_image_that_is_behind() -> None:
    office = Office()
    office.activate(0)
    late = office.heartbeat(0, offset=-1)
    assert not late.is_fenced and not late.is_caught_up and not office.records()


def test_a_broker_that_wants_the_fence_keeps_it() -> None:
    office = Office()
    office.register(0)
    assert office.heartbeat(0, want_fence=True).is_fenced
    assert not office.records()


def test_fencing_moves_leaderships_and_shrinks_isrs_but_for_the_last_member() -> None:
    office = Office()
    office.activate(0, 1, 2)
    follows = office.create((1, 0, 2), name="follows")
    leads = office.create((0, 2, 1), name="leads")
    alone = office.create((0,), name="alone")
    office.heartbeat(0, want_fence=True)
    assert kinds(office) == [PartitionChangeRecord] * 3 + [FenceBrokerRecord]
    assert (office.partition(follows).isr, office.partition(follows).leader) == ((1, 2), 1)
    assert (office.partition(leads).isr, office.partition(leads).leader) == ((2, 1), 2)
    assert (office.partition(alone).isr, office.partition(alone).leader) == ((0,), NO_LEADER)
    assert [office.partition(key).leader_epoch for key in (follows, leads, alone)] == [0, 1, 1]
    assert [office.partition(key).partition_epoch for key in (follows, leads, alone)] == [1, 1, 1]


def test_the_records_of_a_batch_are_in_the_order_of_topic_ids_and_partition_ids() -> None:
    office = Office()
    office.activate(0, 1)
    for name in ("a", "b", "c"):
        office.create(*[(0, 1)] * 12, name=name)
    office.heartbeat(0, want_fence=True)
    places = [(r.topic_id.int, r.partition_id) for r in office.records() if isinstance(r, PartitionChangeRecord)]
    assert places == sorted(places) and len(places) == 36


def test_unfencing_joins_no_isr_and_gives_leaderless_partitions_a_leader() -> None:
    office = Office()
    office.activate(0, 1)
    shared, alone = office.create((0, 1), name="shared"), office.create((0,), name="alone")
    office.heartbeat(0, want_fence=True)
    office.heartbeat(0)
    assert kinds(office) == [UnfenceBrokerRecord, PartitionChangeRecord]
    assert office.partition(shared).isr == (1,)
    assert office.partition(alone).leader == 0


# Leases.


def test_a_silent_broker_is_fenced_when_its_lease_runs_out() -> None:
    office = Office()
    office.activate(0, 1)
    office.pass_time(TIMEOUT_MS - 1)
    assert not office.image.registrations[0].fenced
    office.heartbeat(1)
    office.pass_time(1)
    assert office.image.registrations[0].fenced and not office.image.registrations[1].fenced
    office.pass_time(TIMEOUT_MS)
    assert office.image.registrations[1].fenced


def test_a_heartbeat_renews_the_lease_and_the_timer_follows() -> None:
    office = Office()
    office.activate(0)
    for _ in range(5):
        office.pass_time(TIMEOUT_MS - 1)
        office.heartbeat(0)
    assert not office.image.registrations[0].fenced
    early = office.controller.on_timer(lease_timer(0), office.now_ms)
    assert early == [SetTimer(lease_timer(0), office.now_ms + TIMEOUT_MS)]


def test_a_heartbeat_that_comes_before_the_timer_saves_a_lapsed_lease() -> None:
    office = Office()
    office.activate(0)
    office.now_ms += TIMEOUT_MS
    assert not office.heartbeat(0).is_fenced
    office.pass_time(0)
    assert not office.image.registrations[0].fenced


def test_brokers_that_lapse_together_are_fenced_one_after_the_other() -> None:
    office = Office()
    office.activate(0, 1, 2)
    key = office.create((0, 1, 2))
    office.pass_time(TIMEOUT_MS)
    batches = [[type(r) for r in b.records] for b in office.appended if len(b.records) > 1]
    assert batches == [[PartitionChangeRecord, FenceBrokerRecord]] * 3
    assert (office.partition(key).isr, office.partition(key).leader) == ((2,), NO_LEADER)


def test_the_lease_timer_of_a_fenced_broker_ends() -> None:
    office = Office()
    office.activate(0)
    office.heartbeat(0, want_fence=True)
    office.pass_time(2 * TIMEOUT_MS)
    assert lease_timer(0) not in office.timers
    assert FenceBrokerRecord not in kinds(office)


def test_the_lease_timer_of_a_broker_that_was_fenced_just_now_is_the_last() -> None:
    office = Office()
    office.activate(0)
    office.heartbeat(0, want_fence=True)
    assert office.controller.on_timer(lease_timer(0), office.now_ms) == []


def test_who_is_fenced_already_is_not_fenced_again_before_that_is_committed() -> None:
    office = Office()
    office.activate(0)
    office.commits = False
    office.call(BrokerHeartbeatRequest(0, office.image.registrations[0].broker_epoch, 9, True, False))
    office.pass_time(TIMEOUT_MS)
    assert FenceBrokerRecord not in kinds(office)


def test_a_lapsed_lease_is_decided_on_by_the_whole_log() -> None:
    """The last change of the ISR is not committed yet."""
    office = Office()
    office.activate(0, 1)
    key = office.create((0, 1))
    office.commits = False
    office.call(office.alter_isr_request(key, 0))
    office.pass_time(TIMEOUT_MS)
    assert (office.partition(key).isr, office.partition(key).leader) == ((0,), NO_LEADER)


# Controlled shutdown.


def begun(*brokers: int) -> Office:
    """Broker 0 of these leads a partition and has asked to shut down."""
    office = Office()
    office.activate(*brokers)
    office.create(tuple(brokers))
    response = office.heartbeat(0, offset=office.image.offset, want_shut_down=True)
    assert (response.is_fenced, response.should_shut_down) == (False, False)
    return office


def barrier(office: Office) -> int:
    offset = office.controller.sessions.shutdown_offset(0)
    assert offset is not None
    return offset


def test_a_shutdown_begins_by_moving_leaderships_away() -> None:
    office = begun(0, 1)
    assert kinds(office) == [PartitionChangeRecord, BrokerRegistrationChangeRecord]
    assert barrier(office) == office.image.offset
    assert [(p.isr, p.leader) for p in office.image.partitions.values()] == [((1,), 1)]


def test_it_ends_once_every_active_broker_has_seen_that() -> None:
    office = begun(0, 1, 2)
    office.heartbeat(1, offset=barrier(office))
    office.heartbeat(2, offset=barrier(office) - 1)
    assert not office.heartbeat(0, want_shut_down=True).should_shut_down
    assert not office.records()
    office.heartbeat(2, offset=barrier(office))
    last = office.heartbeat(0, want_shut_down=True)
    assert last.should_shut_down and last.is_fenced
    assert kinds(office) == [FenceBrokerRecord]


def test_the_offset_stays_where_it_was_set() -> None:
    office = begun(0, 1)
    offset = barrier(office)
    for _ in range(3):
        office.register(9)
        office.heartbeat(0, want_shut_down=True)
    assert barrier(office) == offset


def test_a_fenced_broker_is_not_waited_for() -> None:
    office = begun(0, 1)
    office.heartbeat(1, offset=0, want_fence=True)
    assert office.heartbeat(0, want_shut_down=True).should_shut_down


def test_it_leaves_no_shutdown_to_a_late_heartbeat() -> None:
    office = begun(0, 1)
    office.heartbeat(1)
    assert office.heartbeat(0, want_shut_down=True).should_shut_down
    late = office.heartbeat(0)
    assert late.is_fenced and not late.should_shut_down, "it stays fenced until it registers anew"
    assert not office.records()
    office.register(0, 2)
    assert not office.heartbeat(0).is_fenced


@pytest.mark.parametrize("fenced", [False, True])
def test_an_idle_or_fenced_broker_waits_too(fenced: bool) -> None:
    office = Office()
    office.activate(0, 1)
    office.heartbeat(0, want_fence=fenced)
    office.heartbeat(1, offset=office.image.offset)
    response = office.heartbeat(0, want_shut_down=True)
    assert (response.is_fenced, response.should_shut_down) == (fenced, False)
    assert kinds(office) == [BrokerRegistrationChangeRecord]
    office.heartbeat(1, offset=barrier(office))
    assert office.heartbeat(0, want_shut_down=True).should_shut_down


def test_a_new_controller_sets_the_offset_anew() -> None:
    office = begun(0, 1)
    offset = barrier(office)
    office.heartbeat(1)
    office.fail_over()
    assert not office.heartbeat(0, want_shut_down=True).should_shut_down
    assert kinds(office) == [BrokerRegistrationChangeRecord]
    assert barrier(office) == office.image.offset > offset
    office.heartbeat(1)
    assert office.heartbeat(0, want_shut_down=True).should_shut_down


def test_a_new_incarnation_is_in_no_shutdown() -> None:
    office = begun(0, 1)
    office.now_ms += TIMEOUT_MS
    office.register(0, 2)
    assert not office.heartbeat(0).is_fenced


def test_a_broker_in_controlled_shutdown_is_fenced_when_it_falls_silent() -> None:
    office = begun(0, 1)
    office.pass_time(TIMEOUT_MS)
    assert office.image.registrations[0].fenced
    assert office.controller.sessions.shutdown_offset(0) is None


# Cost.


class Sealed(dict[Any, Any]):
    """A dictionary that nobody may look into."""

    def refuse(self, *_: object) -> Any:
        raise AssertionError("a heartbeat looked at partitions")

    __getitem__ = __contains__ = __iter__ = __len__ = get = items = keys = values = refuse


def test_a_heartbeat_that_changes_nothing_looks_at_no_partition() -> None:
    office = begun(0, 1, 2)
    office.register(3)
    image = office.image
    image.partitions = image.in_isr = Sealed()
    office.heartbeat(1)
    office.heartbeat(3, want_fence=True)
    office.heartbeat(0, want_shut_down=True)
    with pytest.raises(AssertionError, match="looked at partitions"):
        office.heartbeat(2, want_fence=True)
