"""Followers and logs: what they ask for, take over and truncate."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.kraft.broker import (
    NO_EPOCH,
    EpochEnd,
    FetchRequest,
    FetchResponse,
    InMemoryReplicaLog,
    LogEntry,
    PartitionFollower,
    PartitionLeader,
)
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import InvalidFieldError
from impl.kraft.image import Partition
from tests.impl.broker_parts import KEY, TOPIC, World, log_of

FOLLOWER = PartitionFollower(leader=2, leader_epoch=5)


def leader_of(log: InMemoryReplicaLog) -> PartitionLeader:
    partition = Partition((2, 1), (2,), (), (), leader=2, leader_epoch=5, partition_epoch=0)
    return PartitionLeader.of(KEY, partition, 0, log, 0)


def fetch(follower_log: InMemoryReplicaLog, leader: PartitionLeader, max_bytes: int = 1 << 20) -> None:
    """One exchange."""
    request = FOLLOWER.fetch_request(KEY, 1, 0, follower_log)
    leader.note_fetch(request, 0)
    FOLLOWER.fetched(follower_log, request, leader.read(request, max_bytes))


def epochs(log: InMemoryReplicaLog) -> list[int]:
    return [entry.leader_epoch for entry in log.entries]


# Logs.


@pytest.mark.parametrize(
    ("epoch", "end"),
    [(0, (NO_EPOCH, 0)), (1, (1, 2)), (2, (1, 2)), (3, (3, 3)), (9, (3, 3))],
)
def test_where_an_epoch_ends(epoch: int, end: tuple[int, int]) -> None:
    assert log_of(1, 1, 3).end_of_epoch(epoch) == EpochEnd(*end)


def test_a_read_is_bounded_but_gives_something() -> None:
    log = InMemoryReplicaLog([LogEntry(0, b"1234"), LogEntry(0, b"56"), LogEntry(0, b"7")])
    assert [len(log.read(0, size)) for size in (0, 4, 5, 6, 7)] == [1, 1, 1, 2, 3]
    assert log.read(3, 10) == ()


def test_no_high_watermark_is_past_the_end() -> None:
    log = InMemoryReplicaLog([LogEntry(0, b"")] * 3, high_watermark=2)
    log.truncate(3)
    assert (log.end_offset, log.high_watermark) == (3, 2)
    assert log.copy().high_watermark == 2
    log.truncate(1)
    assert (log.end_offset, log.high_watermark) == (1, 1)


def test_the_last_epoch_of_an_empty_log_is_none() -> None:
    assert (log_of().last_epoch, log_of(0, 4).last_epoch) == (NO_EPOCH, 4)


# Fetches.


def test_a_follower_asks_for_what_comes_after_its_log() -> None:
    world = World().running().with_partition(isr=(2,), leader=2, leader_epoch=4)
    world.broker.logs[KEY].append(log_of(0, 0).entries)
    assert world.broker.fetch_request(KEY) == FetchRequest(1, 0, TOPIC, 0, 4, 2, 0)


def test_who_does_not_follow_asks_for_nothing() -> None:
    assert World().running().with_partition().broker.fetch_request(KEY) is None


def test_a_follower_takes_over_entries_and_high_watermark() -> None:
    own, leader = log_of(1), leader_of(log_of(1, 2, 2))
    leader.log.high_watermark = 2
    fetch(own, leader)
    assert (epochs(own), own.high_watermark) == ([1, 2, 2], 2)


def test_the_high_watermark_of_a_follower_goes_no_further_than_its_log() -> None:
    own, leader = log_of(), leader_of(log_of(1, 1, 1))
    leader.log.high_watermark = 3
    fetch(own, leader, max_bytes=2)
    assert (own.end_offset, own.high_watermark) == (2, 2)


def test_what_the_leader_does_not_have_is_truncated_first() -> None:
    own, leader = log_of(1, 3), leader_of(log_of(1, 2, 2))
    leader.log.high_watermark = 3
    fetch(own, leader)
    assert (epochs(own), own.high_watermark) == ([1], 0), "where the logs part is not known yet"
    assert leader.followers[1].log_end_offset == 0
    fetch(own, leader)
    assert epochs(own) == [1, 2, 2]


def test_a_longer_log_of_the_same_epoch_is_as_far_as_the_leader() -> None:
    own, leader = log_of(1, 1), leader_of(log_of(1))
    fetch(own, leader)
    assert leader.followers[1].log_end_offset == 1
    assert epochs(own) == [1]


def test_who_has_to_truncate_gets_no_entries() -> None:
    request = FOLLOWER.fetch_request(KEY, 1, 0, log_of(1, 1))
    response = leader_of(log_of(1, 2, 2)).read(request, 1 << 20)
    assert response == FetchResponse(ErrorCode.NONE, 0, EpochEnd(1, 1), ())


def test_no_log_is_truncated_to_an_offset_below_its_beginning() -> None:
    """Python would cut that many records off the end."""
    log = log_of(1, 1, 2, 2)
    request = FOLLOWER.fetch_request(KEY, 1, 0, log)
    response = FetchResponse(ErrorCode.NONE, 0, EpochEnd(1, -1))
    with pytest.raises(InvalidFieldError, match=r"FetchResponse.diverging.end_offset must be an offset, not -1"):
        FOLLOWER.fetched(log, request, response)
    assert epochs(log) == [1, 1, 2, 2]


def test_a_log_that_the_leader_has_nothing_of_is_truncated_whole() -> None:
    own, leader = log_of(3), leader_of(log_of())
    fetch(own, leader)
    assert own.end_offset == leader.followers[1].log_end_offset == 0


def test_a_leader_of_newer_epochs_only_names_the_epoch_that_it_is_asked_for() -> None:
    """A follower of Kafka keeps its log where the epoch is below 0, and takes it for committed."""
    request = FOLLOWER.fetch_request(KEY, 1, 0, log_of(3))
    assert leader_of(log_of(5, 5)).read(request, 100).diverging == EpochEnd(3, 0)


REQUEST = FOLLOWER.fetch_request(KEY, 1, 0, log_of(1))
RESPONSE = FetchResponse(ErrorCode.NONE, 2, None, (LogEntry(1, b"x"),))
DIVERGING = FetchResponse(ErrorCode.NONE, 2, EpochEnd(NO_EPOCH, 0))


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (replace(REQUEST, current_leader_epoch=4), RESPONSE),
        (replace(REQUEST, fetch_offset=0), RESPONSE),
        (replace(REQUEST, last_fetched_epoch=0), RESPONSE),
        (replace(REQUEST, fetch_offset=0), DIVERGING),
        (REQUEST, FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER)),
    ],
)
def test_what_is_no_answer_to_the_followers_question_changes_nothing(
    request_: FetchRequest, response: FetchResponse
) -> None:
    log = log_of(1)
    FOLLOWER.fetched(log, request_, response)
    assert (epochs(log), log.high_watermark) == ([1], 0)


def test_a_response_that_comes_when_the_broker_no_longer_follows_changes_nothing() -> None:
    world = World().running().with_partition(isr=(1, 2), leader=2)
    request = world.broker.fetch_request(KEY)
    assert request is not None
    world.change(leader=1)
    world.broker.on_fetch_response(request, FetchResponse(ErrorCode.NONE, 2, None, (LogEntry(0, b"x"),)))
    assert world.broker.logs[KEY].end_offset == 0


def test_a_broker_takes_over_what_it_has_fetched() -> None:
    world = World().running().with_partition(isr=(2,), leader=2)
    request = world.broker.fetch_request(KEY)
    assert request is not None
    copy = world.broker.copy()
    world.broker.on_fetch_response(request, FetchResponse(ErrorCode.NONE, 1, None, (LogEntry(0, b"x"),)))
    assert (world.broker.logs[KEY].end_offset, world.broker.logs[KEY].high_watermark) == (1, 1)
    assert copy.logs[KEY].end_offset == 0
    world.change(leader=-1)
    assert world.broker.fetch_request(KEY) is None and copy.fetch_request(KEY) == request


LOGS = st.lists(st.integers(0, 5), max_size=8).map(sorted)


@given(common=LOGS, own=LOGS, leaders=LOGS)
def test_any_follower_ends_with_the_log_of_its_leader_and_keeps_what_they_share(
    common: list[int], own: list[int], leaders: list[int]
) -> None:
    """Entries are named by their epoch and how many of it there are, so that logs of one epoch agree (KIP-101)."""
    base = max(common, default=0)
    follower_log, leader_log = numbered(common, own, base), numbered(common, leaders, base + 10)
    leader = leader_of(leader_log)
    for _ in range(40):
        seen = follower_log.copy()
        fetch(follower_log, leader)
        known = leader.followers[1].log_end_offset
        assert seen.entries[:known] == leader_log.entries[:known]
        assert follower_log.entries[: len(common)] == leader_log.entries[: len(common)]
        if follower_log.end_offset == seen.end_offset:
            break
    assert follower_log.entries == leader_log.entries


def numbered(common: list[int], rest: list[int], base: int) -> InMemoryReplicaLog:
    """A log that begins with `common` and goes on at epochs from `base` on, which no other log has."""
    entries = [*common, *[base + 1 + epoch for epoch in rest]]
    return InMemoryReplicaLog([LogEntry(epoch, f"{i}".encode()) for i, epoch in enumerate(entries)])
