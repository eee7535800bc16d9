"""Snapshots in the core of the quorum: who is answered with one, how it is fetched, and what it stands for."""

from __future__ import annotations

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import (
    Answer,
    AnswerSnapshot,
    DeleteBefore,
    FreezeSnapshot,
    InstallSnapshot,
    LoadSnapshot,
    Send,
    SetTimer,
    Timer,
    TruncateLog,
)
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from impl.kraft.raft.roles import Leader
from impl.kraft.storage.batches import RecordBatch, encode
from impl.kraft.storage.election import ElectionState
from tests.impl.kraft.raft.test_raft import DECIDED, THREE, fetch, leading, of, voter

SNAPSHOT, EMPTY = (10, 2), (0, 0)


def with_snapshot(log_end: int = 12) -> LogEnds:
    """A log from offset 10 on: epoch 2 from 11 on, epoch 3 from 12 on, where there is so much of it."""
    return LogEnds.recovered(log_end, [(2, 10), (3, 12)][: 1 + (log_end > 12)], 10, [(6, 1), SNAPSHOT])


@pytest.mark.parametrize(
    ("asker", "answer"),
    [
        (EMPTY, SNAPSHOT),
        ((9, 2), SNAPSHOT),
        ((10, 1), SNAPSHOT),
        ((10, 2), None),
        ((11, 2), None),
        ((30, 1), SNAPSHOT),
        ((30, 2), None),
    ],
)
def test_who_is_answered_with_a_snapshot(asker: tuple[int, int], answer: tuple[int, int] | None) -> None:
    """Who lacks what comes before the log, and who has a log of so old an epoch that it is unknown where that ends."""
    assert with_snapshot().snapshot_for(*asker) == answer


def test_a_log_without_snapshots_is_fetched_from_its_start() -> None:
    assert LogEnds.recovered(12, [(1, 0)]).snapshot_for(*EMPTY) is None


def test_a_log_that_is_cut_to_its_snapshot_knows_its_epoch() -> None:
    log = LogEnds()
    log.restart_at(SNAPSHOT)
    log.append(encode(RecordBatch(10, 3, 0, DECIDED)), 3)
    log.cut(10)
    assert (log.last_epoch, log.end_of(3), log.is_flushed) == (2, (2, 10), True)


def deleted() -> LogEnds:
    log = LogEnds.recovered(12, [(2, 0), (3, 10)], 0, [SNAPSHOT])
    log.delete_before(SNAPSHOT)
    return log


@pytest.mark.parametrize(
    "log",
    [LogEnds.recovered(12, [(3, 10)], 10, [SNAPSHOT]), deleted()],
    ids=["found on disk", "deleted"],
)
def test_the_epoch_before_the_log_is_known_by_the_snapshot(log: LogEnds) -> None:
    """What is behind a snapshot need not be committed: the next leader may have no such epoch, but the one before."""
    assert log.end_of(2) == (2, 10) and log.end_of(3) == (3, 12)
    raft, request = fetching(log)
    effects = raft.on_response(1, request, FetchResponse(ErrorCode.NONE, 1, 3, diverging=(2, 10)), 0)
    assert of(TruncateLog, effects) == [TruncateLog(10)] and log.last_epoch == 2


def test_what_a_snapshot_stands_for_is_committed_at_a_start() -> None:
    assert voter(ElectionState(2), with_snapshot()).voter.high_watermark == 10


def fetching(log: LogEnds | None = None) -> tuple[Raft, FetchRequest]:
    """Of leader 1 in epoch 3, and its fetch."""
    raft = Raft(RaftSettings(0, THREE), ElectionState(3, 1, None, THREE), log or LogEnds())
    [sent] = of(Send, raft.start(0))
    assert isinstance(sent.request, FetchRequest)
    return raft, sent.request


def receiving(log: LogEnds | None = None) -> tuple[Raft, FetchSnapshotRequest]:
    raft, request = fetching(log)
    response = FetchResponse(ErrorCode.NONE, 1, 3, snapshot_id=SNAPSHOT)
    [sent] = of(Send, raft.on_response(1, request, response, 0))
    assert isinstance(sent.request, FetchSnapshotRequest) and sent.request.position == 0
    return raft, sent.request


def piece(
    position: int, data: bytes = b"12345", error: ErrorCode = ErrorCode.NONE, of: tuple[int, int] = SNAPSHOT
) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(error, 1, 3, 10, position, data, of)


def frozen(log: LogEnds | None = None) -> Raft:
    """All of the snapshot has come. log: with which it was fetched."""
    raft, request = receiving(log)
    [sent] = of(Send, raft.on_response(1, request, piece(0), 0))
    assert isinstance(sent.request, FetchSnapshotRequest) and sent.request.position == 5
    effects = raft.on_response(1, sent.request, piece(5), 0)
    assert of(FreezeSnapshot, effects) and not of(Send, effects)
    return raft


def test_a_snapshot_is_fetched_piece_by_piece_and_the_log_goes_on_at_its_end() -> None:
    raft = frozen()
    effects = raft.on_frozen(SNAPSHOT, True, 0)
    assert [type(effect) for effect in effects] == [InstallSnapshot, LoadSnapshot, Send]
    [sent] = of(Send, effects)
    assert isinstance(sent.request, FetchRequest)
    assert (sent.request.fetch_offset, sent.request.last_fetched_epoch) == SNAPSHOT
    assert raft.voter.high_watermark == 10


