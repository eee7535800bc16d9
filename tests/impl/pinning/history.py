"""The history of a run: from ZooKeeper's transaction log and the brokers' own records to a trace, and to figures.

Every write to ZooKeeper is in the log, in one order. Of what brokers do without writing, these steps are recorded: that
a term began, that an abstention lapsed, that a write was refused, and that a session was begun with everything read.
All name the last transaction that they have seen. What else a broker does (it hears, pulls, abstains) is left to be
found: such steps are declared silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from impl.pinning.znodes import STATE
from impl.zookeeper.office import CONTROLLER
from impl.zookeeper.transaction_log import Logged
from tests.cluster.recordings import Life, NotBegunError, recorded
from tests.impl.pinning.figures import Figures, Measured, Znodes, target_of
from traces.events import INIT, end_line, event_line, header_line

SILENT_STEPS = 9
SILENT = (
    "hear_controller", "hear_ready", "abstain", "lose_election", "find_own_office", "stay",
    "set_ready", "hear_of_other", "settle_request", "prepare_takeover", "fail_to_take_over", "resign",
)  # fmt: skip


@dataclass(frozen=True)
class Session:
    """A session that a process had read everything in."""

    id: int
    broker: int
    life: Life
    is_first: bool
    zxid: int
    time_ms: int


@dataclass(frozen=True)
class Step:
    """A step of the trace. zxid, order: where it stands: of what has seen the same, transactions come first."""

    zxid: int
    order: tuple[int, int]
    action: str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] | None = None


@dataclass
class Records:
    """The brokers' own records.

    local: terms that began, writes that were refused, and abstentions that lapsed. replies: (broker, step, zxid) of
    writes whose reply arrived.
    """

    sessions: list[Session] = field(default_factory=list)
    local: list[Step] = field(default_factory=list)
    replies: set[tuple[int, str, int]] = field(default_factory=set)

    def add(self, life: Life, until: int | None = None) -> None:
        """until: the zxid of the last transaction of the run; what saw a later one is of its clearing away."""
        of_life = 0
        for line in recorded(life.trace):
            action, zxid, time_ms = line.get("action", ""), line.get("at", {}).get("zxid", 0), line.get("time_ms", 0)
            name, order = f"broker{life.broker}", (1, time_ms)
            if until is not None and zxid > until:
                return
            if action == "start":
                session = line["note"]["session"]
                self.sessions.append(Session(session, life.broker, life, of_life == 0, zxid, time_ms))
                of_life += 1
            elif action == "begin_term":
                self.local.append(Step(zxid, order, "begin_term", {"broker": name}))
            elif action == "write_refused":
                self.local += [Step(zxid, order, step, {"broker": name}) for step in ("decide", "write_refused")]
            elif action == "lapse":  # too early or not: whether somebody is coming, the broker cannot know
                self.local.append(Step(zxid, order, None, {}, {"brokers": {name: {"phase": "LAPSED"}}}))
            elif action in ("run", "take_over", "resign", "set_ready"):
                self.replies.add((life.broker, action, zxid))


class History:
    """One run, put together, up to a zxid. Raises NotBegunError."""

    def __init__(
        self, transactions: Sequence[Logged], lives: Sequence[Life], brokers: int, *, until: int | None = None
    ) -> None:
        self.records = Records()
        for life in lives:
            self.records.add(life, until)
        self.sessions = self.records.sessions
        terms = [step for step in self.records.local if step.action == "begin_term"]
        first = [next((s for s in self.sessions if s.broker == b and s.is_first), None) for b in range(brokers)]
        if None in first or not terms:
            raise NotBegunError("a broker did not start")
        self.first = [session for session in first if session is not None]
        self.began = max(*(session.zxid for session in self.first), min(term.zxid for term in terms))
        self.znodes = self._at_beginning([one for one in transactions if one.zxid <= self.began])
        self._number([one for one in transactions if one.zxid > self.began])
        self._down = set[int]()

    @classmethod
    def stretch(
        cls, transactions: Sequence[Logged], lives: Sequence[Life], brokers: int, *, began: int, until: int
    ) -> History:
        """A part of a run, between two zxids: it begins with some brokers up, all of which have been at rest since."""
        self = cls.__new__(cls)
        self.records = Records()
        for life in lives:
            self.records.add(life, until)
        self.began = began
        ended = {one.session for one in transactions if one.ends_session and one.zxid <= began}
        before = [one for one in self.records.sessions if one.zxid <= began and one.id not in ended]
        self.first = sorted(before, key=lambda session: session.broker)
        self.sessions = [*self.first, *(one for one in self.records.sessions if one.zxid > began)]
        self.znodes = Znodes()
        for one in transactions:
            for change in one.changes if one.zxid <= began else ():
                self.znodes.apply(change, one)
        self._number([one for one in transactions if began < one.zxid <= until])
        self._down = set(range(brokers)) - {one.broker for one in self.first}
        return self

    def _number(self, transactions: Sequence[Logged]) -> None:
        """An id says on which server a session began, not when."""
        self.transactions = transactions
        self._of_session = {session.id: session for session in self.sessions}
        later = sorted(self.sessions, key=lambda session: (session.zxid, session.time_ms))
        ids = [session.id for session in (*self.first, *later)]
        self._numbers = {session: number for number, session in enumerate(dict.fromkeys(ids), 1)}

    def _at_beginning(self, before: Sequence[Logged]) -> Znodes:
        """The znodes once all have started: nobody was elected but broker 0, and every first session lives."""
        znodes, elections = Znodes(), 0
        for one in before:
            for change in one.changes:
                znodes.apply(change, one)
                elections += change.path == CONTROLLER and change.is_create
        if znodes.controller is None or znodes.controller[1] != self.first[0].id or elections > 1:
            raise NotBegunError("the office moved before all had started")
        ended = {one.session for one in before if one.ends_session}
        if any(session.id in ended for session in self.first):
            raise NotBegunError("a session ended before all had started")
        return znodes

    def trace(self, name: str, model: str) -> str:
        """The run as a trace, NDJSON."""
        initial = self.znodes.state(self._numbers)
        initial["brokers"] = {f"broker{one.broker}": {"session": self._numbers[one.id]} for one in self.first}
        initial["brokers"] |= {f"broker{broker}": {"state": "DOWN"} for broker in self._down}
        znodes = replace(self.znodes)
        steps = [step for one in self.transactions for step in self._of_transaction(znodes, one)]
        local = [*self._starts(), *(step for step in self.records.local if step.zxid > self.began)]
        lines = [header_line(model, name=name, silent={"steps": SILENT_STEPS, "actions": SILENT})]
        lines.append(event_line(INIT, None, initial))
        for step in self._with_crashes(sorted([*steps, *local], key=lambda step: (step.zxid, step.order))):
            lines.append(event_line(step.action, step.parameters or None, step.state))
        return "".join([*lines, end_line(len(lines) - 1)])

    def _starts(self) -> Iterator[Step]:
        for session in self.sessions:
            if session.zxid > self.began and session not in self.first:
                action = "restart" if session.is_first else "renew_session"
                yield Step(session.zxid, (1, session.time_ms), action, {"broker": f"broker{session.broker}"})

    def _of_transaction(self, znodes: Znodes, one: Logged) -> Iterator[Step]:
        before = replace(znodes)
        for change in one.changes:
            znodes.apply(change, one)
        action, parameters = self._named(before, znodes, one)
        session = self._of_session.get(one.session)
        if session is not None and action in ("run", "take_over", "resign"):
            parameters["answered"] = (session.broker, action, one.zxid) in self.records.replies
        if action is None and session is not None and (session.broker, "set_ready", one.zxid) in self.records.replies:
            action, parameters = "set_ready", {"broker": f"broker{session.broker}", "answered": True}
        if action == "write":  # what it has decided is in no record, and decides nothing before it is written
            yield Step(one.zxid, (0, 0), "decide", parameters)
        if action != "":
            yield Step(one.zxid, (0, 0), action, parameters, znodes.state(self._numbers))

    def _named(self, before: Znodes, after: Znodes, one: Logged) -> tuple[str | None, dict[str, Any]]:
        """The step of the spec that a transaction is. "": none; None: one of several."""
        session = self._of_session.get(one.session)
        by = {} if session is None else {"broker": f"broker{session.broker}"}
        if one.ends_session:
            return self._end_of_session(before, one, session)
        if any(change.path == STATE for change in one.changes):
            return "write", by
        if after.controller is not None and after.controller != before.controller:
            return ("run" if before.controller is None else "take_over"), by
        if before.controller is not None and after.controller is None:
            return ("resign" if by else "delete_by_hand"), by
        if after.next is not None and after.next != before.next:
            target = target_of(after.next[0])
            return ("unpin", {}) if target is None else ("request", {"target": target})
        if before.next is not None and after.next is None:
            return "settle_request", by
        if before.ready is not None and after.ready is None:
            return "hear_of_other", by
        return (None, {}) if after.ready != before.ready else ("", {})

    def _end_of_session(self, before: Znodes, one: Logged, session: Session | None) -> tuple[str, dict[str, Any]]:
        if session is None:
            return "", {}
        ended_ms = session.life.ended_ms
        goes_on = any(later.life is session.life and later.zxid > one.zxid for later in self.sessions)
        if ended_ms is None or ended_ms > one.time_ms or goes_on:
            return "expire", {"broker": f"broker{session.broker}"}
        if before.controller is not None and before.controller[1] == one.session:
            return "end_dead_session", {}
        if before.ready is not None and before.ready[1] == one.session:
            return "end_dead_session_of_ready", {}
        return "", {}

    def _with_crashes(self, steps: Sequence[Step]) -> Iterator[Step]:
        """A process that died is shown to die when its session ends, or when the next one starts: until then it is as
        one that is slow."""
        ends = {one.zxid: self._of_session.get(one.session) for one in self.transactions if one.ends_session}
        begun = {(session.zxid, f"broker{session.broker}"): session for session in self.sessions}
        running = {session.broker: session.life for session in self.first}
        for step in steps:
            if step.action == "restart":
                session = begun[step.zxid, step.parameters["broker"]]
                if session.broker in running:
                    yield Step(step.zxid, (0, 0), "crash", {"broker": f"broker{session.broker}"})
                running[session.broker] = session.life
            elif step.action in ("end_dead_session", "end_dead_session_of_ready"):
                ended = ends[step.zxid]
                if ended is not None and running.get(ended.broker) is ended.life:
                    del running[ended.broker]
                    yield Step(step.zxid, (0, 0), "crash", {"broker": f"broker{ended.broker}"})
            yield step

    def figures(self, ended_ms: int | None = None, *, serves: bool = True) -> Figures:
        """By the log. ended_ms: the end of the run, by its clock. serves: every target takes office in the end."""
        measured = Measured(replace(self.znodes), set(self._of_session))
        for one in self.transactions:
            measured.add(one)
        return measured.figures(ended_ms, serves=serves)
