"""What metadata records are in the log: how they become bytes is a codec's business, handed to a node."""

from __future__ import annotations

from typing import Protocol

from impl.kraft.records import Batch, Record
from impl.kraft.storage.batches import RecordBatch


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
