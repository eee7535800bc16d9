"""The end of the log that is not replayed yet: taken off once it is committed, cut where the log is."""

from __future__ import annotations

import pytest

from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node.codec import batch_of
from impl.kraft.node.tail import Tail
from impl.kraft.records import Batch, NoOpRecord
from impl.kraft.storage.batches import BatchError, Record, RecordBatch, decode, encode
from impl.kraft.storage.control import LeaderChange, leader_change


def tail_of(*counts: int) -> Tail:
    """Batches of so many records each, from offset 0 on."""
    tail, end = Tail(), 0
    for count in counts:
        tail.append(encode(RecordBatch(end, 1, 0, (Record(b""),) * count)))
        end += count
    return tail


def ends(tail: Tail, end_offset: int) -> list[int]:
    return [batch.end_offset for batch in tail.take(end_offset)]


def test_what_is_committed_is_taken_off_once() -> None:
    tail = tail_of(1, 2, 1)
    assert ends(tail, 3) == [1, 3]
    assert ends(tail, 3) == []
    assert ends(tail, 4) == [4]


def test_what_is_cut_is_never_taken() -> None:
    tail = tail_of(1, 2, 1)
    tail.cut(1)
    tail.append(encode(RecordBatch(1, 2, 0, (Record(b""),))))
    assert [decode(batch.data).epoch for batch in tail.take(9)] == [1, 2]


def as_records(data: bytes) -> Batch:
    stored = decode(data)
    return Batch(stored.base_offset, stored.epoch, (NoOpRecord(),) * len(stored.records))


def test_what_is_not_committed_is_read_ahead_a_few_batches_at_a_time() -> None:
    tail = tail_of(1, 2, 1, 1)
    assert tail.read_ahead(as_records, 2)
    assert [batch.content is not None for batch in tail.take(3)] == [True, True]
    assert not tail.read_ahead(as_records, 2)
    assert [batch.content for batch in tail.take(9)] == [Batch(at, 1, (NoOpRecord(),)) for at in (3, 4)]


def test_what_comes_in_the_place_of_what_was_read_is_not_read_yet() -> None:
    tail = tail_of(1, 2, 1)
    tail.read_ahead(as_records, 9)
    tail.cut(1)
    tail.append(encode(RecordBatch(1, 2, 0, (Record(b""),))))
    assert not tail.read_ahead(as_records, 9)
    assert [batch.content and batch.content.epoch for batch in tail.take(9)] == [1, 2]
    tail.append(encode(RecordBatch(2, 2, 0, (Record(b""),))))
    tail.read_ahead(as_records, 9)
    tail.restart()
    tail.append(encode(RecordBatch(7, 3, 0, (Record(b""),))))
    assert not tail.read_ahead(as_records, 9)
    assert [batch.content and batch.content.epoch for batch in tail.take(9)] == [3]


def test_what_cannot_be_read_waits_until_it_is_committed() -> None:
    def refuse(data: bytes) -> Batch:
        raise ValueError(data)

    tail = tail_of(1, 1)
    assert not tail.read_ahead(refuse, 9)
    assert [batch.content for batch in tail.take(9)] == [None, None]


def test_several_batches_come_in_one_piece() -> None:
    tail = Tail()
    tail.append(b"".join(encode(RecordBatch(offset, 1, 0, (Record(b""),))) for offset in range(3)))
    assert ends(tail, 2) == [1, 2]


def test_what_is_no_batch_is_refused() -> None:
    with pytest.raises(BatchError):
        Tail().append(b"no batch")


def test_a_batch_of_the_quorum_itself_has_offsets_and_no_records() -> None:
    change = leader_change(LeaderChange(0, (0, 1, 2), (0, 1)))
    codec = MetadataCodec()
    assert batch_of(RecordBatch(4, 2, 0, (change,), is_control=True), codec) == Batch(4, 2, (), control_records=1)
    assert batch_of(RecordBatch(4, 2, 0, (Record(codec.encode(NoOpRecord())),)), codec) == Batch(4, 2, (NoOpRecord(),))


def test_a_record_that_the_codec_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown type"):
        batch_of(RecordBatch(4, 2, 0, (Record(b"\x01\x7f\x00"),)), MetadataCodec())
