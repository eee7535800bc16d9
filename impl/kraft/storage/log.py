"""The log of `__cluster_metadata-0` on a disk: segments of batches, appended and flushed, cut and read.

Each method leaves the disk so that a crash at any moment is recovered by `Log.open`. What is appended counts once
`flush` has returned its end.
"""

from __future__ import annotations

import errno
import logging
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from impl.kraft.storage.batches import Header, headers
from impl.kraft.storage.disk import Disk
from impl.kraft.storage.epochs import CHECKPOINT, EpochHistory, read_checkpoint, write_checkpoint
from impl.kraft.storage.errors import REBUILD, BitRotError, LogUseError
from impl.kraft.storage.flush_point import FlushPoint
from impl.kraft.storage.recovery import is_torn, scan
from impl.kraft.storage.segment import SUFFIX, Segment
from impl.kraft.storage.sizes import SegmentSize
from impl.kraft.storage.tail import finish, make_size_durable, write_again

DELETED = ".deleted"
_NAME = re.compile(r"(\d{20})\.log")
_INDEXES = (".index", ".timeindex")
_SEGMENT_BYTES = 1 << 30
_SEGMENT_MS = 7 * 24 * 3600 * 1000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogSettings:
    """segment_bytes, segment_ms: a batch that would make a segment larger, or span more time, begins another.

    sector_bytes: the least that the disk writes as a whole, or a divisor of it.
    """

    segment_bytes: int = _SEGMENT_BYTES
    segment_ms: int = _SEGMENT_MS
    sector_bytes: int = 512


@dataclass(frozen=True, slots=True)
class PendingFlush:
    """A flush under way: `run` may be called in a thread of its own, while batches are appended."""

    segment: Segment
    end_offset: int
    cuts: int

    def run(self) -> None:
        self.segment.file.fsync()


