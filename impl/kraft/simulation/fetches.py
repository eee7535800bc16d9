"""Fetches of the quorum wait at their leader until there is something new, or their time is over, and no longer."""

from __future__ import annotations

from typing import Any

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import FetchRequest, FetchSnapshotRequest, Request, Response
from impl.kraft.raft.roles import Leader
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.invariants import BrokenRuleError, hold

ERRORS = (
    ErrorCode.NONE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.INCONSISTENT_CLUSTER_ID,
    ErrorCode.INVALID_REQUEST,
)


class Fetches:
    """Those under way, by the numbers of their calls. Times are of the leader's clock."""

    def __init__(self) -> None:
        self._asked: dict[int, tuple[FetchRequest, int, int]] = {}
        self._latest: dict[tuple[int, int], int] = {}
        self._pieces: dict[int, int] = {}

    def come(self, node: int, call: int, request: Request, now_ms: int) -> None:
        """A request is handed to a node."""
        if isinstance(request, FetchRequest):
            self._asked[call] = request, now_ms, node
            self._latest[node, request.replica_id] = call
        elif isinstance(request, FetchSnapshotRequest):
            self._pieces[call] = request.max_bytes

    def refused(self, node: int, call: int, response: Response) -> None:
        """A follower goes by the error to whom it turns next."""
        if self._asked.pop(call, None) is not None and response.error not in ERRORS:
            raise BrokenRuleError(f"fetches are refused: node {node} says {response.error.name}")

    def answered(self, node: int, call: int, response: Any, log: LogEnds, now_ms: int) -> None:
        """With what is new, if there is anything. One that another of the same replica follows waits no longer.

        log: of the leader. Who has nothing begins with its snapshot (KIP-630).
        """
        request, asked_ms, _ = self._asked.pop(call)
        if request.fetch_offset == 0 and log.snapshots and response.records:
            raise BrokenRuleError(f"fetches begin with a snapshot: node {node} has {log.snapshots}, and sends its log")
        is_new = bool(response.records) or response.high_watermark > request.high_watermark
        if not is_new and self._latest[node, request.replica_id] == call and now_ms - asked_ms < request.max_wait_ms:
            raise BrokenRuleError(
                f"fetches wait: node {node} answers {request} after {now_ms - asked_ms} ms with nothing new"
            )

    def pieced(self, node: int, call: int, max_bytes: int) -> None:
        """A node answers with so much of a snapshot, at the most."""
        most_bytes = self._pieces.pop(call)
        says = f"node {node} sends {max_bytes} bytes, and is asked for {most_bytes}"
        hold(max_bytes <= most_bytes, "pieces of snapshots", says)

    def stop(self, node: int) -> None:
        """Its process has ended."""
        for call in [call for call, (_, _, at) in self._asked.items() if at == node]:
            del self._asked[call]

    def look_at(self, node: int, voter: Voter) -> None:
        """After every event of a node: nobody waits for what is there, nor at one that does not lead (KAFKA-10677)."""
        if not isinstance(voter.role, Leader):
            left = [request for request, _, at in self._asked.values() if at == node]
            hold(not left, "fetches are answered", f"node {node} does not lead, and lets {left} wait")
            return
        for parked in voter.role.parked.values():
            is_there = parked.request.fetch_offset < voter.log.end_offset
            says = f"node {node} lets {parked.request} wait, and its log ends at {voter.log.end_offset}"
            hold(not is_there, "fetches are answered", says)
