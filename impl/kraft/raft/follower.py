"""Followers and observers: they fetch what the leader has, and cut what it has not (KIP-595, Fetch, Truncation)."""

from __future__ import annotations

import logging
from dataclasses import replace

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.effects import (
    AppendToLog,
    Committed,
    Flush,
    FreezeSnapshot,
    InstallSnapshot,
    LoadSnapshot,
    ReceiveSnapshot,
    Timer,
    TruncateLog,
)
from impl.kraft.raft.errors import CommittedTruncationError
from impl.kraft.raft.messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from impl.kraft.raft.roles import Follower, Receiving
from impl.kraft.raft.voter import Voter
from impl.kraft.storage.batches import BatchError
from impl.kraft.storage.sizes import SnapshotId

logger = logging.getLogger(__name__)


def fetch(voter: Voter) -> None:
    """Fetch from the end of the log, if no fetch is under way.

    All of the log must be on disk: to fetch from its end is to acknowledge what is before.
    """
    role, log = voter.role, voter.log
    leader = voter.election.leader
    is_busy = voter.freezing or not log.is_flushed
    if not isinstance(role, Follower) or leader is None or role.fetching or role.backs_off or is_busy:
        return
    if role.receiving is None:
        request: FetchRequest | FetchSnapshotRequest = next_fetch(voter, voter.settings.fetch_max_wait_ms)
    else:
        request = next_piece(voter, role.receiving)
    voter.role = replace(role, fetching=request)
    voter.send(leader, request)


def next_fetch(voter: Voter, max_wait_ms: int) -> FetchRequest:
    return FetchRequest(
        cluster_id=voter.settings.cluster_id,
        replica_id=voter.node_id,
        epoch=voter.epoch,
        fetch_offset=voter.log.end_offset,
        last_fetched_epoch=voter.log.last_epoch,
        high_watermark=voter.high_watermark,
        max_wait_ms=max_wait_ms,
        max_bytes=voter.settings.fetch_max_bytes,
    )


def look_for_leader(voter: Voter) -> None:
    """An observer, whom no leader tells of itself, asks all voters: each of them answers with the leader it knows."""
    for other in voter.settings.others:
        voter.send(other, next_fetch(voter, max_wait_ms=0))
    voter.await_leader()


def on_fetch_response(voter: Voter, request: FetchRequest, response: FetchResponse | None) -> None:
    """Take in what the leader has answered to the fetch that is under way. None: it was given up."""
    role = voter.role
    if not isinstance(role, Follower) or request != role.fetching:
        return
    end_fetch(voter, replace(role, fetching=None, backs_off=True), response)
    if response is None or response.error is not ErrorCode.NONE or not is_taken_in(voter, response):
        voter.set_timer(Timer.RETRY, voter.settings.retry_backoff_ms, peer=voter.election.leader)
        return
    receiving = None if response.snapshot_id is None else Receiving(response.snapshot_id)
    go_on(voter, role, receiving)


def end_fetch(voter: Voter, role: Follower, response: FetchResponse | FetchSnapshotResponse | None) -> None:
    """A fetch is under way no more, and has failed until it is looked at. Its leader may say that it leads no more."""
    voter.role = role
    if response is not None and response.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and not role.is_left:
        miss(voter, role, 0, voter.settings.election_backoff_max_ms)  # it has resigned, or was started again


def go_on(voter: Voter, role: Follower, receiving: Receiving | None) -> None:
    """Its leader has answered, and has a fetch timeout to answer again; unless it has resigned since."""
    voter.role = Follower(has_fetched=not role.is_left, receiving=receiving, is_left=role.is_left)
    if not role.is_left:
        voter.await_fetch()


def miss(voter: Voter, role: Follower, after_ms: int, spread_ms: int = 0) -> None:
    """Its leader leads no more, and never will again in this epoch: others may stand, and so does this voter, soon."""
    voter.role = replace(role, has_fetched=False, is_left=True)
    voter.set_timer(Timer.ELECTION, after_ms, spread_ms)


