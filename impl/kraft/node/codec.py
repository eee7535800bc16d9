"""What metadata records are in the log: how they become bytes is a codec's business, handed to a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol

from impl.kraft.image import Image
from impl.kraft.records import Batch, Record
from impl.kraft.snapshot import Snapshot, snapshot_records
from impl.kraft.storage.batches import Record as StoredRecord
from impl.kraft.storage.batches import RecordBatch
from impl.kraft.storage.sizes import SnapshotId

RECORDS_A_BATCH = 1024
"""Of a snapshot, as Kafka writes it (SnapshotEmitter.Builder)."""


class RecordCodec(Protocol):
    """The value of a data record in the log: frame, type, version, fields."""

    def encode(self, record: Record) -> bytes: ...

    def decode(self, value: bytes) -> Record:
        """Raises ValueError for what no `encode` returns."""


def batch_of(stored: RecordBatch, codec: RecordCodec) -> Batch:
    """A batch of the log as the cores replay it: a control batch has offsets, and no records. Raises ValueError."""
    if stored.is_control:
        return Batch(stored.base_offset, stored.epoch, (), control_records=len(stored.records))
    records = tuple(codec.decode(record.value or b"") for record in stored.records)
    return Batch(stored.base_offset, stored.epoch, records)


def snapshot_of(snapshot_id: SnapshotId, stored: Iterable[RecordBatch], codec: RecordCodec) -> Snapshot:
    """A snapshot of the storage, by its batches of data, as the cores load it. Raises ValueError."""
    end_offset, epoch = snapshot_id
    records = tuple(codec.decode(record.value or b"") for batch in stored for record in batch.records)
    return Snapshot(end_offset - 1, epoch, records)


def snapshot_batches(
    image: Image, codec: RecordCodec, most_records: int = RECORDS_A_BATCH
) -> Iterator[tuple[StoredRecord, ...]]:
    """The batches of an image's snapshot, each made as it is asked for."""
    records = snapshot_records(image)
    while batch := tuple(StoredRecord(codec.encode(record)) for record in islice(records, most_records)):
        yield batch
