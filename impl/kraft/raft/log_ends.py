"""Everything of the log that elections and replication rest on: where it ends, where its epochs and snapshots do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from impl.kraft.storage.batches import BatchError, headers
from impl.kraft.storage.epochs import EpochHistory
from impl.kraft.storage.sizes import SnapshotId


@dataclass(slots=True)
class LogEnds:
    """Offsets are exclusive ends. flushed_end: all before is on disk. snapshots: those on disk, the oldest first."""

    end_offset: int = 0
    flushed_end: int = 0
    epochs: EpochHistory = field(default_factory=EpochHistory)
    start_offset: int = 0
    snapshots: tuple[SnapshotId, ...] = ()

    @classmethod
    def recovered(
        cls,
        end_offset: int,
        starts: Iterable[tuple[int, int]],
        start_offset: int = 0,
        snapshots: Iterable[SnapshotId] = (),
    ) -> LogEnds:
        """Of a log that is on disk. starts: its epochs, and where they begin."""
        ends = cls(end_offset, end_offset, EpochHistory(list(starts)), start_offset, tuple(snapshots))
        ends._note_epoch_before()
        return ends

    @property
    def committed_end(self) -> int:
        """What a snapshot stands for is committed."""
        return self.snapshots[-1][0] if self.snapshots else 0

    @property
    def last_epoch(self) -> int:
        """0: the log is empty."""
        return self.epochs.last()

    @property
    def is_flushed(self) -> bool:
        return self.flushed_end == self.end_offset

    def copy(self) -> LogEnds:
        epochs = EpochHistory(list(self.epochs.starts))
        return LogEnds(self.end_offset, self.flushed_end, epochs, self.start_offset, self.snapshots)

    def is_as_good(self, last_epoch: int, end_offset: int) -> bool:
        """Is a log with this end at least as good as this one?"""
        return (last_epoch, end_offset) >= (self.last_epoch, self.end_offset)

    def lacks(self, snapshot_id: SnapshotId) -> bool:
        """Does a snapshot stand for more than this log has?"""
        end_offset, epoch = snapshot_id
        return (epoch, end_offset) > (self.last_epoch, self.end_offset)

    def end_of(self, epoch: int) -> tuple[int, int]:
        """The newest epoch that is no newer than this one, and its end. (0, 0): all are newer."""
        return self.epochs.end_of(epoch, self.end_offset) or (0, 0)

    def has(self, end_offset: int, last_epoch: int) -> bool:
        """Is a log with this end, by what its last epoch tells, a prefix of this one?"""
        epoch, end = self.end_of(last_epoch)
        return end_offset == 0 or (epoch == last_epoch and end_offset <= end)

    def snapshot_for(self, end_offset: int, last_epoch: int) -> SnapshotId | None:
        """The snapshot to begin with for who has a log with this end: this one has not what comes next, or of so old an
        epoch that it knows none before; or the other log is empty, and the snapshot the shorter way."""
        is_known = end_offset >= self.start_offset and self.epochs.end_of(last_epoch, self.end_offset) is not None
        return None if not self.snapshots or (end_offset > 0 and is_known) else self.snapshots[-1]

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
        self._note_epoch_before()

    def restart_at(self, snapshot_id: SnapshotId) -> None:
        """The log starts, and ends, at the end of a snapshot that is on disk."""
        end_offset, epoch = snapshot_id
        self.start_offset = self.end_offset = self.flushed_end = end_offset
        self.epochs = EpochHistory([(epoch, end_offset)])
        self.note_snapshot(snapshot_id)

    def note_snapshot(self, snapshot_id: SnapshotId) -> None:
        """It is on disk."""
        self.snapshots = tuple(sorted({*self.snapshots, snapshot_id}))

    def delete_before(self, snapshot_id: SnapshotId) -> None:
        """What a snapshot stands for is deleted, and so are older snapshots."""
        self.start_offset = max(self.start_offset, snapshot_id[0])
        self.epochs.cut_front(self.start_offset)
        self.snapshots = tuple(one for one in self.snapshots if one >= snapshot_id)
        self._note_epoch_before()

    def _note_epoch_before(self) -> None:
        """The epoch of the snapshot that ends where the log starts: none of it may be left in the log, and yet another
        log may have to be cut to its end, or this one."""
        starts = self.epochs.starts
        for end_offset, epoch in self.snapshots:
            if end_offset == self.start_offset and (not starts or starts[0][0] > epoch):
                starts.insert(0, (epoch, end_offset))
