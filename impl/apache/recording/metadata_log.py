"""The metadata log as controllers have it on their disks: batches, and which of them are committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from impl.apache.errors import ApacheError
from impl.kraft.metadata.encoding import MetadataRecord, decode
from impl.kraft.storage import batches
from impl.kraft.storage.batches import HEADER_BYTES, BatchError, RecordBatch
from impl.kraft.storage.control import ControlType, control_type, read_leader_change

DIRECTORY = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch. leader: of a batch with which an epoch begins, the controller that leads it; else None."""

    base_offset: int
    epoch: int
    time_ms: int
    records: tuple[MetadataRecord, ...]
    leader: int | None = None

    @property
    def id(self) -> tuple[int, int]:
        """No two batches of a quorum have the same epoch and offset."""
        return self.epoch, self.base_offset


def read(data: Path) -> list[Batch]:
    """The batches in a controller's data directory. A last one that is cut off is left out. Raises ApacheError."""
    segments = sorted((data / DIRECTORY).glob("*.log"))
    if not segments:
        raise ApacheError(f"{data / DIRECTORY}: there is no segment of a log")
    if int(segments[0].stem) != 0:
        raise ApacheError(f"{segments[0]}: the log begins behind offset 0: a run is recorded from its start on")
    return [batch for segment in segments for batch in _batches(segment)]


def _batches(segment: Path) -> Iterator[Batch]:
    data, at = segment.read_bytes(), 0
    while len(data) - at >= HEADER_BYTES:
        header = batches.Header(*batches.HEADER.unpack_from(data, at))
        if header.length_bytes <= 0 or header.size_bytes > len(data) - at:
            return  # the process was killed as it wrote this
        try:
            yield _batch(batches.decode(data, at))
        except (BatchError, ValueError) as error:
            raise ApacheError(f"{segment}: at byte {at}: {error}") from None
        at += header.size_bytes


def _batch(batch: RecordBatch) -> Batch:
    if not batch.is_control:
        records = tuple(decode(record.value or b"") for record in batch.records)
        return Batch(batch.base_offset, batch.epoch, batch.timestamp_ms, records)
    changes = [one for one in batch.records if control_type(one) == ControlType.LEADER_CHANGE]
    leader = read_leader_change(changes[0]).leader if changes else None
    return Batch(batch.base_offset, batch.epoch, batch.timestamp_ms, (), leader)


def committed(logs: Sequence[Sequence[Batch]]) -> list[Batch]:
    """The batches that a majority of the voters' logs has. Logs that agree in a batch agree in all before it."""
    majority = len(logs) // 2 + 1
    ids = [{batch.id for batch in log} for log in logs]
    longest = max(logs, key=lambda log: sum(_are(batch, ids) >= majority for batch in log))
    return [batch for batch in longest if _are(batch, ids) >= majority]


def _are(batch: Batch, ids: Sequence[set[tuple[int, int]]]) -> int:
    return sum(batch.id in one for one in ids)
