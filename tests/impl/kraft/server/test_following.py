"""What a follower takes of its leader: batches that follow each other, of partitions that it has asked for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as WireErrorCode

from impl.kraft.broker import EpochEnd, FetchRequest, LogEntry
from impl.kraft.errors import ErrorCode
from impl.kraft.server.entities import NO_TIME
from impl.kraft.server.following import FETCH, VERSION, read_answers
from impl.kraft.server.versions import made, response_kind
from impl.kraft.storage.batches import Record, RecordBatch, encode
from impl.runtime.entities import entity_bytes
from impl.runtime.wire import WireError

TOPIC_ID = UUID(int=50)
REQUEST = FetchRequest(8, 1, TOPIC_ID, 0, 3, 4, 2)


def batch(offset: int, epoch: int = 3) -> bytes:
    return encode(RecordBatch(offset, epoch, 0, (Record(b"value"), Record(b"value"))))


def answer(
    records: bytes = b"", code: WireErrorCode = WireErrorCode.none, index: int = 0, of_all: WireErrorCode | None = None,
    **more: Any,
) -> bytes:  # fmt: skip
    partition = {
        "partition_index": index, "error_code": code, "high_watermark": 4, "aborted_transactions": None,
        "records": records, **more,
    }  # fmt: skip
    given = {
        "throttle_time": NO_TIME, "error_code": of_all or WireErrorCode.none, "session_id": 0,
        "responses": [{"topic_id": TOPIC_ID, "partitions": [partition]}],
    }  # fmt: skip
    return entity_bytes(made(response_kind(FETCH, VERSION), given))


def test_batches_are_taken_as_they_are() -> None:
    ((request, response),) = read_answers([REQUEST], answer(batch(4) + batch(6)))
    assert request == REQUEST and (response.error, response.high_watermark) == (ErrorCode.NONE, 4)
    assert response.entries == (LogEntry(3, batch(4)), LogEntry(3, batch(6))) and response.diverging is None


def test_where_logs_part_is_taken() -> None:
    for end in (EpochEnd(2, 3), EpochEnd(-1, 0)):
        ((_, response),) = read_answers([REQUEST], answer(diverging_epoch=end))
        assert response.diverging == end and response.entries == ()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (answer(batch(5)), "a batch at offset 5, not 4"),
        (answer(batch(4) + batch(7)), "a batch at offset 7, not 6"),
        (answer(batch(4)[:-1]), "of which"),
        (answer(batch(4)[:-1] + b"X"), "the CRC is"),
        (answer(index=1), "unasked"),
        (answer(of_all=WireErrorCode.fetch_session_id_not_found), "fetch_session_id_not_found"),
        (answer(code=WireErrorCode.group_id_not_found), "error code 69"),
        (b"", "cannot be read"),
    ],
)
def test_anything_else_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(WireError, match=says):
        read_answers([REQUEST], body)
