"""All that a voter keeps in `__cluster_metadata-0`: election state, log and snapshots; recovered, changed, read."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from impl.kraft.storage.batches import BatchError, header_at
from impl.kraft.storage.directories import PARTITION, PARTITION_METADATA
from impl.kraft.storage.disk import TEMPORARY, Disk, write_durably
from impl.kraft.storage.election import ElectionState, read_election, write_election
from impl.kraft.storage.errors import DiskFullError, LogUseError, StorageEndedError
from impl.kraft.storage.log import DELETED, Log, LogSettings, PendingFlush
from impl.kraft.storage.sizes import SnapshotId, StoredSizes
from impl.kraft.storage.snapshots import PART, SnapshotReceiver, Snapshots, SnapshotWriter

RESERVE = "reserve"
_RESERVE_BYTES = 4 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LEFTOVERS = (DELETED, PART, TEMPORARY)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """reserve_bytes: of a file that is deleted once the disk is full, so that an election state can be persisted."""

    log: LogSettings = field(default_factory=LogSettings)
    reserve_bytes: int = _RESERVE_BYTES


class QuorumStorage:
    """The directory of the metadata partition. Reading a log is not guarded; what writes goes through here.

    A write or fsync that fails ends it: StorageEndedError, then and ever after. A full disk ends the appends alone,
    with DiskFullError, so that a leader can resign; to go on, the process starts again.
    """

    def __init__(self, disk: Disk, directory: str, settings: StorageSettings) -> None:
        self._disk, self._directory, self._settings = disk, directory, settings
        self._ended: str | None = None
        self._is_full = False
        self._receiving: tuple[SnapshotId, SnapshotReceiver] | None = None
        disk.sync_directory(directory)  # what is read from here on may rest on a name that was in memory only
        self._delete_leftovers()
        self.snapshots = Snapshots(disk, directory)
        self.log = Log.open(disk, directory, settings.log, self.snapshots.latest)
        self.election = read_election(disk, directory)
        self._fill_reserve()

    @classmethod
    def open(cls, disk: Disk, metadata_directory: str, settings: StorageSettings | None = None) -> QuorumStorage:
        """Recover what the last process left in a log directory that is formatted and locked.

        Everything in it is on disk then: it may be voted and fetched by. Raises BitRotError, StorageError.
        """
        directory = f"{metadata_directory}/{PARTITION}"
        disk.make_directory(directory)
        disk.sync_directory(metadata_directory)  # where it was there already, the last process may not have come so far
        if "partition.metadata" not in disk.names(directory):
            write_durably(disk, directory, "partition.metadata", PARTITION_METADATA)
        return cls(disk, directory, settings or StorageSettings())

    def persist(self, state: ElectionState) -> None:
        """Remember epoch, leader and vote: durable once this has returned, before any message that rests on it."""
        try:
            with self._writing():
                write_election(self._disk, self._directory, state)
        except DiskFullError:
            self._is_full = True
            with self._writing():
                self._delete_reserve()
                write_election(self._disk, self._directory, state)
        self.election = state

    def append(self, data: bytes, epoch: int) -> int:
        """As `Log.append`."""
        with self._appending():
            return self.log.append(data, epoch)

    def flush(self) -> int:
        """The end of what is on disk: a voter may fetch from there, the leader count itself up to there."""
        pending = self.begin_flush()
        with self._writing(full_ends=True):
            pending.run()
        return self.finish_flush(pending)

    def begin_flush(self) -> PendingFlush:
        """A flush whose `run` is called elsewhere; if that raises, hand it to `failed`."""
        with self._writing():
            return self.log.begin_flush()

    def finish_flush(self, pending: PendingFlush) -> int:
        with self._writing():
            return self.log.finish_flush(pending)

    def failed(self, error: OSError) -> StorageEndedError:
        """A flush that ran elsewhere failed: what is to be raised."""
        self._ended = f"{self._directory}: {error}"
        return StorageEndedError(f"{self._ended}. What is on disk is unknown: the process must end, and start again")

    def truncate(self, end_offset: int) -> int:
        """As `Log.truncate`. Raises LogUseError below the newest snapshot, whose end is committed."""
        latest = self.snapshots.latest
        if latest is not None and end_offset < latest[0]:
            raise LogUseError(
                f"what is below the snapshot {latest} is committed, and cannot be truncated to {end_offset}"
            )
        with self._writing(full_ends=True):
            end = self.log.truncate(end_offset)
            if latest is not None:
                self.log.note_snapshot(latest)
            return end

    def create_snapshot(self, snapshot_id: SnapshotId, last_contained_ms: int, now_ms: int) -> SnapshotWriter:
        """Begin one of this node's own. Raises LogUseError unless a batch of its epoch ends there (KAFKA-14619)."""
        end_offset, log = snapshot_id[0], self.log
        if not log.start_offset < end_offset <= log.end_offset:
            raise LogUseError(
                f"a snapshot {snapshot_id} ends outside of a log from {log.start_offset} to {log.end_offset}"
            )
        header = header_at(log.read(end_offset - 1, 1))
        if (header.end_offset, header.epoch) != snapshot_id:
            raise LogUseError(
                f"a snapshot {snapshot_id} must end where a batch of its epoch does: the batch that has offset "
                f"{end_offset - 1} is of epoch {header.epoch} and ends at {header.end_offset}"
            )
        with self._appending():
            return self.snapshots.create(snapshot_id, last_contained_ms, now_ms)

    def receive_snapshot(self, snapshot_id: SnapshotId) -> SnapshotReceiver:
        """Begin one that the leader sends."""
        with self._appending():
            return self.snapshots.receive(snapshot_id)

    def receive(self, snapshot_id: SnapshotId, position: int, data: bytes) -> None:
        """Bytes of a snapshot that the leader sends, one piece after the other; position 0 begins it."""
        if position == 0:
            self._receiving = snapshot_id, self.receive_snapshot(snapshot_id)
        if self._receiving is None or (self._receiving[0], self._receiving[1].position) != (snapshot_id, position):
            raise LogUseError(f"position {position} of the snapshot {snapshot_id} is not what comes next")
        with self._appending():
            self._receiving[1].append(data)

    def freeze(self, snapshot_id: SnapshotId) -> bool:
        """Make a snapshot durable whose bytes were received. False: they are none, and it has to be fetched anew."""
        if self._receiving is None or self._receiving[0] != snapshot_id:
            raise LogUseError(f"the snapshot {snapshot_id} is not received")
        (_, receiver), self._receiving = self._receiving, None
        with self._appending():
            try:
                receiver.freeze()
            except BatchError as error:
                logger.warning("%s: the snapshot %s is refused: %s", self._directory, snapshot_id, error)
                return False
        return True

    @contextmanager
    def writing_snapshot(self) -> Iterator[None]:
        """Around each call of a snapshot's writer or receiver."""
        with self._appending():
            yield

    def install(self, snapshot_id: SnapshotId) -> None:
        """The log starts at the end of a snapshot that was received and frozen."""
        if snapshot_id not in self.snapshots.ids:
            raise LogUseError(f"there is no snapshot {snapshot_id} to start from")
        with self._writing(full_ends=True):
            self.log.restart_at(*snapshot_id)

    def delete_before(self, snapshot_id: SnapshotId) -> None:
        """Delete the segments and snapshots that a snapshot which is there stands for."""
        if snapshot_id not in self.snapshots.ids:
            raise LogUseError(f"there is no snapshot {snapshot_id} that could stand for what is before it")
        with self._writing(full_ends=True):
            self.log.delete_before(snapshot_id[0])
            self.snapshots.delete_before(snapshot_id)

    def sizes(self) -> StoredSizes:
        """Raises BitRotError."""
        return StoredSizes(self.log.sizes(), self.snapshots.sizes())

    def delete_leftovers(self) -> None:
        """Delete the files of segments and snapshots that are deleted: at some time, nothing rests on it."""
        with self._writing():
            self._delete_leftovers((DELETED,))

    def close(self) -> None:
        self.log.close()

    @contextmanager
    def _writing(self, *, full_ends: bool = False) -> Iterator[None]:
        """full_ends: with a full disk it is unknown what was done, so that it ends the storage, too."""
        if self._ended is not None:
            raise StorageEndedError(f"{self._ended}. An earlier write failed: the process must end, and start again")
        try:
            yield
        except OSError as error:
            if error.errno in _FULL and not full_ends:
                raise DiskFullError(f"{self._directory}: no space left on the disk") from None
            raise self.failed(error) from error

    @contextmanager
    def _appending(self) -> Iterator[None]:
        if self._is_full:
            raise DiskFullError(f"{self._directory}: there was no space left: free some, and start the process again")
        try:
            with self._writing():
                yield
        except DiskFullError:
            self._is_full = True
            raise

    def _delete_leftovers(self, suffixes: tuple[str, ...] = _LEFTOVERS) -> None:
        names = self._disk.names(self._directory)
        for name in names:
            stem, _, suffix = name.rpartition(".")
            is_index = suffix in ("index", "timeindex") and f"{stem}.log" not in names
            if name.endswith(suffixes) or is_index:
                self._disk.delete(f"{self._directory}/{name}")

    def _fill_reserve(self) -> None:
        path = f"{self._directory}/{RESERVE}"
        try:
            file = self._disk.open(path, create=True)
            try:
                if (missing := self._settings.reserve_bytes - file.size()) > 0:
                    file.write(file.size(), bytes(missing))
                    file.fsync()
            finally:
                file.close()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            logger.warning("%s: there is no space for a reserve of %d bytes", path, self._settings.reserve_bytes)

    def _delete_reserve(self) -> None:
        with suppress(FileNotFoundError):
            self._disk.delete(f"{self._directory}/{RESERVE}")
