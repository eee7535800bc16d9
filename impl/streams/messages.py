"""Requests of the consumer's group protocol and their responses, without their bytes."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from impl.streams.metadata import TopicPartition


class ErrorCode(IntEnum):
    """Error codes of Kafka's protocol that a coordinator answers with."""

    NONE = 0
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    MEMBER_ID_REQUIRED = 79


ELSEWHERE = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
)
"""The request was not done: the coordinator is another one, or there is none yet."""


class JoinGroup(NamedTuple):
    """member_id: "" for a new member. takes_id_first: a new member joins once it has been given its id (v4 and up)."""

    member_id: str
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    takes_id_first: bool = True


class JoinedGroup(NamedTuple):
    """members: for the leader, each with its subscription."""

    error: ErrorCode
    member_id: str
    generation: int = -1
    protocol: str = ""
    leader: str = ""
    members: tuple[tuple[str, bytes], ...] = ()


class SyncGroup(NamedTuple):
    """assignments: from the leader, by member."""

    member_id: str
    generation: int
    assignments: tuple[tuple[str, bytes], ...] = ()


class SyncedGroup(NamedTuple):
    error: ErrorCode
    assignment: bytes = b""


class Heartbeat(NamedTuple):
    member_id: str
    generation: int


class LeaveGroup(NamedTuple):
    member_id: str


class OffsetCommit(NamedTuple):
    """Offsets of the next records to be consumed."""

    member_id: str
    generation: int
    offsets: tuple[tuple[TopicPartition, int], ...]


class Done(NamedTuple):
    """The response to a Heartbeat, LeaveGroup or OffsetCommit."""

    error: ErrorCode


Request = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | OffsetCommit
Response = JoinedGroup | SyncedGroup | Done
