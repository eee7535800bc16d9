"""ReplicaFetch: its bytes, and how a follower's log becomes its leader's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.heartbeat.control_requests import PartitionState, TopicPartition
from impl.heartbeat.log import Batch, Log
from impl.heartbeat.messages import ErrorCode
from impl.heartbeat.replica import Replica
from impl.heartbeat.replica_fetch import (
    Fetched,
    FetchPosition,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    read_fetch_request,
    read_fetch_response,
)
from impl.runtime.wire import WireError

PARTITION = TopicPartition("t", 2)
REQUEST = ReplicaFetchRequest(1, 5, (FetchPosition(PARTITION, 4, 7, 3),))
RESPONSE = ReplicaFetchResponse(
    (
        Fetched(PARTITION, ErrorCode.NONE, -1, 9, (Batch(7, 2, 4, b"ab"), Batch(9, 1, 4, b""))),
        Fetched(PARTITION, ErrorCode.FENCED_LEADER_EPOCH),
    )
)


def test_a_request_is_these_bytes() -> None:
    head = "00 00 00 01 00 00 00 00 00 00 00 05 00 00 00 01 00 01 74 00 00 00 02 "  # broker, incarnation, partition
    assert REQUEST.body().hex(" ") == head + "00 00 00 04 00 00 00 00 00 00 00 07 00 00 00 03"
    assert read_fetch_request(REQUEST.body()) == REQUEST


def test_a_response_is_read_as_it_was_sent() -> None:
    assert read_fetch_response(RESPONSE.body()) == RESPONSE


@pytest.mark.parametrize(
    ("read", "data"), [(read_fetch_request, REQUEST.body()), (read_fetch_response, RESPONSE.body())]
)
def test_what_is_cut_or_goes_on_is_refused(read: object, data: bytes) -> None:
    assert callable(read)
    for wrong in (*(data[:end] for end in range(len(data))), data + b"\0"):
        with pytest.raises(WireError):
            read(wrong)


# Logs.

EPOCH = 5
EPOCHS = st.lists(st.integers(0, EPOCH - 1), max_size=6).map(sorted)


def log_of(epochs: list[int], own: bytes) -> Log:
    """A log of batches of one to three records."""
    log = Log()
    for number, epoch in enumerate(epochs):
        log.append(Batch(log.end_offset, 1 + number % 3, epoch, own))
    return log


@settings(max_examples=60)
@given(EPOCHS, EPOCHS, EPOCHS)
def test_a_follower_gets_the_log_of_its_leader(common: list[int], led: list[int], followed: list[int]) -> None:
    """Whatever it has beyond what they share, of epochs that the leader's log has not at that place."""
    last = max(common, default=-1)
    ours = [one for one in led if one > last]
    others = [one for one in followed if one > last and one not in ours]
    logs = log_of([*common, *ours], b"common"), log_of([*common, *others], b"common")
    state = PartitionState(PARTITION, 0, 0, EPOCH, (0, 1), 0, (0, 1))
    leader, follower = (Replica(PARTITION, broker, log) for broker, log in enumerate(logs))
    for one in (leader, follower):
        one.take(state, 0)
    for _ in range(len(common) + len(ours) + len(others) + 2):
        asked = follower.position()
        follower.take_fetched(leader.serve(1, 8, asked, 0), asked)
    assert follower.log.batches == leader.log.batches
    assert leader.seen(1).is_caught_up and leader.seen(1).incarnation == 8


def test_a_follower_of_a_former_epoch_gets_nothing_and_is_not_seen() -> None:
    leader = Replica(PARTITION, 0, log_of([1], b"x"))
    at = FetchPosition(PARTITION, EPOCH, 0, -1)
    assert leader.serve(1, 8, at, 0).error_code == ErrorCode.NOT_LEADER_FOR_PARTITION
    leader.take(PartitionState(PARTITION, 0, 0, EPOCH + 1, (0, 1), 0, (0, 1)), 0)
    assert leader.serve(1, 8, at, 0).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert leader.followers == {}


def test_an_answer_to_an_earlier_position_is_not_taken() -> None:
    follower = Replica(PARTITION, 1, Log())
    follower.take(PartitionState(PARTITION, 0, 0, EPOCH, (0, 1), 0, (0, 1)), 0)
    asked, answer = follower.position(), Fetched(PARTITION, ErrorCode.NONE, -1, 1, (Batch(0, 1, 4, b"x"),))
    follower.take_fetched(answer, asked)
    follower.take_fetched(answer, asked)
    assert follower.log.batches == [Batch(0, 1, 4, b"x")]
