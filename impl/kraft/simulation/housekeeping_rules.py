"""The rules of when nodes write snapshots and what they keep of them, held by what is committed and what disks have.

Bytes and times are counted once more beside the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from impl.kraft.node import SnapshotSettings, WriteSnapshot
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.simulation.invariants import hold
from impl.kraft.storage.batches import headers
from impl.kraft.storage.sizes import SegmentSize, SnapshotId, SnapshotSize, StoredSizes


@dataclass
class Seen:
    """What is known of a process. since_end, since_ms: of its last snapshot."""

    since_end: int
    since_ms: int
    applied_end: int
    measured_ms: int
    is_writing: bool = False


class HousekeepingRules:
    """KIP-630, and what Kafka's settings say."""

    def __init__(self, settings: SnapshotSettings) -> None:
        self._settings = settings
        self._bytes = {0: 0}
        self._last_ms: dict[int, int] = {}
        self._end = 0
        self._seen: dict[int, Seen] = {}

    def commit(self, data: bytes, end_offset: int) -> None:
        """Batches of the log, from where the last call ended; those before an offset are committed."""
        for _, header in headers(data):
            if header.end_offset > end_offset:
                break
            self._bytes[header.end_offset] = self._bytes[self._end] + header.size_bytes
            self._last_ms[header.end_offset] = header.max_timestamp
            self._end = header.end_offset

    def start(self, number: int, end_offset: int, now_ms: int) -> None:
        """A process begins with the snapshot that ends at an offset; 0: with none."""
        self._seen[number] = Seen(end_offset, now_ms, end_offset, now_ms)

    def load(self, number: int, end_offset: int, now_ms: int) -> None:
        """A snapshot of the leader's is loaded."""
        seen = self._seen[number]
        seen.since_end, seen.since_ms, seen.applied_end = end_offset, now_ms, end_offset

    def begin(self, number: int, effect: WriteSnapshot, now_ms: int) -> None:
        seen, end_offset = self._seen[number], effect.snapshot_id[0]
        hold(not seen.is_writing, "KIP-630", f"node {number} writes two snapshots at once")
        is_due = self.is_due(seen, end_offset, now_ms)
        hold(is_due, "KIP-630", f"node {number} writes a snapshot to {end_offset} that is not due")
        is_time = effect.last_contained_ms == self._last_ms[end_offset]
        hold(is_time, "KIP-630", f"node {number} has the time {effect.last_contained_ms} in a snapshot to {end_offset}")
        seen.since_end, seen.since_ms, seen.is_writing = end_offset, now_ms, True

    def end(self, number: int) -> None:
        self._seen[number].is_writing = False

    def is_due(self, seen: Seen, end_offset: int, now_ms: int) -> bool:
        size_bytes, limit_ms = self._bytes[end_offset] - self._bytes[seen.since_end], self._settings.max_interval_ms
        is_late = limit_ms > 0 and now_ms - seen.since_ms >= limit_ms
        return is_late or size_bytes >= self._settings.max_record_bytes

    def look_at(self, number: int, applied_end: int, log: LogEnds, now_ms: int) -> None:
        """After every event of a node."""
        is_held = not log.start_offset or (bool(log.snapshots) and log.snapshots[-1][0] >= log.start_offset)
        hold(is_held, "KIP-630", f"node {number} has a log from {log.start_offset} on, and nothing that stands for it")
        seen = self._seen[number]
        if applied_end == seen.applied_end:
            return
        seen.applied_end = applied_end
        is_late = not seen.is_writing and self.is_due(seen, applied_end, now_ms)
        hold(not is_late, "KIP-630", f"node {number} has applied up to {applied_end}, and writes no snapshot")

    def delete(self, number: int, before: StoredSizes, oldest: SnapshotId, now_ms: int) -> None:
        """All that is older than one of the snapshots is about to go."""
        gone = [one for one in before.snapshots if one.snapshot_id < oldest]
        hold(bool(gone), "KIP-630", f"node {number} deletes what is before {oldest}, and has no older snapshot")
        left = tuple(one for one in before.snapshots if one.snapshot_id >= gone[-1].snapshot_id)
        is_first = len(left) == len(before.snapshots)
        segments = before.segments if is_first else segments_from(before, gone[-1])
        is_too_much = self.is_too_much(StoredSizes(segments, left), now_ms)
        hold(is_too_much, "KIP-630", f"node {number} deletes {gone[-1].snapshot_id}, which is to be kept")

    def look_at_kept(self, number: int, sizes: StoredSizes, now_ms: int) -> None:
        """The node has looked what is old."""
        self._seen[number].measured_ms = now_ms
        is_clean = len(sizes.snapshots) < 2 or not self.is_too_much(sizes, now_ms)
        hold(is_clean, "KIP-630", f"node {number} keeps {sizes}")

    def is_too_much(self, sizes: StoredSizes, now_ms: int) -> bool:
        size_bytes = sum(one.size_bytes for one in sizes.segments) + sum(one.size_bytes for one in sizes.snapshots)
        most_bytes, most_ms = self._settings.max_retention_bytes, self._settings.max_retention_ms
        is_old = most_ms >= 0 and now_ms - sizes.snapshots[0].last_contained_ms > most_ms
        return is_old or (most_bytes >= 0 and size_bytes > most_bytes)

    def is_late(self, number: int, now_ms: int) -> bool:
        """It has not looked what is old for longer than it may."""
        return now_ms - self._seen[number].measured_ms > 2 * self._settings.clean_interval_ms


def segments_from(sizes: StoredSizes, snapshot: SnapshotSize) -> tuple[SegmentSize, ...]:
    """Those that are left where the log is deleted before a snapshot."""
    end_offset = snapshot.snapshot_id[0]
    kept = [one for one, following in pairwise(sizes.segments) if following.base_offset > end_offset]
    return (*kept, sizes.segments[-1])
