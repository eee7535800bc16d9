"""Files byte for byte: those in `from_kafka` were written by Apache Kafka 4.3.1, and each is read and written again."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.kraft.metadata.encoding import MetadataRecord
from impl.kraft.metadata.encoding import encode as encode_metadata
from impl.kraft.storage.batches import (
    BatchError,
    Record,
    RecordBatch,
    decode,
    decode_all,
    encode,
    headers,
    size_of,
)
from impl.kraft.storage.control import (
    LeaderChange,
    last_contained_ms,
    leader_change,
    read_leader_change,
)
from impl.kraft.storage.directories import (
    PARTITION_METADATA,
    bootstrap_bytes,
    encode_id,
    format_directories,
    from_text,
    lock_directories,
    read_bootstrap,
    read_directories,
)
from impl.kraft.storage.disk import read_whole
from impl.kraft.storage.election import ElectionState, from_json, to_json
from impl.kraft.storage.epochs import EpochHistory, write_checkpoint
from impl.kraft.storage.errors import BitRotError, StorageError
from impl.kraft.storage.log import Log
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.storage.simulated_disk import SimulatedDisk
from impl.kraft.storage.snapshots import is_whole

FROM_KAFKA = Path(__file__).parent / "from_kafka"
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"


def feature_level(name: str, level: int) -> Record:
    return Record(encode_metadata(MetadataRecord("FEATURE_LEVEL_RECORD", 0, {"name": name, "featureLevel": level})))


def of_kafka(name: str) -> bytes:
    return (FROM_KAFKA / name).read_bytes()


def test_batches_of_kafka_are_written_again_as_they_were() -> None:
    data = of_kafka("00000000000000000000.log")
    batches = decode_all(data)
    assert (len(batches), batches[-1].end_offset) == (23, 31)
    assert b"".join(map(encode, batches)) == data


def test_the_leader_change_is_kafkas() -> None:
    batch = decode(of_kafka("00000000000000000000.log"))
    change = LeaderChange(1, (1,), (1,))
    assert batch.is_control and read_leader_change(batch.records[0]) == change
    assert leader_change(change) == batch.records[0]


def test_the_bootstrap_checkpoint_is_kafkas() -> None:
    data = of_kafka("bootstrap.checkpoint")
    assert is_whole(data, epoch=0)
    levels = [
        *[("metadata.version", 30), ("eligible.leader.replicas.version", 1), ("group.version", 1)],
        *[("share.version", 1), ("streams.version", 1), ("transaction.version", 2)],
    ]
    records = [feature_level(name, level) for name, level in levels]
    header, written, footer = decode_all(data)
    assert (last_contained_ms(header.records[0]), list(written.records)) == (0, records)
    ours = decode_all(bootstrap_bytes(records, now_ms=header.timestamp_ms))
    assert [(b.base_offset, b.records, b.is_control) for b in ours] == [
        (b.base_offset, b.records, b.is_control) for b in (header, written, footer)
    ]
    assert b"".join(map(encode, (header, written, footer))) == data


def test_the_election_state_is_kafkas() -> None:
    data = of_kafka("quorum-state")
    state = ElectionState(epoch=1, leader=1, voted_for=None, voters=(1,))
    assert from_json(data, "quorum-state") == state
    assert to_json(state) == data


def test_version_1_of_the_election_state_is_read() -> None:
    data = b'{"leaderId":-1,"leaderEpoch":7,"votedId":2,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    assert from_json(data, "quorum-state") == ElectionState(epoch=7, leader=None, voted_for=2)


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (b'{"data_version":2}', StorageError, "data_version 2 is unknown; known are 0 and 1"),
        (b"", BitRotError, "quorum-state: not an election state"),
        (b'{"leaderId":"1","leaderEpoch":1,"votedId":-1,"data_version":1}', BitRotError, "leaderId is '1'"),
        (b"[]", BitRotError, "To rebuild this voter"),
    ],
)
def test_an_election_state_that_is_none_is_refused(data: bytes, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        from_json(data, "quorum-state")


def test_the_leader_epoch_checkpoint_and_the_partition_metadata_are_kafkas() -> None:
    disk = SimulatedDisk()
    write_checkpoint(disk, "", EpochHistory([(1, 0)]))
    assert read_whole(disk, "/leader-epoch-checkpoint") == of_kafka("leader-epoch-checkpoint")
    assert of_kafka("partition.metadata") == PARTITION_METADATA


def test_meta_properties_of_kafka_are_read() -> None:
    found = from_text(of_kafka("meta.properties"), "meta.properties")
    assert (found.cluster_id, found.node_id) == (CLUSTER, 1)


def test_a_log_that_kafka_wrote_is_recovered_and_read(tmp_path: Path) -> None:
    data = of_kafka("00000000000000000000.log")
    (tmp_path / "00000000000000000000.log").write_bytes(data)
    log = Log.open(RealDisk(), str(tmp_path))
    assert (log.start_offset, log.end_offset, log.last_epoch) == (0, 31, 1)
    assert log.read(0, 1 << 20) == data
    log.close()


optional_bytes = st.none() | st.binary(max_size=40)
records = st.builds(Record, optional_bytes, optional_bytes, st.integers(-(1 << 40), 1 << 40))
batches = st.builds(
    RecordBatch,
    base_offset=st.integers(0, (1 << 62)),
    epoch=st.integers(0, (1 << 31) - 1),
    timestamp_ms=st.integers(0, 1 << 45),
    records=st.lists(records, min_size=1, max_size=5).map(tuple),
    is_control=st.booleans(),
)


@given(batches)
def test_what_is_encoded_is_decoded(batch: RecordBatch) -> None:
    assert decode(encode(batch)) == batch


@given(batches)
def test_how_large_a_batch_is_is_known_before(batch: RecordBatch) -> None:
    assert size_of(batch.records) == len(encode(batch))


@pytest.mark.parametrize("size_bytes", [0, 57, 58, 63, 64, 8_190, 8_200, 1 << 20])
def test_so_it_is_at_the_bounds_of_lengths(size_bytes: int) -> None:
    records = (Record(bytes(size_bytes)), *[Record(None)] * 130, Record(b"", bytes(size_bytes)))
    assert size_of(records) == len(encode(RecordBatch(0, 1, 0, records)))


@given(batches, st.data())
def test_a_damaged_batch_is_no_batch(batch: RecordBatch, data: st.DataObject) -> None:
    """But for base offset and epoch, which the CRC does not cover and the log compares."""
    encoded = bytearray(encode(batch))
    at = data.draw(st.integers(8, len(encoded) - 1).filter(lambda at: not 12 <= at < 16))
    encoded[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BatchError):
        list(headers(bytes(encoded)))


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(BatchError):
        decode(data)


def test_an_independent_reader_reads_the_batches() -> None:
    """kafka-python's, which also checks the CRC."""
    from kafka.record.memory_records import MemoryRecords

    written = RecordBatch(5, 3, 1_000, (Record(b"value", b"key", 4), Record(None)))
    [batch] = list(MemoryRecords(encode(written)))
    assert batch.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value) for r in batch] == [
        (5, 1_004, b"key", b"value"),
        (6, 1_000, None, None),
    ]


