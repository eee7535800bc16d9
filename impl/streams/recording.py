"""The steps of a member as a trace of `streams/full`, by what it sends and hears; the group is not looked at.

A trace of each process, merged by `traces.merging`. A counter of rounds orders what members of one generation do: all
JoinGroups, the completion (which the leader hears of), the followers' SyncGroups, the leader's. Sessions run out
unobserved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from impl.runtime.recorder import Recorder
from impl.streams.codec import Format, decode_assignment, decode_subscription
from impl.streams.config import StreamsConfig
from impl.streams.consumer_protocol import PROTOCOL_NAME, read_assignment, read_subscription
from impl.streams.errors import Cause, FatalError
from impl.streams.member import Member, State
from impl.streams.messages import (
    ErrorCode,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    Request,
    Response,
    SyncedGroup,
    SyncGroup,
)
from impl.streams.metadata import AssignmentInfo, SubscriptionInfo, TaskId
from impl.streams.versions import FIRST_PROBING

SILENT = ("complete_join", "assign", "expire", "expire_early", "fail_over")
"""Steps that nobody may have seen: of the coordinator, and of a leader that is killed before it hears of it."""
_JOINED, _COMPLETED, _SYNCED, _ASSIGNED = range(4)
_STAGES = 4
_GENERATIONS = 1 << 20
"""More than one coordinator sees."""


def spec_versions(real: Iterable[int]) -> dict[int, int]:
    """The version of the spec that each of a run stands for: from 3 on only their order counts."""
    every = sorted(set(real))
    later = [version for version in every if version >= FIRST_PROBING]
    return {version: FIRST_PROBING + later.index(version) if version in later else version for version in every}


class Standing(Protocol):
    """What is known of a member; of one that is a program of its own, no more than this."""

    @property
    def state(self) -> State: ...

    @property
    def generation(self) -> int: ...

    @property
    def death(self) -> FatalError | None: ...


class MemberWatch:
    """Is shown what a member does. This one looks away."""

    def sent(self, request: Request) -> None:
        """The member sends a request."""

    def answered(self, request: Request, response: Response, before: State, core: Standing) -> None:
        """It has taken the response to one. before: its state then."""

    def disconnected(self, before: State) -> None:
        """Its connection is gone, and what was under way with it. before: its state then."""

    def ended(self, core: Standing) -> None:
        """It ends of itself."""


class GroupWatch:
    """Is shown what becomes of processes and of their coordinator. This one looks away."""

    def starts(self, process: int, config: StreamsConfig) -> Sequence[MemberWatch]:
        """A process starts, and these are to watch its threads, in their order."""
        return [MemberWatch() for _ in range(config.threads)]

    def stops(self, process: int, then: StreamsConfig | None = None) -> None:
        """A process is stopped, and will be started with `then`; None: it dies."""

    def fails_over(self) -> None:
        """From here on another coordinator answers."""


class Rounds:
    """The order of what members of one generation do: stamps of events. coordinator: the one that answers now."""

    def __init__(self) -> None:
        self.coordinator = 0

    def at(self, generation: int, stage: int) -> dict[str, int]:
        """Generations of another coordinator may be numbered as some before it."""
        return {"round": (self.coordinator * _GENERATIONS + generation) * _STAGES + stage}


class ProcessRecorder:
    """Records what a process does. recorders: of its threads, each a trace of its own; threads: what watches them.

    versions: of `spec_versions`; form: reads all that it says; has_tasks: tasks are of one topic, and recorded.
    """

    def __init__(
        self,
        recorders: Sequence[Recorder],
        number: int,
        rounds: Rounds,
        versions: Mapping[int, int],
        form: Format,
        *,
        has_tasks: bool,
    ) -> None:
        self._recorders, self._process = recorders, f"process{number}"
        self.threads = [
            MemberRecorder(recorder, number * len(recorders) + place, rounds, versions, form, has_tasks=has_tasks)
            for place, recorder in enumerate(recorders)
        ]

    def operator(self, action: str, turn: int) -> None:
        """The operator's start or bounce, or a crash. turn: its place among the operator's steps of the run.

        It is recorded with the first thread, and the others see it in between. `stop_all` is recorded for one process,
        and is of all.
        """
        for thread in self.threads:
            thread.is_cut_off()
        first, *others = self._recorders
        before, now, after = ({"operator": 3 * turn + place} for place in range(3))
        for recorder in others:
            recorder.seen({}, at=before)
            recorder.seen({}, at=after)
        parameters = {} if action == "stop_all" else {"process": self._process}
        first.record(action, parameters, at=now)


class MemberRecorder(MemberWatch):
    """Records what a thread does."""

    def __init__(
        self,
        recorder: Recorder,
        number: int,
        rounds: Rounds,
        versions: Mapping[int, int],
        form: Format,
        *,
        has_tasks: bool,
    ) -> None:
        self._recorder, self._versions, self._form, self._has_tasks = recorder, versions, form, has_tasks
        self._rounds, self._thread = rounds, f"thread{number}"
        self._joining: JoinGroup | None = None
        self._generation = -1
        """The last that it joined with the member id that it has; -1: none."""
        self._is_new = False
        """It has joined that generation as it began, and not again."""
        self._may_have_heard = False
        """Its connection broke: the coordinator may have moved on, and what was under way may have arrived."""

    def is_cut_off(self) -> None:
        """It is stopped, with what was under way."""
        self._may_have_joined()
        self._generation, self._may_have_heard = -1, False

    def _may_have_joined(self) -> None:
        if self._joining is not None:
            self._step("join", self._subscription(self._joining))
            self._joining = None

    def disconnected(self, before: State) -> None:
        self._may_have_joined()
        if before in (State.JOINED, State.SYNCING):
            self._step("lose_reply")
        self._may_have_heard = True

    def sent(self, request: Request) -> None:
        if isinstance(request, JoinGroup):
            self._joining = request
        elif isinstance(request, LeaveGroup):
            self._step("leave", at=self._rounds.at(self._generation + 1, _JOINED))
            self._generation = -1

    def answered(self, request: Request, response: Response, before: State, core: Standing) -> None:
        if isinstance(response, JoinedGroup):
            if response.error is ErrorCode.NONE and core.state is State.JOINED:
                self._joined(response)
            elif response.error is ErrorCode.UNKNOWN_MEMBER_ID and self._generation >= 0:  # not an id to join with
                self._hears_of_removal()
            self._joining = None
        elif isinstance(request, SyncGroup) and isinstance(response, SyncedGroup):
            self._synced(request, response, core)
        elif before is State.JOINED and core.state in (State.RETRY, State.OUT):
            self._step("sync_too_late")
        elif before in (State.RUNNING, State.RETRY) and core.state is State.OUT:
            self._hears_of_removal()
        if core.state is State.OUT:
            self._generation = -1

    def _hears_of_removal(self) -> None:
        """A coordinator that does not know its id may be the next one: in the spec, it has heard so already."""
        if not self._may_have_heard:
            self._step("hear_of_removal")

    def ended(self, core: Standing) -> None:
        """What it dies of before it sends anything."""
        if core.death is None:
            return
        if core.death.cause is Cause.CANNOT_ENCODE:
            self._step("join", self._death(core))
        elif core.death.cause in (Cause.FUTURE_SUBSCRIPTION, Cause.FUTURE_BESIDE_OLD):
            self._step("assign", self._death(core), at=self._rounds.at(core.generation, _ASSIGNED))

    # Answers.

    def _joined(self, response: JoinedGroup) -> None:
        assert self._joining is not None, "an answer is to what was sent"
        self._is_new = response.generation != self._generation and not self._may_have_heard
        self._generation, self._may_have_heard = response.generation, False
        at = self._rounds.at(self._generation, _JOINED) if self._is_new else {}
        self._step("join", self._subscription(self._joining), at)
        if self._is_new and response.leader == response.member_id:
            at = self._rounds.at(self._generation, _COMPLETED)
            self._recorder.record("complete_join", {"leader": self._thread}, at=at)

    def _synced(self, request: SyncGroup, response: SyncedGroup, core: Standing) -> None:
        if response.error is not ErrorCode.NONE:
            self._step("sync_too_late")
            return
        action, stage = ("assign", _ASSIGNED) if request.assignments else ("sync", _SYNCED)
        self._step(action, at=self._rounds.at(self._generation, stage) if self._is_new else {})
        info = decode_assignment(read_assignment(response.assignment).user_data, self._form)
        assert isinstance(info, AssignmentInfo)
        reply = self._said(info.used, info.supported) | {"tasks": self._names(info.active), "error": bool(info.error)}
        self._recorder.seen({"threads": {self._thread: {"reply": reply}}})
        self._step("take_assignment", self._after(core))

    # Parts.

    def _subscription(self, request: JoinGroup) -> dict[str, Any]:
        data = read_subscription(dict(request.protocols)[PROTOCOL_NAME]).user_data
        info = decode_subscription(data, self._form)
        assert isinstance(info, SubscriptionInfo)
        said = self._said(info.used, info.supported) | {"previous": self._names(info.previous)}
        return {"group": {"subscriptions": {self._thread: said}}}

    def _step(self, action: str, state: Mapping[str, Any] | None = None, at: Mapping[str, int] | None = None) -> None:
        self._recorder.record(action, {"thread": self._thread}, state, at=at)

    def _names(self, tasks: Iterable[TaskId]) -> list[str]:
        return [f"task{number}" for number in sorted({task.partition for task in tasks})] if self._has_tasks else []

    def _said(self, used: int, supported: int) -> dict[str, int]:
        shown = self._versions[used]
        return {"used": shown, "supported": shown if used < FIRST_PROBING else self._versions[supported]}

    def _after(self, core: Standing) -> dict[str, Any]:
        """What it makes of its assignment, where that is seen."""
        if core.state is State.DEAD:
            return self._death(core)
        return self._stands(core) if isinstance(core, Member) else {}

    def _stands(self, core: Member) -> dict[str, Any]:
        stopped = core.state is State.STOPPED
        now: dict[str, Any] = {"state": core.state.name, "tasks": self._names(core.tasks)}
        if not stopped:
            now |= {"used": self._versions[core.used], "wants_to_rejoin": core.wants_to_rejoin}
        return {"threads": {self._thread: now}}

    def _death(self, core: Standing) -> dict[str, Any]:
        assert core.death is not None
        return {"deaths": {self._thread: core.death.cause.name}, "threads": {self._thread: {"state": "DEAD"}}}
