"""A leader: its log grows, others fetch from it, and what a majority has on disk is committed (KIP-595, Fetch)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.effects import Answer, AnswerFetch, AnswerSnapshot, AppendToLog, Claim, Committed, Flush, Timer
from impl.kraft.raft.messages import (
    UNKNOWN,
    UNTOLD,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from impl.kraft.raft.roles import Candidate, Leader, Parked, Resigned
from impl.kraft.raft.voter import Voter
from impl.kraft.storage.batches import Record, RecordBatch, encode
from impl.kraft.storage.control import LeaderChange, leader_change

# In and out of office.


def lead(voter: Voter, candidate: Candidate) -> None:
    """Lead the epoch. Its first batch is a LeaderChange; once that is committed, the controller may claim."""
    settings, end = voter.settings, voter.log.end_offset
    others = settings.others
    voter.persist(replace(voter.election, leader=voter.node_id))
    voter.role = Leader(end, dict.fromkeys(others, 0), dict.fromkeys(others, voter.now_ms))
    change = leader_change(LeaderChange(voter.node_id, settings.voters, tuple(sorted(candidate.granted))))
    append_batch(voter, RecordBatch(end, voter.epoch, voter.now_ms, (change,), is_control=True))
    begin_all(voter)
    if others:
        voter.set_timer(Timer.CHECK_QUORUM, settings.check_quorum_ms)


def begin_all(voter: Voter) -> None:
    """Make itself known to all, now and every half of a fetch timeout."""
    for other in voter.settings.others:
        begin(voter, other)
    voter.set_timer(Timer.BEGIN, voter.settings.fetch_timeout_ms // 2)


def begin(voter: Voter, other: int) -> None:
    voter.send(other, BeginQuorumEpochRequest(voter.settings.cluster_id, other, voter.node_id, voter.epoch))


def resign(voter: Voter) -> None:
    """Lead no more, and tell who is the best to come next: that one last, since the others would refuse it before."""
    role = voter.role
    assert isinstance(role, Leader)
    voter.leave_office()
    voter.role = Resigned()
    successors = tuple(sorted(role.ends, key=lambda other: (-role.ends[other], other)))
    for other in reversed(successors):
        voter.send(other, EndQuorumEpochRequest(voter.settings.cluster_id, voter.node_id, voter.epoch, successors))
    voter.await_leader()


def check_quorum(voter: Voter, role: Leader) -> None:
    """Resign unless a majority, itself among it, was heard of lately: else its clients would wait for ever."""
    heard = sorted([voter.now_ms, *role.fetched_ms.values()], reverse=True)
    lapses_ms = heard[len(heard) // 2] + voter.settings.check_quorum_ms
    if lapses_ms <= voter.now_ms:
        resign(voter)
    else:
        voter.set_timer(Timer.CHECK_QUORUM, lapses_ms - voter.now_ms)


# Its log.


def append(voter: Voter, records: Sequence[Record]) -> None:
    """Append what the controller has decided, as one batch."""
    append_batch(voter, RecordBatch(voter.log.end_offset, voter.epoch, voter.now_ms, tuple(records)))


def append_batch(voter: Voter, batch: RecordBatch) -> None:
    """One flush at a time: what is appended meanwhile is in the next."""
    data, was_flushed = encode(batch), voter.log.is_flushed
    voter.log.append(data, voter.epoch)
    voter.ask_for(AppendToLog(data, voter.epoch))
    if was_flushed:
        voter.ask_for(Flush())
    answer_parked(voter)


def advance(voter: Voter) -> None:
    """Commit what a majority has on disk, if a batch of the leader's own epoch is among it (KAFKA-12619)."""
    role = voter.role
    assert isinstance(role, Leader)
    ends = sorted([voter.log.flushed_end, *role.ends.values()], reverse=True)
    end = ends[len(ends) // 2]
    if end <= max(voter.high_watermark, role.epoch_start):
        return
    is_first = voter.high_watermark <= role.epoch_start
    voter.high_watermark = end
    voter.ask_for(Committed(end))
    if is_first:
        voter.ask_for(Claim(voter.epoch))
    answer_parked(voter)


# Fetches.


def handle_fetch(voter: Voter, call: int, request: FetchRequest) -> None:
    """Answer a fetch, or park it until there is something new. A voter acknowledges by it what is before its offset."""
    role = voter.role
    assert isinstance(role, Leader)
    log = voter.log
    if parked := role.parked.get(request.replica_id):
        answer(voter, parked)
        role = replace(role, parked=without(role, request.replica_id))
    voter.role = role = heard_of(role, request.replica_id, voter.now_ms)
    is_voter = request.replica_id in role.ends
    if snapshot_id := log.snapshot_for(request.fetch_offset, request.last_fetched_epoch):
        voter.ask_for(Answer(call, FetchResponse(ErrorCode.NONE, voter.node_id, voter.epoch, snapshot_id=snapshot_id)))
        return
    if not log.has(request.fetch_offset, request.last_fetched_epoch):
        diverging = log.end_of(request.last_fetched_epoch)
        voter.ask_for(Answer(call, FetchResponse(ErrorCode.NONE, voter.node_id, voter.epoch, diverging=diverging)))
        return
    if is_voter:
        voter.role = replace(role, ends={**role.ends, request.replica_id: request.fetch_offset})
        advance(voter)
    answer_or_park(voter, Parked(call, request))


def heard_of(role: Leader, replica_id: int, now_ms: int) -> Leader:
    """A fetch is a sign of life of a voter, whatever its answer."""
    return replace(role, fetched_ms={**role.fetched_ms, replica_id: now_ms}) if replica_id in role.ends else role


def handle_fetch_snapshot(voter: Voter, call: int, request: FetchSnapshotRequest) -> None:
    """Answer with bytes of a snapshot, if it is there."""
    role = voter.role
    assert isinstance(role, Leader)
    voter.role = heard_of(role, request.replica_id, voter.now_ms)
    response = FetchSnapshotResponse(
        ErrorCode.NONE, voter.node_id, voter.epoch, position=request.position, snapshot_id=request.snapshot_id
    )
    if request.snapshot_id not in voter.log.snapshots:
        voter.ask_for(Answer(call, replace(response, error=ErrorCode.SNAPSHOT_NOT_FOUND)))
        return
    max_bytes = min(request.max_bytes, voter.settings.fetch_snapshot_max_bytes)
    voter.ask_for(AnswerSnapshot(call, response, request.snapshot_id, max_bytes))


def answer_or_park(voter: Voter, fetch: Parked) -> None:
    role, request = voter.role, fetch.request
    assert isinstance(role, Leader)
    if is_news(voter, request) or request.max_wait_ms <= 0:
        answer(voter, fetch)
    else:
        voter.role = replace(role, parked={**role.parked, request.replica_id: fetch})
        voter.set_timer(Timer.PARKED, request.max_wait_ms, peer=request.replica_id)


def is_news(voter: Voter, request: FetchRequest) -> bool:
    """Is there a batch for this fetch, or a high watermark that the replica can make use of?"""
    end = request.fetch_offset
    return end < voter.log.end_offset or request.high_watermark < min(voter.high_watermark, end)


def answer(voter: Voter, fetch: Parked) -> None:
    response = FetchResponse(ErrorCode.NONE, voter.node_id, voter.epoch, told_watermark(voter, fetch.request))
    max_bytes = min(fetch.request.max_bytes, voter.settings.fetch_max_bytes)
    voter.ask_for(AnswerFetch(fetch.call, response, fetch.request.fetch_offset, max_bytes))


def told_watermark(voter: Voter, request: FetchRequest) -> int:
    """UNKNOWN where the replica knows of a higher one, or may: a voter of Kafka ends where it is told of a lower one
    (FollowerState.updateHighWatermark). What is committed in the own epoch is above all that others have told."""
    role, end = voter.role, voter.high_watermark
    assert isinstance(role, Leader)
    is_enough = end > role.epoch_start if request.high_watermark == UNTOLD else end >= request.high_watermark
    return end if is_enough else UNKNOWN


def answer_parked(voter: Voter) -> None:
    """Answer the fetches for which there is something new."""
    role = voter.role
    assert isinstance(role, Leader)
    for replica_id, parked in role.parked.items():
        if is_news(voter, parked.request):
            answer(voter, parked)
            role = replace(role, parked=without(role, replica_id))
    voter.role = role


def on_parked_timeout(voter: Voter, role: Leader, replica_id: int) -> None:
    if parked := role.parked.get(replica_id):
        answer(voter, parked)
        voter.role = replace(role, parked=without(role, replica_id))


def without(role: Leader, replica_id: int) -> dict[int, Parked]:
    return {replica: parked for replica, parked in role.parked.items() if replica != replica_id}