# Log directories


def formatted(disk: SimulatedDisk, *directories: str) -> list[str]:
    ids = iter(range(1, 9))
    return format_directories(
        disk, directories, CLUSTER, 3, [feature_level("metadata.version", 7)],
        random_id=lambda: UUID(int=next(ids)), now_ms=lambda: 0,
    )  # fmt: skip


def test_formatted_directories_are_read_again() -> None:
    disk = SimulatedDisk()
    assert formatted(disk, "/a", "/b") == ["/a", "/b"]
    found = read_directories(disk, ["/a", "/b"], 3)
    assert {d: (p.cluster_id, p.node_id, p.directory_id) for d, p in found.items()} == {
        "/a": (CLUSTER, 3, encode_id(UUID(int=1))),
        "/b": (CLUSTER, 3, encode_id(UUID(int=2))),
    }
    assert read_bootstrap(disk, "/a") == [feature_level("metadata.version", 7)]


def test_nothing_is_written_where_one_is_formatted_already() -> None:
    disk = SimulatedDisk()
    formatted(disk, "/a")
    before = disk.image()
    with pytest.raises(StorageError, match="/a is already formatted"):
        formatted(disk, "/b", "/a")
    assert disk.image() == before


def test_directories_of_others_are_refused() -> None:
    disk = SimulatedDisk()
    formatted(disk, "/a")
    format_directories(disk, ["/b"], encode_id(UUID(int=9)), 3, [])
    with pytest.raises(StorageError, match=r"node\.id is 3, and this node is 4"):
        read_directories(disk, ["/a"], 4)
    with pytest.raises(StorageError, match="of several clusters"):
        read_directories(disk, ["/a", "/b"], 3)
    with pytest.raises(StorageError, match="/c is not formatted"):
        read_directories(disk, ["/a", "/c"], 3)


def test_two_processes_cannot_lock_a_directory(tmp_path: Path) -> None:
    disk = SimulatedDisk()
    disk.make_directory("/a")
    [lock] = lock_directories(disk, ["/a"])
    with pytest.raises(StorageError, match="in use by another process"):
        lock_directories(disk, ["/a"])
    lock.close()
    lock_directories(disk, ["/a"])


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"\x01", lambda data: b""])
def test_a_damaged_bootstrap_is_refused(damage: object) -> None:
    disk = SimulatedDisk()
    formatted(disk, "/a")
    file = disk.open("/a/bootstrap.checkpoint")
    data = damage(read_whole(disk, "/a/bootstrap.checkpoint"))  # type: ignore[operator]  # it is one of the functions above
    file.truncate(0)
    file.write(0, data)
    with pytest.raises(BitRotError, match=r"bootstrap\.checkpoint"):
        read_bootstrap(disk, "/a")
