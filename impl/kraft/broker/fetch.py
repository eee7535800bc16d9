"""Fetch requests of followers, and what becomes of their logs (KIP-101, KIP-320, KIP-595, KIP-903).

One partition a request; the runtime packs several into one on the wire. Leaves out: reading by consumers.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from impl.kraft.broker.replica_log import EpochEnd, LogEntry, ReplicaLog
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import Int32, Int64, refusal_of
from impl.kraft.image import PartitionKey


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A follower asks for what comes after its log. replica_epoch: its broker epoch."""

    replica_id: Int32
    replica_epoch: Int64
    topic_id: UUID
    partition_id: Int32
    current_leader_epoch: Int32
    fetch_offset: Int64
    last_fetched_epoch: Int32

    @property
    def key(self) -> PartitionKey:
        return self.topic_id, self.partition_id


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """diverging: where the follower has to truncate first; it has no entries then."""

    error: ErrorCode
    high_watermark: Int64 = -1
    diverging: EpochEnd | None = None
    entries: tuple[LogEntry, ...] = ()


def check_response(request: FetchRequest, response: FetchResponse) -> None:
    """Raise InvalidFieldError for a success that no leader gives: an offset below 0, or leader epochs that go down."""
    if response.error != ErrorCode.NONE:
        return
    if response.high_watermark < 0:
        raise refusal_of("FetchResponse.high_watermark", "an offset", response.high_watermark)
    if response.diverging is not None and response.diverging.end_offset < 0:
        raise refusal_of("FetchResponse.diverging.end_offset", "an offset", response.diverging.end_offset)
    last = request.last_fetched_epoch
    for number, entry in enumerate(response.entries):
        if entry.leader_epoch < last:
            raise refusal_of(f"FetchResponse.entries[{number}].leader_epoch", f"at least {last}", entry.leader_epoch)
        last = entry.leader_epoch


@dataclass(frozen=True, slots=True)
class PartitionFollower:
    """A replica that follows."""

    leader: Int32
    leader_epoch: Int32

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

        A response to what the follower no longer asks for is nothing to it. Raises InvalidFieldError where the
        entries cannot follow what it asked for.
        """
        check_response(request, response)
        is_current = self.leader_epoch == request.current_leader_epoch and log.end_offset == request.fetch_offset
        if not is_current or log.last_epoch != request.last_fetched_epoch or response.error != ErrorCode.NONE:
            return
        if response.diverging is not None:
            own = log.end_of_epoch(response.diverging.epoch)
            log.truncate(min(own.end_offset, response.diverging.end_offset))
            return
        log.append(response.entries)
        log.high_watermark = min(response.high_watermark, log.end_offset)
