"""The role of a voter in its epoch, and what it remembers in it. Epoch, leader and vote are its election state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from impl.kraft.raft.messages import FetchRequest, FetchSnapshotRequest
from impl.kraft.storage.sizes import SnapshotId


@dataclass(frozen=True, slots=True)
class Unattached:
    """It knows no leader of its epoch."""


@dataclass(frozen=True, slots=True)
class Prospective:
    """It asks whether it would be voted for, in the epoch and with the vote that it has."""

    granted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Candidate:
    """It has voted for itself, and asks for votes once its log is on disk. granted: the votes that it has counted."""

    granted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Parked:
    """A fetch that waits for something new."""

    call: int
    request: FetchRequest


@dataclass(frozen=True, slots=True)
class Leader:
    """epoch_start: the offset of its LeaderChange. ends: of the others, from where they have fetched.

    fetched_ms: when each of the others was last heard of by a fetch. parked: by replica.
    """

    epoch_start: int
    ends: Mapping[int, int]
    fetched_ms: Mapping[int, int]
    parked: Mapping[int, Parked] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resigned:
    """It has led its epoch, and votes for nobody in it."""


@dataclass(frozen=True, slots=True)
class Receiving:
    """A snapshot that is being fetched. position: of the bytes that come next."""

    snapshot_id: SnapshotId
    position: int = 0


@dataclass(frozen=True, slots=True)
class Follower:
    """fetching: its request that is under way. backs_off: the last one failed, and the next has to wait for a timer.

    has_fetched: its leader has answered one, and so is alive. receiving: it fetches a snapshot, and nothing else.
    is_left: its leader leads no more, whatever it has answered before that, and may come later.
    """

    fetching: FetchRequest | FetchSnapshotRequest | None = None
    backs_off: bool = False
    has_fetched: bool = False
    receiving: Receiving | None = None
    is_left: bool = False


Role = Unattached | Prospective | Candidate | Leader | Resigned | Follower
