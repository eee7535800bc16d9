"""Recovery of a log, damage by damage, and what a caller may not ask for."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from impl.kraft.storage.batches import BatchError, Record, RecordBatch, encode
from impl.kraft.storage.effects import (
    AppendToLog,
    DeleteLeftovers,
    Flush,
    FreezeSnapshot,
    InstallSnapshot,
    MeasureStorage,
    Persist,
    ReceiveSnapshot,
    TruncateLog,
    carry_out,
)
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.errors import BitRotError, DiskFullError, LogUseError, StorageEndedError
from impl.kraft.storage.log import Log, LogSettings
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.storage.simulated_disk import Fault, SimulatedDisk
from impl.kraft.storage.sizes import SegmentSize, SnapshotSize, StoredSizes
from impl.kraft.storage.storage import QuorumStorage, StorageSettings

LOG = "/00000000000000000000.log"


def batch(offset: int, epoch: int = 1, size_bytes: int = 100) -> bytes:
    value = Random(offset).randbytes(size_bytes)
    return encode(RecordBatch(offset, epoch, 0, (Record(value),)))


@pytest.fixture
def disk() -> SimulatedDisk:
    """A log of three batches, flushed, whose flush point is lost: anything may be a torn tail."""
    disk = SimulatedDisk()
    log = Log.open(disk, "")
    log.append(batch(0) + batch(1) + batch(2), epoch=1)
    log.flush()
    log.close()
    disk.delete("/flush-point")
    return disk


def recovered(disk: SimulatedDisk) -> Log:
    """The log that a copy of the disk has."""
    return Log.open(disk.after_power_loss(), "")


def test_each_byte_that_rots_is_refused(disk: SimulatedDisk) -> None:
    """Also in the last batch: no crash leaves the like. But for epochs, which are compared below the flush point."""
    whole = disk.image()[LOG]
    served = []
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        disk.damage(LOG, bytes(damaged))
        try:
            recovered(disk)
            served.append(at % (len(whole) // 3))
        except BitRotError:
            pass
    assert set(served) <= {12, 13, 14, 15}


@pytest.mark.parametrize("size", [0, 1, 60, 61, 100, 300])
def test_a_log_that_is_cut_off_is_a_torn_tail(disk: SimulatedDisk, size: int, caplog: pytest.LogCaptureFixture) -> None:
    whole = disk.image()[LOG]
    disk.damage(LOG, whole[:size])
    with caplog.at_level(logging.WARNING):
        assert recovered(disk).end_offset == size // (len(whole) // 3)
    assert ("a torn tail" in caplog.text) == (size > 0)


def test_a_hole_before_a_whole_batch_is_a_torn_tail() -> None:
    """Sectors reach the disk in any order: without a flush, a later batch that is whole proves nothing."""
    disk = SimulatedDisk()
    log = Log.open(disk, "")
    log.append(batch(0, size_bytes=2_000) + batch(1), epoch=1)
    whole = disk.image()[LOG]
    disk.damage(LOG, whole[:512] + bytes(512) + whole[1_024:])
    assert recovered(disk).end_offset == 0


def test_a_refusal_says_where_and_how_to_mend_it(disk: SimulatedDisk) -> None:
    damaged = bytearray(disk.image()[LOG])
    damaged[len(damaged) // 3 + 70] ^= 1
    disk.damage(LOG, bytes(damaged))
    says = r"0\.log: position \d+, offset 1: the CRC is 0x\w{8}, expected 0x\w{8}\. To rebuild this voter"
    with pytest.raises(BitRotError, match=says):
        recovered(disk)


def test_rot_is_not_served_while_the_process_runs(disk: SimulatedDisk) -> None:
    log = Log.open(disk, "")
    damaged = bytearray(disk.image()[LOG])
    damaged[-5] ^= 1
    disk.damage(LOG, bytes(damaged))
    assert log.read(0, 1) == batch(0)
    with pytest.raises(BitRotError):
        log.read(2, 1)


@pytest.mark.parametrize(
    ("data", "epoch", "says"),
    [
        (batch(4), 1, "a batch at offset 4 cannot follow a log that ends at 3"),
        (batch(3, epoch=0), 1, "a batch of epoch 0 in epoch 1 behind one of epoch 1"),
        (batch(3, epoch=2), 1, "a batch of epoch 2 in epoch 1"),
        (batch(3) + batch(3), 1, "a batch at offset 3 cannot follow a log that ends at 4"),
    ],
)
def test_what_cannot_follow_is_not_appended(disk: SimulatedDisk, data: bytes, epoch: int, says: str) -> None:
    log = Log.open(disk, "")
    with pytest.raises(LogUseError, match=says):
        log.append(data, epoch)
    with pytest.raises(BatchError):
        log.append(batch(3)[:-1], epoch=1)
    assert log.end_offset == 3


def test_reads_give_whole_batches_across_segments() -> None:
    log = Log.open(SimulatedDisk(), "", LogSettings(segment_bytes=400))
    batches = [batch(offset) for offset in range(10)]
    for data in batches:
        log.append(data, epoch=1)
    assert log.read(0, 1 << 20) == b"".join(batches)
    assert log.read(4, 1) == batches[4]
    assert log.read(4, 2 * len(batches[0])) == batches[4] + batches[5]
    assert log.read(10, 1) == b""
    with pytest.raises(LogUseError, match="offset 11 is not in a log from 0 to 10"):
        log.read(11, 1)


def test_epochs_and_their_ends() -> None:
    log = Log.open(SimulatedDisk(), "")
    for offset, epoch in enumerate((1, 1, 3, 3, 5)):
        log.append(batch(offset, epoch), epoch)
    assert [log.end_of_epoch(epoch) for epoch in range(7)] == [None, (1, 2), (1, 2), (3, 4), (3, 4), (5, 5), (5, 5)]
    log.truncate(3)
    assert (log.last_epoch, log.end_of_epoch(5)) == (3, (3, 3))


def test_indexes_of_closed_segments() -> None:
    """An entry for the first batch after each 4 KiB: relative last offset and position; time and relative offset."""
    disk = SimulatedDisk()
    log = Log.open(disk, "", LogSettings(segment_bytes=10_000))
    for offset in range(60):
        log.append(encode(RecordBatch(offset, 1, 1_000 + offset, (Record(bytes(200)),))), epoch=1)
    size = len(encode(RecordBatch(0, 1, 1_000, (Record(bytes(200)),))))
    every = 4_096 // size + 1
    closed = 10_000 // size
    offsets, times = disk.image()["/00000000000000000000.index"], disk.image()["/00000000000000000000.timeindex"]
    indexed = list(range(every, closed, every))
    assert offsets == b"".join(n.to_bytes(4, "big") + (n * size).to_bytes(4, "big") for n in indexed)
    latest = [*(n - 1 for n in indexed), closed - 1]
    assert times == b"".join((1_000 + n).to_bytes(8, "big") + n.to_bytes(4, "big") for n in latest)


def test_effects_are_carried_out_in_order() -> None:
    """A message behind `Persist` or `Flush` finds it done: a crash at that moment takes nothing back."""
    disk = SimulatedDisk()
    storage = QuorumStorage.open(disk, "", StorageSettings(reserve_bytes=0))
    vote = ElectionState(1, voted_for=2, voters=(1, 2))
    seen: list[object] = []

    def send(message: object) -> None:
        left = QuorumStorage.open(disk.after_power_loss(), "", StorageSettings(reserve_bytes=0))
        seen.append((message, left.election, left.log.end_offset))

    effects = [
        *["a", Persist(vote), "b", AppendToLog(batch(0) + batch(1), 1), "c", Flush(), "d", TruncateLog(1), "e"],
    ]
    carry_out(storage, effects, seen.append, never, never, send)
    assert seen == [("a", None, 0), ("b", vote, 0), ("c", vote, 0), 2, ("d", vote, 2), ("e", vote, 1)]


def test_nothing_behind_an_effect_that_fails_is_carried_out() -> None:
    disk = SimulatedDisk()
    storage = QuorumStorage.open(disk, "", StorageSettings(reserve_bytes=0))
    disk.faults = {disk.operations + 4: Fault.ERROR}
    sent: list[object] = []
    with pytest.raises(StorageEndedError, match="the process must end"):
        carry_out(storage, [Persist(ElectionState(1)), "vote granted"], lambda end: None, never, never, sent.append)
    assert sent == []


def never(*_: object) -> None:
    raise AssertionError("nothing is frozen, or measured")


def snapshot_bytes() -> bytes:
    """Of all before offset 2, of epoch 1."""
    storage = QuorumStorage.open(SimulatedDisk(), "", StorageSettings(reserve_bytes=0))
    storage.append(batch(0) + batch(1), 1)
    storage.create_snapshot((2, 1), 0, 0).freeze()
    return storage.snapshots.read_bytes((2, 1), 0, 1 << 20)


def test_a_snapshot_that_is_received_in_pieces_empties_the_log_to_its_end() -> None:
    storage, data = QuorumStorage.open(SimulatedDisk(), "", StorageSettings(reserve_bytes=0)), snapshot_bytes()
    seen: list[object] = []
    pieces = [ReceiveSnapshot((2, 1), at, data[at : at + 50]) for at in range(0, len(data), 50)]
    effects = [*pieces, FreezeSnapshot((2, 1)), InstallSnapshot((2, 1)), "load"]
    carry_out(storage, effects, lambda end: None, lambda *frozen: seen.append(frozen), never, seen.append)
    assert seen == [((2, 1), True), "load"]
    assert (storage.log.start_offset, storage.log.end_offset, storage.snapshots.ids) == (2, 2, [(2, 1)])


def test_what_there_is_is_measured_and_what_is_deleted_goes_with_the_leftovers() -> None:
    disk = SimulatedDisk()
    settings = StorageSettings(LogSettings(segment_bytes=len(batch(0))), reserve_bytes=0)
    storage = QuorumStorage.open(disk, "", settings)
    storage.append(b"".join(map(batch, range(4))), 1)
    for end_offset, time_ms in ((2, 77), (3, 88)):
        storage.create_snapshot((end_offset, 1), time_ms, 99).freeze()
    measured: list[StoredSizes] = []
    carry_out(storage, [MeasureStorage()], never, never, measured.append, never)
    assert measured[0].segments == tuple(SegmentSize(base, len(batch(base))) for base in range(4))
    size_bytes = storage.snapshots.size_bytes((2, 1))
    assert measured[0].snapshots == (SnapshotSize((2, 1), size_bytes, 77), SnapshotSize((3, 1), size_bytes, 88))
    storage.delete_before((3, 1))
    assert storage.sizes() == measured[0].without_oldest(), "as it was foretold"
    directory = "/__cluster_metadata-0"
    assert sum(name.endswith(".deleted") for name in disk.names(directory)) == 4
    carry_out(storage, [DeleteLeftovers()], never, never, never, never)
    assert not [name for name in disk.names(directory) if name.endswith(".deleted")]


def test_a_time_that_cannot_be_read_is_rot() -> None:
    disk = SimulatedDisk()
    storage = QuorumStorage.open(disk, "", StorageSettings(reserve_bytes=0))
    storage.append(batch(0), 1)
    storage.create_snapshot((1, 1), 77, 99).freeze()
    disk.open("/__cluster_metadata-0/00000000000000000001-0000000001.checkpoint").write(70, b"?")
    with pytest.raises(BitRotError, match="checkpoint: the CRC"):
        storage.sizes()


def test_a_snapshot_that_was_damaged_on_its_way_is_none() -> None:
    storage, data = QuorumStorage.open(SimulatedDisk(), "", StorageSettings(reserve_bytes=0)), snapshot_bytes()
    seen: list[object] = []
    effects = [ReceiveSnapshot((2, 1), 0, data[:-1] + b"?"), FreezeSnapshot((2, 1))]
    carry_out(storage, effects, lambda end: None, lambda *frozen: seen.append(frozen), never, seen.append)
    assert seen == [((2, 1), False)] and not storage.snapshots.ids


def test_pieces_of_a_snapshot_come_one_after_the_other() -> None:
    storage = QuorumStorage.open(SimulatedDisk(), "", StorageSettings(reserve_bytes=0))
    with pytest.raises(LogUseError, match="position 5"):
        storage.receive((2, 1), 5, b"?")
    storage.receive((2, 1), 0, b"12345")
    for snapshot_id, position in (((2, 1), 6), ((3, 1), 5)):
        with pytest.raises(LogUseError, match="is not what comes next"):
            storage.receive(snapshot_id, position, b"?")
    with pytest.raises(LogUseError, match="is not received"):
        storage.freeze((3, 1))


def test_committed_batches_are_not_truncated() -> None:
    storage = QuorumStorage.open(SimulatedDisk(), "", StorageSettings(reserve_bytes=0))
    storage.append(batch(0) + batch(1), 1)
    storage.create_snapshot((2, 1), 0, 0).freeze()
    with pytest.raises(LogUseError, match="is committed, and cannot be truncated to 1"):
        storage.truncate(1)
    with pytest.raises(LogUseError, match="outside of a log from 0 to 2"):
        storage.create_snapshot((3, 1), 0, 0)
    for ask in (storage.delete_before, storage.install):
        with pytest.raises(LogUseError, match="there is no snapshot"):
            ask((1, 1))


@pytest.mark.parametrize("snapshot_id", [(1, 1), (3, 1), (2, 2), (0, 1)])
def test_a_snapshot_ends_where_a_batch_of_its_epoch_does(snapshot_id: tuple[int, int]) -> None:
    """KAFKA-14619: a follower that starts from one inside of a batch can never append again."""
    storage = QuorumStorage.open(SimulatedDisk(), "", StorageSettings(reserve_bytes=0))
    storage.append(encode(RecordBatch(0, 1, 0, (Record(b"a"), Record(b"b")))), 1)
    with pytest.raises(LogUseError, match="a snapshot"):
        storage.create_snapshot(snapshot_id, 0, 0)


def test_a_segment_that_cannot_be_flushed_for_want_of_space_ends_the_storage() -> None:
    """An fsync that fails has dropped bytes, whatever it names as the cause: nothing may be flushed behind it."""
    at, goes_on = 0, True
    while goes_on:
        at += 1
        disk = SimulatedDisk()
        storage = QuorumStorage.open(disk, "", StorageSettings(LogSettings(segment_bytes=200), reserve_bytes=0))
        operations = disk.operations
        disk.faults = {operations + at: Fault.FULL}
        flushed = 0
        with suppress(DiskFullError, StorageEndedError):
            storage.append(batch(0) + batch(1), 1)
        with suppress(StorageEndedError):
            flushed = storage.flush()
        goes_on = disk.operations - operations >= at
        left = QuorumStorage.open(disk.after_power_loss(), "", StorageSettings(reserve_bytes=0))
        assert left.log.end_offset >= flushed
    assert at > 10


def test_a_flush_in_a_thread_outlives_the_truncation_of_its_segment(tmp_path: Path) -> None:
    """Its file stays open until it has ended: another file may get a descriptor that is closed."""
    log = Log.open(RealDisk(), str(tmp_path), LogSettings(segment_bytes=200))
    log.append(batch(0) + batch(1), epoch=1)
    pending = log.begin_flush()
    assert log.truncate(1) == 1
    pending.run()
    assert log.finish_flush(pending) == 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        pending.run()
    log.close()
