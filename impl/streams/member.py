"""A stream thread as a member of its group, without I/O: the client's half of the group protocol, eager.

`poll` does what comes next, and at most one request of JoinGroup, SyncGroup and LeaveGroup is under way. Before it
joins, a member gives up its tasks and remembers them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum
from uuid import UUID

from impl.streams.assignor import Outcome, Said, Sources, assign, on_assignment, subscription
from impl.streams.config import StreamsConfig
from impl.streams.consumer_protocol import (
    PROTOCOL_NAME,
    PROTOCOL_TYPE,
    assignment_bytes,
    read_assignment,
    read_subscription,
    subscription_bytes,
)
from impl.streams.errors import Cause, FatalError
from impl.streams.messages import (
    ELSEWHERE,
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
from impl.streams.metadata import OffsetSum, TaskId, TopicPartition

_UNIQUE_VALUES = 1 << 7


class State(Enum):
    """Where a member is between two rebalances."""

    OUT = "out"  # it has no member id that has joined
    RETRY = "retry"  # it has to send its JoinGroup again
    JOINING = "joining"  # its JoinGroup is under way
    JOINED = "joined"  # it has the answer
    SYNCING = "syncing"  # its SyncGroup is under way
    RUNNING = "running"  # it has taken its assignment
    STOPPED = "stopped"  # a source topic is missing
    DEAD = "dead"  # it cannot go on: `death` says why


OWNERLESS = frozenset({State.STOPPED, State.DEAD})


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request to the coordinator."""

    request: Request


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """The coordinator is another one: find it, and call `on_coordinator`."""


@dataclass(frozen=True, slots=True)
class Revoked:
    """Stop consuming these: they may be another's."""

    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class Assigned:
    """Consume these partitions, which are of these tasks."""

    tasks: tuple[TaskId, ...]
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class SetHeartbeat:
    """Call `on_heartbeat_time` at this time."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The thread ends, and this is why."""

    reason: str


Effect = Send | FindCoordinator | Revoked | Assigned | SetHeartbeat | Ended
Effects = list[Effect]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Consumer configurations in ms, with Kafka's defaults; Streams of 0.10.2 to 2.2 waits for all in a rebalance."""

    session_ms: int = 10_000
    heartbeat_ms: int = 3_000
    rebalance_ms: int = (1 << 31) - 1


