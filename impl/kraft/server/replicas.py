"""What a leader knows of those that fetch from it, voters and observers: for DescribeQuorum (KIP-595, KIP-836)."""

from __future__ import annotations

from dataclasses import dataclass, replace

OBSERVER_SESSION_MS = 300_000
"""After which an observer that does not fetch is forgotten, as in Kafka (LeaderState.OBSERVER_SESSION_TIMEOUT_MS)."""


@dataclass(frozen=True, slots=True)
class Replica:
    """Of the last fetch: its offset, its time, and where the leader's log ended; -1: there was none.

    caught_up_ms: the last time at which it had all that the leader had.
    """

    end_offset: int = -1
    fetched_ms: int = -1
    caught_up_ms: int = -1
    leader_end: int = -1

    def fetched(self, offset: int, leader_end: int, now_ms: int) -> Replica:
        """As in Kafka, who has reached what the leader had at its last fetch was caught up then."""
        caught_up_ms = self.caught_up_ms
        if offset >= leader_end:
            caught_up_ms = now_ms
        elif 0 < self.leader_end <= offset:
            caught_up_ms = self.fetched_ms
        return replace(self, end_offset=offset, fetched_ms=now_ms, caught_up_ms=caught_up_ms, leader_end=leader_end)


class Replicas:
    """By id, those that have fetched in the epoch in which this node leads."""

    def __init__(self) -> None:
        self._epoch = -1
        self._known: dict[int, Replica] = {}

    def note(self, epoch: int, replica_id: int, offset: int, leader_end: int, now_ms: int) -> None:
        """A fetch that the leader answers. Clients and tools have no id, and are none."""
        if replica_id < 0:
            return
        known = self.of(epoch)
        self._epoch, self._known = epoch, known
        known[replica_id] = known.get(replica_id, Replica()).fetched(offset, leader_end, now_ms)

    def of(self, epoch: int) -> dict[int, Replica]:
        return self._known if epoch == self._epoch else {}

    def observers(self, epoch: int, voters: tuple[int, ...], now_ms: int) -> dict[int, Replica]:
        """Those that are not voters, and have fetched lately, by id."""
        return {
            replica_id: replica
            for replica_id, replica in sorted(self.of(epoch).items())
            if replica_id not in voters and replica.fetched_ms + OBSERVER_SESSION_MS > now_ms
        }
