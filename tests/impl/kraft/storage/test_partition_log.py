"""The log of a partition: batches in a file, found again by a start as far as they are whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from crc32c import crc32c

from impl.kraft.storage.batches import (
    HEADER,
    HEADER_BYTES,
    OF_PRODUCERS,
    BatchError,
    Header,
    Record,
    RecordBatch,
    encode,
    header_at,
)
from impl.kraft.storage.partition_log import NO_EPOCH, PartitionLog
from impl.kraft.storage.real_disk import RealDisk

FILE = f"{0:020}.log"


def batch(offset: int, epoch: int, count: int = 1, timestamp_ms: int = 0) -> bytes:
    return encode(RecordBatch(offset, epoch, timestamp_ms, tuple(Record(b"value") for _ in range(count))))


def compressed(data: bytes) -> bytes:
    """The same, said to be compressed: what its records are is nobody's business here."""
    fields = list(Header(*HEADER.unpack_from(data)))
    fields[5] = 1
    changed = bytearray(HEADER.pack(*fields) + data[HEADER_BYTES:])
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


def append(log: PartitionLog, data: bytes) -> None:
    log.append(header_at(data, attributes=OF_PRODUCERS), data)


def opened(folder: Path) -> PartitionLog:
    return PartitionLog(RealDisk(), str(folder))


def filled(folder: Path) -> PartitionLog:
    """Offsets 0 and 1 of epoch 0, 2 of epoch 1, 3 to 5 of epoch 3."""
    log = opened(folder)
    for data in (batch(0, 0, 2, 50), compressed(batch(2, 1, 1, 90)), batch(3, 3, 3, 70)):
        append(log, data)
    return log


def test_a_log_is_read_as_it_was_written_and_goes_on_from_there(tmp_path: Path) -> None:
    log = filled(tmp_path)
    data = log.read(0, 1 << 20)
    assert data == (tmp_path / FILE).read_bytes() and log.end_offset == 6 and log.last_epoch == 3
    log.close()
    again = opened(tmp_path)
    assert again.read(0, 1 << 20) == data and again.batches == log.batches
    append(again, batch(6, 3))
    assert opened(tmp_path).end_offset == 7


def test_whole_batches_are_read_one_at_least_and_none_behind_the_end(tmp_path: Path) -> None:
    log = filled(tmp_path)
    first, second = batch(0, 0, 2, 50), compressed(batch(2, 1, 1, 90))
    assert log.read(1, 1) == first  # the batch that has the offset
    assert log.read(0, len(first) + len(second)) == first + second
    assert log.read(0, len(first) + len(second) - 1) == first
    assert log.read(0, 1 << 20, end_offset=5) == first + second  # the third ends at 6
    assert log.read(6, 1 << 20) == log.read(0, 1 << 20, end_offset=1) == b""


@pytest.mark.parametrize(("epoch", "end"), [(0, (0, 2)), (1, (1, 3)), (2, (1, 3)), (3, (3, 6)), (9, (3, 6))])
def test_an_epoch_ends_where_a_later_one_begins(tmp_path: Path, epoch: int, end: tuple[int, int]) -> None:
    log = filled(tmp_path)
    assert log.end_of_epoch(epoch) == end
    assert log.end_of_epoch(-1) == (NO_EPOCH, 0)


def test_the_epoch_of_an_offset_and_what_is_found_by_time(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert [log.epoch_at(offset) for offset in range(7)] == [0, 0, 1, 3, 3, 3, 3]
    found = [log.since(timestamp_ms) for timestamp_ms in (50, 51, 91)]
    assert [batch and batch.header.base_offset for batch in found] == [0, 2, None]
    latest = log.latest()
    assert latest is not None and latest.header.base_offset == 2


@pytest.mark.parametrize(("offset", "end"), [(6, 6), (5, 3), (3, 3), (2, 2), (1, 0), (0, 0)])
def test_a_log_is_truncated_to_whole_batches_and_stays_so(tmp_path: Path, offset: int, end: int) -> None:
    log = filled(tmp_path)
    log.truncate(offset)
    assert log.end_offset == end == opened(tmp_path).end_offset
    append(log, batch(end, 5))
    assert opened(tmp_path).end_offset == end + 1


def test_a_start_cuts_what_is_not_whole(tmp_path: Path) -> None:
    """Wherever a crash has cut the file, or a byte of the last batch is another one."""
    filled(tmp_path).close()
    data = (tmp_path / FILE).read_bytes()
    sizes = [len(batch(0, 0, 2)), len(batch(0, 0, 2)) + len(batch(2, 1))]
    for size_bytes in range(len(data)):
        (tmp_path / FILE).write_bytes(data[:size_bytes])
        assert opened(tmp_path).end_offset == (0 if size_bytes < sizes[0] else 2 if size_bytes < sizes[1] else 3)
    (tmp_path / FILE).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert opened(tmp_path).end_offset == 3 and (tmp_path / FILE).stat().st_size == sizes[1]


@pytest.mark.parametrize("data", [batch(5, 3), batch(7, 3), batch(6, 2)], ids=["before", "behind", "older epoch"])
def test_what_cannot_follow_is_refused_and_not_written(tmp_path: Path, data: bytes) -> None:
    log = filled(tmp_path)
    with pytest.raises(BatchError):
        append(log, data)
    assert opened(tmp_path).end_offset == 6
