"""Who stands, or asks whether it should, has asked all others; who stands, once its log is on disk (KIP-996)."""

from __future__ import annotations

from impl.kraft.raft.messages import Request, VoteRequest
from impl.kraft.raft.roles import Candidate, Prospective
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.invariants import BrokenRuleError


class Asking:
    """Whom each voter has asked in its epoch, in the role that it is in."""

    def __init__(self) -> None:
        self._asked: dict[int, set[tuple[int, bool, int]]] = {}

    def send(self, node: int, to: int, request: Request) -> None:
        if isinstance(request, VoteRequest):
            self._asked.setdefault(node, set()).add((request.epoch, request.pre_vote, to))

    def stop(self, node: int) -> None:
        """Its process has ended."""
        self._asked.pop(node, None)

    def look_at(self, node: int, voter: Voter) -> None:
        """After every event of a node. Raises BrokenRuleError."""
        role = voter.role
        if not isinstance(role, Prospective | Candidate):
            self.stop(node)
            return
        if isinstance(role, Candidate) and not voter.log.is_flushed:
            return
        is_prevote, asked = isinstance(role, Prospective), self._asked.get(node, set())
        left = [other for other in voter.settings.others if (voter.epoch, is_prevote, other) not in asked]
        if left:
            raise BrokenRuleError(f"asking: node {node} is {type(role).__name__}, and has not asked {left}")
