"""Settings of a voter, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass

_FETCH_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RaftSettings:
    """Times as in `controller.quorum.*`; the names differ by their units.

    voters: the ids of all of `controller.quorum.voters`. is_observer: the node follows the log, as a broker does, and
    neither votes nor stands; else it is one of the voters. uses_prevote: a voter asks whether it could win before it
    raises its epoch (KIP-996). Raises ValueError where the node is among the voters and should not be, or the reverse.
    """

    node_id: int
    voters: tuple[int, ...]
    cluster_id: str = ""
    election_timeout_ms: int = 1_000
    election_backoff_max_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = _FETCH_MAX_BYTES
    fetch_snapshot_max_bytes: int = _FETCH_MAX_BYTES
    uses_prevote: bool = True
    is_observer: bool = False

    def __post_init__(self) -> None:
        if len(set(self.voters)) < len(self.voters):
            raise ValueError(f"each of the voters {self.voters} must be named once")
        if (self.node_id in self.voters) == self.is_observer:
            what = "an observer, and cannot be" if self.is_observer else "no observer, and must be"
            raise ValueError(f"node {self.node_id} is {what} one of the voters {self.voters}")

    @property
    def others(self) -> tuple[int, ...]:
        return tuple(voter for voter in self.voters if voter != self.node_id)

    @property
    def check_quorum_ms(self) -> int:
        """A leader from which no majority fetches for so long resigns (KAFKA-15489)."""
        return self.fetch_timeout_ms * 3 // 2

    def is_majority(self, count: int) -> bool:
        return 2 * count > len(self.voters)
