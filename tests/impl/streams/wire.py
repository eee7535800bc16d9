"""A member that is a program of its own, by what it says to its coordinator: the trace that ours write themselves.

A proxy stands between them. What the program makes of an assignment is not seen, but for what it sends next.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kio.index import load_request_schema, load_response_schema

from impl.runtime.entities import read_entity
from impl.runtime.wire import Frames, Reader, read_request_header
from impl.streams.errors import FatalError
from impl.streams.kafka_protocol import error_of, joined
from impl.streams.member import State
from impl.streams.messages import Done, ErrorCode, Heartbeat, JoinGroup, LeaveGroup, SyncedGroup, SyncGroup
from impl.streams.recording import MemberWatch
from tests.cluster.proxy import Direction, Proxy

_JOIN_GROUP, _HEARTBEAT, _LEAVE_GROUP, _SYNC_GROUP = 11, 12, 13, 14
_MAX_FRAME_BYTES = 100 << 20
Asked = JoinGroup | SyncGroup | Heartbeat | LeaveGroup


class WireMember:
    """What is known of such a member. watch: is shown what it does."""

    def __init__(self, watch: MemberWatch) -> None:
        self._watch = watch
        self.state, self.generation = State.OUT, -1
        self.death: FatalError | None = None
        self._frames = defaultdict[tuple[int, Direction], Frames](lambda: Frames(_MAX_FRAME_BYTES))
        self._asked: dict[tuple[int, int], tuple[Asked, int]] = {}
        """Requests under way, by connection and correlation id, each with its version."""

    def dies(self, death: FatalError) -> None:
        """It says that it has died."""
        self.state, self.death = State.DEAD, death
        self._watch.ended(self)

    def hears_or_says(self, connection: int, direction: Direction, data: bytes) -> None:
        """Bytes on one of its connections. What is not of the group protocol is passed over."""
        for content in self._frames[connection, direction].feed(data):
            reader = Reader(content)
            if direction is Direction.TO_SERVER:
                self._says(connection, reader)
            elif asked := self._asked.pop((connection, reader.int32("correlation id")), None):
                self._hears(*asked, reader.rest())

    def _says(self, connection: int, reader: Reader) -> None:
        header = read_request_header(reader)
        if header.api_key not in (_JOIN_GROUP, _HEARTBEAT, _LEAVE_GROUP, _SYNC_GROUP):
            return
        request = _request(load_request_schema(header.api_key, header.api_version), reader.rest())
        self._asked[connection, header.correlation_id] = request, header.api_version
        self._watch.sent(request)
        match request:
            case JoinGroup():
                self.state = State.JOINING
            case SyncGroup():
                self.state = State.SYNCING
            case LeaveGroup():
                self.state, self.generation = State.OUT, -1

    def _hears(self, request: Asked, version: int, body: bytes) -> None:
        before = self.state
        match request:
            case JoinGroup() if before is State.JOINING:
                response: Any = joined(read_entity(load_response_schema(_JOIN_GROUP, version), body))
                if response.error is ErrorCode.NONE:
                    self.state, self.generation = State.JOINED, response.generation
                else:
                    self._fails(response.error)
            case SyncGroup() if before is State.SYNCING:
                entity = read_entity(load_response_schema(_SYNC_GROUP, version), body)
                response = SyncedGroup(error_of(entity.error_code), entity.assignment)
                self.state = State.RUNNING
                self._fails(response.error)
            case Heartbeat(generation=self.generation) if before in (State.JOINED, State.RUNNING):
                response = Done(error_of(read_entity(load_response_schema(_HEARTBEAT, version), body).error_code))
                if before is State.JOINED or response.error is not ErrorCode.REBALANCE_IN_PROGRESS:
                    self._fails(response.error)
            case _:
                return
        self._watch.answered(request, response, before, self)

    def _fails(self, error: ErrorCode) -> None:
        """The state after this error; none leaves it as it is."""
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.MEMBER_ID_REQUIRED):
            self.state = State.OUT
        elif error is not ErrorCode.NONE:
            self.state = State.RETRY


def _request(kind: Any, body: bytes) -> Asked:
    entity = read_entity(kind, body)
    match kind.__api_key__:
        case 11:
            protocols = tuple((one.name, one.metadata) for one in entity.protocols)
            return JoinGroup(entity.member_id, "", 0, 0, entity.protocol_type, protocols)
        case 12:
            return Heartbeat(entity.member_id, entity.generation_id)
        case 13:
            return LeaveGroup(entity.member_id)
        case _:
            assignments = tuple((one.member_id, one.assignment) for one in entity.assignments)
            return SyncGroup(entity.member_id, entity.generation_id, assignments)


class Wire:
    """An address of the broker at which one program after the other is a member, and is seen."""

    def __init__(self, server: str) -> None:
        self._proxy = Proxy(server, self._passes)
        self.address = self._proxy.address
        self._shown: tuple[asyncio.AbstractEventLoop, WireMember] | None = None

    def shows(self, watch: MemberWatch) -> WireMember:
        """From here on who connects is this member. Called in the loop in which `watch` is to be shown what it does."""
        member = WireMember(watch)
        self._shown = asyncio.get_running_loop(), member
        return member

    async def ends(self) -> None:
        """The program is gone: what it had said before is shown, and nothing of it comes after."""
        self._proxy.reset()
        await asyncio.sleep(0)  # what was seen until then is due in the loop
        self._shown = None

    def _passes(self, connection: int, direction: Direction, data: bytes) -> None:
        if self._shown is not None:
            loop, member = self._shown
            loop.call_soon_threadsafe(member.hears_or_says, connection, direction, data)

    def stop(self) -> None:
        self._proxy.stop()


@contextmanager
def wire(server: str) -> Iterator[Wire]:
    made = Wire(server)
    try:
        yield made
    finally:
        made.stop()
