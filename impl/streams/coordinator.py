"""The coordinator of one group, without I/O: members, generations, and requests that wait for others.

It is handed requests and times, and gives effects. What Kafka leaves to a hash map (the next leader) and to randomness
(member ids) is handed in.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from enum import Enum

from impl.streams.messages import (
    Done,
    ErrorCode,
    Heartbeat,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Response,
    SyncedGroup,
    SyncGroup,
)
from impl.streams.metadata import TopicPartition

Call = Hashable
"""A request that is to be answered."""


class GroupState(Enum):
    """Kafka's states of a group."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True)
class MemberMetadata:
    """A member as its last JoinGroup has it. joining, syncing: its requests that wait."""

    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    joining: Call | None = None
    syncing: Call | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A stable group, as another coordinator loads it."""

    generation: int
    leader: str
    protocol_type: str
    protocol: str
    members: Mapping[str, MemberMetadata]


@dataclass(frozen=True, slots=True)
class Answer:
    """Send the response to a request."""

    call: Call
    response: Response


@dataclass(frozen=True, slots=True)
class Store:
    """Write the group before anything that follows is sent."""

    group: StoredGroup


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `on_timer` at this time. A timer of the same name that is set is moved."""

    timer: Hashable
    at_ms: int


Effect = Answer | Store | SetTimer
Effects = list[Effect]


