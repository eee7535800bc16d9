"""The log of a replica: batches of records, which nobody here looks into.

A batch is kept with the leader epoch it was appended under; two logs agree up to where they have the same epoch at the
same offset (KIP-101).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batch:
    """offset: of its first record; count: of records; data: opaque, as it was produced."""

    offset: int
    count: int
    leader_epoch: int
    data: bytes

    @property
    def end_offset(self) -> int:
        """The offset after its last record."""
        return self.offset + self.count


class Log:
    """The batches of one replica, in memory. A subclass keeps them elsewhere, too."""

    def __init__(self, batches: Iterable[Batch] = ()) -> None:
        self.batches = list(batches)

    @property
    def end_offset(self) -> int:
        return self.batches[-1].end_offset if self.batches else 0

    @property
    def last_epoch(self) -> int:
        """Of the last batch; -1: there is none."""
        return self.batches[-1].leader_epoch if self.batches else -1

    def append(self, batch: Batch) -> None:
        """Add a batch at the end. Raises ValueError where it belongs elsewhere."""
        if batch.offset != self.end_offset or batch.leader_epoch < self.last_epoch:
            raise ValueError(f"a batch of offset {batch.offset} at {self.end_offset}")
        self.batches.append(batch)

    def truncate(self, offset: int) -> None:
        """Remove all that is not wholly before this offset."""
        while self.batches and self.batches[-1].end_offset > offset:
            self.batches.pop()

    def read(self, offset: int, most_bytes: int) -> tuple[Batch, ...]:
        """The batches from the one that this offset is in, at least one where there is one."""
        at = bisect_right(self.batches, offset, key=lambda batch: batch.end_offset)
        found, size_bytes = list[Batch](), 0
        for batch in self.batches[at:]:
            if found and size_bytes + len(batch.data) > most_bytes:
                break
            found.append(batch)
            size_bytes += len(batch.data)
        return tuple(found)

    def end_of(self, epoch: int) -> tuple[int, int]:
        """The largest epoch up to this one that there is a batch of, -1 for none, and where its batches end."""
        at = bisect_right(self.batches, epoch, key=lambda batch: batch.leader_epoch)
        return (self.batches[at - 1].leader_epoch, self.batches[at - 1].end_offset) if at else (-1, 0)
