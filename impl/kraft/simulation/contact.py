"""What a voter may do without a majority, seen from the network: not lead (KAFKA-15489), nor stand (KIP-996)."""

from __future__ import annotations

from impl.kraft.simulation.invariants import BrokenRuleError

TOLERANCE_PERCENT = 120
"""Clocks go wrong by at most a tenth, and a timer waits for nothing else."""


class Contact:
    """When each voter was last fetched from by each other. limit_ms: how long a leader may do without a majority."""

    def __init__(self, voters: int, limit_ms: int) -> None:
        self._voters = range(voters)
        self._limit_ms = TOLERANCE_PERCENT * limit_ms // 100
        self._heard_ms: list[dict[int, int]] = [{} for _ in self._voters]
        self._leads_since_ms: dict[int, int] = {}
        self._granted: dict[int, set[int]] = {}
        """By voter: who would vote for it, of those that it has asked since it stood last."""

    def hears(self, voter: int, other: int, now_ms: int) -> None:
        """A fetch has arrived; those of observers count for nothing."""
        if voter in self._voters and other in self._voters:
            self._heard_ms[voter][other] = now_ms

    def grants(self, voter: int, other: int) -> None:
        """The answer to a pre-vote has arrived, and is yes."""
        self._granted.setdefault(voter, set()).add(other)

    def stands(self, voter: int) -> None:
        """It votes for itself in a new epoch. Raises BrokenRuleError where no majority would vote for it."""
        granted = self._granted.pop(voter, set())
        if len(granted) < len(self._voters) // 2:
            raise BrokenRuleError(f"prevote: node {voter} stands, and only {sorted(granted)} would vote for it")

    def stops(self, node: int) -> None:
        """It does nothing for a while: its process has ended, or stands still."""
        self._leads_since_ms.pop(node, None)

    def look_at(self, node: int, now_ms: int, *, leads: bool) -> None:
        """Raises BrokenRuleError where it has led without a majority for too long."""
        if not leads:
            self.stops(node)
            return
        others = len(self._voters) // 2
        last_ms = sorted(self._heard_ms[node].values(), reverse=True)
        since_ms = self._leads_since_ms.setdefault(node, now_ms)
        heard_ms = last_ms[others - 1] if len(last_ms) >= others > 0 else since_ms
        silent_ms = now_ms - max(since_ms, heard_ms)
        if others and silent_ms > self._limit_ms:
            raise BrokenRuleError(f"check_quorum: node {node} leads, and no majority has fetched for {silent_ms} ms")
