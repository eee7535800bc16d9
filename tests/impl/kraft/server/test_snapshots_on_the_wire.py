"""Snapshots as the quorum's requests have them on the wire: what is written is read again."""

from __future__ import annotations

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from impl.kraft.server.quorum_wire import key_of, read_request, read_response, request_bytes, response_bytes

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
REQUEST = FetchSnapshotRequest(CLUSTER, 2, 3, (10, 2), 5, 100)


def test_a_request_for_a_piece() -> None:
    assert read_request(key_of(REQUEST), request_bytes(REQUEST)) == REQUEST


@pytest.mark.parametrize(
    "response",
    [
        FetchSnapshotResponse(ErrorCode.NONE, 1, 3, 200, 5, b"bytes", (10, 2)),
        FetchSnapshotResponse(ErrorCode.SNAPSHOT_NOT_FOUND, 1, 3, 0, 5, b"", (10, 2)),
        FetchSnapshotResponse(ErrorCode.FENCED_LEADER_EPOCH, None, 4),
    ],
    ids=["a piece", "gone", "of an older epoch"],
)
def test_a_piece_says_of_which_snapshot_it_is(response: FetchSnapshotResponse) -> None:
    """Kafka's followers stop at one of another (KafkaRaftClient.handleFetchSnapshotResponse)."""
    assert read_response(REQUEST, response_bytes(response)) == response


def test_a_fetch_is_answered_with_the_id_of_a_snapshot() -> None:
    request = FetchRequest(CLUSTER, 2, 3, 0, 0, 0, 500, 1 << 20)
    response = FetchResponse(ErrorCode.NONE, 1, 3, snapshot_id=(10, 2))
    assert read_response(request, response_bytes(response)) == response