def is_taken_in(voter: Voter, response: FetchResponse) -> bool:
    """Append what was fetched, or truncate. False: the response is not one that its leader can have given."""
    try:
        if response.snapshot_id is not None:
            return response.snapshot_id[0] > voter.high_watermark
        if response.diverging is not None:
            return is_truncated(voter, *response.diverging)
        extend(voter, response)
    except BatchError as error:
        logger.warning("node %d: what was fetched from %s is refused: %s", voter.node_id, voter.election.leader, error)
        return False
    return True


def extend(voter: Voter, response: FetchResponse) -> None:
    """Append, flush before the next fetch, and learn how far the log is committed. Raises BatchError."""
    if response.records:
        voter.log.append(response.records, voter.epoch)
        voter.ask_for(AppendToLog(response.records, voter.epoch), Flush())
    end = min(response.high_watermark, voter.log.end_offset)
    if end > voter.high_watermark:
        voter.high_watermark = end
        voter.ask_for(Committed(end))


def is_truncated(voter: Voter, epoch: int, leader_end: int) -> bool:
    """Cut off, durably, what the leader's log cannot have. Raises CommittedTruncationError (KAFKA-12460).

    In an epoch that this log does not have, the leader's end may be within a batch of it: the next fetch tells more.
    """
    log = voter.log
    known, end = log.end_of(epoch)
    if known == epoch:
        end = min(leader_end, end)
    if end < voter.high_watermark:
        raise CommittedTruncationError(
            f"node {voter.node_id} is asked by node {voter.election.leader}, the leader of epoch {voter.epoch}, to "
            f"truncate its log to {end}, below what is committed, {voter.high_watermark}: a voter must have lost its "
            "disk. Stop the process, and compare the logs of the voters"
        )
    if end >= log.end_offset:
        return False
    log.cut(end)
    voter.ask_for(TruncateLog(end))
    return True


# Snapshots (KIP-630).


def next_piece(voter: Voter, receiving: Receiving) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(
        cluster_id=voter.settings.cluster_id,
        replica_id=voter.node_id,
        epoch=voter.epoch,
        snapshot_id=receiving.snapshot_id,
        position=receiving.position,
        max_bytes=voter.settings.fetch_snapshot_max_bytes,
    )


def on_piece(voter: Voter, request: FetchSnapshotRequest, response: FetchSnapshotResponse | None) -> None:
    """Keep a piece of the snapshot that is being fetched. A leader that has it no longer is asked anew what it has."""
    role = voter.role
    if not isinstance(role, Follower) or request != role.fetching or role.receiving is None:
        return
    asked = request.snapshot_id, request.position
    is_taken = response is not None and response.error is ErrorCode.NONE and bool(response.data)
    if response is None or not is_taken or (response.snapshot_id, response.position) != asked:
        is_gone = response is not None and response.error is not ErrorCode.NONE
        left = replace(role, fetching=None, backs_off=True, receiving=None if is_gone else role.receiving)
        end_fetch(voter, left, response)
        voter.set_timer(Timer.RETRY, voter.settings.retry_backoff_ms, peer=voter.election.leader)
        return
    position = request.position + len(response.data)
    voter.freezing = position >= response.size_bytes
    go_on(voter, role, Receiving(request.snapshot_id, position))
    voter.ask_for(ReceiveSnapshot(request.snapshot_id, request.position, response.data))
    if voter.freezing:
        voter.ask_for(FreezeSnapshot(request.snapshot_id))


def on_frozen(voter: Voter, snapshot_id: SnapshotId, is_whole: bool) -> None:
    """A snapshot is on disk, and stands for the log; or it was damaged, and is fetched anew.

    The epoch may have ended since. What the snapshot stands for is committed all the same: a log that lacks it is
    emptied, for the next leader could else ask for a truncation below its end.
    """
    voter.freezing = False
    if is_whole:
        voter.log.note_snapshot(snapshot_id)
    role, is_wanted = voter.role, is_whole and voter.log.lacks(snapshot_id)
    if isinstance(role, Follower) and role.receiving is not None:
        voter.role, is_wanted = replace(role, receiving=None, backs_off=not is_whole), is_whole
        if not is_whole:
            voter.set_timer(Timer.RETRY, voter.settings.retry_backoff_ms, peer=voter.election.leader)
    if is_wanted:
        voter.log.restart_at(snapshot_id)
        voter.high_watermark = snapshot_id[0]
        voter.ask_for(InstallSnapshot(snapshot_id), LoadSnapshot(snapshot_id))
