"""What nodes of the quorum say to each other, held to all rules about it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from impl.kraft.raft.messages import FetchRequest, FetchSnapshotRequest, Request, Response, VoteRequest
from impl.kraft.raft.roles import Leader
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.asking import Asking
from impl.kraft.simulation.contact import Contact
from impl.kraft.simulation.fetches import Fetches
from impl.kraft.simulation.following import Following


class Talk:
    """Each thing that is said raises BrokenRuleError where a rule forbids it.

    check_quorum_ms: how long a leader may do without a majority.
    """

    def __init__(self, voters: int, check_quorum_ms: int) -> None:
        self.contact = Contact(voters, check_quorum_ms)
        self.fetches, self.asking, self.following = Fetches(), Asking(), Following()

    def send(self, node: int, to: int, request: Request) -> None:
        self.asking.send(node, to, request)

    def request(self, node: int, call: int, sender: int, request: Request, now_ms: int, clock_ms: int) -> None:
        """One of another node is handed to a node. clock_ms: the time of that node, whose clock may go wrong."""
        if isinstance(request, FetchRequest | FetchSnapshotRequest):
            self.contact.hears(node, sender, now_ms)
        self.fetches.come(node, call, request, clock_ms)
        self.word(node, call, request)

    def word(self, node: int, call: int, request: Request) -> None:
        """A request is handed to a node, whoever has sent it."""
        self.asking.come(call, request)
        self.following.come(node, call, request)

    def answer(self, node: int, call: int, response: Response) -> None:
        """A node answers, and not what was fetched."""
        self.fetches.refused(node, call, response)
        self.asking.answer(node, call, response)
        self.following.answer(node, call, response)

    def response(self, node: int, voter: Voter, other: int, request: Request, response: Any) -> None:
        """It is handed to the node that has asked another; None: that was given up."""
        match request:
            case VoteRequest():
                self.asking.answered(node, other, request, response)
                if request.pre_vote and response and response.vote_granted:
                    self.contact.grants(node, other)
            case FetchRequest() | FetchSnapshotRequest():
                self.following.answered(node, voter, request, response)

    def stop(self, node: int) -> None:
        """Its process has ended."""
        self.fetches.stop(node)
        self.asking.stop(node)
        self.following.stop(node)
        self.contact.stops(node)

    def look_at(self, node: int, voter: Voter, due_ms: int | None, retries: Set[int], now_ms: int) -> None:
        """After every event of a node. due_ms, retries: of its timers, as of `Asking`."""
        self.fetches.look_at(node, voter)
        self.asking.look_at(node, voter, due_ms, retries)
        self.following.look_at(node, voter, due_ms, retries)
        self.contact.look_at(node, now_ms, leads=isinstance(voter.role, Leader))
