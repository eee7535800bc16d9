"""The core of a voter: its inputs, and which part of it each is for."""

from __future__ import annotations

from collections.abc import Sequence

from impl.kraft.errors import ErrorCode
from impl.kraft.raft import elections, follower, leader
from impl.kraft.raft.effects import Answer, DeleteBefore, Effects, Flush, Timer
from impl.kraft.raft.errors import NotLeadingError
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.raft.roles import Candidate, Follower, Leader, Unattached
from impl.kraft.raft.settings import RaftSettings
from impl.kraft.raft.voter import Voter, role_at_start
from impl.kraft.storage.batches import Record
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.sizes import SnapshotId


class Raft:
    """One voter of the quorum.

    Every input returns effects, to be carried out in order before the next input is handed in. Times are of one clock
    that does not go back; batches carry it.
    """

    def __init__(self, settings: RaftSettings, stored: ElectionState | None, log: LogEnds) -> None:
        """stored: what `quorum-state` has. A log that is ahead of it says that the file was lost, and votes with it."""
        election = stored or ElectionState(0, voters=settings.voters)
        role = role_at_start(election, settings.node_id)
        self.voter = Voter(settings, election, role, log, high_watermark=log.committed_end)
        if election.epoch < log.last_epoch:
            self.voter.enter_epoch(log.last_epoch + 1, None)

    def copy(self) -> Raft:
        other = object.__new__(Raft)
        other.voter = self.voter.copy()
        return other

    def start(self, now_ms: int) -> Effects:
        """Take up the role that was found on disk; the first input."""
        voter = self._at(now_ms)
        match voter.role:
            case Follower() | Unattached():
                voter.attach()
            case Candidate():
                voter.await_leader()
                elections.ask(voter)
            case _:
                voter.await_leader()
        return self._done()

    # Messages.

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        """A request has come. call: it is answered with this number, now or later."""
        voter = self._at(now_ms)
        if request.cluster_id != voter.settings.cluster_id:
            voter.ask_for(Answer(call, voter.response(request, ErrorCode.INCONSISTENT_CLUSTER_ID)))
        elif request.epoch < voter.epoch:
            voter.ask_for(Answer(call, voter.response(request, ErrorCode.FENCED_LEADER_EPOCH)))
        elif isinstance(request, FetchRequest | FetchSnapshotRequest):
            self._handle_fetch(call, request)
        else:
            voter.ask_for(Answer(call, self._answered(request)))
        return self._done()

    def _answered(self, request: VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest) -> Response:
        match request:
            case VoteRequest():
                return elections.handle_vote(self.voter, request)
            case BeginQuorumEpochRequest():
                return elections.handle_begin(self.voter, request)
            case EndQuorumEpochRequest():
                return elections.handle_end(self.voter, request)

    def _handle_fetch(self, call: int, request: FetchRequest | FetchSnapshotRequest) -> None:
        voter = self.voter
        if isinstance(request, FetchRequest) and request.fetch_offset < 0:
            voter.ask_for(Answer(call, voter.response(request, ErrorCode.INVALID_REQUEST)))
        elif request.epoch > voter.epoch:
            voter.ask_for(Answer(call, voter.response(request, ErrorCode.UNKNOWN_LEADER_EPOCH)))
        elif not isinstance(voter.role, Leader):
            voter.ask_for(Answer(call, voter.response(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)))
        elif isinstance(request, FetchSnapshotRequest):
            leader.handle_fetch_snapshot(voter, call, request)
        else:
            leader.handle_fetch(voter, call, request)

    def on_response(self, to: int, request: Request, response: Response | None, now_ms: int) -> Effects:
        """The response to a request that was sent to a node; None: it was given up, or its connection lost."""
        voter = self._at(now_ms)
        if response is not None and response.error is not ErrorCode.INCONSISTENT_CLUSTER_ID:
            voter.hear_of(response.leader_epoch, response.leader_id)
        match request, response:
            case FetchRequest(), FetchResponse() | None:
                follower.on_fetch_response(voter, request, response)
            case FetchSnapshotRequest(), FetchSnapshotResponse() | None:
                follower.on_piece(voter, request, response)
            case VoteRequest(), VoteResponse():
                elections.on_vote_response(voter, to, request, response)
            case VoteRequest() | BeginQuorumEpochRequest(), None:
                voter.set_timer(Timer.RETRY, voter.settings.retry_backoff_ms, peer=to)
        return self._done()

    # What happens here.

    def on_timer(self, timer: Timer, now_ms: int, peer: int | None = None) -> Effects:
        """A timer that was set is due. One that has lost its meaning since does nothing."""
        voter = self._at(now_ms)
        match timer, voter.role:
            case Timer.ELECTION, _:
                elections.on_election_timeout(voter)
            case Timer.BEGIN, Leader():
                leader.begin_all(voter)
            case Timer.CHECK_QUORUM, Leader() as role:
                leader.check_quorum(voter, role)
            case Timer.PARKED, Leader() as role if peer is not None:
                leader.on_parked_timeout(voter, role, peer)
            case Timer.RETRY, _ if peer is not None:
                elections.retry(voter, peer)
        return self._done()

    def on_flushed(self, end_offset: int, now_ms: int) -> Effects:
        """A flush has ended: all before this offset is on disk."""
        voter = self._at(now_ms)
        log = voter.log
        log.flushed_end = max(log.flushed_end, min(end_offset, log.end_offset))
        if not log.is_flushed:
            voter.ask_for(Flush())
        match voter.role:
            case Leader():
                leader.advance(voter)
            case Candidate() if log.is_flushed:
                elections.ask(voter)
        return self._done()

    def on_frozen(self, snapshot_id: SnapshotId, is_whole: bool, now_ms: int) -> Effects:
        """A `FreezeSnapshot` has ended: the snapshot is on disk; or its bytes are none."""
        follower.on_frozen(self._at(now_ms), snapshot_id, is_whole)
        return self._done()

    def on_snapshot(self, snapshot_id: SnapshotId, now_ms: int) -> Effects:
        """A snapshot of this node's own is on disk."""
        self._at(now_ms).log.note_snapshot(snapshot_id)
        return self._done()

    def delete_before(self, snapshot_id: SnapshotId, now_ms: int) -> Effects:
        """What a snapshot on disk stands for goes: the log before its end, and older snapshots."""
        voter = self._at(now_ms)
        voter.log.delete_before(snapshot_id)
        voter.ask_for(DeleteBefore(snapshot_id))
        return self._done()

    def append(self, epoch: int, records: Sequence[Record], now_ms: int) -> Effects:
        """Append what the controller has decided, as one batch. Raises NotLeadingError: it renounces then."""
        voter = self._at(now_ms)
        if not isinstance(voter.role, Leader) or voter.epoch != epoch:
            raise NotLeadingError(f"node {voter.node_id} is in epoch {voter.epoch}, and does not lead epoch {epoch}")
        leader.append(voter, records)
        return self._done()

    def resign(self, epoch: int, now_ms: int) -> Effects:
        """The controller renounces, or the process shuts down (KAFKA-13104). Nothing unless it leads the epoch."""
        voter = self._at(now_ms)
        if isinstance(voter.role, Leader) and voter.epoch == epoch:
            leader.resign(voter)
        return self._done()

    def _at(self, now_ms: int) -> Voter:
        self.voter.now_ms = now_ms
        return self.voter

    def _done(self) -> Effects:
        """A follower fetches, whatever has made it one."""
        voter = self.voter
        follower.fetch(voter)
        effects, voter.effects = voter.effects, []
        return effects
