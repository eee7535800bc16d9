"""The log of a replica as the broker core needs it, and one in memory.

Offsets count records from 0; ends are exclusive. Leaves out: deletion and compaction of old records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol, Self

from impl.kraft.fields import Int32, Int64
from impl.kraft.image import PartitionKey

NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A record of a partition, or a batch of several where the log counts so.

    leader_epoch: of the leader that appended it first.
    """

    leader_epoch: Int32
    value: bytes


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """The end of a leader epoch's entries in a log. NO_EPOCH ends where the log begins."""

    epoch: Int32
    end_offset: Int64


class ReplicaLog(Protocol):
    """A log whose entries have leader epochs that never go down.

    high_watermark: what is below it is known to be committed. It goes no further than the log does.
    """

    high_watermark: int

    @property
    def end_offset(self) -> int: ...

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last entry, or NO_EPOCH."""

    def append(self, entries: Iterable[LogEntry]) -> None: ...

    def read(self, offset: int, max_bytes: int) -> tuple[LogEntry, ...]:
        """The entries from `offset` on, up to this size, but one at least where there is one (KIP-74)."""

    def truncate(self, offset: int) -> None:
        """Drop the entries from `offset` on, if there are any."""

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """The newest leader epoch in the log that is not above `epoch`, and where it ends (KIP-101)."""

    def copy(self) -> Self:
        """A log that changes on its own."""


class ReplicaLogs(Protocol):
    """Where the logs of a broker are."""

    def create(self, key: PartitionKey, topic: str) -> ReplicaLog:
        """An empty log for a replica that was placed here."""

    def delete(self, key: PartitionKey) -> None:
        """The replica of this log is not here any more."""


class InMemoryReplicaLogs:
    """Logs that last as long as their process."""

    def create(self, key: PartitionKey, topic: str) -> InMemoryReplicaLog:
        return InMemoryReplicaLog()

    def delete(self, key: PartitionKey) -> None:
        """Nothing is left of it anyway."""


class InMemoryReplicaLog:
    """A log that lasts as long as its process."""

    def __init__(self, entries: Sequence[LogEntry] = (), high_watermark: int = 0) -> None:
        self.entries = list(entries)
        self.high_watermark = high_watermark

    @property
    def end_offset(self) -> int:
        return len(self.entries)

    @property
    def last_epoch(self) -> int:
        return self.entries[-1].leader_epoch if self.entries else NO_EPOCH

    def append(self, entries: Iterable[LogEntry]) -> None:
        self.entries.extend(entries)

    def read(self, offset: int, max_bytes: int) -> tuple[LogEntry, ...]:
        end, size_bytes = offset, 0
        while end < len(self.entries):
            size_bytes += len(self.entries[end].value)
            if size_bytes > max_bytes and end > offset:
                break
            end += 1
        return tuple(self.entries[offset:end])

    def truncate(self, offset: int) -> None:
        del self.entries[offset:]
        self.high_watermark = min(self.high_watermark, len(self.entries))

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        end = bisect_right(self.entries, epoch, key=attrgetter("leader_epoch"))
        return EpochEnd(self.entries[end - 1].leader_epoch if end else NO_EPOCH, end)

    def copy(self) -> InMemoryReplicaLog:
        return InMemoryReplicaLog(self.entries, self.high_watermark)
