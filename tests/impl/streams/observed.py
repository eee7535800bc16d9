"""A group as its coordinator on a real Kafka describes it: what each member has sent, and what it was assigned."""

from __future__ import annotations

from dataclasses import dataclass

from kio.schema.describe_groups.v0.request import DescribeGroupsRequest
from kio.schema.describe_groups.v0.response import DescribedGroupMember, DescribeGroupsResponse
from kio.schema.types import GroupId

from impl.runtime.client import Address, ask
from impl.runtime.entities import entity_bytes, read_entity
from impl.streams.codec import decode_assignment, decode_subscription
from impl.streams.consumer_protocol import read_assignment, read_subscription
from impl.streams.metadata import AssignmentInfo, TaskId

_CLIENT_ID = "observer"


@dataclass(frozen=True)
class ObservedMember:
    """A member of a stable group. used: the version that it has sent; assigned: the version of what it was sent."""

    used: int
    assigned: int
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True)
class ObservedGroup:
    """members: by client id; none where the group is not stable, in which what they sent is not told."""

    state: str
    members: dict[str, ObservedMember]


def observed(address: Address, group: str) -> ObservedGroup:
    """Ask for it. Raises OSError, WireError."""
    request = DescribeGroupsRequest(groups=(GroupId(group),))
    body = ask(address, request.__api_key__, request.__version__, _CLIENT_ID, entity_bytes(request))
    (found,) = read_entity(DescribeGroupsResponse, body).groups
    stable = found.members if found.group_state == "Stable" else ()
    return ObservedGroup(found.group_state, {one.client_id: _member(one) for one in stable})


def _member(one: DescribedGroupMember) -> ObservedMember:
    said = decode_subscription(read_subscription(one.member_metadata).user_data)
    given = decode_assignment(read_assignment(one.member_assignment).user_data)
    assert isinstance(given, AssignmentInfo), "no leader is of a later release than the codec's newest version"
    return ObservedMember(said.used, given.used, tuple(sorted(set(given.active))))
