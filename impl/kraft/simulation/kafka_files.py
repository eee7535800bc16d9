"""Files of a quorum's node as Kafka reads them, held to what it expects. Shares no code with what has written them.

What of its own layout only Kafka looks at is here, too: indexes, control records, fields of `quorum-state`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

_HEADER = Struct(">qiibIhiqqqhii")
_CRC_END = 21
_INDEX, _TIME = Struct(">ii"), Struct(">qi")
_CONTROL = 0x20
_LEADER_CHANGE, _SNAPSHOT_HEADER, _SNAPSHOT_FOOTER = 2, 3, 4
INTERVAL_BYTES = 4096
"""index.interval.bytes: so much is behind an entry of the offset index at least."""
FLUSH_POINT = re.compile(rb"(\d{20}) ([0-9a-f]{8})\n")
_SEGMENT = re.compile(r"(\d{20})\.log")
_EPOCHS = "leader-epoch-checkpoint"
_METADATA, _OF_METADATA = "partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
"""The id of `__cluster_metadata`, Uuid.METADATA_TOPIC_ID, in base 64."""
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class NotKafkaError(AssertionError):
    """A file that Kafka would read otherwise, or refuse."""


class Batch(NamedTuple):
    """position: in its file. data: as it is there."""

    position: int
    base_offset: int
    last_offset: int
    epoch: int
    base_ms: int
    max_ms: int
    is_control: bool
    data: bytes


def require(holds: bool, path: str, what: str) -> None:
    if not holds:
        raise NotKafkaError(f"{path}: {what}")


def batches(path: str, data: bytes) -> list[Batch]:
    """All of a file, which has nothing else."""
    found: list[Batch] = []
    at = 0
    while at < len(data):
        require(len(data) - at >= _HEADER.size, path, f"{len(data) - at} bytes at its end are no batch")
        base, length, epoch, magic, crc, attributes, delta, base_ms, max_ms, *_, count = _HEADER.unpack_from(data, at)
        whole = data[at : at + 12 + length]
        require(magic == 2 and len(whole) == 12 + length, path, f"no batch at {at}")
        require(crc32c(whole[_CRC_END:]) == crc, path, f"the CRC of the batch at {at}")
        require(count == delta + 1 and max_ms >= base_ms, path, f"the header of the batch at {at}")
        found.append(Batch(at, base, base + delta, epoch, base_ms, max_ms, bool(attributes & _CONTROL), whole))
        at += len(whole)
    return found


def flush_point(data: bytes) -> int | None:
    """The offset in `flush-point`, which Kafka has not; None where there is none, or a torn one."""
    match = FLUSH_POINT.fullmatch(data)
    return int(match[1]) if match and int(match[2], 16) == crc32c(match[1]) else None


def check_files(files: Mapping[str, bytes], directory: str, voters: Sequence[int], segment_ms: int = 1 << 62) -> None:
    """Raise NotKafkaError unless all of a node's files are as they must be. segment_ms: how long a segment may span."""
    own = {path.rpartition("/")[2]: data for path, data in files.items() if path.rpartition("/")[0] == directory}
    segments = sorted(name for name in own if _SEGMENT.fullmatch(name))
    end = None
    for name in segments:
        found = batches(name, own[name])
        base = int(name[:20])
        require(end in (None, base), name, f"begins at {base}, and the segment before ends at {end}")
        end = base
        for batch in found:
            require(batch.base_offset == end, name, f"a batch at offset {batch.base_offset}, not {end}")
            end = batch.last_offset + 1
            if batch.is_control:
                _check_leader_change(name, batch, voters)
        spans = [batch.max_ms - found[0].base_ms for batch in found[1:]]
        require(max(spans, default=0) <= segment_ms, name, f"spans {max(spans, default=0)} ms")
        if name != segments[-1]:
            _check_indexes(name, base, found, own)
        _check_epochs(name, found, own)
    for name, data in own.items():
        if match := _SNAPSHOT.fullmatch(name):
            _check_snapshot(name, int(match[2]), batches(name, data))
    require(own.get(_METADATA) == _OF_METADATA, _METADATA, f"it is {own.get(_METADATA)!r}")
    if "quorum-state" in own:
        _check_quorum_state("quorum-state", own["quorum-state"], voters)


def _check_epochs(name: str, found: Sequence[Batch], own: Mapping[str, bytes]) -> None:
    """Each batch is of the epoch that `leader-epoch-checkpoint` has at its offset."""
    version, count, *lines = own.get(_EPOCHS, b"none\n0").decode().splitlines()
    entries = [(int(epoch), int(start)) for epoch, start in (line.split(" ") for line in lines)]
    is_rising = all(one[0] < other[0] and one[1] <= other[1] for one, other in pairwise(entries))
    require((version, int(count)) == ("0", len(entries)), _EPOCHS, f"version {version}, {count} entries")
    require(is_rising, _EPOCHS, f"{entries} do not rise")
    for batch in found:
        epoch = max((epoch for epoch, start in entries if start <= batch.base_offset), default=None)
        require(epoch == batch.epoch, name, f"a batch of epoch {batch.epoch} at {batch.base_offset}, not {epoch}")


