"""Folders of partitions: found again by a start, gone with their partition, and never taken for another topic's."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from impl.kraft.broker import EpochEnd, LogEntry
from impl.kraft.server.replica_logs import StoredReplicaLog, StoredReplicaLogs, placed
from impl.kraft.storage.batches import BatchError, Record, RecordBatch, encode, header_at
from impl.kraft.storage.errors import StorageError
from impl.kraft.storage.real_disk import RealDisk

OLD, NEW = UUID(int=5), UUID(int=6)


def produced(count: int = 1) -> bytes:
    """A batch as a producer sends it: where it will be is not its business."""
    return encode(RecordBatch(0, 0, 0, tuple(Record(b"value") for _ in range(count))))


def logs(*folders: Path) -> StoredReplicaLogs:
    return StoredReplicaLogs(RealDisk(), tuple(map(str, folders)))


def test_batches_are_placed_where_the_log_ends_in_the_epoch_of_the_leader(tmp_path: Path) -> None:
    log = logs(tmp_path).create((OLD, 0), "orders")
    log.append([LogEntry(4, produced(2)), LogEntry(5, produced())])
    assert (log.end_offset, log.last_epoch) == (3, 5)
    assert log.read(2, 1) == (LogEntry(5, placed(produced(), 2, 5)),)
    assert header_at(log.read(0, 1)[0].value).epoch == 4  # its checksum is still right
    assert log.end_of_epoch(4) == EpochEnd(4, 2)
    log.high_watermark = 3
    log.truncate(2)
    assert (log.end_offset, log.high_watermark) == (2, 2)
    with pytest.raises(BatchError):
        log.append([LogEntry(5, b"no batch")])


def test_a_start_finds_what_was_there(tmp_path: Path) -> None:
    first = logs(tmp_path)
    first.create((OLD, 0), "orders").append([LogEntry(0, produced(3))])
    first.create((NEW, 12), "with-dashes-1")
    first.close(flushed=True)
    (tmp_path / "orders-7").mkdir()  # as a crash leaves it
    found = logs(tmp_path).load()
    assert set(found) == {(OLD, 0), (NEW, 12)} and found[OLD, 0].end_offset == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders-0", "orders-7", "with-dashes-1-12"]


def test_a_partition_that_is_deleted_is_gone(tmp_path: Path) -> None:
    room = logs(tmp_path)
    room.create((OLD, 0), "orders")
    room.delete((OLD, 0))
    room.delete((OLD, 0))
    assert list(tmp_path.iterdir()) == [] and logs(tmp_path).load() == {}


def test_a_topic_of_the_same_name_begins_empty(tmp_path: Path) -> None:
    """Whichever of the two is heard of first: that the old one is gone, or that the new one is there."""
    room = logs(tmp_path)
    room.create((OLD, 0), "orders").append([LogEntry(0, produced())])
    new = room.create((NEW, 0), "orders")
    room.delete((OLD, 0))
    assert new.end_offset == 0 and set(logs(tmp_path).load()) == {(NEW, 0)}


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two log directories."""
    found = [tmp_path / "a", tmp_path / "b"]
    for folder in found:
        folder.mkdir()
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_log_is_made_where_there_are_fewest_and_found_there(folders: list[Path]) -> None:
    room = logs(*folders)
    for number in range(3):
        room.create((OLD, number), "orders")
    assert [names(folder) for folder in folders] == [["orders-0", "orders-2"], ["orders-1"]]
    room.delete((OLD, 0))
    room.delete((OLD, 2))
    room.create((NEW, 0), "events")
    room.close(flushed=True)
    assert [names(folder) for folder in folders] == [["events-0"], ["orders-1"]]
    assert set(logs(*folders).load()) == {(OLD, 1), (NEW, 0)}


def test_an_earlier_topic_of_the_same_name_goes_from_wherever_it_is(folders: list[Path]) -> None:
    room = logs(*folders)
    for number in range(2):
        room.create((OLD, number), "orders")
    room.create((NEW, 1), "orders")
    assert [names(folder) for folder in folders] == [["orders-0"], ["orders-1"]]
    assert set(logs(*folders).load()) == {(OLD, 0), (NEW, 1)}


def test_a_replica_that_is_in_two_directories_stops_the_start(folders: list[Path]) -> None:
    for folder in folders:
        logs(folder).create((OLD, 0), "orders")
    with pytest.raises(StorageError, match=r"a/orders-0 and .*b/orders-0 are of one replica: move one elsewhere"):
        logs(*folders).load()


@pytest.mark.parametrize("text", [b"", b"version: 0\n", b"topic_id: ?"])
def test_a_folder_that_does_not_say_whose_it_is_stops_the_start(tmp_path: Path, text: bytes) -> None:
    logs(tmp_path).create((OLD, 0), "orders")
    (tmp_path / "orders-0" / "partition.metadata").write_bytes(text)
    with pytest.raises(StorageError, match="does not say of which topic"):
        logs(tmp_path).load()


def test_a_log_on_a_disk_has_no_copy(tmp_path: Path) -> None:
    log: StoredReplicaLog = logs(tmp_path).create((OLD, 0), "orders")
    with pytest.raises(TypeError, match="has no copy"):
        log.copy()
