"""The independent reader of a node's files: it takes what is right, and refuses each thing that is not."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from impl.kraft.simulation.kafka_files import NotKafkaError, check_files, flush_point
from impl.kraft.storage.batches import Record, RecordBatch, encode
from impl.kraft.storage.control import LeaderChange, leader_change
from impl.kraft.storage.directories import PARTITION_METADATA
from impl.kraft.storage.disk import write_durably
from impl.kraft.storage.election import ElectionState, write_election
from impl.kraft.storage.log import Log, LogSettings
from impl.kraft.storage.simulated_disk import SimulatedDisk
from impl.kraft.storage.snapshots import Snapshots

DIRECTORY = "/log"
VOTERS = (1, 2, 3)
FIRST = f"{DIRECTORY}/{0:020}"
SNAPSHOT = f"{DIRECTORY}/{3:020}-{1:010}.checkpoint"
STATE = f"{DIRECTORY}/quorum-state"
EPOCHS = f"{DIRECTORY}/leader-epoch-checkpoint"
Files = dict[str, bytes]


def files() -> Files:
    """Of a node that has written a segment with entries in both indexes, another one, a snapshot and its vote."""
    disk = SimulatedDisk()
    disk.make_directory(DIRECTORY)
    log = Log.open(disk, DIRECTORY, LogSettings(segment_bytes=20_000))
    change = leader_change(LeaderChange(2, VOTERS, (2, 3)))
    log.append(encode(RecordBatch(0, 1, 10, (change,), is_control=True)), 1)
    for at in range(1, 9):
        log.append(encode(RecordBatch(at, 1, 10 + at // 2, (Record(bytes(3_000)),))), 1)
    log.close()
    write_durably(disk, DIRECTORY, "partition.metadata", PARTITION_METADATA)
    write_election(disk, DIRECTORY, ElectionState(1, 2, None, VOTERS))
    writer = Snapshots(disk, DIRECTORY).create((3, 1), 11, now_ms=12)
    writer.append([Record(b"all")])
    writer.freeze()
    return disk.image()


def test_what_a_node_writes_is_as_kafka_reads_it() -> None:
    found = files()
    assert len(found[f"{FIRST}.index"]) >= 16 and len(found[f"{FIRST}.timeindex"]) >= 24
    check_files(found, DIRECTORY, VOTERS, segment_ms=10)
    assert flush_point(found[f"{DIRECTORY}/flush-point"]) is not None
    assert flush_point(b"") is None and flush_point(b"%020d 00000000\n" % 5) is None


def changed(path: str, change: Callable[[bytearray], object]) -> Callable[[Files], None]:
    def damage(found: Files) -> None:
        data = bytearray(found[path])
        change(data)
        found[path] = bytes(data)

    return damage


def flipped(path: str, at: int) -> Callable[[Files], None]:
    def flip(data: bytearray) -> None:
        data[at] ^= 1

    return changed(path, flip)


def state(**fields: object) -> Callable[[Files], None]:
    def change(found: Files) -> None:
        found[STATE] = json.dumps({**json.loads(found[STATE]), **fields}, separators=(",", ":")).encode()

    return change


def without(path: str) -> Callable[[Files], None]:
    def remove(found: Files) -> None:
        del found[path]

    return remove


DAMAGES: dict[str, Callable[[Files], None]] = {
    "a bit of a batch": flipped(f"{FIRST}.log", 70),
    "the offset of a batch": flipped(f"{FIRST}.log", 7),
    "bytes behind the last batch": changed(f"{FIRST}.log", lambda data: data.extend(b"x")),
    "no offset index": without(f"{FIRST}.index"),
    "no time index": without(f"{FIRST}.timeindex"),
    "an offset in the index": flipped(f"{FIRST}.index", 3),
    "a position in the index": flipped(f"{FIRST}.index", 7),
    "an entry of the index": changed(f"{FIRST}.index", lambda data: data.__delitem__(slice(8))),
    "a time in the time index": flipped(f"{FIRST}.timeindex", 7),
    "an offset in the time index": flipped(f"{FIRST}.timeindex", 11),
    "the end of the time index": changed(f"{FIRST}.timeindex", lambda data: data.__delitem__(slice(-12, None))),
    "a snapshot without its footer": changed(SNAPSHOT, lambda data: data.__delitem__(slice(-80, None))),
    "a voter": state(currentVoters=[{"voterId": 1}, {"voterId": 2}]),
    "a cluster id": state(clusterId="x"),
    "a vote for nobody": state(votedId=-2),
    "a field more": state(more=1),
    "a space": changed(STATE, lambda data: data.insert(1, 32)),
    "no id of the topic": without(f"{DIRECTORY}/partition.metadata"),
    "no epochs": without(EPOCHS),
    "an epoch": changed(EPOCHS, lambda data: data.__setitem__(slice(4, 5), b"2")),
    "the start of an epoch": changed(EPOCHS, lambda data: data.__setitem__(slice(6, 7), b"3")),
    "an epoch twice": changed(EPOCHS, lambda data: data.__setitem__(slice(2, None), b"2\n1 0\n1 3\n")),
    "more epochs than are said": changed(EPOCHS, lambda data: data.extend(b"2 9\n")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_kafka_would_read_otherwise_is_refused(damage: Callable[[Files], None]) -> None:
    found = files()
    damage(found)
    with pytest.raises(NotKafkaError):
        check_files(found, DIRECTORY, VOTERS)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (LeaderChange(4, VOTERS, (2, 3)), "4 leads"),
        (LeaderChange(2, (1, 2), (1, 2)), "2 leads"),
        (LeaderChange(2, VOTERS, (2,)), "by the votes of"),
    ],
)
def test_so_is_another_change_of_the_leader(change: LeaderChange, says: str) -> None:
    found = files()
    found[f"{FIRST}.log"] = encode(RecordBatch(0, 1, 10, (leader_change(change),), is_control=True))
    for path in [path for path in found if not path.startswith(FIRST) or not path.endswith(".log")]:
        del found[path]
    with pytest.raises(NotKafkaError, match=says):
        check_files(found, DIRECTORY, VOTERS)


def test_a_segment_spans_no_longer_than_it_may() -> None:
    with pytest.raises(NotKafkaError, match="spans 3 ms"):
        check_files(files(), DIRECTORY, VOTERS, segment_ms=2)
