"""Requests and responses of the quorum, field by field as KIP-595, KIP-630 and KIP-996 lay them out, in snake case.

All are about `__cluster_metadata-0`; topic, partition and throttle times are left to the wire. None stands for -1.
"""

from __future__ import annotations

from dataclasses import dataclass

from impl.kraft.errors import ErrorCode
from impl.kraft.storage.sizes import SnapshotId


@dataclass(frozen=True, slots=True)
class VoteRequest:
    """voter_id: for whom it is meant, if it says so. last_offset: the end of the candidate's log, exclusive.

    pre_vote: would you vote for me? epoch: in which it stands; of a pre-vote the one that it is in.
    """

    cluster_id: str
    voter_id: int | None
    candidate_id: int
    epoch: int
    last_epoch: int
    last_offset: int
    pre_vote: bool = False


@dataclass(frozen=True, slots=True)
class BeginQuorumEpochRequest:
    """A leader makes itself known. voter_id: for whom it is meant, if it says so."""

    cluster_id: str
    voter_id: int | None
    leader_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class EndQuorumEpochRequest:
    """A leader has resigned. preferred_successors: the other voters, by how much of the log they have."""

    cluster_id: str
    leader_id: int
    epoch: int
    preferred_successors: tuple[int, ...]


UNTOLD, UNKNOWN = (1 << 63) - 1, -1
"""High watermarks of a fetch whose sender does not say what it knows, and of an answer that tells none."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A valid one of a voter acknowledges all before its offset. epoch: the one that the replica is in.

    last_fetched_epoch: of the batch before the offset; 0 at the start of the log. high_watermark: what the replica
    knows (KIP-1166); UNTOLD of one that does not say.
    """

    cluster_id: str
    replica_id: int
    epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    high_watermark: int
    max_wait_ms: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FetchSnapshotRequest:
    """Bytes of a snapshot of the leader's, from a position on."""

    cluster_id: str
    replica_id: int
    epoch: int
    snapshot_id: SnapshotId
    position: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class VoteResponse:
    error: ErrorCode
    leader_id: int | None
    leader_epoch: int
    vote_granted: bool = False


@dataclass(frozen=True, slots=True)
class BeginQuorumEpochResponse:
    error: ErrorCode
    leader_id: int | None
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class EndQuorumEpochResponse:
    error: ErrorCode
    leader_id: int | None
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """diverging: (epoch, end): the newest epoch of the leader's log that is no newer than the asker's, and its end.

    snapshot_id: the leader's log has not what is asked for, or not all from the start, and this stands for it.
    high_watermark: nothing is to be made of it where there is an error, or the logs diverge; UNKNOWN: none is told.
    """

    error: ErrorCode
    leader_id: int | None
    leader_epoch: int
    high_watermark: int = UNKNOWN
    diverging: tuple[int, int] | None = None
    records: bytes = b""
    snapshot_id: SnapshotId | None = None


@dataclass(frozen=True, slots=True)
class FetchSnapshotResponse:
    """Of the snapshot that was asked for. size_bytes: of all of it."""

    error: ErrorCode
    leader_id: int | None
    leader_epoch: int
    size_bytes: int = 0
    position: int = 0
    data: bytes = b""
    snapshot_id: SnapshotId | None = None


Request = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest | FetchSnapshotRequest
Response = VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse | FetchSnapshotResponse

RESPONSES: dict[type[Request], type[Response]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
}
