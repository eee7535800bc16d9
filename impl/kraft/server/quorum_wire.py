"""The bytes of the quorum's requests and responses, by kio's schemas (KIP-595, 630, 996).

Every one is about `__cluster_metadata-0`. The newest versions are those of Kafka 4.3; in older ones, which older
controllers speak, some fields are missing or elsewhere. Who listens where is known by configuration: endpoints of
leaders are sent as none, and not read.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import fields
from typing import Any
from uuid import UUID

from kio.schema.begin_quorum_epoch.v1 import request as begin_request
from kio.schema.begin_quorum_epoch.v1 import response as begin_response
from kio.schema.end_quorum_epoch.v1 import request as end_request
from kio.schema.end_quorum_epoch.v1 import response as end_response
from kio.schema.errors import ErrorCode as WireErrorCode
from kio.schema.fetch.v18 import request as fetch_request
from kio.schema.fetch.v18 import response as fetch_response
from kio.schema.fetch_snapshot.v1 import request as snapshot_request
from kio.schema.fetch_snapshot.v1 import response as snapshot_response
from kio.schema.types import BrokerId, TopicName
from kio.schema.vote.v2 import request as vote_request
from kio.schema.vote.v2 import response as vote_response
from kio.static.primitive import Records, i32, i32Timedelta, i64

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.messages import (
    RESPONSES,
    UNTOLD,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.versions import made, request_kind, response_kind
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError

TOPIC, TOPIC_ID, PARTITION = TopicName("__cluster_metadata"), UUID(int=1), i32(0)
_NOBODY = BrokerId(-1)

SERVED: Mapping[int, tuple[int, int]] = {52: (0, 2), 53: (0, 1), 54: (0, 1), 1: (12, 18), 59: (0, 1)}
"""By key, the versions that are spoken: of Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot."""
VERSIONS: Mapping[int, int] = {key: newest for key, (_, newest) in SERVED.items()}
PREVOTE_SINCE = 2
"""The version of Vote."""
_OF_ALL = frozenset((ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
"""Errors of a whole response: of who is from elsewhere, or may not ask."""
_KEYS: Mapping[type[Request], int] = {
    VoteRequest: 52,
    BeginQuorumEpochRequest: 53,
    EndQuorumEpochRequest: 54,
    FetchRequest: 1,
    FetchSnapshotRequest: 59,
}
_RESPONSE_KEYS = {RESPONSES[kind]: key for kind, key in _KEYS.items()}


def key_of(request: Request) -> int:
    return _KEYS[type(request)]


# Requests.


def request_bytes(request: Request, version: int | None = None) -> bytes:
    """The body of a request. version: the newest, unless another is given."""
    entity, key = _request_entity(request), key_of(request)
    if version in (None, VERSIONS[key]):
        return entity_bytes(entity)
    return entity_bytes(made(request_kind(key, version), _older(request, entity)))


def _older(request: Request, entity: Any) -> Any:
    """The entity, and what has other fields in older versions."""
    match request:
        case FetchRequest():
            topics = (_with(entity.topics[0], topic=TOPIC),)
            return _with(entity, topics=topics, replica_id=entity.replica_state.replica_id)
        case EndQuorumEpochRequest():
            (topic,) = entity.topics
            successors = tuple(BrokerId(one) for one in request.preferred_successors)
            return _with(entity, topics=(
                _with(topic, partitions=(_with(topic.partitions[0], preferred_successors=successors),)),
            ))  # fmt: skip
        case _:
            return entity


def _with(entity: Any, **more: Any) -> Mapping[str, Any]:
    """The fields of an entity, by their names, with others in their place or beside them."""
    return {one.name: getattr(entity, one.name) for one in fields(entity)} | more


def _request_entity(request: Request) -> Any:
    match request:
        case VoteRequest():
            return _vote(request)
        case BeginQuorumEpochRequest():
            partition = begin_request.PartitionData(
                partition_index=PARTITION, voter_directory_id=None, leader_id=BrokerId(request.leader_id),
                leader_epoch=i32(request.epoch),
            )  # fmt: skip
            return begin_request.BeginQuorumEpochRequest(
                cluster_id=request.cluster_id, voter_id=_wire_id(request.voter_id),
                topics=(begin_request.TopicData(topic_name=TOPIC, partitions=(partition,)),), leader_endpoints=(),
            )  # fmt: skip
        case EndQuorumEpochRequest():
            candidates = tuple(
                end_request.ReplicaInfo(candidate_id=BrokerId(one), candidate_directory_id=None)
                for one in request.preferred_successors
            )
            ended = end_request.PartitionData(
                partition_index=PARTITION, leader_id=BrokerId(request.leader_id), leader_epoch=i32(request.epoch),
                preferred_candidates=candidates,
            )  # fmt: skip
            return end_request.EndQuorumEpochRequest(
                cluster_id=request.cluster_id,
                topics=(end_request.TopicData(topic_name=TOPIC, partitions=(ended,)),),
                leader_endpoints=(),
            )
        case FetchRequest():
            return _fetch(request)
        case FetchSnapshotRequest():
            return _fetch_snapshot(request)


def _vote(request: VoteRequest) -> Any:
    partition = vote_request.PartitionData(
        partition_index=PARTITION, replica_epoch=i32(request.epoch), replica_id=BrokerId(request.candidate_id),
        replica_directory_id=None, voter_directory_id=None, last_offset_epoch=i32(request.last_epoch),
        last_offset=i64(request.last_offset), pre_vote=request.pre_vote,
    )  # fmt: skip
    topic = vote_request.TopicData(topic_name=TOPIC, partitions=(partition,))
    return vote_request.VoteRequest(cluster_id=request.cluster_id, voter_id=_wire_id(request.voter_id), topics=(topic,))


def _fetch(request: FetchRequest) -> Any:
    partition = fetch_request.FetchPartition(
        partition=PARTITION, current_leader_epoch=i32(request.epoch), fetch_offset=i64(request.fetch_offset),
        last_fetched_epoch=i32(request.last_fetched_epoch), partition_max_bytes=i32(request.max_bytes),
        high_watermark=i64(request.high_watermark),
    )  # fmt: skip
    return fetch_request.FetchRequest(
        cluster_id=request.cluster_id,
        replica_state=fetch_request.ReplicaState(replica_id=BrokerId(request.replica_id)),
        max_wait=i32Timedelta.parse(datetime.timedelta(milliseconds=request.max_wait_ms)),
        min_bytes=i32(0), max_bytes=i32(request.max_bytes),
        topics=(fetch_request.FetchTopic(topic_id=TOPIC_ID, partitions=(partition,)),), forgotten_topics_data=(),
    )  # fmt: skip


def _fetch_snapshot(request: FetchSnapshotRequest) -> Any:
    end_offset, epoch = request.snapshot_id
    partition = snapshot_request.PartitionSnapshot(
        partition=PARTITION, current_leader_epoch=i32(request.epoch),
        snapshot_id=snapshot_request.SnapshotId(end_offset=i64(end_offset), epoch=i32(epoch)),
        position=i64(request.position),
    )  # fmt: skip
    return snapshot_request.FetchSnapshotRequest(
        cluster_id=request.cluster_id, replica_id=BrokerId(request.replica_id), max_bytes=i32(request.max_bytes),
        topics=(snapshot_request.TopicSnapshot(name=TOPIC, partitions=(partition,)),),
    )  # fmt: skip


def read_request(key: int, body: bytes, version: int | None = None) -> Request:
    """A request of the newest version, unless another is given. Raises WireError."""
    entity = read_entity(request_kind(key, VERSIONS[key] if version is None else version), body)
    one = _partition(entity.topics)
    cluster_id = entity.cluster_id or ""
    match key:
        case 52:
            return VoteRequest(
                cluster_id, _meant_for(entity), int(one.replica_id), one.replica_epoch, one.last_offset_epoch,
                one.last_offset, getattr(one, "pre_vote", False),
            )  # fmt: skip
        case 53:
            return BeginQuorumEpochRequest(cluster_id, _meant_for(entity), int(one.leader_id), one.leader_epoch)
        case 54:
            return EndQuorumEpochRequest(cluster_id, int(one.leader_id), one.leader_epoch, _successors(one))
        case 1:
            wait_ms = entity.max_wait // datetime.timedelta(milliseconds=1)
            return FetchRequest(
                cluster_id, int(getattr(entity, "replica_state", entity).replica_id), one.current_leader_epoch,
                one.fetch_offset, one.last_fetched_epoch, getattr(one, "high_watermark", UNTOLD), wait_ms,
                min(one.partition_max_bytes, entity.max_bytes),
            )  # fmt: skip
        case _:
            snapshot_id = (int(one.snapshot_id.end_offset), int(one.snapshot_id.epoch))
            return FetchSnapshotRequest(
                cluster_id, int(entity.replica_id), one.current_leader_epoch, snapshot_id, one.position,
                entity.max_bytes,
            )  # fmt: skip


def _meant_for(entity: Any) -> int | None:
    return _node_id(getattr(entity, "voter_id", _NOBODY))


def _successors(partition: Any) -> tuple[int, ...]:
    if hasattr(partition, "preferred_successors"):
        return tuple(map(int, partition.preferred_successors))
    return tuple(int(one.candidate_id) for one in partition.preferred_candidates)


def _partition(topics: Any) -> Any:
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise WireError("one partition is expected, that of the metadata")
    topic, one = topics[0], topics[0].partitions[0]
    name = next((getattr(topic, field) for field in ("topic_name", "name", "topic") if hasattr(topic, field)), None)
    is_metadata = name == TOPIC or getattr(topic, "topic_id", None) == TOPIC_ID
    index = getattr(one, "partition_index", getattr(one, "partition", getattr(one, "index", None)))
    if not is_metadata or index != PARTITION:
        raise WireError(f"{TOPIC}-{PARTITION} is the only partition here")
    return one


# Responses.


def response_bytes(response: Response, version: int | None = None) -> bytes:
    """The body of a response. version: the newest, unless another is given."""
    entity, key = _response_entity(response), _RESPONSE_KEYS[type(response)]
    if version in (None, VERSIONS[key]):
        return entity_bytes(entity)
    if isinstance(response, FetchResponse):
        entity = _with(entity, responses=tuple(_with(topic, topic=TOPIC) for topic in entity.responses))
    return entity_bytes(made(response_kind(key, version), entity))


def refused(key: int, error: ErrorCode, version: int | None = None) -> bytes:
    """The body of the response where a request is not looked at."""
    kind = next(one for one, its_key in _KEYS.items() if its_key == key)
    return response_bytes(RESPONSES[kind](error, None, 0), version)


def _response_entity(response: Response) -> Any:
    key = _RESPONSE_KEYS[type(response)]
    kind = response_kind(key, VERSIONS[key])
    code, is_of_all = wire_code(response.error), response.error in _OF_ALL
    topics = () if is_of_all else (_topic(response, code),)  # another cluster's partitions are nobody's business
    found: dict[str, Any] = {"responses" if kind is fetch_response.FetchResponse else "topics": topics}
    if kind in (fetch_response.FetchResponse, snapshot_response.FetchSnapshotResponse):
        found["throttle_time"] = NO_TIME
    return kind(error_code=code if is_of_all else WireErrorCode.none, **found)


def _topic(response: Response, code: WireErrorCode) -> Any:
    leader, epoch = _wire_id(response.leader_id), i32(response.leader_epoch)
    match response:
        case VoteResponse():
            vote = vote_response.PartitionData(
                partition_index=PARTITION, error_code=code, leader_id=leader, leader_epoch=epoch,
                vote_granted=response.vote_granted,
            )  # fmt: skip
            return vote_response.TopicData(topic_name=TOPIC, partitions=(vote,))
        case BeginQuorumEpochResponse() | EndQuorumEpochResponse():
            schema: Any = begin_response if isinstance(response, BeginQuorumEpochResponse) else end_response
            one = schema.PartitionData(partition_index=PARTITION, error_code=code, leader_id=leader, leader_epoch=epoch)
            return schema.TopicData(topic_name=TOPIC, partitions=(one,))
        case FetchResponse():
            fetched = _fetched(response, code, leader, epoch)
            return fetch_response.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=(fetched,))
        case FetchSnapshotResponse():
            piece = _piece(response, code, leader, epoch)
            return snapshot_response.TopicSnapshot(name=TOPIC, partitions=(piece,))


def _wire_id(node_id: int | None) -> BrokerId:
    return _NOBODY if node_id is None else BrokerId(node_id)


def _fetched(response: FetchResponse, code: WireErrorCode, leader: BrokerId, epoch: i32) -> Any:
    diverging = fetch_response.EpochEndOffset()
    if response.diverging is not None:
        of, end_offset = response.diverging
        diverging = fetch_response.EpochEndOffset(epoch=i32(of), end_offset=i64(end_offset))
    snapshot_id = fetch_response.SnapshotId()
    if response.snapshot_id is not None:
        end_offset, of = response.snapshot_id
        snapshot_id = fetch_response.SnapshotId(end_offset=i64(end_offset), epoch=i32(of))
    return fetch_response.PartitionData(
        partition_index=PARTITION, error_code=code, high_watermark=i64(response.high_watermark),
        diverging_epoch=diverging, snapshot_id=snapshot_id,
        current_leader=fetch_response.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch),
        aborted_transactions=None, records=Records.parse(response.records),
    )  # fmt: skip


def _piece(response: FetchSnapshotResponse, code: WireErrorCode, leader: BrokerId, epoch: i32) -> Any:
    end_offset, of = response.snapshot_id or (-1, -1)
    return snapshot_response.PartitionSnapshot(
        index=PARTITION, error_code=code,
        snapshot_id=snapshot_response.SnapshotId(end_offset=i64(end_offset), epoch=i32(of)),
        current_leader=snapshot_response.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch),
        size=i64(response.size_bytes), position=i64(response.position),
        unaligned_records=Records.parse(response.data),
    )  # fmt: skip


def read_response(request: Request, body: bytes, version: int | None = None) -> Response:
    """The response to a request. version: the newest, unless another is given. Raises WireError."""
    key = key_of(request)
    entity = read_entity(response_kind(key, VERSIONS[key] if version is None else version), body)
    if entity.error_code != WireErrorCode.none:
        return RESPONSES[type(request)](_code(entity.error_code), None, 0)  # leader and epoch are not told
    one = _partition(entity.responses if isinstance(request, FetchRequest) else entity.topics)
    error = _code(one.error_code)
    match request:
        case VoteRequest():
            return VoteResponse(error, _node_id(one.leader_id), one.leader_epoch, one.vote_granted)
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return RESPONSES[type(request)](error, _node_id(one.leader_id), one.leader_epoch)
        case FetchRequest():
            diverging, snapshot_id = one.diverging_epoch, one.snapshot_id
            return FetchResponse(
                error, _node_id(one.current_leader.leader_id), one.current_leader.leader_epoch, one.high_watermark,
                (diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None, bytes(one.records or b""),
                (int(snapshot_id.end_offset), int(snapshot_id.epoch)) if snapshot_id.epoch >= 0 else None,
            )  # fmt: skip
        case FetchSnapshotRequest():
            return FetchSnapshotResponse(
                error, _node_id(one.current_leader.leader_id), one.current_leader.leader_epoch, one.size,
                one.position, bytes(one.unaligned_records or b""),
                (int(one.snapshot_id.end_offset), int(one.snapshot_id.epoch)) if one.snapshot_id.epoch >= 0 else None,
            )  # fmt: skip


def _node_id(value: int) -> int | None:
    return None if value < 0 else int(value)


def _code(code: WireErrorCode) -> ErrorCode:
    try:
        return ErrorCode(int(code))
    except ValueError:
        raise WireError(f"error code {int(code)} of a voter") from None
