"""Fetch requests of followers, and what becomes of their logs (KIP-101, KIP-320, KIP-595, KIP-903).

One partition a request; the runtime packs several into one on the wire. Leaves out: reading by consumers.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from impl.kraft.broker.replica_log import EpochEnd, LogEntry, ReplicaLog
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A follower asks for what comes after its log. replica_epoch: its broker epoch."""

    replica_id: int
    replica_epoch: int
    topic_id: UUID
    partition_id: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int

    @property
    def key(self) -> PartitionKey:
        return self.topic_id, self.partition_id


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """diverging: where the follower has to truncate first; it has no entries then."""

    error: ErrorCode
    high_watermark: int = -1
    diverging: EpochEnd | None = None
    entries: tuple[LogEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionFollower:
    """A replica that follows."""

    leader: int
    leader_epoch: int

    def fetch_request(self, key: PartitionKey, broker_id: int, broker_epoch: int, log: ReplicaLog) -> FetchRequest:
        """The follower's next fetch."""
        return FetchRequest(
            replica_id=broker_id,
            replica_epoch=broker_epoch,
            topic_id=key[0],
            partition_id=key[1],
            current_leader_epoch=self.leader_epoch,
            fetch_offset=log.end_offset,
            last_fetched_epoch=log.last_epoch,
        )

    def fetched(self, log: ReplicaLog, request: FetchRequest, response: FetchResponse) -> None:
        """Take over what the leader has, or truncate where the logs part.

        A response to what the follower no longer asks for is nothing to it.
        """
        is_current = self.leader_epoch == request.current_leader_epoch and log.end_offset == request.fetch_offset
        if not is_current or log.last_epoch != request.last_fetched_epoch or response.error != ErrorCode.NONE:
            return
        if response.diverging is not None:
            own = log.end_of_epoch(response.diverging.epoch)
            log.truncate(min(own.end_offset, response.diverging.end_offset))
            return
        log.append(response.entries)
        log.high_watermark = min(response.high_watermark, log.end_offset)