def test_a_snapshot_that_was_damaged_on_its_way_is_fetched_anew_after_a_while() -> None:
    raft = frozen()
    effects = raft.on_frozen(SNAPSHOT, False, 0)
    assert not of(Send, effects) and not of(InstallSnapshot, effects)
    [sent] = of(Send, raft.on_timer(Timer.RETRY, 20, 1))
    assert isinstance(sent.request, FetchRequest)


def test_who_hears_that_its_leader_leads_no_more_while_it_takes_a_snapshot_stands_soon() -> None:
    raft, request = receiving()
    refused = FetchSnapshotResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 1, 3)
    [timer] = [one for one in of(SetTimer, raft.on_response(1, request, refused, 7)) if one.timer is Timer.ELECTION]
    assert (timer.at_ms, timer.spread_ms) == (7, raft.voter.settings.election_backoff_max_ms)


def test_a_snapshot_in_flight_is_dropped_with_the_epoch() -> None:
    raft, request = receiving()
    raft.handle(1, BeginQuorumEpochRequest("", 0, 2, 4), 0)
    assert not of(FreezeSnapshot, raft.on_response(1, request, piece(0), 0))


def test_a_snapshot_that_is_on_disk_stands_for_the_log_that_lacks_it_in_the_next_epoch_too() -> None:
    """Else the next leader could ask for a truncation below its end: of what is behind in a log of an older epoch."""
    raft = frozen(LogEnds.recovered(12, [(1, 0)]))
    raft.handle(1, BeginQuorumEpochRequest("", 0, 2, 4), 0)
    assert of(InstallSnapshot, raft.on_frozen(SNAPSHOT, True, 0)) == [InstallSnapshot(SNAPSHOT)]
    assert (raft.voter.log.end_offset, raft.voter.high_watermark) == (10, 10)


def test_a_log_that_goes_on_behind_it_stays_in_the_next_epoch() -> None:
    raft = frozen(LogEnds.recovered(12, [(2, 0)]))
    raft.handle(1, BeginQuorumEpochRequest("", 0, 2, 4), 0)
    assert not of(InstallSnapshot, raft.on_frozen(SNAPSHOT, True, 0)) and raft.voter.log.end_offset == 12


@pytest.mark.parametrize(
    ("response", "is_dropped"),
    [
        (piece(0, b"", ErrorCode.SNAPSHOT_NOT_FOUND), True),
        (None, False),
        (piece(0, b""), False),
        (piece(5), False),
        (piece(0, of=(9, 2)), False),
    ],
    ids=["gone", "given up", "empty", "of another position", "of another snapshot"],
)
def test_a_piece_that_does_not_come_is_asked_for_again(
    response: FetchSnapshotResponse | None, is_dropped: bool
) -> None:
    """Of a snapshot that is gone, the leader is asked what it has."""
    raft, request = receiving()
    assert not of(Send, raft.on_response(1, request, response, 0))
    [sent] = of(Send, raft.on_timer(Timer.RETRY, 20, 1))
    assert isinstance(sent.request, FetchRequest if is_dropped else FetchSnapshotRequest)


def test_a_snapshot_of_what_is_applied_already_is_refused() -> None:
    raft, request = fetching(with_snapshot())
    effects = raft.on_response(1, request, FetchResponse(ErrorCode.NONE, 1, 3, snapshot_id=(10, 2)), 0)
    assert not of(Send, effects) and of(SetTimer, effects)


def leading_with_snapshot() -> Raft:
    raft = leading()
    raft.on_response(1, BeginQuorumEpochRequest("", 1, 0, 1), None, 0)
    raft.handle(1, fetch(1, 1), 0)
    assert not raft.on_snapshot((1, 1), 0)
    assert of(DeleteBefore, raft.delete_before((1, 1), 0))
    return raft


def test_a_leader_answers_with_its_newest_snapshot_and_does_not_count_the_asker() -> None:
    raft = leading_with_snapshot()
    [answer] = of(Answer, raft.handle(2, fetch(2, 0, 0), 900))
    assert isinstance(answer.response, FetchResponse) and answer.response.snapshot_id == (1, 1)
    assert isinstance(raft.voter.role, Leader) and raft.voter.role.ends[2] == 0 and raft.voter.role.fetched_ms[2] == 900


def test_a_leader_sends_pieces_of_what_there_is() -> None:
    raft = leading_with_snapshot()
    [answer] = of(AnswerSnapshot, raft.handle(2, FetchSnapshotRequest("", 2, 1, (1, 1), 5, 3), 900))
    assert (answer.response.snapshot_id, answer.response.position, answer.max_bytes) == ((1, 1), 5, 3)
    assert answer.with_data(9, b"678").data == b"678"
    assert answer.with_data(5, b"").error is ErrorCode.POSITION_OUT_OF_RANGE
    assert answer.with_data(None, b"").error is ErrorCode.SNAPSHOT_NOT_FOUND
    assert isinstance(raft.voter.role, Leader) and raft.voter.role.fetched_ms[2] == 900


def test_a_snapshot_that_is_not_there_is_not_found() -> None:
    [answer] = of(Answer, leading_with_snapshot().handle(2, FetchSnapshotRequest("", 2, 1, (2, 1), 0, 3), 0))
    assert answer.response.error is ErrorCode.SNAPSHOT_NOT_FOUND


@pytest.mark.parametrize(
    ("epoch", "error"), [(0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)], ids=["old", "newer"]
)
def test_who_asks_for_a_snapshot_is_in_the_leaders_epoch(epoch: int, error: ErrorCode) -> None:
    [answer] = of(Answer, leading_with_snapshot().handle(2, FetchSnapshotRequest("", 2, epoch, (1, 1), 0, 3), 0))
    assert answer.response.error is error