def _check_indexes(name: str, base: int, found: Sequence[Batch], own: Mapping[str, bytes]) -> None:
    stem = name.removesuffix(".log")
    offsets, times = own.get(f"{stem}.index"), own.get(f"{stem}.timeindex")
    if offsets is None or times is None:
        raise NotKafkaError(f"{name}: it was closed, and lacks an index")
    expected, since = list[tuple[int, int]](), 0
    for batch in found:
        if since > INTERVAL_BYTES:
            expected.append((batch.last_offset - base, batch.position))
            since = 0
        since += len(batch.data)
    require([*_INDEX.iter_unpack(offsets)] == expected, name, f"its index is not {expected}")
    entries = [*_TIME.iter_unpack(times)]
    require(sorted(set(entries)) == entries, name, f"the time index {entries} does not rise")
    for time_ms, offset in entries:
        first = next((batch.last_offset - base for batch in found if batch.max_ms == time_ms), None)
        require(first == offset, name, f"{time_ms} ms is first at {first}, not {offset}")
        before = [batch.max_ms for batch in found if batch.last_offset - base <= offset]
        require(max(before, default=0) == time_ms, name, f"something before {offset} is later than {time_ms} ms")
    newest = max((batch.max_ms for batch in found), default=-1)
    require((entries[-1][0] if entries else -1) == newest, name, f"the time index ends before {newest} ms")


class _Fields:
    """Of the only record of a control batch: its key and value."""

    def __init__(self, path: str, batch: Batch) -> None:
        self._path, self._data, self._at = path, batch.data, _HEADER.size
        size = self.varint()
        require(size == len(self._data) - self._at, path, "a control batch has one record")
        self.take(1)
        require((self.varint(), self.varint()) == (0, 0), path, "a control record has other deltas")
        require(self.varint() == 4, path, "the key of a control record has 4 bytes")
        version, self.type = self.number(2), self.number(2)
        require(version == 0, path, "the key of a control record is of version 0")
        require(self.varint() == len(self._data) - self._at - 1, path, "a control record ends with its value")
        require(self.number(2) == 0, path, "the value of a control record is of version 0")

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        require(len(taken) == count, self._path, "a control record is too short")
        self._at += count
        return taken

    def number(self, size_bytes: int) -> int:
        return int.from_bytes(self.take(size_bytes), "big", signed=True)

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)

    def ids(self) -> list[int]:
        """A compact array of voters, each with no tagged fields."""
        found = []
        for _ in range(self.take(1)[0] - 1):
            found.append(self.number(4))
            require(self.take(1) == b"\0", self._path, "a voter has tagged fields")
        return found

    def end(self) -> None:
        rest = self._data[self._at :]
        require(rest == b"\0\0", self._path, f"{rest!r} at the end of a control record: no tagged fields, no headers")


def _check_leader_change(path: str, batch: Batch, voters: Sequence[int]) -> None:
    fields = _Fields(path, batch)
    require(fields.type == _LEADER_CHANGE, path, f"a control record of type {fields.type} in the log")
    leader, of, granting = fields.number(4), fields.ids(), fields.ids()
    fields.end()
    require(leader in voters and of == list(voters), path, f"{leader} leads {of}")
    require(2 * len(set(granting) & set(voters)) > len(voters), path, f"{leader} leads by the votes of {granting}")


def _check_snapshot(path: str, epoch: int, found: Sequence[Batch]) -> None:
    require(len(found) >= 2 and found[0].is_control and found[-1].is_control, path, "no header, or no footer")
    header, footer = _Fields(path, found[0]), _Fields(path, found[-1])
    require((header.type, footer.type) == (_SNAPSHOT_HEADER, _SNAPSHOT_FOOTER), path, "another header or footer")
    require(header.number(8) >= 0, path, "it stands for nothing")
    header.end()
    footer.end()
    offset = 0
    for batch in found:
        require((batch.base_offset, batch.epoch) == (offset, epoch), path, f"a batch at {batch.base_offset}")
        offset = batch.last_offset + 1


def _check_quorum_state(path: str, data: bytes, voters: Sequence[int]) -> None:
    found = json.loads(data)
    require(data == json.dumps(found, separators=(",", ":")).encode(), path, "it has spaces")
    names = {"clusterId", "leaderId", "leaderEpoch", "votedId", "appliedOffset", "currentVoters", "data_version"}
    require(found.keys() == names, path, f"it has {sorted(found)}")
    require((found["clusterId"], found["appliedOffset"], found["data_version"]) == ("", 0, 0), path, f"it has {found}")
    of = [one["voterId"] for one in found["currentVoters"]]
    require(of == list(voters), path, f"its voters are {of}, not {list(voters)}")
    require(all(found[name] >= -1 for name in ("leaderId", "votedId")), path, f"it has {found}")
