"""How much a partition directory has, by which what is old in it goes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

SnapshotId = tuple[int, int]
"""End offset (exclusive) and epoch of the record before it."""


@dataclass(frozen=True, slots=True)
class SegmentSize:
    base_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotSize:
    """last_contained_ms: the timestamp of the last record that it stands for."""

    snapshot_id: SnapshotId
    size_bytes: int
    last_contained_ms: int


@dataclass(frozen=True, slots=True)
class StoredSizes:
    """Segments and snapshots, each the oldest first."""

    segments: tuple[SegmentSize, ...]
    snapshots: tuple[SnapshotSize, ...]

    @property
    def total_bytes(self) -> int:
        return sum(one.size_bytes for one in self.segments) + sum(one.size_bytes for one in self.snapshots)

    def without_oldest(self) -> StoredSizes:
        """What is left once the oldest snapshot is deleted, and each segment for which the next snapshot stands."""
        kept = self.snapshots[1:]
        end_offset = kept[0].snapshot_id[0]
        gone = sum(following.base_offset <= end_offset for _, following in pairwise(self.segments))
        return replace(self, segments=self.segments[gone:], snapshots=kept)
