"""Snapshots on a disk (KIP-630): `<end offset>-<epoch>.checkpoint`, whole from the moment that it has that name.

A snapshot is batches whose offsets count from 0: a SnapshotHeader, data, a SnapshotFooter. While it is written, or
fetched from a leader, its name ends in `.part`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from impl.kraft.storage.batches import (
    LENGTH_END,
    BatchError,
    Record,
    RecordBatch,
    decode,
    decode_all,
    encode,
    header_at,
)
from impl.kraft.storage.control import ControlType, control_type, last_contained_ms, snapshot_footer, snapshot_header
from impl.kraft.storage.disk import Disk, File, read_whole
from impl.kraft.storage.errors import REBUILD, BitRotError, LogUseError
from impl.kraft.storage.log import DELETED
from impl.kraft.storage.sizes import SnapshotId, SnapshotSize

SUFFIX = ".checkpoint"
PART = ".part"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class Snapshots:
    """The snapshots in a directory. `ids` rise; none is listed that is not on disk as a whole."""

    def __init__(self, disk: Disk, directory: str) -> None:
        """Read and check all of them. Raises BitRotError; one without a footer is none, and is deleted."""
        self._disk, self._directory = disk, directory
        self.ids: list[SnapshotId] = []
        for name in disk.names(directory):
            if (snapshot_id := id_of(name)) is not None:
                self._load(snapshot_id, name)

    @property
    def latest(self) -> SnapshotId | None:
        return self.ids[-1] if self.ids else None

    def create(self, snapshot_id: SnapshotId, last_contained_ms: int, now_ms: int) -> SnapshotWriter:
        """Begin a snapshot of what is committed before an offset, at the epoch of the record before it."""
        writer = SnapshotWriter(self, snapshot_id, now_ms)
        writer.append([snapshot_header(last_contained_ms)], is_control=True)
        return writer

    def receive(self, snapshot_id: SnapshotId) -> SnapshotReceiver:
        """Begin a snapshot whose bytes a leader sends."""
        return SnapshotReceiver(self, snapshot_id)

    def read(self, snapshot_id: SnapshotId) -> list[RecordBatch]:
        """Its batches of data. Raises BitRotError."""
        path = self._path(snapshot_id)
        data = read_whole(self._disk, path)
        try:
            return data_batches(data, snapshot_id[1])
        except BatchError as error:
            raise BitRotError(f"{path}: {error}. {REBUILD}") from None

    def read_bytes(self, snapshot_id: SnapshotId, position: int, size_bytes: int) -> bytes:
        """A piece as it is, for a follower, which checks what it gets. Raises FileNotFoundError: it was deleted."""
        file = self._disk.open(self._path(snapshot_id))
        try:
            return file.read(position, size_bytes)
        finally:
            file.close()

    def piece(self, snapshot_id: SnapshotId, position: int, most_bytes: int) -> tuple[int | None, bytes]:
        """The size of a snapshot, and bytes of it for a follower. (None, b""): it is not there."""
        if snapshot_id not in self.ids:
            return None, b""
        return self.size_bytes(snapshot_id), self.read_bytes(snapshot_id, position, most_bytes)

    def size_bytes(self, snapshot_id: SnapshotId) -> int:
        file = self._disk.open(self._path(snapshot_id))
        try:
            return file.size()
        finally:
            file.close()

    def sizes(self) -> tuple[SnapshotSize, ...]:
        """Of all of them. Raises BitRotError."""
        return tuple(SnapshotSize(one, self.size_bytes(one), self._last_contained_ms(one)) for one in self.ids)

    def delete_before(self, snapshot_id: SnapshotId) -> None:
        """Delete all that are older than this one, which must be there. The names change; the files go later."""
        if snapshot_id not in self.ids:
            raise LogUseError(f"there is no snapshot {snapshot_id} that could stand for those before it")
        while self.ids[0] < snapshot_id:
            path = self._path(self.ids.pop(0))
            self._disk.rename(path, path + DELETED)

    def commit(self, snapshot_id: SnapshotId) -> None:
        """A part whose bytes are on disk becomes the snapshot, durably."""
        path = self._path(snapshot_id)
        self._disk.rename(path + PART, path)
        self._disk.sync_directory(self._directory)
        self.ids = sorted({*self.ids, snapshot_id})

    def part(self, snapshot_id: SnapshotId) -> str:
        return self._path(snapshot_id) + PART

    @property
    def disk(self) -> Disk:
        return self._disk

    def _load(self, snapshot_id: SnapshotId, name: str) -> None:
        path = f"{self._directory}/{name}"
        try:
            if is_whole(read_whole(self._disk, path), snapshot_id[1]):
                self.ids.append(snapshot_id)
            else:
                self._disk.delete(path)
        except BatchError as error:
            raise BitRotError(f"{path}: {error}. {REBUILD}") from None

    def _last_contained_ms(self, snapshot_id: SnapshotId) -> int:
        """As its first batch says, of which alone it is read."""
        head = self.read_bytes(snapshot_id, 0, LENGTH_END)
        size_bytes = LENGTH_END + int.from_bytes(head[8:], "big")
        try:
            return last_contained_ms(decode(self.read_bytes(snapshot_id, 0, size_bytes)).records[0])
        except BatchError as error:
            raise BitRotError(f"{self._path(snapshot_id)}: {error}. {REBUILD}") from None

    def _path(self, snapshot_id: SnapshotId) -> str:
        return f"{self._directory}/{name_of(snapshot_id)}"


class SnapshotWriter:
    """A snapshot that is being written. Nothing is there until `freeze` has returned.

    `end`, `sync` and `commit` do the same one by one: `sync` may be called in a thread of its own. Who gives it up
    calls `close` instead of these, and a part is left, which the next start deletes.
    """

    def __init__(self, snapshots: Snapshots, snapshot_id: SnapshotId, now_ms: int) -> None:
        self._snapshots, self._id, self._now_ms = snapshots, snapshot_id, now_ms
        self._file = opened_part(snapshots, snapshot_id)
        self._size_bytes = self._offset = 0

    def append(self, records: Sequence[Record], *, is_control: bool = False) -> None:
        """One batch."""
        batch = RecordBatch(self._offset, self._id[1], self._now_ms, tuple(records), is_control)
        data = encode(batch)
        self._file.write(self._size_bytes, data)
        self._size_bytes += len(data)
        self._offset = batch.end_offset

    def freeze(self) -> None:
        """End it with its footer. Once this has returned, a crash does not take it away."""
        try:
            self.end()
        except BaseException:
            self.close()
            raise
        self.sync()
        self.commit()

    def end(self) -> None:
        self.append([snapshot_footer()], is_control=True)

    def sync(self) -> None:
        """Its file is closed then, whether that fails or not."""
        try:
            self._file.fsync()
        finally:
            self.close()

    def commit(self) -> None:
        self._snapshots.commit(self._id)

    def close(self) -> None:
        self._file.close()


class SnapshotReceiver:
    """A snapshot that is being fetched. Nothing is there until `freeze` has returned."""

    def __init__(self, snapshots: Snapshots, snapshot_id: SnapshotId) -> None:
        self._snapshots, self._id = snapshots, snapshot_id
        self._file = opened_part(snapshots, snapshot_id)
        self.position = 0

    def append(self, data: bytes) -> None:
        """The bytes at `position`."""
        self._file.write(self.position, data)
        self.position += len(data)

    def freeze(self) -> None:
        """Check it, and make it durable. Raises BatchError where it is not what a leader may send: fetch it again."""
        try:
            if not is_whole(self._file.read(0, self.position), self._id[1]):
                raise BatchError(f"the snapshot {name_of(self._id)} does not end in a footer")
            self._file.fsync()
        finally:
            self._file.close()
        self._snapshots.commit(self._id)


def name_of(snapshot_id: SnapshotId) -> str:
    end_offset, epoch = snapshot_id
    return f"{end_offset:020d}-{epoch:010d}{SUFFIX}"


def opened_part(snapshots: Snapshots, snapshot_id: SnapshotId) -> File:
    file = snapshots.disk.open(snapshots.part(snapshot_id), create=True)
    file.truncate(0)
    return file


def id_of(name: str) -> SnapshotId | None:
    """The snapshot whose file has this name; None: no snapshot has it."""
    match = _NAME.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]))


def data_batches(data: bytes, epoch: int) -> list[RecordBatch]:
    """The batches of a snapshot that are no control batches. Raises BatchError unless it is whole."""
    if not is_whole(data, epoch):
        raise BatchError("it does not end in a footer")
    return [batch for batch in decode_all(data) if not batch.is_control]


def is_whole(data: bytes, epoch: int) -> bool:
    """False: it does not end in a footer. Raises BatchError where it is damaged, cut off, or of another epoch."""
    at = offset = last = 0
    while at < len(data):
        header = header_at(data, at)
        if (header.base_offset, header.epoch) != (offset, epoch):
            raise BatchError(
                f"position {at}: a batch at offset {header.base_offset}, epoch {header.epoch}, not {offset}, {epoch}"
            )
        at, offset, last = at + header.size_bytes, header.end_offset, at
    return (
        offset > 0
        and is_control(data, 0, ControlType.SNAPSHOT_HEADER)
        and is_control(data, last, ControlType.SNAPSHOT_FOOTER)
    )


def is_control(data: bytes, at: int, type_: ControlType) -> bool:
    batch = decode(data, at)
    return batch.is_control and control_type(batch.records[0]) is type_
