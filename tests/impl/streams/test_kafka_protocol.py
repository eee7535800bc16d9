"""What a broker sends that cannot be read is an error of the wire, whatever kio makes of it."""

from __future__ import annotations

import pytest

from impl.runtime.wire import WireError

pytest.importorskip("kio", reason="there is no kio (pip install fencepost[streams])")

from impl.runtime.entities import entity_bytes
from impl.streams import kafka_protocol
from impl.streams.messages import Done, ErrorCode, Heartbeat, OffsetCommit
from impl.streams.metadata import TopicPartition

HEARTBEAT = kafka_protocol.entity("g", Heartbeat("m", 1))


def test_a_request_and_its_response() -> None:
    assert entity_bytes(HEARTBEAT) == b"\0\1g\0\0\0\1\0\1m"
    response = kafka_protocol.read_response(HEARTBEAT, b"\0\0\0\0\0\x19")
    assert kafka_protocol.message(response) == Done(ErrorCode.UNKNOWN_MEMBER_ID)


def test_the_first_error_of_a_commit_counts() -> None:
    commit = kafka_protocol.entity(
        "g", OffsetCommit("m", 1, ((TopicPartition("t", 0), 5), (TopicPartition("t", 1), 6)))
    )
    body = bytes.fromhex("00000000 00000001 0001 74 00000002 00000000 0000 00000001 0016")
    assert kafka_protocol.message(kafka_protocol.read_response(commit, body)) == Done(ErrorCode.ILLEGAL_GENERATION)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\0\0\0", "HeartbeatRequest cannot be read"),
        (b"\0\0\0\0\0\0\0", "1 bytes after the response to a HeartbeatRequest"),
        (b"\0\0\0\0\x7f\x7f", "cannot be read|error code 32639"),
        (b"\0\0\0\0\0\x1d", "error code 29 of a coordinator"),
    ],
)
def test_what_cannot_be_read(body: bytes, why: str) -> None:
    with pytest.raises(WireError, match=why):
        kafka_protocol.message(kafka_protocol.read_response(HEARTBEAT, body))
