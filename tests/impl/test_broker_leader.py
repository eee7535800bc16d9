"""Leaders: the ISR that they ask for, the one that they reckon with, and the high watermark."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from impl.kraft.broker import Due, FetchRequest
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import AlterPartitionResponse, IsrMember
from impl.kraft.records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from tests.impl.broker_parts import KEY, SETTINGS, TOPIC, World, delay_ms

LAG_MS = SETTINGS.replica_lag_time_max_ms


def leading(isr: tuple[int, ...] = (1,), records: int = 0) -> World:
    world = World().running().with_partition(isr=isr)
    if records:
        world.broker.leaders[KEY].append([b"x"] * records, 1)
    return world


# Which follower may join.


def test_a_follower_that_is_caught_up_is_asked_for() -> None:
    world = leading()
    effects = world.fetch(2, 0)
    assert delay_ms(effects, Due.ALTER_PARTITION, 0) == 0
    request = world.ask()
    assert (request.broker_id, request.broker_epoch, request.leader_epoch, request.partition_epoch) == (1, 0, 0, 0)
    assert request.new_isr == (IsrMember(1, 0), IsrMember(2, 1))


def test_of_a_member_that_never_fetched_the_broker_epoch_is_not_known() -> None:
    world = leading(isr=(1, 3))
    world.fetch(2, 0)
    assert world.ask().new_isr == (IsrMember(1, 0), IsrMember(2, 1), IsrMember(3, -1))


def test_members_are_asked_for_in_the_order_of_their_ids() -> None:
    leader = leading().broker.leaders[KEY]
    leader.isr = frozenset({1, 8, 16, 3})
    leader.ask_to_remove([3])
    assert leader.pending_change is not None
    assert [member.broker_id for member in leader.pending_change.new_isr] == [1, 8, 16]


def test_a_follower_behind_the_high_watermark_may_not_join() -> None:
    world = leading(records=2)
    world.broker.advance_high_watermark(KEY)
    assert world.fetch(2, 1) == []
    assert world.fetch(2, 2) != []


def test_a_follower_behind_the_start_of_the_epoch_may_not_join() -> None:
    world = leading(isr=(1, 3), records=1)
    world.change(leader=3)
    world.change(leader=1)
    assert world.broker.logs[KEY].high_watermark == 0
    assert world.fetch(2, 0) == []
    assert world.fetch(2, 1) != []


def test_a_follower_that_is_past_the_high_watermark_but_not_at_the_end_may_join() -> None:
    world = leading(isr=(1, 3), records=2)
    assert world.fetch(2, 1) != []


@pytest.mark.parametrize("record", [FenceBrokerRecord(2, 1), BrokerRegistrationChangeRecord(2, 1, True)])
def test_a_follower_that_is_not_active_in_the_image_may_not_join(record: FenceBrokerRecord) -> None:
    world = leading()
    world.replay(record)
    assert world.fetch(2, 0) == []


def test_a_follower_that_is_not_registered_in_the_image_may_not_join() -> None:
    world = leading()
    world.replay(UnregisterBrokerRecord(2, 1))
    assert world.fetch(2, 0) == []


def test_a_follower_that_has_not_fetched_may_not_join() -> None:
    world = leading()
    assert not world.broker.leaders[KEY].may_join(2, world.broker.image)


def test_a_follower_that_is_no_replica_may_not_join() -> None:
    world = leading()
    world.replay(RegisterBrokerRecord(4, TOPIC, world.end_offset, fenced=False))
    assert world.fetch(4, 0, broker_epoch=world.end_offset - 1) == []


def test_a_follower_may_not_join_at_a_broker_epoch_that_the_image_has_not() -> None:
    world = leading()
    assert world.fetch(2, 0, broker_epoch=8) == []


def test_a_member_is_not_asked_for_again() -> None:
    world = leading()
    world.fetch(2, 0)
    world.answer(world.ask(), ErrorCode.NONE, isr=(1, 2))
    assert world.fetch(2, 0) == []


# One change at a time, one request in flight.


def test_one_change_is_asked_for_at_a_time() -> None:
    world = leading()
    world.fetch(2, 0)
    assert world.fetch(3, 0) == []
    with pytest.raises(AssertionError):
        world.broker.leaders[KEY].ask_to_add(3)


def test_a_leader_stays_in_the_isr() -> None:
    with pytest.raises(AssertionError):
        leading().broker.leaders[KEY].ask_to_remove([1])


def test_one_request_is_in_flight() -> None:
    world = leading()
    world.fetch(2, 0)
    world.ask()
    assert world.due(Due.ALTER_PARTITION, KEY) == []


def test_a_lost_request_is_repeated_unchanged() -> None:
    world = leading()
    world.fetch(2, 0)
    request = world.ask()
    effects = world.broker.on_response(request, None, 10)
    assert delay_ms(effects, Due.ALTER_PARTITION, 10) == SETTINGS.alter_partition_retry_ms
    world.fetch(2, 0)
    assert world.ask() == request


def test_a_request_in_flight_outlives_the_change_it_was_about() -> None:
    world = leading()
    world.fetch(2, 0)
    request = world.ask()
    world.change(isr=(1,))
    leader = world.broker.leaders[KEY]
    assert leader.maximal_isr == {1} and leader.partition_epoch == 1
    world.fetch(3, 0)
    assert world.due(Due.ALTER_PARTITION, KEY) == []
    effects = world.answer(request, ErrorCode.NONE, isr=(1, 2))
    assert leader.isr == {1} and leader.maximal_isr == {1, 3}
    assert delay_ms(effects, Due.ALTER_PARTITION, 0) == 0
    assert world.ask().new_isr == (IsrMember(1, 0), IsrMember(3, 2))


def test_a_response_to_the_leader_of_an_earlier_epoch_is_nothing() -> None:
    world = leading(isr=(1, 3))
    world.fetch(2, 0)
    request = world.ask()
    world.change(leader=3)
    world.change(leader=1)
    assert world.answer(request, ErrorCode.NONE, isr=(1, 2, 3)) == []
    assert world.broker.leaders[KEY].isr == {1, 3}
    world.change(leader=3)
    assert world.answer(request, ErrorCode.NONE, isr=(1, 2, 3)) == world.due(Due.HIGH_WATERMARK, KEY) == []


# What settles a change.


def test_a_success_is_taken_over_as_it_is() -> None:
    world = leading()
    world.fetch(2, 0)
    world.answer(world.ask(), ErrorCode.NONE, isr=(1,))
    leader = world.broker.leaders[KEY]
    assert (leader.isr, leader.partition_epoch, leader.pending_change) == (frozenset({1}), 1, None)


def test_one_success_after_another() -> None:
    world = leading()
    for isr in ((1, 2), (1, 2, 3)):
        world.fetch(isr[-1], 0)
        world.answer(world.ask(), ErrorCode.NONE, isr=isr)
    leader = world.broker.leaders[KEY]
    assert (leader.isr, leader.pending_change) == (frozenset({1, 2, 3}), None)
    assert (leader.leader_epoch, leader.partition_epoch) == (0, 2)


def test_an_ineligible_replica_is_forgotten() -> None:
    world = leading()
    world.fetch(2, 0)
    assert world.answer(world.ask(), ErrorCode.INELIGIBLE_REPLICA) == []
    leader = world.broker.leaders[KEY]
    assert leader.pending_change is None and leader.maximal_isr == {1}


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
def test_any_other_error_leaves_the_maximal_isr_until_the_metadata_settles_it(error: ErrorCode) -> None:
    world = leading()
    world.fetch(2, 0)
    request = world.ask()
    effects = world.answer(request, error)
    leader = world.broker.leaders[KEY]
    assert leader.maximal_isr == {1, 2}
    assert delay_ms(effects, Due.ALTER_PARTITION, 0) == SETTINGS.alter_partition_retry_ms
    assert world.ask() == request
    world.change(isr=(1,))
    assert leader.maximal_isr == {1}


def test_a_success_at_a_newer_leader_epoch_waits_for_the_metadata() -> None:
    world = leading()
    world.fetch(2, 0)
    response = AlterPartitionResponse(ErrorCode.NONE, 1, 1, (1, 2), 1)
    world.broker.on_response(world.ask(), response, 0)
    leader = world.broker.leaders[KEY]
    assert (leader.isr, leader.maximal_isr, leader.partition_epoch) == (frozenset({1}), frozenset({1, 2}), 0)


def test_metadata_older_than_the_last_response_is_known_already() -> None:
    world = leading()
    world.fetch(2, 0)
    world.answer(world.ask(), ErrorCode.NONE, isr=(1, 2))
    world.fetch(3, 0)
    world.change(isr=(1, 2))
    leader = world.broker.leaders[KEY]
    assert leader.isr == {1, 2} and leader.maximal_isr == {1, 2, 3}


def test_a_new_leader_epoch_begins_with_nothing_known_of_followers() -> None:
    world = leading(isr=(1, 3))
    world.fetch(2, 0)
    world.change(leader=3)
    world.change(leader=1)
    leader = world.broker.leaders[KEY]
    assert leader.followers == {} and leader.pending_change is None and leader.in_flight is None


def test_a_leader_that_is_elected_again_begins_a_new_epoch() -> None:
    world = leading(isr=(1, 2), records=1)
    world.fetch(3, 1)
    world.change(leader=1)
    leader = world.broker.leaders[KEY]
    assert (leader.leader_epoch, leader.epoch_start_offset, leader.followers, leader.pending_change) == (1, 1, {}, None)


def test_a_second_response_is_nothing() -> None:
    world = leading()
    world.fetch(2, 0)
    request = world.ask()
    world.answer(request, ErrorCode.NOT_CONTROLLER)
    assert world.answer(request, ErrorCode.NONE, isr=(1, 2)) == []
    assert world.broker.leaders[KEY].isr == {1}


# Removal.


def test_members_that_lag_for_too_long_are_asked_to_be_removed() -> None:
    world = leading(isr=(1, 2, 3), records=1)
    world.now_ms = LAG_MS
    world.fetch(3, 1)
    assert world.broker.expire_isr(LAG_MS) == []
    world.now_ms = LAG_MS + 1
    effects = world.due(Due.ISR_EXPIRATION)
    assert delay_ms(effects, Due.ISR_EXPIRATION, world.now_ms) == LAG_MS // 2
    assert delay_ms(effects, Due.ALTER_PARTITION, world.now_ms) == 0
    assert world.ask().new_isr == (IsrMember(1, 0), IsrMember(3, 2))
    assert world.broker.leaders[KEY].maximal_isr == {1, 2, 3}


def test_a_member_that_has_everything_does_not_lag_however_long_it_is_silent() -> None:
    world = leading(isr=(1, 2))
    world.fetch(2, 0)
    assert world.broker.expire_isr(100 * LAG_MS) == []


def test_a_member_that_never_fetched_lags_from_the_start_of_the_epoch() -> None:
    world = World().running()
    world.now_ms = 500
    world.with_partition(isr=(1, 2))
    assert world.broker.expire_isr(500 + LAG_MS) == []
    assert world.broker.expire_isr(501 + LAG_MS) != []


def test_a_member_that_always_reaches_the_last_end_of_the_log_does_not_lag() -> None:
    world = leading(isr=(1, 2), records=1)
    for offset in range(1, 5):
        world.now_ms += LAG_MS // 2
        world.broker.leaders[KEY].append([b"x"], 1)
        world.fetch(2, offset)
    assert world.broker.leaders[KEY].out_of_sync(world.now_ms + LAG_MS // 2, LAG_MS) == frozenset()


def test_a_member_lags_from_when_it_was_last_caught_up() -> None:
    world = leading(isr=(1, 2), records=1)
    leader = world.broker.leaders[KEY]
    world.now_ms = 10
    world.fetch(2, 1)
    leader.append([b"x"], 1)
    world.now_ms = 20
    world.fetch(2, 0)
    assert leader.out_of_sync(10 + LAG_MS, LAG_MS) == frozenset()
    assert leader.out_of_sync(11 + LAG_MS, LAG_MS) == {2}


def test_a_member_that_fetches_but_gets_no_further_lags() -> None:
    world = leading(isr=(1, 2), records=1)
    for _ in range(4):
        world.now_ms += LAG_MS // 3
        world.fetch(2, 0)
    assert world.broker.leaders[KEY].out_of_sync(world.now_ms, LAG_MS) == {2}


def test_no_member_is_removed_while_another_change_is_asked_for() -> None:
    world = leading(isr=(1, 2), records=1)
    world.fetch(3, 1)
    assert world.broker.expire_isr(10 * LAG_MS) == []
    assert world.ask().new_isr[-1] == IsrMember(3, 2)


# The high watermark.


def test_the_high_watermark_waits_for_the_whole_maximal_isr() -> None:
    world = leading(records=3)
    assert world.broker.advance_high_watermark(KEY)
    world.fetch(2, 3)
    world.broker.leaders[KEY].append([b"x"], 1)
    assert not world.broker.advance_high_watermark(KEY)
    assert world.broker.leaders[KEY].isr == {1}
    world.fetch(2, 4)
    assert world.broker.logs[KEY].high_watermark == 4


def test_a_member_that_was_not_seen_counts_as_having_nothing() -> None:
    world = leading(isr=(1, 2), records=1)
    assert not world.broker.advance_high_watermark(KEY)
    world.fetch(2, 1)
    assert world.broker.logs[KEY].high_watermark == 1


def test_the_high_watermark_does_not_go_back() -> None:
    world = leading(isr=(1, 2), records=2)
    world.fetch(2, 2)
    world.fetch(2, 0)
    assert world.broker.leaders[KEY].replicated_offset == 0
    assert world.broker.logs[KEY].high_watermark == 2


def test_a_member_less_may_commit_more() -> None:
    world = leading(isr=(1, 2), records=2)
    effects = world.change(isr=(1,))
    assert delay_ms(effects, Due.HIGH_WATERMARK, 0) == 0
    world.due(Due.HIGH_WATERMARK, KEY)
    assert world.broker.logs[KEY].high_watermark == 2


def test_a_refused_member_may_commit_more() -> None:
    world = leading()
    world.fetch(2, 0)
    request = world.ask()
    world.broker.append(KEY, b"x")
    assert world.broker.logs[KEY].high_watermark == 0
    effects = world.answer(request, ErrorCode.INELIGIBLE_REPLICA)
    assert delay_ms(effects, Due.HIGH_WATERMARK, 0) == 0


def test_a_record_is_acknowledged_once_it_is_committed_by_enough_replicas() -> None:
    world = leading(isr=(1, 2))
    leader = world.broker.leaders[KEY]
    error, end_offset = world.broker.append(KEY, b"x", b"y")
    assert (error, end_offset) == (ErrorCode.NONE, 2)
    assert world.broker.acknowledgement(KEY, end_offset) is None
    world.fetch(2, 2)
    assert world.broker.acknowledgement(KEY, end_offset) == ErrorCode.NONE
    assert leader.acknowledgement(end_offset, 2) == ErrorCode.NONE
    assert leader.acknowledgement(end_offset, 3) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_a_record_of_a_leader_that_is_alone_in_the_isr_is_committed_at_once() -> None:
    world = leading()
    _, end_offset = world.broker.append(KEY, b"x")
    assert world.broker.acknowledgement(KEY, end_offset) == ErrorCode.NONE


def test_a_record_counts_by_the_min_insync_replicas_that_hold_when_it_is_committed() -> None:
    world = leading()
    _, end_offset = world.broker.append(KEY, b"x")
    world.replay(ConfigRecord(2, "t", "min.insync.replicas", "2"))
    assert world.broker.acknowledgement(KEY, end_offset) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_records_have_the_leader_epoch_in_which_they_were_appended() -> None:
    world = leading(isr=(1, 2))
    world.change(isr=(1,))
    world.broker.append(KEY, b"x")
    assert world.broker.logs[KEY].last_epoch == 0
    world.change(leader=1)
    world.broker.append(KEY, b"y")
    assert world.broker.logs[KEY].last_epoch == 1


def test_who_does_not_lead_takes_no_records() -> None:
    world = leading(isr=(1, 2))
    world.change(leader=2)
    assert world.broker.append(KEY, b"x") == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert world.broker.acknowledgement(KEY, 0) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_too_few_replicas_take_no_records() -> None:
    world = leading()
    assert world.broker.leaders[KEY].append([b"x"], 2) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.broker.logs[KEY].end_offset == 0


# Whom a leader serves.

FETCH = FetchRequest(2, 1, TOPIC, 0, current_leader_epoch=1, fetch_offset=0, last_fetched_epoch=-1)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (FETCH, ErrorCode.NONE),
        (replace(FETCH, current_leader_epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (replace(FETCH, current_leader_epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (replace(FETCH, partition_id=1), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (replace(FETCH, replica_id=1, replica_epoch=0), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (replace(FETCH, replica_epoch=0), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (replace(FETCH, replica_epoch=99), ErrorCode.NONE),
        (replace(FETCH, replica_id=9), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (replace(FETCH, topic_id=UUID(int=1)), ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_whom_a_leader_serves(request_: FetchRequest, error: ErrorCode) -> None:
    world = World().running().with_partition(leader_epoch=1)
    response, _ = world.broker.on_fetch(request_, 0)
    assert response.error == error
    followers = world.broker.leaders[KEY].followers
    assert followers.keys() == ({request_.replica_id} if error == ErrorCode.NONE else set())


def test_a_follower_does_not_serve() -> None:
    world = leading(isr=(1, 2))
    world.change(leader=2)
    response, _ = world.broker.on_fetch(FETCH, 0)
    assert response.error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_change_of_replicas_at_the_same_leader_epoch_is_taken_over() -> None:
    world = leading()
    world.replay(PartitionChangeRecord(0, TOPIC, replicas=(1, 2, 3, 4), adding_replicas=(4,)))
    assert world.broker.leaders[KEY].replicas == (1, 2, 3, 4)


def test_a_copy_lives_its_own_life() -> None:
    world = leading(records=1)
    copy = world.broker.copy()
    copy.append(KEY, b"y")
    copy.leaders[KEY].ask_to_add(2)
    copy.on_fetch(FetchRequest(3, 2, TOPIC, 0, 0, 0, -1), 0)
    assert copy.leaders[KEY].log is copy.logs[KEY]
    assert world.broker.logs[KEY].end_offset == 1 and world.broker.logs[KEY].high_watermark == 0
    assert world.broker.leaders[KEY].maximal_isr == {1}
    assert world.broker.leaders[KEY].followers == {}


@pytest.mark.parametrize(("level", "asks"), [(9, True), (10, False)])
def test_below_metadata_version_3_5_fetches_have_no_broker_epoch(level: int, asks: bool) -> None:
    """The leader serves such a follower, and asks to add it, without an epoch (KIP-903)."""
    world = World().running().with_partition(isr=(1,), leader_epoch=1)
    world.replay(FeatureLevelRecord("metadata.version", level, level))
    response, effects = world.broker.on_fetch(replace(FETCH, replica_epoch=-1), 0)
    assert response.error == (ErrorCode.NONE if asks else ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert bool(effects) == asks
    if asks:
        asked = world.broker.leaders[KEY].pending_change
        assert asked is not None and asked.new_isr == (IsrMember(1, 0), IsrMember(2, -1))
