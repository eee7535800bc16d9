"""What a member says and hears on the wire is shown as its own recorder would see it, in any pieces."""

from __future__ import annotations

import datetime
import importlib.util
from typing import Any

import pytest

from impl.streams.member import State
from impl.streams.messages import (
    ErrorCode,
    Heartbeat,
    JoinedGroup,
    JoinGroup,
    Request,
    Response,
    SyncedGroup,
    SyncGroup,
)
from impl.streams.recording import MemberWatch, Standing

if importlib.util.find_spec("kio") is None:
    pytest.skip("there is no kio (pip install fencepost[streams])", allow_module_level=True)

from kio.index import load_response_schema
from kio.schema.errors import ErrorCode as Code
from kio.static.primitive import i32Timedelta

from impl.runtime.entities import entity_bytes
from impl.runtime.wire import RequestHeader, frame, request_bytes, response_bytes
from impl.streams.kafka_protocol import entity
from tests.cluster.proxy import Direction
from tests.impl.streams.wire import WireMember

NO_TIME = i32Timedelta.parse(datetime.timedelta())
JOIN = JoinGroup("", "", 0, 0, "consumer", (("stream", b"said"),))
SYNC = SyncGroup("m", 7, (("m", b"given"),))


class Seen(MemberWatch):
    def __init__(self) -> None:
        self.events: list[object] = []

    def sent(self, request: Request) -> None:
        self.events.append(request)

    def answered(self, request: Request, response: Response, before: State, core: Standing) -> None:
        self.events.append((response, before, core.state))


def says(member: WireMember, number: int, request: Request, *, pieces: int = 1) -> None:
    made = entity("g", request)
    data = frame(request_bytes(RequestHeader(made.__api_key__, made.__version__, number, "c"), entity_bytes(made)))
    for at in range(0, len(data), size := -(-len(data) // pieces)):
        member.hears_or_says(0, Direction.TO_SERVER, data[at : at + size])


def hears(member: WireMember, number: int, api_key: int, version: int, **fields: object) -> None:
    kind: Any = load_response_schema(api_key, version)
    body = entity_bytes(kind(throttle_time=NO_TIME, **fields))
    member.hears_or_says(0, Direction.TO_CLIENT, frame(response_bytes(number, body)))


def test_a_member_joins_is_assigned_and_removed() -> None:
    seen = Seen()
    member = WireMember(seen)
    says(member, 1, JOIN, pieces=5)
    hears(
        member, 1, 11, 4, error_code=Code(0), generation_id=7, protocol_name="stream", leader="m", member_id="m",
        members=(),
    )  # fmt: skip
    says(member, 2, SYNC)
    hears(member, 2, 14, 2, error_code=Code(0), assignment=b"given")
    says(member, 3, Heartbeat("m", 7))
    hears(member, 3, 12, 2, error_code=Code(25))
    joined = JoinedGroup(ErrorCode.NONE, "m", 7, "stream", "m")
    assert seen.events == [
        JOIN,
        (joined, State.JOINING, State.JOINED),
        SYNC,
        (SyncedGroup(ErrorCode.NONE, b"given"), State.SYNCING, State.RUNNING),
        Heartbeat("m", 7),
        ((ErrorCode.UNKNOWN_MEMBER_ID,), State.RUNNING, State.OUT),
    ]


def test_other_requests_and_answers_of_before_are_passed_over() -> None:
    seen = Seen()
    member = WireMember(seen)
    api_versions = frame(request_bytes(RequestHeader(18, 0, 1, "c"), b""))
    member.hears_or_says(0, Direction.TO_SERVER, api_versions)
    member.hears_or_says(0, Direction.TO_CLIENT, frame(response_bytes(1, b"not of the group protocol")))
    says(member, 2, Heartbeat("m", 7))
    hears(member, 2, 12, 2, error_code=Code(27))
    assert (seen.events, member.state) == ([Heartbeat("m", 7)], State.OUT)
