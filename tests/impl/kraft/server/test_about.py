"""A leader describes its quorum; another controller, and what is not the quorum's, is refused."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.describe_cluster.v2.request import DescribeClusterRequest
from kio.schema.describe_cluster.v2.response import DescribeClusterResponse
from kio.schema.describe_quorum.v2 import request as quorum_request
from kio.schema.describe_quorum.v2.response import DescribeQuorumResponse
from kio.schema.types import TopicName
from kio.schema.update_raft_voter.v0 import request as voter_request
from kio.schema.update_raft_voter.v0.response import UpdateRaftVoterResponse
from kio.static.primitive import i8, i16, i32

from impl.kraft.config.values import Voter
from impl.kraft.raft import Raft
from impl.kraft.server.about import About
from impl.kraft.storage.election import ElectionState
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError
from tests.impl.kraft.raft.test_raft import THREE, fetch, leading, voter

CLUSTER = "3Db5QLSqSZieL3rJBUUegA"
ADDRESSES = (Voter(0, "a", 100), Voter(1, "b", 101), Voter(2, "c", 102))
OBSERVER = 11


def about(raft: Raft, now_ms: int = 1_000) -> About:
    return About(raft, CLUSTER, ADDRESSES, "CONTROLLER", lambda: now_ms)


def described(said: About, topic: str = "__cluster_metadata", partition: int = 0) -> Any:
    asked = quorum_request.TopicData(
        topic_name=TopicName(topic), partitions=(quorum_request.PartitionData(partition_index=i32(partition)),)
    )
    body = said.response_bytes(55, entity_bytes(quorum_request.DescribeQuorumRequest(topics=(asked,))))
    return read_entity(DescribeQuorumResponse, body)


def test_a_leader_knows_who_is_how_far() -> None:
    said = about(leading())
    for replica, offset in ((1, 1), (OBSERVER, 0), (2, 0)):
        said.note_fetch(fetch(replica, offset))
    found = described(said)
    (one,) = found.topics[0].partitions
    assert (int(one.error_code), one.leader_id, one.leader_epoch, one.high_watermark) == (0, 0, 1, 0)
    states = [
        (state.replica_id, state.log_end_offset, state.last_fetch_timestamp, state.last_caught_up_timestamp)
        for state in (*one.current_voters, *one.observers)
    ]
    assert states == [(0, 1, 1_000, 1_000), (1, 1, 1_000, 1_000), (2, 0, 1_000, -1), (OBSERVER, 0, 1_000, -1)]
    assert [(node.node_id, node.listeners[0].name, node.listeners[0].port) for node in found.nodes] == [
        (0, "CONTROLLER", 100), (1, "CONTROLLER", 101), (2, "CONTROLLER", 102)
    ]  # fmt: skip


def test_who_has_not_fetched_is_nowhere() -> None:
    (one,) = described(about(leading())).topics[0].partitions
    assert [state.log_end_offset for state in one.current_voters] == [1, -1, -1] and one.observers == ()


def test_a_fetch_of_another_epoch_or_log_says_nothing() -> None:
    said = about(leading())
    for request in (fetch(1, 1, epoch=0), fetch(1, 5), fetch(-1, 0)):
        said.note_fetch(request)
    (one,) = described(said).topics[0].partitions
    assert one.current_voters[1].log_end_offset == -1 and one.observers == ()


@pytest.mark.parametrize(
    ("leads", "topic", "partition", "error"),
    [(False, "__cluster_metadata", 0, 6), (True, "orders", 0, 3), (True, "__cluster_metadata", 1, 3)],
)
def test_what_cannot_be_described_is_refused(leads: bool, topic: str, partition: int, error: int) -> None:
    raft = leading() if leads else voter(ElectionState(1, 1, None, THREE))
    said = about(raft)
    said.note_fetch(fetch(OBSERVER, 0))
    found = described(said, topic, partition)
    (one,) = found.topics[0].partitions
    assert found.topics[0].topic_name == topic and one.partition_index == partition
    assert (int(one.error_code), one.current_voters) == (error, ())


def test_a_cluster_is_described_by_its_controllers() -> None:
    said = about(voter(ElectionState(1, 2, None, THREE)))
    for endpoints, error, ids in ((2, 0, [0, 1, 2]), (1, 114, [])):
        request = DescribeClusterRequest(
            include_cluster_authorized_operations=False, endpoint_type=i8(endpoints), include_fenced_brokers=False
        )
        found: Any = read_entity(DescribeClusterResponse, said.response_bytes(60, entity_bytes(request)))
        assert (int(found.error_code), found.endpoint_type, found.controller_id) == (error, 2, 2)
        assert [one.broker_id for one in found.brokers] == ids
        assert found.cluster_id == (CLUSTER if ids else "")


@pytest.mark.parametrize(("leader", "address"), [(2, (2, "c", 102)), (None, (-1, "", 0))])
def test_voters_are_those_of_the_configuration(leader: int | None, address: tuple[int, str, int]) -> None:
    request = voter_request.UpdateRaftVoterRequest(
        cluster_id=CLUSTER, current_leader_epoch=i32(1), voter_id=i32(1), voter_directory_id=None, listeners=(),
        k_raft_version_feature=voter_request.KRaftVersionFeature(
            min_supported_version=i16(0), max_supported_version=i16(1)
        ),
    )  # fmt: skip
    said = about(voter(ElectionState(1, leader, None, THREE)))
    found: Any = read_entity(UpdateRaftVoterResponse, said.response_bytes(82, entity_bytes(request)))
    current = found.current_leader
    assert int(found.error_code) == 35 and current.leader_epoch == 1
    assert (current.leader_id, current.host, current.port) == address


@pytest.mark.parametrize("key", [55, 60, 82])
def test_anything_else_is_refused(key: int) -> None:
    with pytest.raises(WireError):
        about(leading()).response_bytes(key, b"\xff")
