"""Everything of the log that elections and replication rest on: where it ends, and where its epochs do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from impl.kraft.storage.batches import BatchError, headers
from impl.kraft.storage.epochs import EpochHistory


@dataclass(slots=True)
class LogEnds:
    """Offsets are exclusive ends. flushed_end: all before is on disk."""

    end_offset: int = 0
    flushed_end: int = 0
    epochs: EpochHistory = field(default_factory=EpochHistory)

    @classmethod
    def recovered(cls, end_offset: int, starts: Iterable[tuple[int, int]]) -> LogEnds:
        """Of a log that begins at offset 0 and is on disk. starts: its epochs, and where they begin."""
        return cls(end_offset, end_offset, EpochHistory(list(starts)))

    @property
    def last_epoch(self) -> int:
        """0: the log is empty."""
        return self.epochs.last()

    @property
    def is_flushed(self) -> bool:
        return self.flushed_end == self.end_offset

    def copy(self) -> LogEnds:
        return LogEnds(self.end_offset, self.flushed_end, EpochHistory(list(self.epochs.starts)))

    def is_as_good(self, last_epoch: int, end_offset: int) -> bool:
        """Is a log with this end at least as good as this one?"""
        return (last_epoch, end_offset) >= (self.last_epoch, self.end_offset)

    def end_of(self, epoch: int) -> tuple[int, int]:
        """The newest epoch that is no newer than this one, and its end. (0, 0): all are newer."""
        return self.epochs.end_of(epoch, self.end_offset) or (0, 0)

    def has(self, end_offset: int, last_epoch: int) -> bool:
        """Is a log with this end, by what its last epoch tells, a prefix of this one?"""
        epoch, end = self.end_of(last_epoch)
        return end_offset == 0 or (epoch == last_epoch and end_offset <= end)

    def append(self, data: bytes, epoch: int) -> None:
        """Take note of batches that follow, of no epoch later than this. Raises BatchError, and notes nothing then."""
        end, last = self.end_offset, self.last_epoch
        found = [header for _, header in headers(data)]
        for header in found:
            if header.base_offset != end or not last <= header.epoch <= epoch:
                raise BatchError(
                    f"a batch at offset {header.base_offset} of epoch {header.epoch} cannot follow, in epoch {epoch}, "
                    f"a log that ends at {end} in epoch {last}"
                )
            end, last = header.end_offset, header.epoch
        for header in found:
            self.epochs.note(header.epoch, header.base_offset)
        self.end_offset = end

    def cut(self, end_offset: int) -> None:
        """The log ends here from now on, durably."""
        self.end_offset = end_offset
        self.flushed_end = min(self.flushed_end, end_offset)
        self.epochs.cut(end_offset)
