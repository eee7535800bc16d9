"""The metadata log in memory: what can be read, and what no log can do."""

from __future__ import annotations

import pytest

from impl.kraft.log import InMemoryLog, LogError
from impl.kraft.records import Batch, NoOpRecord


def batch(base_offset: int, records: int) -> Batch:
    return Batch(base_offset, 1, (NoOpRecord(),) * records)


@pytest.fixture
def log() -> InMemoryLog:
    """Batches at 0, at 1 to 2, and at 3 to 5, of which the first two are committed."""
    log = InMemoryLog()
    for base_offset, records in ((0, 1), (1, 2), (3, 3)):
        log.append(batch(base_offset, records))
    log.commit(3)
    return log


def offsets(log: InMemoryLog, offset: int = 0) -> list[int]:
    return [batch.base_offset for batch in log.read(offset)]


def test_what_is_committed_whole_can_be_read(log: InMemoryLog) -> None:
    assert [offsets(log, offset) for offset in range(4)] == [[0, 1], [1], [], []]
    log.commit(5)
    assert offsets(log) == [0, 1]
    log.commit(6)
    assert offsets(log) == [0, 1, 3]


@pytest.mark.parametrize("base_offset", [5, 7])
def test_a_batch_follows_the_last_one(log: InMemoryLog, base_offset: int) -> None:
    with pytest.raises(LogError, match="cannot follow a log that ends at 6"):
        log.append(batch(base_offset, 1))
    assert log.end_offset == 6


@pytest.mark.parametrize("offset", [2, 7])
def test_the_high_watermark_moves_on_and_stays_in_the_log(log: InMemoryLog, offset: int) -> None:
    with pytest.raises(LogError, match=f"cannot move from 3 to {offset}"):
        log.commit(offset)
    log.commit(3)
    assert log.high_watermark == 3


def test_what_is_not_committed_can_be_truncated(log: InMemoryLog) -> None:
    log.truncate(3)
    assert log.end_offset == 3
    log.append(batch(3, 1))
    log.commit(4)
    assert offsets(log) == [0, 1, 3]
    with pytest.raises(LogError, match="cannot be truncated to 3"):
        log.truncate(3)


def test_a_log_that_is_truncated_whole_begins_anew() -> None:
    log = InMemoryLog()
    log.append(batch(0, 2))
    log.truncate(0)
    assert log.end_offset == 0
    log.append(batch(0, 1))
