"""When a node writes a snapshot, and which snapshots and segments it keeps (KIP-630), as Apache Kafka 4.3 decides it.

SnapshotGenerator.publishLogDelta has the first, KafkaRaftLog.cleanSnapshots the second. Controllers and brokers do the
same, whether they lead, follow or observe.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from impl.kraft.effects import SetTimer
from impl.kraft.image import Image
from impl.kraft.storage.effects import DeleteLeftovers, MeasureStorage
from impl.kraft.storage.sizes import SnapshotId, StoredSizes

CLEAN_TIMER = ("clean",)
_HOUR_MS = 3600 * 1000


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """Kafka's settings of snapshots, with its defaults; the names differ by their units.

    max_record_bytes: `metadata.log.max.record.bytes.between.snapshots`. max_interval_ms:
    `metadata.log.max.snapshot.interval.ms`, 0: none is written for the time alone. max_retention_bytes,
    max_retention_ms: `metadata.max.retention.*`, below 0: nothing is deleted for its size, or its age.
    clean_interval_ms: how long it is from one look at what is old to the next, no setting of Kafka.
    """

    max_record_bytes: int = 20 << 20
    max_interval_ms: int = _HOUR_MS
    max_retention_bytes: int = 100 << 20
    max_retention_ms: int = 7 * 24 * _HOUR_MS
    clean_interval_ms: int = 60_000


def is_due(settings: SnapshotSettings, size_bytes: int, elapsed_ms: int) -> bool:
    """Is a snapshot to be written, now that something was applied?

    size_bytes, elapsed_ms: of the batches that were applied since the last snapshot, and since that.
    """
    return size_bytes >= settings.max_record_bytes or 0 < settings.max_interval_ms <= elapsed_ms


def oldest_to_keep(settings: SnapshotSettings, sizes: StoredSizes, now_ms: int) -> SnapshotId | None:
    """The snapshot before whose end nothing is kept any more. None: all is kept, as the last snapshot always is."""
    kept = sizes
    while len(kept.snapshots) > 1 and _is_too_much(settings, kept, now_ms):
        kept = kept.without_oldest()
    return None if kept is sizes else kept.snapshots[0].snapshot_id


def _is_too_much(settings: SnapshotSettings, sizes: StoredSizes, now_ms: int) -> bool:
    age_ms = now_ms - sizes.snapshots[0].last_contained_ms
    return 0 <= settings.max_retention_bytes < sizes.total_bytes or 0 <= settings.max_retention_ms < age_ms


@dataclass(frozen=True, slots=True)
class WriteSnapshot:
    """Write the snapshot of an image, which does not change; `on_snapshot` once it is on disk.

    It may be written in slices (`codec.snapshot_batches`), but is to be begun at once: what comes behind this may let
    the log start anew, behind it. last_contained_ms: the timestamp of the last record that it stands for.
    """

    snapshot_id: SnapshotId
    last_contained_ms: int
    image: Image


class Housekeeping:
    """What a node counts from one snapshot to the next. A snapshot is written at a time.

    last_contained_ms: the timestamp of the last record that was applied; 0: there is none.
    """

    def __init__(self, settings: SnapshotSettings) -> None:
        self._settings = settings
        self._size_bytes = self._since_ms = self.last_contained_ms = 0
        self._is_writing = False

    def start(self, now_ms: int) -> SetTimer:
        self.begin_anew(now_ms)
        return self._clean_timer(now_ms)

    def begin_anew(self, now_ms: int) -> None:
        """There is a snapshot of all that is applied, or its writing begins."""
        self._size_bytes, self._since_ms = 0, now_ms

    def note_applied(self, size_bytes: int, timestamp_ms: int) -> None:
        """A batch of the log was applied. timestamp_ms: of its last record."""
        self._size_bytes += size_bytes
        self.last_contained_ms = timestamp_ms

    def written(self, image: Image, now_ms: int) -> list[WriteSnapshot]:
        """Something was applied, which the image has: the snapshot to write, if one is due and none being written.

        A transaction that is open ends first: a snapshot has no place for it.
        """
        if self._is_writing or image.transaction is not None:
            return []
        if not is_due(self._settings, self._size_bytes, now_ms - self._since_ms):
            return []
        self._is_writing = True
        self.begin_anew(now_ms)
        return [WriteSnapshot((image.offset + 1, image.epoch), self.last_contained_ms, image.copy())]

    def on_snapshot(self) -> None:
        """The snapshot that was being written is on disk."""
        self._is_writing = False

    def on_clean_timer(self, now_ms: int) -> Iterable[DeleteLeftovers | MeasureStorage | SetTimer]:
        """What was deleted by name the last time goes, and `on_measured` says what else there is."""
        return DeleteLeftovers(), MeasureStorage(), self._clean_timer(now_ms)

    def oldest_to_keep(self, sizes: StoredSizes, now_ms: int) -> SnapshotId | None:
        return oldest_to_keep(self._settings, sizes, now_ms)

    def _clean_timer(self, now_ms: int) -> SetTimer:
        return SetTimer(CLEAN_TIMER, now_ms + self._settings.clean_interval_ms)
