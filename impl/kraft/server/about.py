"""What a controller says of the quorum and of itself: DescribeQuorum, DescribeCluster (KIP-919), UpdateRaftVoter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kio.schema.describe_cluster.v2 import request as cluster_request
from kio.schema.describe_cluster.v2 import response as cluster_response
from kio.schema.describe_quorum.v2 import request as quorum_request
from kio.schema.describe_quorum.v2 import response as quorum_response
from kio.schema.types import BrokerId
from kio.schema.update_raft_voter.v0 import request as voter_request
from kio.schema.update_raft_voter.v0 import response as voter_response
from kio.static.primitive import i8, i32, i64, u16

from impl.kraft.config.values import Voter as Address
from impl.kraft.errors import ErrorCode
from impl.kraft.raft import Raft
from impl.kraft.raft.messages import FetchRequest
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.quorum_wire import PARTITION, TOPIC
from impl.kraft.server.replicas import Replica, Replicas
from impl.runtime.entities import entity_bytes, read_entity

VERSIONS: Mapping[int, int] = {55: 2, 60: 2, 82: 0}
"""By key, the version that is served: of DescribeQuorum, DescribeCluster, UpdateRaftVoter."""
_UPDATE_RAFT_VOTER = 82
_CONTROLLERS = 2
"""The type of endpoints of controllers, where that of brokers is 1."""


class About:
    """addresses: of the voters. listener: its name, which is one for all of them."""

    def __init__(
        self, raft: Raft, cluster_id: str, addresses: tuple[Address, ...], listener: str, clock_ms: Callable[[], int]
    ) -> None:
        self._raft, self._cluster_id, self._clock_ms = raft, cluster_id, clock_ms
        self._addresses, self._listener = addresses, listener
        self._replicas = Replicas()

    def note_fetch(self, request: FetchRequest) -> None:
        """A fetch has come, which this node may answer as the leader."""
        voter = self._raft.voter
        if not self._leads or request.epoch != voter.epoch:
            return
        if voter.log.has(request.fetch_offset, request.last_fetched_epoch):
            now_ms, end = self._clock_ms(), voter.log.end_offset
            self._replicas.note(voter.epoch, request.replica_id, request.fetch_offset, end, now_ms)

    def response_bytes(self, key: int, body: bytes) -> bytes:
        """The body of the response to a request. Raises WireError."""
        kind, response = {
            55: (quorum_request.DescribeQuorumRequest, self._quorum),
            60: (cluster_request.DescribeClusterRequest, self._cluster),
            82: (voter_request.UpdateRaftVoterRequest, self._update_voter),
        }[key]
        return entity_bytes(response(read_entity(kind, body)))

    def refused(self, key: int, error: ErrorCode) -> bytes:
        """The body of the response to who may not ask for it. DescribeCluster is everybody's."""
        if key == _UPDATE_RAFT_VOTER:
            nobody = voter_response.CurrentLeader(leader_id=BrokerId(-1), leader_epoch=i32(0), host="", port=i32(0))
            return entity_bytes(voter_response.UpdateRaftVoterResponse(
                throttle_time=NO_TIME, error_code=wire_code(error), current_leader=nobody
            ))  # fmt: skip
        return entity_bytes(quorum_response.DescribeQuorumResponse(
            error_code=wire_code(error), error_message=None, topics=(), nodes=()
        ))  # fmt: skip

    @property
    def _leads(self) -> bool:
        return self._raft.voter.election.leader == self._raft.voter.node_id

    @property
    def _leader(self) -> int:
        leader = self._raft.voter.election.leader
        return -1 if leader is None else leader

    @property
    def observers(self) -> int:
        """How many there are, as far as a leader knows."""
        voter = self._raft.voter
        return len(self._replicas.observers(voter.epoch, voter.settings.voters, self._clock_ms())) if self._leads else 0

    # DescribeQuorum.

    def _quorum(self, entity: Any) -> Any:
        asked = [(topic.topic_name, tuple(one.partition_index for one in topic.partitions)) for topic in entity.topics]
        if asked != [(TOPIC, (PARTITION,))]:
            return self._undescribed(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not self._leads:
            return self._undescribed(asked, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        voter, now_ms = self._raft.voter, self._clock_ms()
        known = {
            **self._replicas.of(voter.epoch), voter.node_id: Replica(voter.log.end_offset, now_ms, now_ms)
        }  # fmt: skip
        observers = self._replicas.observers(voter.epoch, voter.settings.voters, now_ms)
        described = quorum_response.PartitionData(
            partition_index=PARTITION, error_code=wire_code(ErrorCode.NONE), error_message=None,
            leader_id=BrokerId(voter.node_id), leader_epoch=i32(voter.epoch), high_watermark=i64(voter.high_watermark),
            current_voters=tuple(_state(one, known.get(one, Replica())) for one in voter.settings.voters),
            observers=tuple(_state(one, replica) for one, replica in observers.items()),
        )  # fmt: skip
        return self._description([(TOPIC, (described,))])

    def _undescribed(self, asked: list[tuple[Any, tuple[Any, ...]]], error: ErrorCode) -> Any:
        return self._description([
            (topic, tuple(
                quorum_response.PartitionData(
                    partition_index=index, error_code=wire_code(error), error_message=None, leader_id=BrokerId(-1),
                    leader_epoch=i32(0), high_watermark=i64(0), current_voters=(), observers=(),
                )
                for index in partitions
            ))
            for topic, partitions in asked
        ])  # fmt: skip

    def _description(self, topics: list[tuple[Any, tuple[Any, ...]]]) -> Any:
        nodes = tuple(
            quorum_response.Node(
                node_id=BrokerId(one.node_id),
                listeners=(quorum_response.Listener(name=self._listener, host=one.host, port=u16(one.port)),),
            )
            for one in self._addresses
        )
        return quorum_response.DescribeQuorumResponse(
            error_code=wire_code(ErrorCode.NONE), error_message=None, nodes=nodes,
            topics=tuple(
                quorum_response.TopicData(topic_name=topic, partitions=partitions) for topic, partitions in topics
            ),
        )  # fmt: skip

    # DescribeCluster.

    def _cluster(self, entity: Any) -> Any:
        """A controller tells of controllers; who asks for brokers asks a broker."""
        wrong = entity.endpoint_type != _CONTROLLERS
        return cluster_response.DescribeClusterResponse(
            throttle_time=NO_TIME,
            error_code=wire_code(ErrorCode.MISMATCHED_ENDPOINT_TYPE if wrong else ErrorCode.NONE),
            error_message="these are controllers" if wrong else None, endpoint_type=i8(_CONTROLLERS),
            cluster_id="" if wrong else self._cluster_id, controller_id=BrokerId(self._leader),
            brokers=() if wrong else tuple(
                cluster_response.DescribeClusterBroker(
                    broker_id=BrokerId(one.node_id), host=one.host, port=i32(one.port), is_fenced=False
                )
                for one in self._addresses
            ),
        )  # fmt: skip

    # UpdateRaftVoter.

    def _update_voter(self, entity: Any) -> Any:
        """The voters are those of the configuration: a voter of Kafka takes UNSUPPORTED_VERSION, and asks no more."""
        leader = next((one for one in self._addresses if one.node_id == self._leader), None)
        return voter_response.UpdateRaftVoterResponse(
            throttle_time=NO_TIME, error_code=wire_code(ErrorCode.UNSUPPORTED_VERSION),
            current_leader=voter_response.CurrentLeader(
                leader_id=BrokerId(self._leader), leader_epoch=i32(self._raft.voter.epoch),
                host="" if leader is None else leader.host, port=i32(0 if leader is None else leader.port),
            ),
        )  # fmt: skip


def _state(replica_id: int, replica: Replica) -> Any:
    return quorum_response.ReplicaState(
        replica_id=BrokerId(replica_id), replica_directory_id=None, log_end_offset=i64(replica.end_offset),
        last_fetch_timestamp=i64(replica.fetched_ms), last_caught_up_timestamp=i64(replica.caught_up_ms),
    )  # fmt: skip