class _Rebalance(Enum):
    """The timer of the rebalance that is under way."""

    TIMER = "rebalance"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Session timeouts that are accepted, as `group.min.session.timeout.ms` and `group.max.session.timeout.ms`."""

    least_ms: int = 6_000
    most_ms: int = 1_800_000


class Coordinator:
    """A group. `now_ms` are milliseconds of a clock that never goes back."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self.state = GroupState.EMPTY
        self.generation = 0
        self.leader = ""
        self.protocol_type = self.protocol = ""
        self.members: dict[str, MemberMetadata] = {}
        self.pending: frozenset[str] = frozenset()
        """Ids that were given to members that have not joined with them yet: a rebalance waits for these."""
        self.offsets: dict[TopicPartition, int] = {}
        self._heard_ms: dict[str, int] = {}
        self._effects: Effects = []

    @classmethod
    def load(cls, stored: StoredGroup | None, now_ms: int, bounds: Bounds | None = None) -> Coordinator:
        """A coordinator that takes a group over. None: nothing was ever stored."""
        made = cls(bounds)
        if stored is not None:
            made.state, made.protocol_type = GroupState.STABLE, stored.protocol_type
            made.generation, made.leader, made.protocol = stored.generation, stored.leader, stored.protocol
            made.members = dict(stored.members)
            made._heard_ms = dict.fromkeys(made.members, now_ms)
        return made

    def copy(self) -> Coordinator:
        """A coordinator that shares no state with this one, between two steps."""
        made = copy(self)
        made.members, made.offsets = dict(self.members), dict(self.offsets)
        made._heard_ms, made._effects = dict(self._heard_ms), []
        return made

    def session_timers(self) -> Effects:
        """Timers of all members: what a coordinator that has taken a group over sets first."""
        return [SetTimer(m, self._heard_ms[m] + one.session_timeout_ms) for m, one in self.members.items()]

    # Requests.

    def on_join(self, call: Call, request: JoinGroup, now_ms: int, fresh_id: str) -> Effects:
        """fresh_id: the id of the member, if it is new."""
        error = self._refusal(request)
        if error is not None:
            self._answer(call, JoinedGroup(error, request.member_id))
        elif not request.member_id and request.takes_id_first:
            self.pending |= {fresh_id}
            self._effects.append(SetTimer(fresh_id, now_ms + request.session_timeout_ms))
            self._answer(call, JoinedGroup(ErrorCode.MEMBER_ID_REQUIRED, fresh_id))
        elif not request.member_id or request.member_id in self.pending:
            self._add(call, request, request.member_id or fresh_id, now_ms)
        elif request.member_id not in self.members:
            self._answer(call, JoinedGroup(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
        else:
            self._join_again(call, request, now_ms)
        return self._taken()

    def _refusal(self, request: JoinGroup) -> ErrorCode | None:
        if not self.bounds.least_ms <= request.session_timeout_ms <= self.bounds.most_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        common = {name for name, _ in request.protocols}
        others = [one for member, one in self.members.items() if member != request.member_id]
        for one in others:
            common &= {name for name, _ in one.protocols}
        if not common or (others and request.protocol_type != self.protocol_type):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return None

    def _add(self, call: Call, request: JoinGroup, member: str, now_ms: int) -> None:
        self.pending -= {member}
        self.protocol_type = request.protocol_type
        self.members[member] = _member(call, request)
        self._hear(member, now_ms)
        self._effects.append(SetTimer(member, now_ms + request.session_timeout_ms))
        self._prepare(now_ms)

    def _join_again(self, call: Call, request: JoinGroup, now_ms: int) -> None:
        """Unchanged bytes are answered with the current generation, unless the group prepares the next one."""
        member = request.member_id
        self._hear(member, now_ms)
        is_unchanged = request.protocols == self.members[member].protocols
        is_follower = self.state is GroupState.STABLE and member != self.leader
        if is_unchanged and (is_follower or self.state is GroupState.COMPLETING):
            self._answer(call, self._joined(member))
        else:
            self.members[member] = _member(call, request)
            self._prepare(now_ms)

    def on_sync(self, call: Call, request: SyncGroup, now_ms: int) -> Effects:
        error = self._refusal_of(request.member_id, request.generation)
        if error is None and self.state is GroupState.PREPARING:
            error = ErrorCode.REBALANCE_IN_PROGRESS
        if error is not None:
            self._answer(call, SyncedGroup(error))
            return self._taken()
        self._hear(request.member_id, now_ms)
        if self.state is GroupState.STABLE:
            self._answer(call, SyncedGroup(ErrorCode.NONE, self.members[request.member_id].assignment))
            return self._taken()
        self.members[request.member_id] = replace(self.members[request.member_id], syncing=call)
        if request.member_id == self.leader:
            self._assign(dict(request.assignments))
        return self._taken()

    def _assign(self, assignments: Mapping[str, bytes]) -> None:
        """The group is stable: it is stored, and requests that wait are answered."""
        self.state = GroupState.STABLE
        waiting = {member: one.syncing for member, one in self.members.items() if one.syncing is not None}
        self.members = {
            member: replace(one, syncing=None, assignment=assignments.get(member, b""))
            for member, one in self.members.items()
        }
        stored = StoredGroup(self.generation, self.leader, self.protocol_type, self.protocol, dict(self.members))
        self._effects.append(Store(stored))
        for member, call in waiting.items():
            self._answer(call, SyncedGroup(ErrorCode.NONE, self.members[member].assignment))

    def on_heartbeat(self, call: Call, request: Heartbeat, now_ms: int) -> Effects:
        error = self._refusal_of(request.member_id, request.generation)
        if error is None:
            self._hear(request.member_id, now_ms)
            if self.state is GroupState.PREPARING:
                error = ErrorCode.REBALANCE_IN_PROGRESS
        self._answer(call, Done(error or ErrorCode.NONE))
        return self._taken()

    def on_leave(self, call: Call, request: LeaveGroup, now_ms: int) -> Effects:
        error = ErrorCode.NONE
        if request.member_id in self.pending:
            self.pending -= {request.member_id}
        elif request.member_id in self.members:
            self._remove(request.member_id, now_ms)
        else:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        self._answer(call, Done(error))
        return self._taken()

    def on_commit(self, call: Call, request: OffsetCommit, now_ms: int) -> Effects:
        """Who was removed, or is of an older generation, commits nothing."""
        error = self._refusal_of(request.member_id, request.generation)
        if error is None:
            self._hear(request.member_id, now_ms)
            if self.state is GroupState.COMPLETING:
                error = ErrorCode.REBALANCE_IN_PROGRESS
            else:
                self.offsets.update(request.offsets)
        self._answer(call, Done(error or ErrorCode.NONE))
        return self._taken()

    def _refusal_of(self, member: str, generation: int) -> ErrorCode | None:
        if member not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.ILLEGAL_GENERATION if generation != self.generation else None

    # Time.

    def on_timer(self, timer: Hashable, now_ms: int) -> Effects:
        """A session may be over, or the time for a rebalance."""
        if timer is _Rebalance.TIMER:
            if self.state is GroupState.PREPARING:
                self.pending = frozenset()
                for member in [member for member, one in self.members.items() if one.joining is None]:
                    self._remove(member, now_ms)
        elif timer in self.pending and isinstance(timer, str):
            self.pending -= {timer}
        elif timer in self.members and isinstance(timer, str):
            one, until_ms = self.members[timer], self._heard_ms[timer] + self.members[timer].session_timeout_ms
            if one.joining is not None or one.syncing is not None:
                until_ms = now_ms + one.session_timeout_ms  # who waits for us is alive
            if until_ms > now_ms:
                self._effects.append(SetTimer(timer, until_ms))
            else:
                self._remove(timer, now_ms)
        return self._taken()

    def expire(self, member: str, now_ms: int) -> Effects:
        """The session of a member is over."""
        self._remove(member, now_ms)
        return self._taken()

    # Rebalances.

    @property
    def can_complete(self) -> bool:
        """All members have joined, and no id is given away that nobody has joined with."""
        waits_for_none = all(one.joining is not None for one in self.members.values())
        return self.state is GroupState.PREPARING and waits_for_none and not self.pending

    def complete_join(self, now_ms: int, next_leader: str = "") -> Effects:
        """Begin the next generation, if it can. next_leader: a member that leads if the leader was removed."""
        if self.can_complete:
            self.generation += 1
            if self.leader not in self.members:
                self.leader = next_leader if next_leader in self.members else next(iter(self.members))
            self.state = GroupState.COMPLETING
            self.protocol = self._voted()
            for member, one in self.members.items():
                self._hear(member, now_ms)
                self._answer(one.joining, self._joined(member))
            self.members = {member: replace(one, joining=None) for member, one in self.members.items()}
        return self._taken()

    def _voted(self) -> str:
        """The first protocol of the leader that all members have."""
        names = [name for name, _ in self.members[self.leader].protocols]
        return next(name for name in names if all(name in dict(one.protocols) for one in self.members.values()))

    def _joined(self, member: str) -> JoinedGroup:
        members: Iterable[tuple[str, bytes]] = ()
        if member == self.leader:
            members = ((name, dict(one.protocols)[self.protocol]) for name, one in self.members.items())
        return JoinedGroup(ErrorCode.NONE, member, self.generation, self.protocol, self.leader, tuple(members))

    def _prepare(self, now_ms: int) -> None:
        """A rebalance begins: assignments are void, and SyncGroups that wait fail."""
        if self.state is GroupState.PREPARING:
            return
        self.state = GroupState.PREPARING
        for one in self.members.values():
            if one.syncing is not None:
                self._answer(one.syncing, SyncedGroup(ErrorCode.REBALANCE_IN_PROGRESS))
        self.members = {member: replace(one, syncing=None, assignment=b"") for member, one in self.members.items()}
        longest_ms = max(one.rebalance_timeout_ms for one in self.members.values())
        self._effects.append(SetTimer(_Rebalance.TIMER, now_ms + longest_ms))

    def _remove(self, member: str, now_ms: int) -> None:
        one = self.members.pop(member)
        del self._heard_ms[member]
        if one.joining is not None:
            self._answer(one.joining, JoinedGroup(ErrorCode.UNKNOWN_MEMBER_ID, member))
        if one.syncing is not None:
            self._answer(one.syncing, SyncedGroup(ErrorCode.UNKNOWN_MEMBER_ID))
        if member == self.leader:
            self.leader = ""
        if self.members:
            self._prepare(now_ms)
        else:
            self.state = GroupState.EMPTY

    # Parts.

    def _hear(self, member: str, now_ms: int) -> None:
        self._heard_ms[member] = now_ms

    def _answer(self, call: Call, response: Response) -> None:
        self._effects.append(Answer(call, response))

    def _taken(self) -> Effects:
        taken, self._effects = self._effects, []
        return taken


def _member(call: Call, request: JoinGroup) -> MemberMetadata:
    return MemberMetadata(
        request.client_id, request.session_timeout_ms, request.rebalance_timeout_ms, request.protocols, joining=call
    )
