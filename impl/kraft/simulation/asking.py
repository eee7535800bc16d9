"""Who stands, or asks whether it should, has asked all others, and counts their answers (KIP-595, Vote; KIP-996).

Who stands asks once its log is on disk. Who only asks, and is asked by one with a shorter log who has refused, asks
that one again. Who cannot win knows it at once. Who has won, and got no answer, asks again.
"""

from __future__ import annotations

from collections.abc import Set

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.messages import BeginQuorumEpochRequest, Request, Response, VoteRequest, VoteResponse
from impl.kraft.raft.roles import Candidate, Leader, Prospective
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.invariants import BrokenRuleError, hold

Standing = tuple[int, bool]
"""An epoch, and whether a voter only asks in it."""


class _Votes:
    """Of one who stands: whom it has asked, and who would vote for it, or would not. lost: who is to be asked again."""

    def __init__(self, standing: Standing | None = None) -> None:
        self.standing = standing
        self.asked: set[int] = set()
        self.granted: set[int] = set()
        self.refused: set[int] = set()
        self.lost: set[int] = set()


class Asking:
    """What each voter was answered, in its epoch and in the role that it is in."""

    def __init__(self) -> None:
        self._votes: dict[int, _Votes] = {}
        self._asked: dict[int, set[tuple[int, Standing]]] = {}
        """Of the event that a voter handles: whom it has asked, and for what."""
        self._answers: dict[int, tuple[int, Standing, bool | None]] = {}
        self._calls: dict[int, int] = {}
        self._turned_down: dict[int, int] = {}
        self._told: dict[int, set[int]] = {}
        self._due: dict[int, int] = {}

    def come(self, call: int, request: Request) -> None:
        """A request is handed to a node."""
        if isinstance(request, VoteRequest) and request.pre_vote:
            self._calls[call] = request.candidate_id

    def answer(self, node: int, call: int, response: Response) -> None:
        """A node answers it."""
        candidate = self._calls.pop(call, None)
        if candidate is not None and response.error is ErrorCode.NONE:
            assert isinstance(response, VoteResponse)
            if not response.vote_granted:
                self._turned_down[node] = candidate

    def send(self, node: int, to: int, request: Request) -> None:
        """A node asks another. Raises BrokenRuleError where that one has said yes."""
        if isinstance(request, BeginQuorumEpochRequest):
            self._told.setdefault(node, set()).add(to)
        if isinstance(request, VoteRequest):
            standing = request.epoch, request.pre_vote
            self._asked.setdefault(node, set()).add((to, standing))
            votes = self._votes.get(node)
            if votes is not None and votes.standing == standing and to in votes.granted:
                raise BrokenRuleError(f"asked twice: node {node} asks {to}, who has said yes")

    def answered(self, node: int, other: int, request: VoteRequest, response: VoteResponse | None) -> None:
        """The answer to a request is handed to a node; None: it was given up."""
        if response is None or response.error is ErrorCode.NONE:
            is_granted = None if response is None else response.vote_granted
            self._answers[node] = other, (request.epoch, request.pre_vote), is_granted

    def due(self, node: int, other: int) -> None:
        """A node is to send something again, now."""
        self._due[node] = other

    def stop(self, node: int) -> None:
        """Its process has ended."""
        for of_node in (self._votes, self._asked, self._answers, self._turned_down, self._told, self._due):
            of_node.pop(node, None)

    def look_at(self, node: int, voter: Voter, due_ms: int | None, retries: Set[int]) -> None:
        """After every event of a node. Raises BrokenRuleError.

        due_ms: when it stands next, by its clock. retries: the nodes to whom something is to be sent again.
        """
        role, asked = voter.role, self._asked.pop(node, set())
        answer, candidate = self._answers.pop(node, None), self._turned_down.pop(node, None)
        told, due = self._told.pop(node, set()), self._due.pop(node, None)
        is_told = not isinstance(role, Leader) or due is None or due in told
        hold(is_told, "begin", f"node {node} leads, and does not tell {due} again, who has not answered")
        if not isinstance(role, Prospective | Candidate):
            self.stop(node)
            return
        standing = voter.epoch, isinstance(role, Prospective)
        votes = self._votes.get(node)
        if votes is None or votes.standing != standing:
            votes = self._votes[node] = _Votes(standing)
        elif answer is not None and answer[1] == standing:
            other, _, is_granted = answer
            kept = votes.lost if is_granted is None else votes.granted if is_granted else votes.refused
            kept.add(other)
        again = {to for to, of in asked if of == standing}
        is_asked = isinstance(role, Candidate) or candidate not in votes.refused - again
        hold(is_asked, "asked again", f"node {node} does not ask {candidate}")
        votes.asked |= again
        votes.refused -= again
        votes.lost -= again | votes.granted | votes.refused
        hold(votes.lost <= retries, "asking", f"node {node} does not ask {votes.lost - retries} again")
        self._look_at_votes(node, voter, role, votes, due_ms)

    def _look_at_votes(
        self, node: int, voter: Voter, role: Prospective | Candidate, votes: _Votes, due_ms: int | None
    ) -> None:
        counted = set(role.granted - {node}), set(role.refused)
        answered = votes.granted, votes.refused
        hold(counted == answered, "votes", f"node {node} counts {counted}, and was answered {answered}")
        if isinstance(role, Prospective) or voter.log.is_flushed:
            left = [other for other in voter.settings.others if other not in votes.asked]
            hold(not left, "asking", f"node {node} is {type(role).__name__}, and has not asked {left}")
        if 2 * len(votes.refused) >= len(voter.settings.voters):
            latest_ms = voter.now_ms + voter.settings.election_backoff_max_ms
            is_soon = isinstance(role, Candidate) and due_ms is not None and due_ms <= latest_ms
            hold(is_soon, "giving up", f"node {node} is {type(role).__name__}, and {votes.refused} have said no")
