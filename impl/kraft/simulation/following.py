"""Who follows gives its leader its time, and no more; what it did not ask for changes nothing (KIP-595, Fetch).

A leader that leads no more, as it says, is waited for no longer than a candidate waits between two elections, and not
at all by the first of its successors. Until then, nobody who has fetched from it would vote for another (KIP-996).
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.messages import (
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
from impl.kraft.raft.roles import Follower
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.invariants import hold

Fetch = FetchRequest | FetchSnapshotRequest
Fetched = FetchResponse | FetchSnapshotResponse


class _Seen(NamedTuple):
    """A follower after an event. leads: the epoch, and who leads it. due_ms: when it stands, by its own clock.

    has_heard: its leader has answered a fetch of it.
    """

    leads: tuple[int, int | None]
    role: Follower
    due_ms: int
    is_left: bool
    has_heard: bool


class _Answer(NamedTuple):
    """To a fetch. is_awaited: it is the one that is under way."""

    response: Fetched | None
    is_awaited: bool

    @property
    def error(self) -> ErrorCode | None:
        return None if self.response is None else self.response.error


class Following:
    """What each voter that follows was told by its leader."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._answers: dict[int, _Answer] = {}
        self._ends: dict[int, EndQuorumEpochRequest] = {}
        self._pre_votes: dict[int, int] = {}

    def come(self, node: int, call: int, request: Request) -> None:
        """A request is handed to a node."""
        if isinstance(request, EndQuorumEpochRequest):
            self._ends[node] = request
        elif isinstance(request, VoteRequest) and request.pre_vote:
            self._pre_votes[call] = request.epoch

    def answer(self, node: int, call: int, response: Response) -> None:
        """A node answers it. Raises BrokenRuleError."""
        epoch, seen = self._pre_votes.pop(call, None), self._seen.get(node)
        if isinstance(response, VoteResponse) and response.vote_granted and seen is not None:
            is_led = seen.leads[0] == epoch and seen.has_heard and not seen.is_left
            hold(not is_led, "KIP-996", f"node {node} follows {seen.leads[1]}, and would vote for another")

    def answered(self, node: int, voter: Voter, request: Fetch, response: Fetched | None) -> None:
        """The answer to a request is handed to a node; None: it was given up."""
        is_awaited = isinstance(voter.role, Follower) and voter.role.fetching == request
        self._answers[node] = _Answer(response, is_awaited)

    def stop(self, node: int) -> None:
        """Its process has ended."""
        for of_node in (self._seen, self._answers, self._ends):
            of_node.pop(node, None)

    def look_at(self, node: int, voter: Voter, due_ms: int | None, retries: Set[int]) -> None:
        """After every event of a node, as of `Asking`. Raises BrokenRuleError."""
        answer, end = self._answers.pop(node, None), self._ends.pop(node, None)
        before = self._seen.pop(node, None)
        if not isinstance(voter.role, Follower) or voter.settings.is_observer or due_ms is None:
            return
        leads = voter.epoch, voter.election.leader
        waits = voter.role.fetching is not None or voter.freezing or not voter.log.is_flushed
        hold(waits or leads[1] in retries, "fetching", f"node {node} follows {leads[1]}, and does not fetch")
        if before is not None and before.leads != leads:
            before = None
        is_ended = end is not None and (end.epoch, end.leader_id) == leads
        is_told = is_ended or (
            before is not None
            and answer is not None
            and answer.is_awaited
            and answer.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
        was_left = before is not None and before.is_left
        is_alive = answer is not None and answer.is_awaited and answer.error is ErrorCode.NONE and not was_left
        has_heard = is_alive and not voter.role.backs_off
        was_heard = before is not None and before.has_heard
        self._seen[node] = _Seen(leads, voter.role, due_ms, is_told or was_left, has_heard or was_heard)
        if before is not None and answer is not None:
            _look_at_answer(node, voter.role, before.role, answer)
        fetch_ms = voter.now_ms + voter.settings.fetch_timeout_ms
        if is_told and not (was_left and before is not None and before.due_ms == due_ms):
            latest_ms = voter.now_ms + voter.settings.election_backoff_max_ms
            if is_ended and end is not None and end.preferred_successors[:1] == (voter.node_id,):
                latest_ms = voter.now_ms
            hold(due_ms <= latest_ms, "left", f"node {node} waits for {due_ms - voter.now_ms} ms")
        elif before is None:
            hold(due_ms >= fetch_ms, "patience", f"node {node} waits for {due_ms - voter.now_ms} ms")
        else:
            is_anew = due_ms != before.due_ms
            hold(is_alive or not is_anew, "waiting", f"node {node} waits anew, and its leader may be dead")
            is_patient = due_ms >= fetch_ms or not (is_anew or has_heard)
            hold(is_patient, "patience", f"node {node} waits for {due_ms - voter.now_ms} ms")


def _look_at_answer(node: int, role: Follower, before: Follower, answer: _Answer) -> None:
    if not answer.is_awaited:
        hold(role == before, "late answers", f"node {node} goes by {answer.response}, and does not wait for it")
    elif answer.error is not ErrorCode.NONE:
        hold(role.fetching is None, "backing off", f"node {node} asks again at once, after {answer.response}")
