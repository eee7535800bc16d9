"""Operations on a storage, each beside its entry in the ledger: written before it begins, closed once it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from random import Random
from uuid import UUID

from crc32c import crc32c

from impl.kraft.simulation.kafka_files import check_files, flush_point
from impl.kraft.storage.batches import (
    CRC_END,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    BatchError,
    Record,
    RecordBatch,
    decode,
    encode,
    header_at,
    size_of,
    varint,
)
from impl.kraft.storage.control import read_leader_change
from impl.kraft.storage.directories import PARTITION, format_directories
from impl.kraft.storage.disk import TEMPORARY, Disk, read_whole
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.errors import LogUseError
from impl.kraft.storage.flush_point import NAME
from impl.kraft.storage.log import LogSettings
from impl.kraft.storage.simulated_disk import SimulatedDisk
from impl.kraft.storage.snapshots import PART, Snapshots, id_of, name_of
from impl.kraft.storage.storage import QuorumStorage, StorageSettings
from tests.impl.kraft.storage.ledger import BrokenPromise, Entry, Ledger

ROOT = "/data"
DIRECTORY = f"{ROOT}/{PARTITION}"
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
EVEN_BYTES = 2_048
FOREVER_MS = 1 << 40
LENGTH_AT, MAGIC_AT, RECORDS_AT = 8, 16, 57
"""Where these are in the header of a batch."""


def formatted(disk: SimulatedDisk) -> SimulatedDisk:
    format_directories(disk, [ROOT], CLUSTER, 1, [], random_id=lambda: UUID(int=1), now_ms=lambda: 0)
    disk.operations = 0
    return disk


def settings_of(
    disk: SimulatedDisk, segment_bytes: int, reserve_bytes: int = 512, segment_ms: int = FOREVER_MS
) -> StorageSettings:
    return StorageSettings(LogSettings(segment_bytes, segment_ms, disk.sector_bytes), reserve_bytes)


@dataclass
class Worker:
    """A process that uses a storage as Raft would. rng: for sizes, contents and epochs.

    wide: for times of batches, and for batches that are larger than what a storage reads at once; None: neither.
    is_even: batches fill segments, and what is between two entries of an index, to the byte. began: where the log ended
    when the process began.
    """

    disk: Disk
    ledger: Ledger
    settings: StorageSettings
    rng: Random
    root: str = ROOT
    wide: Random | None = None
    is_even: bool = False
    began: int = field(init=False)
    storage: QuorumStorage = field(init=False)

    def open(self, excused_from: int | None = None) -> Worker:
        self.storage = QuorumStorage.open(self.disk, self.root, self.settings)
        self.ledger.check(self.storage, excused_from)
        self.began = self.ledger.end
        names = self.disk.names(f"{self.root}/{PARTITION}")
        left = [name for name in names if name.endswith((PART, TEMPORARY, ".tail"))]
        if left:
            raise BrokenPromise(f"a start leaves {left}")
        return self

    def persist(self) -> None:
        last = self.ledger.elections[-1]
        epoch = (0 if last is None else last.epoch) + self.rng.randrange(2)
        state = ElectionState(epoch, self.rng.choice([None, 1, 2]), self.rng.choice([None, 1, 2]), (1, 2, 3))
        self.ledger.elections.append(state)
        self.storage.persist(state)
        if self.storage.election != state:
            raise BrokenPromise(f"{state} is persisted, and the storage has {self.storage.election}")
        self.ledger.elections = [state]

    def append(self, batches: int = 1, size_bytes: int | None = None) -> None:
        ledger, new = self.ledger, list[Entry]()
        epoch = max(ledger.epoch, 1) + (self.rng.randrange(4) == 0)
        for _ in range(batches):
            begin = new[-1].end_offset if new else ledger.end
            values = [self.rng.randbytes(self._size(size_bytes)) for _ in range(self.rng.randrange(1, 3))]
            data, end = self._encoded(begin, epoch, values)
            new.append(Entry(begin, end, epoch, data))
        ledger.change((*ledger.log, *new))
        self.storage.append(b"".join(entry.data for entry in new), epoch)

    def _encoded(self, begin: int, epoch: int, values: list[bytes]) -> tuple[bytes, int]:
        """The bytes of a batch, and its end."""
        wide, time_ms = self.wide, 0
        if wide is not None:
            time_ms = 50 * wide.randrange(20)
            if wide.randrange(3):
                values = [*values, wide.randbytes(70_000 if wide.randrange(40) == 0 else wide.choice([2_100, 5_000]))]
        records = tuple(Record(value, timestamp_delta_ms=(time_ms % 7 - 3) * at) for at, value in enumerate(values))
        if self.is_even:
            records = padded(records)
        data = encode(RecordBatch(begin, epoch, time_ms, records))
        if size_of(records) != len(data) or decode(data).records != records:
            raise BrokenPromise(f"a batch of {len(data)} bytes, of {size_of(records)}, reads as {decode(data)}")
        if header_at(data).max_timestamp != time_ms + max(record.timestamp_delta_ms for record in records):
            raise BrokenPromise(f"a batch has the time {header_at(data).max_timestamp} of its latest record")
        return data, begin + len(records)

    def flush(self) -> None:
        self.ledger.flushed(self.storage.flush())
        self._require_open(len(self.storage.log.sizes()) + 1)
        self._require_full()
        if self.wide is not None:
            self.read(self.wide)
            self.misuse()

    def read(self, rng: Random) -> None:
        """Whole batches from the one of an offset on: one, and as many more as there is room for."""
        ledger = self.ledger
        offset, room = rng.randrange(ledger.start, ledger.end + 1), rng.randrange(2_000)
        following = [entry.data for entry in ledger.log if entry.end_offset > offset]
        if following and rng.randrange(2):
            room = sum(map(len, following[: rng.randrange(1, 4)]))  # to the byte
        expected, size_bytes = b"", 0
        for at, data in enumerate(following):
            size_bytes += len(data)
            if at and size_bytes > room:
                break
            expected += data
        if self.storage.log.read(offset, room) != expected:
            raise BrokenPromise(f"a read of {room} bytes at {offset} finds other batches")

    def misuse(self) -> None:
        """What no log can do is refused, and changes nothing."""
        ledger, storage, epoch = self.ledger, self.storage, max(self.ledger.epoch, 1)
        gap = encode(RecordBatch(ledger.end + 1, epoch, 0, (Record(b""),)))
        attempts: dict[str, Callable[[], object]] = {
            **{f"a batch of {what}": partial(storage.append, data, epoch) for what, data in forged(ledger.end, epoch)},
            "a gap": lambda: storage.append(gap, epoch),
            "a snapshot of nothing": lambda: storage.create_snapshot((ledger.start, epoch), 0, now_ms=0),
            "a snapshot of more than there is": lambda: storage.create_snapshot((ledger.end + 1, epoch), 0, now_ms=0),
            "a cut before the start": lambda: storage.truncate(ledger.start - 1),
            "bytes that do not come next": lambda: storage.receive((ledger.end + 1, epoch), 99, b"of a snapshot"),
            "another snapshot than comes": lambda: storage.freeze((ledger.end + 2, epoch)),
            "the start from a snapshot that is not there": lambda: storage.install((ledger.end + 2, epoch)),
            "a snapshot that is not there for the log": lambda: storage.delete_before((ledger.end + 2, epoch)),
        }
        if ledger.snapshots and max(ledger.snapshots)[0] > ledger.start:
            attempts["a cut below the snapshot"] = lambda: storage.truncate(max(ledger.snapshots)[0] - 1)
        if ledger.epoch > 0:
            older = encode(RecordBatch(ledger.end, ledger.epoch - 1, 0, (Record(b""),)))
            attempts["a batch of an older epoch"] = lambda: storage.append(older, epoch)
        coming = (ledger.end + 1, epoch)
        storage.receive(coming, 0, b"of a snapshot")
        for what, data in unreadable(ledger.end, epoch):
            attempts[f"and reads {what}"] = partial(decode, data)
        attempts["and reads a control record of nothing"] = lambda: read_leader_change(Record(None))
        for what, attempt in attempts.items():
            try:
                attempt()
            except (LogUseError, BatchError):
                continue
            raise BrokenPromise(f"a storage takes {what}")
        if storage.freeze(coming):
            raise BrokenPromise("a storage takes a part of a snapshot")
        storage.receive(coming, 0, self._snapshot_bytes((ledger.end + 1, epoch + 1)))
        if storage.freeze(coming):
            raise BrokenPromise("a storage takes a snapshot of another epoch")

    def close(self, voters: Sequence[int] = (1, 2, 3)) -> None:
        """The process ends; its files are as Kafka reads them."""
        self.storage.close()
        self._require_open(0)
        if isinstance(self.disk, SimulatedDisk):
            files = self.disk.image()
            check_files(files, f"{self.root}/{PARTITION}", voters, self.settings.log.segment_ms)
            if flush_point(files[f"{DIRECTORY}/{NAME}"]) != self.storage.log.flushed_end:
                raise BrokenPromise(f"the flush point is not {self.storage.log.flushed_end}")

    def _require_full(self) -> None:
        """A segment is left for another one where the next batch has no room, or is too late; unless a crash comes."""
        by_offset = {entry.base_offset: entry.data for entry in self.ledger.log}
        for segment, following in pairwise(self.storage.log.sizes()):
            oldest, first = by_offset.get(segment.base_offset), by_offset.get(following.base_offset)
            if oldest is None or first is None or following.base_offset <= self.began:
                continue
            span_ms = header_at(first).max_timestamp - header_at(oldest).base_timestamp
            has_room = segment.size_bytes + len(first) <= self.settings.log.segment_bytes
            if has_room and span_ms <= self.settings.log.segment_ms:
                raise BrokenPromise(f"{segment} has room for the first batch of {following}, and time")
        most_bytes = self.settings.log.segment_bytes
        for segment in self.storage.log.sizes():
            alone = next((len(one.data) for one in self.ledger.log if one.base_offset >= segment.base_offset), 0)
            if segment.size_bytes > max(most_bytes, alone):
                raise BrokenPromise(f"{segment} has more than {most_bytes} bytes")

    def _require_open(self, most: int) -> None:
        if isinstance(self.disk, SimulatedDisk) and self.disk.open_files > most:
            raise BrokenPromise(f"{self.disk.open_files} files are open, and {most} in use")

    def flush_beside_append(self) -> None:
        """A flush in a worker thread that is slow: what is appended meanwhile is not part of it."""
        pending = self.storage.begin_flush()
        if self.rng.randrange(2):
            pending.run()
            self.append()
        else:
            if self.wide is not None and self.wide.randrange(2):
                self.wide.choice([self.truncate, self.install])()  # what comes in its place is not part of it either
            self.append()
            pending.run()  # this fsync covers the append, too, and may not be credited with it
        end = self.storage.finish_flush(pending)
        self.ledger.flushed(end)
        self._require_open(len(self.storage.log.sizes()) + 1)

    def truncate(self) -> None:
        ledger = self.ledger
        least = max([ledger.start, *(end for end, _ in ledger.snapshots)])
        ends = [entry.base_offset for entry in ledger.log if entry.base_offset >= least]
        if ends:
            self.truncate_to(self.rng.choice(ends))

    def truncate_to(self, end_offset: int) -> None:
        ledger = self.ledger
        ledger.change(tuple(entry for entry in ledger.log if entry.end_offset <= end_offset))
        end = self.storage.truncate(end_offset)
        ledger.flushed(end)
        if self.storage.log.flushed_end != end:
            raise BrokenPromise(f"a log is cut at {end}, and flushed up to {self.storage.log.flushed_end}")

    def snapshot(self) -> None:
        """Of a prefix of the log; half of the time what it stands for is deleted."""
        ledger = self.ledger
        newest = max(ledger.snapshots, default=(0, 0))
        ends = [entry for entry in ledger.log if (entry.end_offset, entry.epoch) > newest]
        if not ends:
            return
        last = self.rng.choice(ends)
        snapshot_id = (last.end_offset, last.epoch)
        data = self._snapshot_bytes(snapshot_id)
        ledger.coming[snapshot_id] = data
        with self.storage.writing_snapshot():
            writer = self.storage.create_snapshot(snapshot_id, 0, now_ms=0)
            writer.append([Record(b"of %d" % last.end_offset)])
            writer.freeze()
        ledger.snapshots[snapshot_id] = ledger.coming.pop(snapshot_id)
        if self.rng.randrange(2):
            self.delete_before()

    def delete_before(self) -> None:
        ledger = self.ledger
        newest = max(ledger.snapshots)
        ledger.is_deleting = True
        ledger.going |= {i: data for i, data in ledger.snapshots.items() if i < newest}
        ledger.snapshots = {newest: ledger.snapshots[newest]}
        self.storage.delete_before(newest)
        ledger.start = self.storage.log.start_offset
        left = [name for name in self.disk.names(f"{self.root}/{PARTITION}") if id_of(name) not in (None, newest)]
        if left:
            raise BrokenPromise(f"{left} are there still, and older than {newest}")
        if self.rng.randrange(2):
            self.storage.delete_leftovers()

    def install(self) -> None:
        """A snapshot of a leader that is ahead, or that never had our end: the log is emptied to it."""
        ledger, rng = self.ledger, self.rng
        newest, _ = max(ledger.snapshots, default=(0, 0))
        if rng.randrange(2) and newest < ledger.end:
            snapshot_id = (rng.randrange(newest + 1, ledger.end + 1), ledger.epoch + 1)
        else:
            snapshot_id = (ledger.end + rng.randrange(1, 5), max(ledger.epoch, 1) + rng.randrange(2))
        data = self._snapshot_bytes(snapshot_id)
        ledger.coming[snapshot_id] = data
        ledger.installing = snapshot_id
        with self.storage.writing_snapshot():
            receiver = self.storage.receive_snapshot(snapshot_id)
            cut = self.rng.randrange(len(data))
            receiver.append(data[:cut])
            receiver.append(data[cut:])
            receiver.freeze()
        ledger.snapshots[snapshot_id] = ledger.coming.pop(snapshot_id)
        self.storage.install(snapshot_id)
        if self.storage.log.flushed_end != snapshot_id[0]:
            raise BrokenPromise(f"a log that starts at {snapshot_id} is flushed up to {self.storage.log.flushed_end}")
        ledger.versions, ledger.start, ledger.installing = [()], snapshot_id[0], None

    def _snapshot_bytes(self, snapshot_id: tuple[int, int]) -> bytes:
        """As the storage of another node writes it."""
        disk = SimulatedDisk()
        writer = Snapshots(disk, "").create(snapshot_id, 0, now_ms=0)
        writer.append([Record(b"of %d" % snapshot_id[0])])
        writer.freeze()
        return read_whole(disk, f"/{name_of(snapshot_id)}")

    def _size(self, size_bytes: int | None) -> int:
        return self.rng.choice([1, 40, self.rng.randrange(600)]) if size_bytes is None else size_bytes


def forged(base_offset: int, epoch: int) -> Iterator[tuple[str, bytes]]:
    """Batches that no node writes, each whole by its checksum, and what each has."""
    whole = encode(RecordBatch(base_offset, epoch, 0, (Record(b"1234567890"),)))
    for what, at, put in (
        ("another magic", MAGIC_AT, bytes((MAGIC + 1,))), ("compressed records", CRC_END + 1, b"\1"),
        ("no records", RECORDS_AT, bytes(4)), ("more records than offsets", RECORDS_AT, b"\0\0\0\2"),
    ):  # fmt: skip
        yield what, checked(whole[:at] + put + whole[at + len(put) :])


def unreadable(base_offset: int, epoch: int) -> Iterator[tuple[str, bytes]]:
    """Batches whose records no reader makes out, each whole by its checksum, and what each has."""
    whole = encode(RecordBatch(base_offset, epoch, 0, (Record(b"1234567890"),)))
    for what, at, put in (
        ("a record that is longer than its batch", HEADER_BYTES, varint(40)),
        ("a record that is shorter than its fields", HEADER_BYTES, varint(3)),
        ("a negative length", HEADER_BYTES, varint(-3)), ("a number without an end", HEADER_BYTES, b"\xff" * 11),
        ("a record of another offset", HEADER_BYTES + 3, varint(1)), ("a key beyond it", HEADER_BYTES + 4, varint(9)),
        ("a header", len(whole) - 1, varint(1)),
    ):  # fmt: skip
        yield what, checked(whole[:at] + put + whole[at + len(put) :])
    yield "bytes behind its records", checked(whole + b"12")
    fields = b"\0" + b"\x80" * 10 + bytes(2) + varint(-1) + varint(0) + varint(0)
    yield "a time of eleven bytes", checked(whole[:HEADER_BYTES] + varint(len(fields)) + fields)


def checked(data: bytes) -> bytes:
    """With the length and the checksum of what it has become."""
    sized = data[:LENGTH_AT] + (len(data) - LENGTH_END).to_bytes(4, "big") + data[LENGTH_END:]
    return sized[: CRC_END - 4] + crc32c(sized[CRC_END:]).to_bytes(4, "big") + sized[CRC_END:]


def padded(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """So that a batch of them has a multiple of `EVEN_BYTES`."""
    *others, last = records
    while missing := -size_of((*others, last)) % EVEN_BYTES:
        last = Record((last.value or b"") + bytes([7]) * missing, timestamp_delta_ms=last.timestamp_delta_ms)
    return (*others, last)


Operation = Callable[[Worker], None]
OPERATIONS: dict[str, tuple[int, Operation]] = {
    "append": (6, lambda worker: worker.append(worker.rng.randrange(1, 4))),
    "flush": (5, Worker.flush),
    "flush_beside_append": (2, Worker.flush_beside_append),
    "persist": (2, Worker.persist),
    "truncate": (4, Worker.truncate),
    "snapshot": (2, Worker.snapshot),
    "install": (1, Worker.install),
}
"""With their weights."""


def one_batch(worker: Worker) -> None:
    worker.append(1, size_bytes=30)


def keep_one_batch(worker: Worker) -> None:
    worker.truncate_to(worker.ledger.log[0].end_offset)


SCRIPTS: dict[str, tuple[int, Sequence[Operation]]] = {
    "append": (1 << 20, [one_batch, one_batch, Worker.flush, one_batch]),
    "vote": (1 << 20, [Worker.persist, Worker.persist]),
    "roll": (150, [one_batch, Worker.flush, one_batch, one_batch, Worker.flush]),
    "truncate": (1 << 20, [one_batch, one_batch, Worker.flush, keep_one_batch, one_batch]),
    "truncate_segments": (150, [*[one_batch] * 3, Worker.flush, keep_one_batch, one_batch, Worker.flush]),
    "snapshot": (150, [one_batch, one_batch, Worker.flush, Worker.snapshot]),
    "install": (150, [one_batch, one_batch, Worker.flush, Worker.install, one_batch]),
}
"""Small workloads by name: the size of a segment in bytes, and the operations."""