class Member:
    """A stream thread. on_disk: tasks whose state it finds when it starts."""

    def __init__(
        self,
        config: StreamsConfig,
        client_id: str,
        process_id: UUID,
        sources: Sources,
        timeouts: Timeouts | None = None,
        on_disk: Sequence[OffsetSum] = (),
    ) -> None:
        self.config, self.client_id, self.process_id, self.sources = config, client_id, process_id, sources
        self.timeouts = timeouts or Timeouts()
        self.on_disk = tuple(on_disk)
        self.state = State.OUT
        self.used = config.first_used
        self.member_id, self.generation = "", -1
        self.leads = False
        self.has_coordinator = True
        self.tasks: tuple[TaskId, ...] = ()
        self.previous: tuple[TaskId, ...] = ()
        self.wants_to_rejoin = False
        """Of its own accord: its used version is another one now."""
        self.death: FatalError | None = None
        self._must_rejoin = False
        self._unique = 0
        self._subscriptions: Mapping[str, bytes] = {}
        self._effects: Effects = []

    def copy(self) -> Member:
        """A member that shares no state with this one, between two steps."""
        made = copy(self)
        made._effects = []
        return made

    # What comes next.

    def poll(self, now_ms: int) -> Effects:
        """Send the request that is due, if one is."""
        if not self.has_coordinator or self.state in OWNERLESS:
            return self._taken()
        try:
            if self.state is State.JOINED:
                self._sync()
            elif self.state in (State.OUT, State.RETRY) or (self.state is State.RUNNING and self._rejoins_by_joining()):
                self._join()
            elif self.state is State.RUNNING and self.wants_to_rejoin:
                self._leave()
        except FatalError as death:
            self._end(State.DEAD, death)
        return self._taken()

    def _rejoins_by_joining(self) -> bool:
        if self.wants_to_rejoin:
            return self.config.release.design.rejoin_keeps_membership
        return self._must_rejoin

    def _join(self) -> None:
        release = self.config.release
        if self.wants_to_rejoin and release.design.unique_field:
            self._unique = (self._unique + 1) % _UNIQUE_VALUES
        said = Said(
            self.used, self.process_id, self.tasks or self.previous, self.on_disk, self.config.server, self._unique
        )
        data = subscription_bytes(self.sources.topics, subscription(release, said))
        self._give_up()
        self.state = State.JOINING
        times = self.timeouts
        self._send(
            JoinGroup(
                self.member_id,
                self.client_id,
                times.session_ms,
                times.rebalance_ms,
                PROTOCOL_TYPE,
                ((PROTOCOL_NAME, data),),
            )
        )

    def _sync(self) -> None:
        """A leader assigns, and may die of what it was sent."""
        made: tuple[tuple[str, bytes], ...] = ()
        if self.leads:
            data = {member: read_subscription(one).user_data for member, one in self._subscriptions.items()}
            assigned = assign(self.config.release, self.sources, data, self.config.standby_replicas)
            made = tuple((member, assignment_bytes(*assigned[member])) for member in sorted(assigned))
        self._subscriptions = {}
        self.state = State.SYNCING
        self._send(SyncGroup(self.member_id, self.generation, made))

    def _leave(self) -> None:
        """Unsubscribe: the member that joins next is another one, and may not lead."""
        self._send(LeaveGroup(self.member_id))
        self._forget_membership()

    # Responses.

    def on_answered(self, request: Request, response: Response, now_ms: int) -> Effects:
        """The response to any request."""
        if isinstance(response, JoinedGroup):
            return self.on_joined(response, now_ms)
        if isinstance(response, SyncedGroup):
            return self.on_synced(response, now_ms)
        if isinstance(request, Heartbeat | OffsetCommit):
            return self.on_done(request, response)
        return []  # it has left, and joins again

    def on_joined(self, response: JoinedGroup, now_ms: int) -> Effects:
        """The response to its JoinGroup."""
        if self.state is not State.JOINING:
            return []
        if response.error is ErrorCode.NONE:
            self.state = State.JOINED
            self.member_id, self.generation = response.member_id, response.generation
            self.leads = response.leader == response.member_id
            self._subscriptions = dict(response.members)
            self._effects.append(SetHeartbeat(now_ms + self.timeouts.heartbeat_ms))
        elif response.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id, self.state = response.member_id, State.OUT
        else:
            self._failed(response.error)
        return self._taken()

    def on_synced(self, response: SyncedGroup, now_ms: int) -> Effects:
        """The response to its SyncGroup: it takes its assignment, or dies of it."""
        if self.state is not State.SYNCING:
            return []
        if response.error is not ErrorCode.NONE:
            self._failed(response.error)
            return self._taken()
        try:
            assignment = read_assignment(response.assignment)
            outcome = on_assignment(self.config.release, self.used, self.leads, assignment)
        except FatalError as death:
            self._end(State.DEAD, death)
            return self._taken()
        if outcome.info.error:
            self._end(State.STOPPED, None)
        else:
            self._take(outcome, assignment.partitions)
        return self._taken()

    def _take(self, outcome: Outcome, partitions: tuple[TopicPartition, ...]) -> None:
        """What it does not take, it has in its books no less: the tasks that it had."""
        self.state = State.RUNNING
        self.used, self.wants_to_rejoin, self._must_rejoin = outcome.used, outcome.rejoins, False
        self.tasks = tuple(sorted(set(outcome.info.active))) if outcome.takes else self.previous
        self.previous = ()
        if outcome.takes:
            self.on_disk = tuple(OffsetSum(one.task) for one in outcome.info.standby)
            self._effects.append(Assigned(self.tasks, partitions))

    def on_done(self, request: Heartbeat | OffsetCommit, response: Done) -> Effects:
        """The response to a Heartbeat or an OffsetCommit. One to a membership of before says nothing."""
        if (request.member_id, request.generation) != (self.member_id, self.generation) or self._is_between():
            return []
        error = response.error
        if error is ErrorCode.REBALANCE_IN_PROGRESS and self.state is State.RUNNING:
            self._must_rejoin = True
        elif error is ErrorCode.ILLEGAL_GENERATION or error is ErrorCode.UNKNOWN_MEMBER_ID or error in ELSEWHERE:
            self._failed(error)
        elif error is ErrorCode.REBALANCE_IN_PROGRESS and self.state is State.JOINED:
            self.state = State.RETRY
        return self._taken()

    def _is_between(self) -> bool:
        return self.state in (State.OUT, State.JOINING, State.SYNCING) or self.state in OWNERLESS

    def on_disconnected(self) -> Effects:
        """The connection is gone, and what was under way with it: a parked request is sent again."""
        if self.state not in OWNERLESS:
            self._failed(ErrorCode.NOT_COORDINATOR)
        return self._taken()

    def on_coordinator(self) -> None:
        """There is a coordinator to send to."""
        self.has_coordinator = True

    def _failed(self, error: ErrorCode) -> None:
        if error is ErrorCode.UNKNOWN_MEMBER_ID:
            self._forget_membership()
        elif error in ELSEWHERE:
            self.has_coordinator = False
            self._effects.append(FindCoordinator())
            if self.state in (State.JOINING, State.JOINED, State.SYNCING):
                self.state = State.RETRY if self.member_id else State.OUT
        elif error in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            self._give_up()
            self.state = State.RETRY
        else:
            self._end(State.DEAD, FatalError(f"the coordinator refuses this member: {error.name}", Cause.REFUSED))

    # Time and offsets.

    def on_heartbeat_time(self, now_ms: int) -> Effects:
        """Heartbeats go on while it is a member; in a rebalance, too."""
        if self.member_id and self.generation >= 0 and self.state not in OWNERLESS:
            if self.has_coordinator and self.state not in (State.OUT, State.JOINING):
                self._send(self.heartbeat())
            self._effects.append(SetHeartbeat(now_ms + self.timeouts.heartbeat_ms))
        return self._taken()

    def heartbeat(self) -> Heartbeat:
        """A heartbeat of its membership as it knows it."""
        return Heartbeat(self.member_id, self.generation)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> Effects:
        """Commit offsets in its generation. Who was removed meanwhile is refused."""
        if self.state is State.RUNNING and self.has_coordinator:
            self._send(OffsetCommit(self.member_id, self.generation, tuple(sorted(offsets.items()))))
        return self._taken()

    # Parts.

    def _give_up(self) -> None:
        """It owns nothing from here on, and remembers what it had."""
        if self.tasks:
            self._effects.append(Revoked(self.tasks))
            self.previous = self.tasks
        elif self.state is State.RUNNING:
            self.previous = ()
        self.tasks = ()
        self.wants_to_rejoin = self._must_rejoin = False

    def _forget_membership(self) -> None:
        self._give_up()
        self.member_id, self.generation, self.leads = "", -1, False
        self.state = State.OUT

    def _end(self, state: State, death: FatalError | None) -> None:
        if self.tasks:
            self._effects.append(Revoked(self.tasks))
        self.state, self.death = state, death
        self.tasks = self.previous = ()
        self.wants_to_rejoin = self._must_rejoin = False
        self._effects.append(Ended("a source topic is missing" if death is None else str(death)))

    def _send(self, request: Request) -> None:
        self._effects.append(Send(request))

    def _taken(self) -> Effects:
        taken, self._effects = self._effects, []
        return taken
