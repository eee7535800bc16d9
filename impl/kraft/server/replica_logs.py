"""Logs of replicas on disks, as the core of a broker needs them: below a log directory, a folder for each partition.

Folders are named, and files are, as by Kafka: `orders-0`, with the id of its topic in `partition.metadata`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from impl.kraft.broker import EpochEnd, LogEntry, ReplicaLog
from impl.kraft.image import PartitionKey
from impl.kraft.server.producers import Producers
from impl.kraft.server.replica_trace import ReplicaTrace
from impl.kraft.storage.batches import LENGTH_END, OF_PRODUCERS, Entry, Header, header_at
from impl.kraft.storage.directories import PARTITION, decode_id, encode_id
from impl.kraft.storage.disk import TEMPORARY, read_whole, write_durably
from impl.kraft.storage.errors import StorageError
from impl.kraft.storage.partition_log import PartitionLog
from impl.kraft.storage.real_disk import RealDisk

METADATA = "partition.metadata"
_EPOCH_END = LENGTH_END + 4


class StoredReplicaLog:
    """A log of which each entry is a batch, at the offset that the log gives it. high_watermark: see `ReplicaLog`."""

    def __init__(self, log: PartitionLog, high_watermark: int = 0) -> None:
        self.log = log
        self.high_watermark = min(high_watermark, log.end_offset)
        self.producers = Producers(log.batches)

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    @property
    def last_epoch(self) -> int:
        return self.log.last_epoch

    def append(self, entries: Iterable[LogEntry]) -> None:
        """Raises BatchError for what is no batch, and OSError."""
        for entry in entries:
            data = placed(entry.value, self.log.end_offset, entry.leader_epoch)
            self._write(header_at(data, attributes=OF_PRODUCERS), data)

    def _write(self, header: Header, data: bytes) -> None:
        self.producers.note(self.log.append(header, data))

    def read(self, offset: int, max_bytes: int) -> tuple[LogEntry, ...]:
        batches = self.log.batches_from(offset, max_bytes)
        return tuple(LogEntry(batch.header.epoch, self.log.data_of(batch)) for batch in batches)

    def truncate(self, offset: int) -> None:
        self.log.truncate(offset)
        self.high_watermark = min(self.high_watermark, self.log.end_offset)
        self.producers = Producers(self.log.batches)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        return EpochEnd(*self.log.end_of_epoch(epoch))

    def copy(self) -> StoredReplicaLog:
        raise TypeError("a log on a disk is its process's own, and has no copy")


class TracedReplicaLog(StoredReplicaLog):
    """One that tells a trace what is about to be done to it, and when its high watermark is another one."""

    def __init__(self, log: PartitionLog, key: PartitionKey, trace: ReplicaTrace) -> None:
        self._key, self._trace, self._high_watermark = key, trace, 0
        super().__init__(log)

    @property
    def high_watermark(self) -> int:
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        if offset != self._high_watermark:
            self._high_watermark = offset
            self._trace.moved(self._key)

    def truncate(self, offset: int) -> None:
        self._trace.truncate(self._key, offset)
        super().truncate(offset)

    def _write(self, header: Header, data: bytes) -> None:
        self._trace.append(self._key, entry_of(header))
        super()._write(header, data)


def entry_of(header: Header) -> Entry:
    return Entry(header.end_offset, header.epoch, header.crc)


def placed(data: bytes, offset: int, leader_epoch: int) -> bytes:
    """A batch where its leader has put it; its checksum covers neither."""
    epoch = leader_epoch.to_bytes(4, "big", signed=True)
    return offset.to_bytes(8, "big") + data[8:LENGTH_END] + epoch + data[_EPOCH_END:]


@dataclass(frozen=True, slots=True)
class _Folder:
    directory: str
    name: str
    log: PartitionLog

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}"


class StoredReplicaLogs:
    """The folders of log directories that are formatted and locked. A new one is made where there are fewest.

    trace: of what is done to them.
    """

    def __init__(self, disk: RealDisk, directories: Sequence[str], trace: ReplicaTrace | None = None) -> None:
        self._disk, self._directories, self.trace = disk, directories, trace
        self._folders: dict[PartitionKey, _Folder] = {}

    def load(self) -> dict[PartitionKey, ReplicaLog]:
        """All that are there, but for a folder that a crash has left empty. Raises StorageError, OSError."""
        found: dict[PartitionKey, ReplicaLog] = {}
        for directory in self._directories:
            for name in self._disk.names(directory):
                path, (topic, _, number) = f"{directory}/{name}", name.rpartition("-")
                is_replica = bool(topic) and number.isdecimal() and name != PARTITION
                if is_replica and any(not one.endswith(TEMPORARY) for one in self._disk.names(path)):
                    key = (self._topic_id(path), int(number))
                    if key in found:
                        raise StorageError(
                            f"{self._folders[key].path} and {path} are of one replica: move one elsewhere"
                        )
                    found[key] = self._opened(key, directory, name)
        if self.trace is not None:
            self.trace.found({
                key: [entry_of(batch.header) for batch in folder.log.batches] for key, folder in self._folders.items()
            })  # fmt: skip
        return found

    def create(self, key: PartitionKey, topic: str) -> StoredReplicaLog:
        """As `ReplicaLogs.create`. What has the folder's name was of an earlier topic with this name, and goes."""
        name = f"{topic}-{key[1]}"
        for other in [one for one, folder in self._folders.items() if folder.name == name]:
            self.delete(other)
        used = Counter(folder.directory for folder in self._folders.values())
        directory = min(self._directories, key=lambda one: used[one])
        path = f"{directory}/{name}"
        self._disk.make_directory(path)
        write_durably(self._disk, path, METADATA, f"version: 0\ntopic_id: {encode_id(key[0])}".encode())
        self._disk.sync_directory(directory)
        return self._opened(key, directory, name)

    def delete(self, key: PartitionKey) -> None:
        """As `ReplicaLogs.delete`."""
        folder = self._folders.pop(key, None)
        if folder is None:
            return
        if self.trace is not None:
            self.trace.delete(key)
        folder.log.close()
        for name in sorted(self._disk.names(folder.path), key=METADATA.__eq__):  # a crash leaves what can be loaded
            self._disk.delete(f"{folder.path}/{name}")
        self._disk.delete_directory(folder.path)

    def directory_of(self, key: PartitionKey) -> str | None:
        """The path of the log directory that a replica is in."""
        folder = self._folders.get(key)
        return None if folder is None else folder.directory

    def close(self, *, flushed: bool) -> None:
        """flushed: what the logs have is made durable before."""
        for folder in self._folders.values():
            if flushed:
                folder.log.flush()
            folder.log.close()
        self._folders.clear()
        if self.trace is not None:
            self.trace.close()

    def _opened(self, key: PartitionKey, directory: str, name: str) -> StoredReplicaLog:
        folder = self._folders[key] = _Folder(directory, name, PartitionLog(self._disk, f"{directory}/{name}"))
        return StoredReplicaLog(folder.log) if self.trace is None else TracedReplicaLog(folder.log, key, self.trace)

    def _topic_id(self, folder: str) -> UUID:
        path = f"{folder}/{METADATA}"
        try:
            lines = read_whole(self._disk, path).decode().splitlines()
            (text,) = (line.removeprefix("topic_id: ") for line in lines if line.startswith("topic_id: "))
            return decode_id(text)
        except (FileNotFoundError, ValueError):
            raise StorageError(f"{path} does not say of which topic this is: move {folder} elsewhere") from None
