"""The metadata log as the cores need it, and one in memory. `node` has the one of the quorum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from impl.kraft.continuity import check_content
from impl.kraft.fields import Int64, check, check_as
from impl.kraft.records import Batch


class MetadataLog(Protocol):
    """An append-only log of batches. Offsets count records; both ends are exclusive."""

    end_offset: int
    high_watermark: int

    def append(self, batch: Batch) -> None:
        """The batch must begin at `end_offset`."""

    def read(self, offset: int) -> Iterator[Batch]:
        """The batches from `offset` up to the high watermark."""


class LogError(ValueError):
    """A log was asked for what no log can do: a gap, a high watermark that goes back, a committed batch truncated."""


class InMemoryLog:
    """A log that lasts as long as its process."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.end_offset = 0
        self.high_watermark = 0

    def append(self, batch: Batch) -> None:
        check("batch", batch, Batch)
        check_content(batch)
        if batch.base_offset != self.end_offset:
            raise LogError(f"a batch at offset {batch.base_offset} cannot follow a log that ends at {self.end_offset}")
        self.batches.append(batch)
        self.end_offset = batch.last_offset + 1

    def commit(self, offset: int) -> None:
        """Everything below `offset` is committed from now on."""
        check_as("offset", Int64, offset)
        if not self.high_watermark <= offset <= self.end_offset:
            raise LogError(f"a high watermark cannot move from {self.high_watermark} to {offset}")
        self.high_watermark = offset

    def truncate(self, offset: int) -> None:
        """Drop the batches from `offset` on. None of them may be committed."""
        check_as("offset", Int64, offset)
        if offset < self.high_watermark:
            raise LogError(f"what is below the high watermark {self.high_watermark} cannot be truncated to {offset}")
        self.batches = [batch for batch in self.batches if batch.base_offset < offset]
        self.end_offset = self.batches[-1].last_offset + 1 if self.batches else 0

    def read(self, offset: int) -> Iterator[Batch]:
        check_as("offset", Int64, offset)
        kept = (batch for batch in self.batches if batch.base_offset >= offset)
        return (batch for batch in kept if batch.last_offset < self.high_watermark)
