"""Idempotent producers: what a log has already is not appended again, and nothing is left out."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from impl.kraft.server.producers import Producers
from impl.kraft.storage.batches import MAGIC, Header
from impl.kraft.storage.partition_log import StoredBatch

LAST = (1 << 31) - 1


def batch(sequence: int, count: int = 1, epoch: int = 0, offset: int = 0, producer: int = 7) -> StoredBatch:
    header = Header(offset, 49, 0, MAGIC, 0, 0, count - 1, 0, 0, producer, epoch, sequence, count)
    return StoredBatch(header, 0)


WRITTEN = [batch(number, offset=number) for number in range(7)]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (batch(7), ErrorCode.none),
        (batch(8), ErrorCode.out_of_order_sequence_number),
        (batch(6, 2), ErrorCode.out_of_order_sequence_number),
        (batch(1), ErrorCode.out_of_order_sequence_number),  # too old to be known: five are
        (batch(0, epoch=1), ErrorCode.none),
        (batch(7, epoch=1), ErrorCode.out_of_order_sequence_number),
        (batch(7, epoch=-1), ErrorCode.invalid_producer_epoch),
        (batch(40, producer=8), ErrorCode.none),  # nothing is known of it, as where its records are deleted
        (batch(-1, producer=-1, epoch=-1), ErrorCode.none),
    ],
)
def test_what_follows_is_appended_and_nothing_else(asked: StoredBatch, code: ErrorCode) -> None:
    assert Producers(WRITTEN).verdict(asked) == (code, None)


@pytest.mark.parametrize("number", range(2, 7))
def test_what_is_there_is_found(number: int) -> None:
    assert Producers(WRITTEN).verdict(batch(number, offset=99)) == (ErrorCode.none, WRITTEN[number])


def test_sequences_begin_anew_behind_the_last_one() -> None:
    known = Producers([batch(LAST - 1, 3)])  # the last two, and 0
    assert known.verdict(batch(1)) == (ErrorCode.none, None)
    assert known.verdict(batch(0))[0] is ErrorCode.out_of_order_sequence_number


def test_a_new_epoch_forgets_the_batches_of_the_last() -> None:
    known = Producers([*WRITTEN, batch(0, epoch=1)])
    assert known.verdict(batch(6))[0] is ErrorCode.invalid_producer_epoch
    assert known.verdict(batch(6, epoch=1))[0] is ErrorCode.out_of_order_sequence_number