class Log:
    """Offsets count records; ends are exclusive. flushed_end: everything below survives a crash."""

    def __init__(self, disk: Disk, directory: str, settings: LogSettings) -> None:
        self._disk, self._directory, self._settings = disk, directory, settings
        self._flush_point = FlushPoint(disk, directory)
        self._segments: list[Segment] = []
        self._cuts = self._flushes = 0
        self._dropped: list[Segment] = []
        self.epochs = EpochHistory()
        self.flushed_end = 0

    @classmethod
    def open(
        cls, disk: Disk, directory: str, settings: LogSettings | None = None, snapshot: tuple[int, int] | None = None
    ) -> Log:
        """The log that a process left, recovered and flushed. snapshot: end offset and epoch of the newest.

        Raises BitRotError where something is damaged that was written, and no crash can have damaged it.
        """
        log = cls(disk, directory, settings or LogSettings())
        try:
            log._load(snapshot)
            log._cover(snapshot)
            log._make_durable()
        except BaseException:
            log.close()
            raise
        return log

    @property
    def start_offset(self) -> int:
        return self._segments[0].base_offset

    @property
    def end_offset(self) -> int:
        return self._active.end_offset

    @property
    def last_epoch(self) -> int:
        return self.epochs.last()

    @property
    def _active(self) -> Segment:
        return self._segments[-1]

    def append(self, data: bytes, epoch: int) -> int:
        """Append whole batches as they are, the leader's own or fetched; the end of the log. Not flushed yet.

        epoch: this node's; no batch may be of a later one. Raises BatchError, or LogUseError where they cannot follow.
        """
        batches = list(headers(data))
        self._check(batches, epoch)
        begun, first = 0, batches[0][1].base_timestamp if batches else 0
        for at, header in batches:
            if self._is_full(header, at - begun, first):
                self._write(data[begun:at])
                self._roll()
                begun, first = at, header.base_timestamp
        self._write(data[begun:])
        return self.end_offset

    def flush(self) -> int:
        """Everything appended so far is on disk once this returns; its end."""
        pending = self.begin_flush()
        pending.run()
        return self.finish_flush(pending)

    def begin_flush(self) -> PendingFlush:
        self._flushes += 1
        return PendingFlush(self._active, self.end_offset, self._cuts)

    def finish_flush(self, pending: PendingFlush) -> int:
        """`pending.run` has returned: the end of what is flushed. What was appended meanwhile is not."""
        self._flushes -= 1
        self._close_dropped()
        if pending.cuts == self._cuts and pending.end_offset > self.flushed_end:
            self._flushed(pending.end_offset)
        return self.flushed_end

    def truncate(self, end_offset: int) -> int:
        """Cut what is at this offset and behind, durably; the end of the log. A batch is cut as a whole."""
        if not self.start_offset <= end_offset:
            raise LogUseError(f"a log that starts at {self.start_offset} cannot be truncated to {end_offset}")
        if end_offset >= self.end_offset:
            return self.end_offset
        self._cuts += 1
        self._flush_point.set_durably(min(end_offset, self.flushed_end))
        self.flushed_end = min(end_offset, self.flushed_end)
        while self._active.base_offset >= end_offset and len(self._segments) > 1:
            self._drop(self._segments.pop())
        self._active.cut(end_offset)
        self.epochs.cut(self.end_offset)
        write_checkpoint(self._disk, self._directory, self.epochs)
        self._flushed(self.end_offset)
        return self.end_offset

    def restart_at(self, offset: int, epoch: int) -> None:
        """Empty the log: it starts at the end of a snapshot, with its epoch, that is on disk."""
        self._cuts += 1
        self._flush_point.set_durably(0)
        while self._segments:
            self._drop(self._segments.pop())
        self.epochs = EpochHistory()
        self._begin_segment(offset)
        self.epochs.note(epoch, offset)
        write_checkpoint(self._disk, self._directory, self.epochs)
        self._flushed(offset)

    def delete_before(self, offset: int) -> None:
        """Delete the segments that lie whole below this offset, which a snapshot on disk must reach.

        Their files are renamed; `delete_leftovers` deletes them, at some time.
        """
        while len(self._segments) > 1 and self._segments[1].base_offset <= offset:
            self._drop(self._segments.pop(0))
        self.epochs.cut_front(self.start_offset)

    def sizes(self) -> tuple[SegmentSize, ...]:
        return tuple(SegmentSize(segment.base_offset, segment.size_bytes) for segment in self._segments)

    def read(self, offset: int, size_bytes: int = sys.maxsize) -> bytes:
        """Whole batches from the one with this offset on, at least one, then up to so many bytes; b"" at the end.

        Raises LogUseError outside of the log, BitRotError where a batch is no longer what was written.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise LogUseError(f"offset {offset} is not in a log from {self.start_offset} to {self.end_offset}")
        found: list[bytes] = []
        for header, data in self._batches_from(offset):
            size_bytes -= header.size_bytes
            if found and size_bytes < 0:
                break
            found.append(bytes(data))
        return b"".join(found)

    def end_of_epoch(self, epoch: int) -> tuple[int, int] | None:
        """The largest epoch not above this one, and its end, for a fetch that diverges. None: all are above."""
        return self.epochs.end_of(epoch, self.end_offset)

    def close(self) -> None:
        for segment in (*self._segments, *self._dropped):
            segment.file.close()
        self._flush_point.close()

    # Recovery

    def _load(self, snapshot: tuple[int, int] | None) -> None:
        """Read the whole log, and change nothing in it, but that the start before this one is finished."""
        bases = sorted(int(match[1]) for name in self._disk.names(self._directory) if (match := _NAME.fullmatch(name)))
        for base_offset in bases:
            if self._segments and base_offset != self.end_offset:
                raise self._rotten(f"ends at offset {self.end_offset}, and the next segment begins at {base_offset}")
            self._load_segment(base_offset, is_last=base_offset == bases[-1])
        if not self._segments:
            self._begin_segment(0 if snapshot is None else snapshot[0])
        flushed = self._flush_point.offset
        covered = 0 if snapshot is None else snapshot[0]
        if flushed is not None and max(self.end_offset, covered) < flushed:
            raise self._rotten(f"ends at offset {self.end_offset}, and {flushed} was once flushed")
        if self.start_offset > covered:
            raise self._rotten(f"is of a log that starts at {self.start_offset}, and no snapshot reaches there")
        if not self._flush_point.is_new:
            self._compare_epochs()

    def _compare_epochs(self) -> None:
        kept = read_checkpoint(self._disk, self._directory)
        expected, found = (
            history and history.before(self.start_offset, self.end_offset) for history in (kept, self.epochs)
        )
        if expected is not None and expected != found:
            raise self._rotten(f"the epochs in the log begin at {found}, and {CHECKPOINT} has {expected}")

    def _load_segment(self, base_offset: int, *, is_last: bool) -> None:
        segment = Segment(self._disk, self._directory, base_offset)
        self._segments.append(segment)
        if is_last:
            finish(self._disk, self._directory, base_offset, segment.file)
        damage = scan(segment, self.epochs)
        if damage is None:
            return
        if not is_last or not is_torn(segment, damage, self._settings.sector_bytes):
            raise self._rotten(f"position {damage.position}, offset {damage.offset}: {damage.reason}")
        logger.warning(
            "%s: behind offset %d is a torn tail of %d bytes, which counts for nothing (%s)",
            segment.path, damage.offset, segment.file.size() - damage.position, damage.reason,
        )  # fmt: skip

    def _rotten(self, what: str) -> BitRotError:
        return BitRotError(f"{self._active.path}: {what}. {REBUILD}")

    def _cover(self, snapshot: tuple[int, int] | None) -> None:
        """A snapshot that is newer than the end of the log stands for all that it has."""
        if snapshot is None:
            return
        if (snapshot[1], snapshot[0]) > (self.last_epoch, self.end_offset):
            logger.warning(
                "%s: the log ends at %d, before its snapshot: it is emptied", self._directory, self.end_offset
            )
            self.restart_at(*snapshot)
        else:
            self.note_snapshot(snapshot)

    def note_snapshot(self, snapshot: tuple[int, int]) -> None:
        """One that ends where the log does, of whose epoch nothing may be left in it: older batches do not follow."""
        if self.end_offset == snapshot[0] and self.epochs.note(snapshot[1], snapshot[0]):
            write_checkpoint(self._disk, self._directory, self.epochs)

    def _make_durable(self) -> None:
        """What was read may be in memory only, if the last process ended at an fsync that failed: write it again.

        A torn tail is cut on the way: the file ends where what is whole does.
        """
        for segment in self._segments[:-1]:
            segment.file.fsync()  # it was once, before the next was begun; a Kafka may have been less strict
        active = self._active
        known = max(active.base_offset, self._flush_point.offset or 0)
        if active.end_offset > known:
            position = active.position_before(known)
            write_again(self._disk, self._directory, active.base_offset, active.file, position, active.size_bytes)
        else:
            make_size_durable(active.file, active.size_bytes)
        self._disk.sync_directory(self._directory)
        self.flushed_end = self.end_offset
        self._flush_point.set_durably(self.end_offset)
        write_checkpoint(self._disk, self._directory, self.epochs)
        for segment in self._segments[:-1]:
            self._write_indexes(segment)

    # Segments

    def _write(self, data: bytes) -> None:
        """Batches that belong into the active segment."""
        segment, batches = self._active, [header for _, header in headers(data)]
        if sum(self.epochs.note(header.epoch, header.base_offset) for header in batches):
            write_checkpoint(self._disk, self._directory, self.epochs)
        segment.file.write(segment.size_bytes, data)
        for header in batches:
            segment.add(header)

    def _is_full(self, header: Header, ahead_bytes: int, ahead_ms: int) -> bool:
        """ahead_bytes: will be written to the active segment before this batch. ahead_ms: when that begins."""
        segment = self._active
        size_bytes = segment.size_bytes + ahead_bytes
        began_ms = ahead_ms if segment.first_timestamp is None else segment.first_timestamp
        return size_bytes > 0 and (
            size_bytes + header.size_bytes > self._settings.segment_bytes
            or header.max_timestamp - began_ms > self._settings.segment_ms
        )

    def _roll(self) -> None:
        """Begin another segment, once all of this one is on disk."""
        try:
            self._active.file.fsync()
        except OSError as error:  # also for want of space: what it has dropped, no later fsync writes
            raise OSError(errno.EIO, f"fsync failed: {error.strerror}", self._active.path) from error
        self._flushed(self.end_offset)
        self._write_indexes(self._active)
        self._begin_segment(self.end_offset)

    def _begin_segment(self, base_offset: int) -> None:
        self._segments.append(Segment(self._disk, self._directory, base_offset))
        self._disk.sync_directory(self._directory)

    def _drop(self, segment: Segment) -> None:
        """One after the other, each durably: a crash leaves no gap."""
        self._dropped.append(segment)
        self._close_dropped()
        self._disk.rename(segment.path, segment.path + DELETED)
        self._disk.sync_directory(self._directory)

    def _close_dropped(self) -> None:
        """Close what no flush can be using: a thread would else fsync another file that has got its descriptor."""
        while self._dropped and self._flushes == 0:
            self._dropped.pop().file.close()

    def _write_indexes(self, segment: Segment) -> None:
        """For Kafka's tools; nothing here reads them."""
        for suffix, data in zip(_INDEXES, segment.indexes(), strict=True):
            file = self._disk.open(segment.path.removesuffix(SUFFIX) + suffix, create=True)
            if file.read(0, file.size()) != data:
                file.truncate(0)
                file.write(0, data)
                file.fsync()
            file.close()

    def _flushed(self, end_offset: int) -> None:
        self.flushed_end = end_offset
        self._flush_point.advance(end_offset)

    def _check(self, batches: list[tuple[int, Header]], epoch: int) -> None:
        end, last = self.end_offset, self.last_epoch
        for _, header in batches:
            if header.base_offset != end:
                raise LogUseError(f"a batch at offset {header.base_offset} cannot follow a log that ends at {end}")
            if not last <= header.epoch <= epoch:
                raise LogUseError(f"a batch of epoch {header.epoch} in epoch {epoch} behind one of epoch {last}")
            end, last = header.end_offset, header.epoch

    def _batches_from(self, offset: int) -> Iterator[tuple[Header, memoryview]]:
        at = bisect_right([segment.base_offset for segment in self._segments], offset) - 1
        for segment in self._segments[at:]:
            for _, header, data in segment.batches_from(offset):
                yield header, data
