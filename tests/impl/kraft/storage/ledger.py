"""The judge of the crash tests: what may be on the disk after a crash, kept beside a storage while it works.

It knows what was handed to the storage and what the storage has said is done, and nothing of files. After each recovery
it is asked whether that is a state that the promises allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from impl.kraft.storage.batches import headers
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.sizes import SnapshotId
from impl.kraft.storage.storage import QuorumStorage


class BrokenPromise(AssertionError):
    """A recovery that the promises do not allow."""


class Entry(NamedTuple):
    """A batch in its place."""

    base_offset: int
    end_offset: int
    epoch: int
    data: bytes


Entries = tuple[Entry, ...]


@dataclass
class Ledger:
    """versions: the log as it was last durable, and each that it may have become since.

    start: where the log of the newest version begins. elections: the durable one, and what is being persisted.
    snapshots: those on disk by id, with their bytes; coming: being written; going: deleted, on disk at some time.
    installing: the one that the log is being emptied to. is_rotten: a file was damaged, so that a snapshot may have to
    stand for the log. is_deleting: since the last start what a snapshot stands for was deleted.
    """

    versions: list[Entries] = field(default_factory=lambda: [()])
    start: int = 0
    elections: list[ElectionState | None] = field(default_factory=lambda: [None])
    snapshots: dict[SnapshotId, bytes] = field(default_factory=dict)
    coming: dict[SnapshotId, bytes] = field(default_factory=dict)
    going: dict[SnapshotId, bytes] = field(default_factory=dict)
    installing: SnapshotId | None = None
    is_rotten: bool = False
    is_deleting: bool = False

    @property
    def log(self) -> Entries:
        return self.versions[-1]

    @property
    def end(self) -> int:
        return self.log[-1].end_offset if self.log else self.start

    @property
    def epoch(self) -> int:
        return max([0, *(entry.epoch for entry in self.log), *(epoch for _, epoch in self.snapshots)])

    @property
    def flushed_end(self) -> int:
        """Everything below was once flushed, and not cut since."""
        return min(entries[-1].end_offset if entries else self.start for entries in self.versions)

    def change(self, entries: Entries) -> None:
        """The log is being made this."""
        self.versions.append(entries)

    def flushed(self, end_offset: int) -> None:
        """The storage says that everything below is on disk."""
        durable = tuple(entry for entry in self.log if entry.end_offset <= end_offset)
        self.versions = [durable] if durable == self.log else [durable, self.log]

    def check(self, storage: QuorumStorage, excused_from: int | None = None) -> None:
        """Raise BrokenPromise unless this recovery is allowed; what it found is durable from here on.

        excused_from: from this offset on the log may be cut, for rot that nobody can tell from a torn tail.
        """
        may_be_emptied = self.is_rotten or self.is_deleting or not all(self.versions)
        self.is_deleting = False
        self._check_snapshots(storage)
        self._check_log(storage, excused_from, may_be_emptied=may_be_emptied)
        if storage.election not in self.elections:
            raise BrokenPromise(f"the election state is {storage.election}, not one of {self.elections}")
        self.elections = [storage.election]

    def _check_snapshots(self, storage: QuorumStorage) -> None:
        found = {i: storage.snapshots.read_bytes(i, 0, storage.snapshots.size_bytes(i)) for i in storage.snapshots.ids}
        written = {**self.snapshots, **self.coming, **self.going}
        for snapshot_id, data in found.items():
            if written.get(snapshot_id) != data:
                raise BrokenPromise(f"snapshot {snapshot_id} is not what was written")
        if lost := set(self.snapshots) - set(found):
            raise BrokenPromise(f"snapshots {lost} are gone")
        self.snapshots, self.coming, self.going = found, {}, {}

    def _check_log(self, storage: QuorumStorage, excused_from: int | None, *, may_be_emptied: bool) -> None:
        log, covered = storage.log, max([0, *(end for end, _ in self.snapshots)])
        if self.installing in self.snapshots:
            self.versions, self.start = [()], covered
        self.installing = None
        found = entries_of(log.read(log.start_offset, 1 << 30))
        if log.flushed_end != log.end_offset:
            raise BrokenPromise(f"{log.flushed_end} of {log.end_offset} is flushed after a recovery")
        if not any(is_part(found, version) for version in self.versions):
            raise BrokenPromise(f"the log {shown(found)} was never written; {list(map(shown, self.versions))} were")
        least = self.flushed_end if excused_from is None else min(self.flushed_end, excused_from)
        if log.end_offset < least:
            raise BrokenPromise(f"the log ends at {log.end_offset}, and {least} was flushed")
        if not found and not may_be_emptied and least > self.start and least >= covered:
            raise BrokenPromise(f"the log is emptied, and its snapshots reach {covered} only of {least}")
        if log.start_offset > covered:
            raise BrokenPromise(f"the log starts at {log.start_offset}, and snapshots reach {covered}")
        self.versions, self.start = [found], log.start_offset


def entries_of(data: bytes) -> Entries:
    return tuple(
        Entry(header.base_offset, header.end_offset, header.epoch, data[at : at + header.size_bytes])
        for at, header in headers(data)
    )


def is_part(found: Entries, version: Entries) -> bool:
    """Are these batches of the version, without a gap?"""
    if not found:
        return True
    at = next((at for at, entry in enumerate(version) if entry == found[0]), None)
    return at is not None and version[at : at + len(found)] == found


def shown(entries: Entries) -> list[tuple[int, int, int]]:
    return [entry[:3] for entry in entries]
