"""A group in one process and in simulated time: a coordinator, and members of any releases that an operator bounces.

Every message takes some milliseconds, by a seed. Nothing waits for a clock: minutes of a group take milliseconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random
from uuid import UUID

from impl.streams.assignor import Sources
from impl.streams.codec import SHIPPED, Format, decode_assignment, decode_subscription
from impl.streams.config import StreamsConfig
from impl.streams.consumer_protocol import PROTOCOL_NAME, read_assignment, read_subscription
from impl.streams.coordinator import Answer, Coordinator, GroupState, SetTimer, Store, StoredGroup
from impl.streams.coordinator import Effects as CoordinatorEffects
from impl.streams.errors import FatalError
from impl.streams.member import OWNERLESS, Effects, Ended, FindCoordinator, Member, Send, SetHeartbeat, State
from impl.streams.messages import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    Response,
    SyncGroup,
)
from impl.streams.metadata import AssignmentInfo, OffsetSum, SubscriptionInfo, TaskId, TopicPartition
from impl.streams.recording import MemberWatch
from impl.streams.versions import Release

_LATENCY_MS = (1, 9)
_FIND_COORDINATOR_MS = 200


class BrokenPromiseError(AssertionError):
    """A generation is not what the design promises of each. The message says which promise."""


class Thread:
    """A stream thread of a process."""

    def __init__(self, name: str, core: Member, watch: MemberWatch) -> None:
        self.name, self.core, self.watch = name, core, watch
        self.is_alive = True
        self.heartbeat_ms = -1


class Application:
    """A process: its threads, and the tasks of which it has state on disk."""

    def __init__(self, config: StreamsConfig, process_id: UUID) -> None:
        self.config, self.process_id = config, process_id
        self.threads: list[Thread] = []
        self.on_disk: set[TaskId] = set()


class Emulation:
    """The group. deaths: what threads died of, in order. rebalances: generations that were completed.

    form: how to read what members and leaders say, whose versions all are in it.
    """

    def __init__(self, sources: Sources, seed: int = 0, form: Format = SHIPPED) -> None:
        self.sources, self.form = sources, form
        self.now_ms = 0
        self.coordinator = Coordinator()
        self.applications: dict[int, Application] = {}
        self.deaths: list[tuple[str, FatalError]] = []
        self.rebalances = 0
        self._random = Random(seed)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count(1)
        self._calls: dict[Hashable, tuple[Thread, Request]] = {}
        self._timers: dict[Hashable, int] = {}
        self._stored: StoredGroup | None = None
        self._connections = 0
        """How often all of them were closed: what is under way with one that was does not arrive."""

    # The operator.

    def start(self, process: int, config: StreamsConfig, watches: Sequence[MemberWatch] = ()) -> None:
        """A process starts: its threads have no member id, and find on disk what they had."""
        before = self.applications.get(process)
        made = self.applications[process] = Application(config, UUID(int=process + 1))
        made.on_disk = set() if before is None else before.on_disk
        for number in range(config.threads):
            sums = tuple(OffsetSum(task) for task in sorted(made.on_disk)) if number == 0 else ()
            name = f"p{process}t{number}"
            core = Member(config, name, made.process_id, self.sources, on_disk=sums)
            thread = Thread(name, core, watches[number] if watches else MemberWatch())
            made.threads.append(thread)
            self._polls(thread)

    def stop(self, process: int) -> None:
        """A process stops, or dies: its members do not leave, and their sessions run out."""
        application = self.applications[process]
        for thread in application.threads:
            thread.is_alive = False
            application.on_disk |= set(thread.core.tasks)

    def expire(self, process: int) -> None:
        """The session of a live member runs out early."""
        member = self.applications[process].threads[0].core.member_id
        if member in self.coordinator.members:
            self._coordinator_does(self.coordinator.expire(member, self.now_ms))

    def fail_over(self) -> None:
        """Another coordinator loads what was stored; all connections are closed, and what was under way is lost."""
        self.coordinator = Coordinator.load(self._stored, self.now_ms)
        self._connections += 1
        self._calls.clear()
        self._timers.clear()
        self._coordinator_does(self.coordinator.session_timers())
        for thread in self.alive():
            thread.watch.disconnected(thread.core.state)
            self._thread_does(thread, thread.core.on_disconnected())

    def alive(self) -> list[Thread]:
        """The threads that run, dead ones in live processes among them."""
        return [thread for one in self.applications.values() for thread in one.threads if thread.is_alive]

    def leader(self) -> int | None:
        """The process that leads."""
        for process, application in self.applications.items():
            if any(one.is_alive and one.core.member_id == self.coordinator.leader for one in application.threads):
                return process
        return None

    # What there is to see.

    def is_settled(self) -> bool:
        """Stable, every live member is in it, runs and wants nothing else; nobody else is in it."""
        members = self.coordinator.members
        threads = [thread.core for thread in self.alive() if thread.core.state not in OWNERLESS]
        return (
            self.coordinator.state is GroupState.STABLE
            and len(threads) == len(members)
            and all(
                core.state is State.RUNNING and not core.wants_to_rejoin and core.member_id in members
                for core in threads
            )
        )

    def sent_versions(self) -> list[int]:
        """The version of each member's last subscription."""
        datas = [dict(one.protocols)[PROTOCOL_NAME] for one in self.coordinator.members.values()]
        return [decode_subscription(read_subscription(data).user_data, self.form).used for data in datas]

    # Time.

    def run(self, limit_ms: int, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass until something holds, or for so long. Returns whether it holds."""
        end_ms = self.now_ms + limit_ms
        while not until():
            if not self._events or self._events[0][0] > end_ms:
                self.now_ms = end_ms
                return until()
            self.now_ms, _, event = heappop(self._events)
            event()
        return True

    def _at(self, at_ms: int, event: Callable[[], None]) -> None:
        heappush(self._events, (max(at_ms, self.now_ms), next(self._numbers), event))

    def _soon(self, event: Callable[[], None]) -> None:
        self._at(self.now_ms + self._random.randint(*_LATENCY_MS), event)

    # Threads.

    def _polls(self, thread: Thread) -> None:
        self._thread_does(thread, thread.core.poll(self.now_ms))

    def _thread_does(self, thread: Thread, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case Send(request=request):
                    thread.watch.sent(request)
                    self._soon(partial(self._arrives, thread, request, self._connections))
                case SetHeartbeat(at_ms=at_ms):
                    thread.heartbeat_ms = at_ms
                    self._at(at_ms, lambda at_ms=at_ms: self._heartbeat_is_due(thread, at_ms))  # type: ignore[misc]  # a default has no type
                case FindCoordinator():
                    self._at(self.now_ms + _FIND_COORDINATOR_MS, lambda: self._found(thread))
                case Ended() if thread.core.death is not None:
                    thread.watch.ended(thread.core)
                    self.deaths.append((thread.name, thread.core.death))

    def _heartbeat_is_due(self, thread: Thread, at_ms: int) -> None:
        if thread.is_alive and thread.heartbeat_ms == at_ms:
            self._thread_does(thread, thread.core.on_heartbeat_time(self.now_ms))

    def _found(self, thread: Thread) -> None:
        if thread.is_alive:
            thread.core.on_coordinator()
            self._polls(thread)

    def _answered(self, thread: Thread, request: Request, response: Response) -> None:
        if not thread.is_alive:
            return
        before = thread.core.state
        effects = thread.core.on_answered(request, response, self.now_ms)
        thread.watch.answered(request, response, before, thread.core)
        self._thread_does(thread, effects)
        self._polls(thread)

    # The coordinator.

    def _arrives(self, thread: Thread, request: Request, connection: int) -> None:
        if connection != self._connections:
            return
        call = next(self._numbers)
        self._calls[call] = (thread, request)
        coordinator, now_ms = self.coordinator, self.now_ms
        match request:
            case JoinGroup():
                effects = coordinator.on_join(call, request, now_ms, f"{thread.name}-{call}")
            case SyncGroup():
                effects = coordinator.on_sync(call, request, now_ms)
            case Heartbeat():
                effects = coordinator.on_heartbeat(call, request, now_ms)
            case LeaveGroup():
                effects = coordinator.on_leave(call, request, now_ms)
            case OffsetCommit():
                effects = coordinator.on_commit(call, request, now_ms)
        self._coordinator_does(effects, thread.core.config.release)

    def _coordinator_does(self, effects: CoordinatorEffects, sender: Release | None = None) -> None:
        """sender: the release of who has sent the request that this comes of."""
        before = self.coordinator.generation
        if self.coordinator.can_complete:
            next_leader = self._random.choice(sorted(self.coordinator.members))  # Kafka: the first of a hash map
            effects = effects + self.coordinator.complete_join(self.now_ms, next_leader)
        self.rebalances += self.coordinator.generation - before
        for effect in effects:
            match effect:
                case Answer(call=call, response=response) if call in self._calls:
                    self._answers(call, response)
                case Store(group=group):
                    assert sender is not None, "a leader has sent the assignments"
                    check_generation(group, self.form, sender)
                    self._stored = group
                case SetTimer(timer=timer, at_ms=at_ms):
                    self._timers[timer] = at_ms
                    self._at(at_ms, lambda timer=timer, at_ms=at_ms: self._timer_is_due(timer, at_ms))  # type: ignore[misc]  # a default has no type

    def _answers(self, call: Hashable, response: Response) -> None:
        """An answer is under way; it is lost where its coordinator is replaced before it arrives."""

        def arrives() -> None:
            if call in self._calls:
                self._answered(*self._calls.pop(call), response)

        self._soon(arrives)

    def _timer_is_due(self, timer: Hashable, at_ms: int) -> None:
        if self._timers.get(timer) == at_ms:
            del self._timers[timer]
            self._coordinator_does(self.coordinator.on_timer(timer, self.now_ms))


def check_generation(group: StoredGroup, form: Format, leader: Release) -> None:
    """Raise BrokenPromiseError where a task has two owners, or an endpoint is said to have what it has not.

    Who sent a later version than the leader's is left out of the endpoints: the leader cannot read whose it is. What a
    release breaks in every probe, by its row of the table, is not asked of its leaders in one.
    """
    said = {
        member: decode_subscription(read_subscription(dict(one.protocols)[PROTOCOL_NAME]).user_data, form)
        for member, one in group.members.items()
    }
    tasks = list[TaskId]()
    infos = list[AssignmentInfo]()
    endpoints: dict[str, set[TopicPartition]] = {}
    for member, one in group.members.items():
        assignment = read_assignment(one.assignment)
        info, of = decode_assignment(assignment.user_data, form), said[member]
        assert isinstance(info, AssignmentInfo) and isinstance(of, SubscriptionInfo), "the form has all versions"
        infos.append(info)
        tasks += set(info.active)
        if of.endpoint and of.used <= leader.latest:
            endpoints.setdefault(of.endpoint, set()).update(assignment.partitions)
    is_probe = any(of.used > leader.latest for of in said.values())
    if len(tasks) != len(set(tasks)) and (leader.design.thread_keeps_its_own or not is_probe):
        raise BrokenPromiseError("T1: a task has two owners in one generation")
    for info in infos if leader.design.lists_what_is_given or not is_probe else ():
        for host in info.hosts:
            if set(host.partitions) != endpoints.get(f"{host.host}:{host.port}"):
                raise BrokenPromiseError(f"T5: {host.host}:{host.port} is said to have what it has not")
