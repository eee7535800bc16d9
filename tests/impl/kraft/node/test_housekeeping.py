"""When nodes write snapshots by themselves, and what they keep: by bytes and by time, whether they lead or follow."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.kraft.effects import SetTimer
from impl.kraft.image import Image
from impl.kraft.messages import BrokerRegistrationRequest
from impl.kraft.node import SnapshotSettings
from impl.kraft.node.housekeeping import CLEAN_TIMER, Housekeeping, is_due, oldest_to_keep
from impl.kraft.records import Batch, BeginTransactionRecord, EndTransactionRecord
from impl.kraft.storage.sizes import SegmentSize, SnapshotSize, StoredSizes
from tests.impl.kraft.node.quorum import VOTERS, Quorum

NEVER = SnapshotSettings(1 << 40, 0, -1, -1)
LEADER, FOLLOWER = 0, 1


@pytest.mark.parametrize(
    ("size_bytes", "elapsed_ms", "due"),
    [(99, 9, False), (100, 0, True), (101, 0, True), (0, 10, True), (1, 11, True)],
)
def test_a_snapshot_is_due_by_bytes_or_by_time(size_bytes: int, elapsed_ms: int, due: bool) -> None:
    assert is_due(SnapshotSettings(100, 10), size_bytes, elapsed_ms) is due


def test_an_interval_of_0_is_none() -> None:
    assert not is_due(SnapshotSettings(100, 0), 99, 1 << 40)


# What is kept.

THREE = StoredSizes(
    (SegmentSize(0, 100), SegmentSize(10, 100), SegmentSize(20, 100), SegmentSize(30, 5)),
    (SnapshotSize((8, 1), 7, 1_000), SnapshotSize((20, 1), 8, 2_000), SnapshotSize((29, 2), 9, 3_000)),
)


def test_what_goes_with_a_snapshot_is_the_log_before_the_next_one() -> None:
    after = THREE.without_oldest()
    assert (after.segments, after.snapshots) == (THREE.segments[2:], THREE.snapshots[1:])
    last = after.without_oldest()
    assert (last.segments, last.snapshots) == (THREE.segments[2:], THREE.snapshots[2:])


@pytest.mark.parametrize(
    ("most_bytes", "most_ms", "now_ms", "oldest"),
    [
        (-1, -1, 1 << 40, None),
        (329, -1, 0, None),
        (328, -1, 0, (20, 1)),
        (122, -1, 0, (20, 1)),
        (121, -1, 0, (29, 2)),
        (0, 0, 1 << 40, (29, 2)),
        (-1, 500, 1_500, None),
        (-1, 500, 1_501, (20, 1)),
        (-1, 500, 2_501, (29, 2)),
        (328, 500, 2_501, (29, 2)),
        (-1, 0, 1_001, (20, 1)),
    ],
)
def test_what_is_kept(most_bytes: int, most_ms: int, now_ms: int, oldest: tuple[int, int] | None) -> None:
    settings = SnapshotSettings(max_retention_bytes=most_bytes, max_retention_ms=most_ms)
    assert oldest_to_keep(settings, THREE, now_ms) == oldest


@given(st.integers(-1, 400), st.integers(-1, 5_000), st.integers(0, 9_000), st.integers(0, 3))
def test_the_last_snapshot_stays_and_nothing_more_than_must(
    most_bytes: int, most_ms: int, now_ms: int, count: int
) -> None:
    """Size by size and age by age, one after the other, as Kafka does it."""
    sizes = StoredSizes(THREE.segments, THREE.snapshots[:count])
    kept = sizes
    while len(kept.snapshots) > 1 and 0 <= most_bytes < kept.total_bytes:
        kept = kept.without_oldest()
    while len(kept.snapshots) > 1 and 0 <= most_ms < now_ms - kept.snapshots[0].last_contained_ms:
        kept = kept.without_oldest()
    settings = SnapshotSettings(max_retention_bytes=most_bytes, max_retention_ms=most_ms)
    expected = None if kept == sizes else kept.snapshots[0].snapshot_id
    assert oldest_to_keep(settings, sizes, now_ms) == expected


# What a node counts.


def applied(housekeeping: Housekeeping, end_offset: int, size_bytes: int, now_ms: int) -> tuple[int, int] | None:
    """A batch that ends there; the snapshot that is to be written then, and the time in it."""
    housekeeping.note_applied(size_bytes, now_ms - 1)
    image = Image()
    image.offset, image.epoch = end_offset - 1, 3
    written = housekeeping.written(image, now_ms)
    assert all(one.snapshot_id == (end_offset, 3) for one in written)
    return (written[0].snapshot_id[0], written[0].last_contained_ms) if written else None


def test_one_is_written_at_a_time_and_bytes_count_from_its_begin() -> None:
    housekeeping = Housekeeping(SnapshotSettings(100, 0))
    assert housekeeping.start(5) == SetTimer(CLEAN_TIMER, 60_005)
    assert applied(housekeeping, 1, 60, 10) is None
    assert applied(housekeeping, 2, 40, 20) == (2, 19)
    assert applied(housekeeping, 3, 1_000, 30) is None, "the other is being written"
    housekeeping.on_snapshot()
    assert applied(housekeeping, 4, 1, 40) == (4, 39), "what came meanwhile counts"
    housekeeping.on_snapshot()
    assert applied(housekeeping, 5, 99, 50) is None
    housekeeping.begin_anew(60)
    assert applied(housekeeping, 9, 99, 70) is None


def test_time_counts_from_the_start_and_needs_something_that_is_applied() -> None:
    housekeeping = Housekeeping(SnapshotSettings(100, 50))
    housekeeping.start(1_000)
    assert applied(housekeeping, 1, 1, 1_049) is None
    assert applied(housekeeping, 2, 1, 1_050) == (2, 1_049)
    housekeeping.on_snapshot()
    assert applied(housekeeping, 3, 1, 1_099) is None
    assert applied(housekeeping, 4, 1, 1_100) == (4, 1_099)


def test_what_is_to_be_written_does_not_change() -> None:
    housekeeping, image = Housekeeping(SnapshotSettings(1, 0)), Image()
    housekeeping.note_applied(1, 0)
    image.offset = 4
    [effect] = housekeeping.written(image, 0)
    image.offset = 9
    assert effect.image.offset == 4


# Nodes.


def registered(quorum: Quorum, count: int) -> None:
    """Each of other processes than at the last call, so that something is written."""
    process = quorum.nodes[LEADER].applied_end << 8
    for broker_id in range(count):
        quorum.ask(LEADER, broker_id, BrokerRegistrationRequest(broker_id, "", UUID(int=process + broker_id)))
        quorum.settle()


def test_leader_and_followers_write_snapshots_and_clean_their_logs() -> None:
    quorum = Quorum(segment_bytes=150, snapshots=SnapshotSettings(300, 0, 0, -1))
    quorum.elect(LEADER)
    registered(quorum, 12)
    for voter in VOTERS:
        ids = quorum.storages[voter].snapshots.ids
        assert len(ids) > 2 and quorum.storages[voter].log.start_offset == 0
        quorum.clean(voter)
        assert quorum.storages[voter].snapshots.ids == ids[-1:]
        assert 0 < quorum.storages[voter].log.start_offset <= ids[-1][0]
        assert quorum.nodes[voter].raft.voter.log.start_offset == ids[-1][0]
    quorum.clean(LEADER)
    names = quorum.disks[LEADER].names("/data/__cluster_metadata-0")
    assert not [name for name in names if name.endswith(".deleted")], "the next look deletes the files"
    registered(quorum, 13)
    assert len({node.applied_end for node in quorum.nodes}) == 1


def test_who_starts_from_its_snapshot_counts_what_is_behind_it() -> None:
    quorum = Quorum(snapshots=SnapshotSettings(300, 0))
    quorum.elect(LEADER)
    registered(quorum, 3)
    quorum.restart(FOLLOWER)
    first = quorum.storages[FOLLOWER].snapshots.ids
    quorum.settle()
    registered(quorum, 6)
    assert quorum.storages[FOLLOWER].snapshots.ids[0] == first[0] and len(quorum.storages[FOLLOWER].snapshots.ids) > 1
    times = [one.last_contained_ms for one in quorum.storages[FOLLOWER].sizes().snapshots]
    assert times == sorted(times) and times[0] > 0


def test_nothing_is_written_or_deleted_where_nothing_says_so() -> None:
    quorum = Quorum(segment_bytes=150, snapshots=NEVER)
    quorum.elect(LEADER)
    registered(quorum, 12)
    quorum.write_snapshot(LEADER, deletes=False)
    registered(quorum, 13)
    quorum.write_snapshot(LEADER, deletes=False)
    quorum.clean(LEADER)
    assert len(quorum.storages[LEADER].snapshots.ids) == 2 and quorum.storages[LEADER].log.start_offset == 0


def test_no_snapshot_is_written_within_a_transaction() -> None:
    """It would have no place for what was begun."""
    housekeeping, image = Housekeeping(SnapshotSettings(max_record_bytes=1)), Image()
    housekeeping.note_applied(100, 5)
    image.replay(Batch(0, 1, (BeginTransactionRecord(),)))
    assert housekeeping.written(image, 0) == []
    image.replay(Batch(1, 1, (EndTransactionRecord(),)))
    assert len(housekeeping.written(image, 0)) == 1
