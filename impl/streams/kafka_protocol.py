"""The bytes of requests and responses between a member and a Kafka broker, by kio's schemas.

Versions are the last ones before flexible ones that brokers from 2.2 to 4.x take: JoinGroup 4 gives ids first.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from kio.schema.find_coordinator.v1.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v1.response import FindCoordinatorResponse
from kio.schema.heartbeat.v2.request import HeartbeatRequest
from kio.schema.heartbeat.v2.response import HeartbeatResponse
from kio.schema.join_group.v4.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.join_group.v4.response import JoinGroupResponse
from kio.schema.leave_group.v1.request import LeaveGroupRequest
from kio.schema.leave_group.v1.response import LeaveGroupResponse
from kio.schema.metadata.v4.request import MetadataRequest, MetadataRequestTopic
from kio.schema.metadata.v4.response import MetadataResponse
from kio.schema.offset_commit.v5.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_commit.v5.response import OffsetCommitResponse
from kio.schema.sync_group.v2.request import SyncGroupRequest, SyncGroupRequestAssignment
from kio.schema.sync_group.v2.response import SyncGroupResponse
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i32Timedelta, i64

from impl.runtime.entities import read_entity
from impl.runtime.wire import WireError
from impl.streams.messages import (
    Done,
    ErrorCode,
    Heartbeat,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    Response,
    SyncedGroup,
    SyncGroup,
)

RESPONSES: Mapping[type, type] = {
    FindCoordinatorRequest: FindCoordinatorResponse,
    HeartbeatRequest: HeartbeatResponse,
    JoinGroupRequest: JoinGroupResponse,
    LeaveGroupRequest: LeaveGroupResponse,
    MetadataRequest: MetadataResponse,
    OffsetCommitRequest: OffsetCommitResponse,
    SyncGroupRequest: SyncGroupResponse,
}


def read_response(request: Any, body: bytes) -> Any:
    """The response to a request. Raises WireError."""
    return read_entity(RESPONSES[type(request)], body, f"the response to a {type(request).__name__}")


def find_coordinator(group: str) -> Any:
    return FindCoordinatorRequest(key=group)


def metadata(topics: Iterable[str]) -> Any:
    """Of these topics, which are not created by being asked for."""
    named = tuple(MetadataRequestTopic(name=TopicName(topic)) for topic in topics)
    return MetadataRequest(topics=named, allow_auto_topic_creation=False)


def partition_counts(response: Any) -> dict[str, int]:
    """The partitions of each topic that is there."""
    return {topic.name: len(topic.partitions) for topic in response.topics if int(topic.error_code) == 0}


def entity(group: str, request: Request) -> Any:
    """A request of a member, as the schema has it."""
    match request:
        case JoinGroup():
            return JoinGroupRequest(
                group_id=GroupId(group),
                session_timeout=_ms(request.session_timeout_ms),
                rebalance_timeout=_ms(request.rebalance_timeout_ms),
                member_id=request.member_id,
                protocol_type=request.protocol_type,
                protocols=tuple(JoinGroupRequestProtocol(name=name, metadata=data) for name, data in request.protocols),
            )
        case SyncGroup():
            return SyncGroupRequest(
                group_id=GroupId(group),
                generation_id=i32(request.generation),
                member_id=request.member_id,
                assignments=tuple(
                    SyncGroupRequestAssignment(member_id=member, assignment=data)
                    for member, data in request.assignments
                ),
            )
        case Heartbeat():
            return HeartbeatRequest(
                group_id=GroupId(group), generation_id=i32(request.generation), member_id=request.member_id
            )
        case LeaveGroup():
            return LeaveGroupRequest(group_id=GroupId(group), member_id=request.member_id)
        case OffsetCommit():
            return OffsetCommitRequest(
                group_id=GroupId(group),
                generation_id_or_member_epoch=i32(request.generation),
                member_id=request.member_id,
                topics=tuple(
                    OffsetCommitRequestTopic(
                        name=TopicName(topic),
                        partitions=tuple(
                            OffsetCommitRequestPartition(
                                partition_index=i32(of.partition), committed_offset=i64(offset), committed_metadata=""
                            )
                            for of, offset in offsets
                        ),
                    )
                    for topic, offsets in groupby(request.offsets, key=lambda one: one[0].topic)
                ),
            )


def _ms(value: int) -> i32Timedelta:
    return i32Timedelta.parse(datetime.timedelta(milliseconds=value))


def message(response: Any) -> Response:
    """A response of the coordinator. Raises WireError at an error code that no coordinator has for a member."""
    match response:
        case JoinGroupResponse():
            return joined(response)
        case SyncGroupResponse():
            return SyncedGroup(error_of(response.error_code), response.assignment)
        case OffsetCommitResponse():
            codes = [int(one.error_code) for topic in response.topics for one in topic.partitions]
            return Done(error_of(next((code for code in codes if code), 0)))
        case _:
            return Done(error_of(response.error_code))


def joined(response: Any) -> JoinedGroup:
    """The response to a JoinGroup, of any version. Raises WireError, as `message` does."""
    members = tuple((one.member_id, one.metadata) for one in response.members)
    return JoinedGroup(
        error_of(response.error_code),
        response.member_id,
        response.generation_id,
        response.protocol_name,
        response.leader,
        members,
    )


def error_of(code: int) -> ErrorCode:
    """Raises WireError at a code that no coordinator has for a member."""
    try:
        return ErrorCode(int(code))
    except ValueError:
        raise WireError(f"error code {int(code)} of a coordinator") from None
