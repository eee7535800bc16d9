"""kafka-metadata-quorum: what it prints of a description, refusals, and Kafka's own tool beside it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kio.schema.describe_quorum.v2 import response as quorum_response
from kio.schema.errors import ErrorCode as WireErrorCode
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i64, u16

from impl.kraft.tools.metadata_quorum import main, replication, status
from tests.impl.kraft.tools.running import Tool

run = Tool(main)
DIRECTORY = UUID(int=1)


def state(replica_id: int, end: int, caught_up_ms: int, directory: UUID | None = None) -> Any:
    return quorum_response.ReplicaState(
        replica_id=BrokerId(replica_id), replica_directory_id=directory, log_end_offset=i64(end),
        last_fetch_timestamp=i64(caught_up_ms), last_caught_up_timestamp=i64(caught_up_ms),
    )  # fmt: skip


def described(*voters: Any, observers: tuple[Any, ...] = ()) -> tuple[Any, Any]:
    """A response and the quorum in it; 2 leads."""
    quorum = quorum_response.PartitionData(
        partition_index=i32(0), error_code=WireErrorCode.none, error_message=None, leader_id=BrokerId(2),
        leader_epoch=i32(7), high_watermark=i64(90), current_voters=voters, observers=observers,
    )  # fmt: skip
    nodes = tuple(
        quorum_response.Node(
            node_id=BrokerId(node), listeners=(quorum_response.Listener(name="C", host=host, port=u16(9)),)
        )
        for node, host in ((1, "::1"), (2, "host"))
    )
    topic = quorum_response.TopicData(topic_name=TopicName("__cluster_metadata"), partitions=(quorum,))
    response = quorum_response.DescribeQuorumResponse(
        error_code=WireErrorCode.none, error_message=None, nodes=nodes, topics=(topic,)
    )
    return response, quorum


def test_the_status_says_who_is_last() -> None:
    response, quorum = described(
        state(1, 80, 1_000), state(2, 100, 1_500, DIRECTORY), observers=(state(11, 99, -1),)
    )  # fmt: skip
    assert list(status("cluster", response, quorum)) == [
        "ClusterId:              cluster",
        "LeaderId:               2",
        "LeaderEpoch:            7",
        "HighWatermark:          90",
        "MaxFollowerLag:         20",
        "MaxFollowerLagTimeMs:   500",
        'CurrentVoters:          [{"id": 1, "endpoints": ["C://[::1]:9"]}, '
        '{"id": 2, "directoryId": "AAAAAAAAAAAAAAAAAAAAAQ", "endpoints": ["C://host:9"]}]',
        'CurrentObservers:       [{"id": 11}]',
    ]


@pytest.mark.parametrize(("end", "caught_up_ms", "lag"), [(100, 1_500, 0), (80, -1, -1)])
def test_a_lag_that_is_none_or_is_not_known(end: int, caught_up_ms: int, lag: int) -> None:
    """The leader is listed first: a follower that is as far is not behind it."""
    response, quorum = described(state(2, 100, 1_500), state(1, end, caught_up_ms))
    assert f"MaxFollowerLagTimeMs:   {lag}" in list(status("cluster", response, quorum))


def test_replicas_are_a_table() -> None:
    _, quorum = described(
        state(1, 80, 1_000), state(2, 100, 1_500), state(3, 100, 1_600, DIRECTORY), observers=(state(11, 9, -1),)
    )
    nobody = "AAAAAAAAAAAAAAAAAAAAAA"
    assert [line.replace("\t", "|") for line in replication(quorum, None)] == [
        "NodeId|DirectoryId           |LogEndOffset|Lag|LastFetchTimestamp|LastCaughtUpTimestamp|Status  |",
        f"2     |{nobody}|100         |0  |1500              |1500                 |Leader  |",
        f"1     |{nobody}|80          |20 |1000              |1000                 |Follower|",
        "3     |AAAAAAAAAAAAAAAAAAAAAQ|100         |0  |1600              |1600                 |Follower|",
        f"11    |{nobody}|9           |91 |-1                |-1                   |Observer|",
    ]
    told = [line.split("\t")[4].strip() for line in replication(quorum, 1_550)]
    assert told == ["LastFetchTimestamp", "50 ms ago", "550 ms ago", "0 ms ago", "-1"]


@pytest.mark.parametrize("arguments", [
    ("describe", "--status"),
    ("--bootstrap-server", "a:1", "--bootstrap-controller", "a:1", "describe", "--status"),
    ("--bootstrap-server", "a:1", "describe"),
    ("--bootstrap-server", "a:1", "describe", "--status", "--replication"),
    ("--bootstrap-server", "a:1"),
    ("--bootstrap-server", "", "describe", "--status"),
    ("--bootstrap-controller", "a", "describe", "--status"),
], ids=" ".join)  # fmt: skip
def test_what_is_no_question(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    code, said, error = run(capsys, *arguments)
    assert (code, said) == (2, []) and error and "Traceback" not in error


def test_nobody_who_answers(capsys: pytest.CaptureFixture[str]) -> None:
    code, said, error = run(capsys, "--bootstrap-controller", "127.0.0.1:1", "describe", "--status")
    assert (code, said) == (1, []) and error.startswith("127.0.0.1:1: ")
