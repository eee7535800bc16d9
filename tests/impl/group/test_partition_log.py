"""The logs of partitions: what is stored whole is there, and nothing else, whenever its broker dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.group.fetch_protocol import (
    EARLIEST,
    LATEST,
    FetchRequest,
    OffsetsRequest,
    ProduceRequest,
    message_bytes,
    messages,
    produced,
)
from impl.group.partition_log import Logs, PartitionLog
from impl.group.protocol import ErrorCode
from impl.runtime.wire import WireError

ONE, TWO = message_bytes(b"one"), message_bytes(b"two!")


def test_messages_are_read_from_their_offsets_on() -> None:
    log = PartitionLog()
    log.append(ONE + TWO)
    assert log.end_offset == len(ONE + TWO)
    assert log.read(0, 1_000) == ONE + TWO and log.read(len(ONE), 1_000) == TWO
    assert log.read(0, len(ONE) + 3) == (ONE + TWO)[: len(ONE) + 3], "the last one may be cut off"
    assert log.read(log.end_offset, 10) == b"" and log.read(0, -1) == b""
    assert log.read(log.end_offset + 1, 10) is None and log.read(-1, 10) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (ONE + TWO[:-1], "cut off"),
        (ONE[:-1] + b"x", "corrupt"),
        (b"\0\0\0\1x", "a message of 1 bytes"),
        (message_bytes(bytes(1 << 19)), "more than a fetch returns"),
    ],
)
def test_what_is_no_message_or_cannot_be_fetched_is_refused(data: bytes, why: str) -> None:
    log = PartitionLog()
    with pytest.raises(WireError, match=why):
        log.append(data)
    assert log.end_offset == 0


def test_the_largest_message_can_be_fetched() -> None:
    log = PartitionLog()
    largest = message_bytes(bytes((1 << 19) - 10))
    log.append(largest)
    found = log.read(0, 1 << 30)
    assert found is not None and [one.next_offset for one in messages(found, 0)] == [1 << 19]


@pytest.mark.parametrize("tail", [b"", TWO[:5], b"\0\0\0\0", TWO[:-1] + b"x"])
def test_after_a_restart_whole_messages_are_there_and_no_half_ones(tmp_path: Path, tail: bytes) -> None:
    file = tmp_path / "t-0.log"
    PartitionLog(file).append(ONE)
    with file.open("ab") as broken:
        broken.write(tail)
    again = PartitionLog(file)
    again.append(TWO)
    assert again.read(0, 100) == ONE + TWO == file.read_bytes()


def test_what_is_stored_in_part_is_not_there(tmp_path: Path) -> None:
    """A disk that is full: the part is taken back, and the log goes on once there is room."""
    file = tmp_path / "t-0.log"
    log = PartitionLog(file)
    log.append(ONE)
    assert log._file is not None
    real, room = log._file, 5

    class Disk:
        def write(self, data: bytes) -> int:
            nonlocal room
            if not room:
                raise OSError(28, "No space left on device")
            written, room = real.write(data[:room]), 0
            return written

        def truncate(self, size: int) -> int:
            return real.truncate(size)

    log._file = Disk()  # type: ignore[assignment]  # stands in for one
    with pytest.raises(OSError, match="No space"):
        log.append(TWO)
    assert file.read_bytes() == ONE == log.read(0, 100)
    room = 1_000
    log.append(TWO)
    assert file.read_bytes() == ONE + TWO


def test_the_partitions_of_a_broker_answer_with_codes() -> None:
    logs = Logs({"t": 2})
    assert logs.produce(ProduceRequest("t", 1, produced([b"x"]))) and not logs.produce(ProduceRequest("t", 2, b""))
    assert logs.fetch(FetchRequest("t", 1, 0, 100)).messages == message_bytes(b"x")
    assert logs.fetch(FetchRequest("t", 1, 999, 100)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert logs.fetch(FetchRequest("u", 0, 0, 100)).error_code == ErrorCode.UNKNOWN
    assert logs.offsets(OffsetsRequest("t", 1, EARLIEST)).offsets == (0,)
    assert logs.offsets(OffsetsRequest("t", 1, LATEST)).offsets == (len(message_bytes(b"x")),)
    assert logs.offsets(OffsetsRequest("t", 1, LATEST, 0)).error_code == ErrorCode.UNKNOWN
