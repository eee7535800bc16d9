"""Logs in files: what was appended is there after the process is gone, whole batches only."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.heartbeat.control_requests import TopicPartition
from impl.heartbeat.disk import FileLog, Folder
from impl.heartbeat.log import Batch

PARTITION = TopicPartition("t", 3)
BATCHES = [Batch(0, 2, 0, b"ab"), Batch(2, 1, 1, b""), Batch(3, 4, 1, bytes(range(40)))]
SIZES_BYTES = [22, 20, 60]


def written(path: Path) -> FileLog:
    log = FileLog(path)
    for batch in BATCHES:
        log.append(batch)
    return log


def test_a_log_is_read_as_it_was_written_and_goes_on_from_there(tmp_path: Path) -> None:
    log = written(tmp_path / "log")
    assert (tmp_path / "log").stat().st_size == sum(SIZES_BYTES)
    again = FileLog(tmp_path / "log")
    assert again.batches == log.batches == BATCHES and again.end_offset == 7
    again.append(Batch(7, 1, 2, b"z"))
    assert FileLog(tmp_path / "log").batches == [*BATCHES, Batch(7, 1, 2, b"z")]


def test_what_is_torn_is_cut_to_what_is_whole(tmp_path: Path) -> None:
    """Wherever the file ends: the next batch is written where the last whole one ends."""
    written(tmp_path / "log")
    data = (tmp_path / "log").read_bytes()
    for size_bytes in range(len(data)):
        path = tmp_path / f"{size_bytes}"
        path.write_bytes(data[:size_bytes])
        whole = sum(sum(SIZES_BYTES[: n + 1]) <= size_bytes for n in range(len(BATCHES)))
        log = FileLog(path)
        assert log.batches == BATCHES[:whole]
        log.append(Batch(log.end_offset, 1, 9, b"next"))
        assert FileLog(path).batches == [*BATCHES[:whole], Batch(log.end_offset - 1, 1, 9, b"next")]


@pytest.mark.parametrize(("offset", "left"), [(7, 3), (6, 2), (3, 2), (2, 1), (1, 0), (0, 0)])
def test_a_log_that_is_truncated_stays_so(tmp_path: Path, offset: int, left: int) -> None:
    log = written(tmp_path / "log")
    log.truncate(offset)
    assert FileLog(tmp_path / "log").batches == BATCHES[:left]
    log.append(Batch(log.end_offset, 1, 5, b"new"))
    assert FileLog(tmp_path / "log").batches == log.batches
    assert (tmp_path / "log").stat().st_size == sum(SIZES_BYTES[:left]) + 23


@pytest.mark.parametrize("batch", [Batch(6, 1, 1, b""), Batch(8, 1, 1, b""), Batch(7, 1, 0, b"")])
def test_a_batch_that_belongs_elsewhere_is_refused_and_not_written(tmp_path: Path, batch: Batch) -> None:
    log = written(tmp_path / "log")
    with pytest.raises(ValueError, match="a batch of offset"):
        log.append(batch)
    assert FileLog(tmp_path / "log").batches == BATCHES


def test_each_partition_has_a_folder_of_its_own(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder(PARTITION).append(BATCHES[0])
    assert folder(PARTITION).batches == BATCHES[:1] and folder(TopicPartition("t", 4)).batches == []
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["t-3", "t-4"]
