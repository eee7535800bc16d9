"""Effects that the core of the quorum asks for beside those on the disk (`impl.kraft.storage.effects`).

They are carried out in order: a message behind a `Persist` or `TruncateLog` leaves once that is on disk. A `Flush` may
take its time, in a thread of its own; what must wait for it waits for `Raft.on_flushed`. So may a `FreezeSnapshot`,
which ends with `Raft.on_frozen`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.messages import FetchResponse, FetchSnapshotResponse, Request, Response
from impl.kraft.storage.effects import (
    AppendToLog,
    DeleteBefore,
    DeleteLeftovers,
    DiskEffect,
    Flush,
    FreezeSnapshot,
    InstallSnapshot,
    MeasureStorage,
    Persist,
    ReceiveSnapshot,
    TruncateLog,
)
from impl.kraft.storage.sizes import SnapshotId


class Timer(StrEnum):
    """The timers of a voter. A timer that is set again is moved; PARKED and RETRY are one for each peer."""

    ELECTION = "election"
    """It has not heard of a leader for long enough."""
    BEGIN = "begin"
    """A leader makes itself known again."""
    CHECK_QUORUM = "check quorum"
    """A leader may have lost its majority."""
    PARKED = "parked"
    """A fetch is answered although there is nothing new."""
    RETRY = "retry"
    """A request to a peer is to be sent again."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request, and hand in its response, or None once it is given up."""

    to: int
    request: Request


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the call that was handed in with this number."""

    call: int
    response: Response


@dataclass(frozen=True, slots=True)
class AnswerFetch:
    """Answer with whole batches of the log from an offset on: at least one, then up to `max_bytes`.

    The log is read when this is carried out: what stands before it may have appended to it.
    """

    call: int
    response: FetchResponse
    offset: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class AnswerSnapshot:
    """Answer with bytes of a snapshot, which may be gone: `with_data` makes the response of what there is."""

    call: int
    response: FetchSnapshotResponse
    snapshot_id: SnapshotId
    max_bytes: int

    def with_data(self, size_bytes: int | None, data: bytes) -> FetchSnapshotResponse:
        """size_bytes: of the snapshot; None: there is none. data: from the position on, up to `max_bytes`."""
        if size_bytes is None:
            return replace(self.response, error=ErrorCode.SNAPSHOT_NOT_FOUND)
        if not 0 <= self.response.position < size_bytes:
            return replace(self.response, error=ErrorCode.POSITION_OUT_OF_RANGE)
        return replace(self.response, size_bytes=size_bytes, data=data)


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `on_timer(timer, now_ms, peer)` at a time from `at_ms` to `at_ms + spread_ms` that is drawn, or later."""

    timer: Timer
    at_ms: int
    spread_ms: int = 0
    peer: int | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """All before this offset is committed, and may be applied."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class LoadSnapshot:
    """The log starts at the end of this snapshot: it stands for all that was to be applied before."""

    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True)
class Claim:
    """This node leads the epoch, and all that was committed before it is committed here: decide."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Renounce:
    """This node does not lead any more."""

    epoch: int


Effect = (
    DiskEffect | Send | Answer | AnswerFetch | AnswerSnapshot | SetTimer | Committed | LoadSnapshot | Claim | Renounce
)
Effects = list[Effect]

__all__ = [
    "Answer", "AnswerFetch", "AnswerSnapshot", "AppendToLog", "Claim", "Committed", "DeleteBefore", "DeleteLeftovers",
    "Effect", "Effects", "Flush", "FreezeSnapshot", "InstallSnapshot", "LoadSnapshot", "MeasureStorage", "Persist",
    "ReceiveSnapshot", "Renounce", "Send", "SetTimer", "Timer", "TruncateLog",
]  # fmt: skip
