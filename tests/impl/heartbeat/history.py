"""The history of a run: from ZooKeeper's transaction log and the processes' own records to a trace, and to figures.

Every write to ZooKeeper is in the log, in one order; what processes do without writing they record with the time, and
all clocks of a run are of one machine. That gives one order of all: a process's own step stands after what it had read,
and where the log and the step have the same millisecond, before what it had not. Some steps stand elsewhere than where
they are recorded: a lease is over when it is, however late its process wakes up to that; a term begins with what the
new controller has read; and what a controller makes of a registration stands before the next change of that, which it
had not read. Two steps are recorded by nobody: a process dies once the last of its heartbeats that change something is
handled; and one that is killed before it wakes up has fenced itself no later than the controller takes its lease for
over. Heartbeats that change nothing, fetches, answers, and when a control request was taken are left to be found, as
silent steps.

The model has one controller, and a failover in one step: what a former one does after its successor has read everything
is left out. It changes nothing, as every write of it is refused.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from impl.heartbeat.znodes import (
    id_path,
    read_broker,
)
from impl.zookeeper.transaction_log import Logged
from tests.cluster.recordings import Life, NotBegunError, recorded
from tests.impl.heartbeat.cluster import REPLICAS
from tests.impl.heartbeat.history_znodes import IDS, Registered, Znodes
from traces.events import INIT, end_line, event_line, header_line

SILENT_STEPS = 24
"""More than there ever are before a step: twelve are enough for every state that can be reached by them."""
SILENT = (
    "send_heartbeat", "handle_heartbeat", "take_reply", "take_control_request", "take_incarnation", "read_ids",
    "take_unanswered", "ask_again", "handle_isr_change", "take_isr_reply", "fetch", "heal",
    "send_late_fetch", "take_late_fetch",
)  # fmt: skip
CONTROLLER = {"controller": "controller0"}
Order = tuple[float, float, int]
"""Of steps: the time in ms, the zxid, and whether it is before (-1) or after (1) the transaction of this zxid (0)."""


@dataclass(frozen=True)
class Step:
    """A step of the trace, before what goes with it is filled in. life: of whom it is a step.

    of: the process whose heartbeat is handled, or whose lease is over. epoch: of the controller whose step it is; None:
    of none. begins: the epoch of the term that begins with it. ends: the process is gone after it. stops: the broker
    that is known by it to be stopping.
    """

    order: Order
    action: str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    life: Life | None = None
    of: Life | None = None
    epoch: int | None = None
    begins: int | None = None
    transaction: Logged | None = None
    ends: bool = False
    stops: int | None = None

    def knowing(self, taken: Mapping[str, Any]) -> Step:
        """The same, of a process that has taken this of the controller."""
        if self.life is None or not taken:
            return self
        process = f"process{self.life.broker}"
        own = {**self.state.get("processes", {}).get(process, {}), **taken}
        return replace(self, state={**self.state, "processes": {process: own}})


@dataclass(frozen=True)
class Figures:
    """Measured on the records. double_serving_ms: how long two processes served at a time (S2)."""

    failovers: int
    leader_changes: int
    self_fenced: int
    expired_sessions: int
    double_serving_ms: int


def _state_after(line: Mapping[str, Any]) -> str:
    """The state of a broker by a controller's record; a new one takes all for active. "": it is as before."""
    if line["action"] == "take_office":
        return "ACTIVE"
    return str(line["note"]["to"]) if line["action"] == "broker_state" else ""


class History:
    """One run, put together. Raises NotBegunError where it never got to the state that models start from.

    began: the zxid, and the time by the wall clock, at which it was seen to be there; until_ms: the time of its end.
    """

    silent: Sequence[str] = SILENT

    def __init__(
        self, transactions: Sequence[Logged], lives: Sequence[Life], began: tuple[int, int], until_ms: int
    ) -> None:
        self.lives = lives
        self.began_zxid, self.began_ms = began
        self.until_ms = until_ms
        self.znodes = Znodes()
        self.writes = dict[tuple[int, int], tuple[int, int]]()
        """By leader epoch and version: the zxid, and the time, of the write."""
        self.times = dict[int, int]()
        self.transactions = list[Logged]()
        before = Znodes()
        for one in transactions:
            self.times[one.zxid] = max(one.time_ms, max(self.times.values(), default=0))
            for change in one.changes:
                before.apply(change, one)
            if before.partition is not None:
                self.writes.setdefault((before.partition.leader_epoch, before.version), (one.zxid, one.time_ms))
            if one.zxid <= self.began_zxid:
                self.znodes = replace(before, ids=dict(before.ids))
            else:
                self.transactions.append(one)
        self.lines = {id(life): [line for line in recorded(life.trace) if "note" in line] for life in lives}
        self._of_session = dict[int, Life]()
        self._causes = dict[tuple[int, int], str]()
        self._exits = dict[int, int]()
        """By life, when it was given leave to exit."""
        self._of_incarnation = dict[int, Life]()
        self._legacy = set[int]()
        """The lives of legacy brokers."""
        self._read_lines()
        for one in transactions:
            for change in one.changes:
                if change.path in IDS and change.data is not None and change.is_create:
                    self._read_registration(one, change.path, change.data)
        self._check_beginning()

    def _read_lines(self) -> None:
        for life in self.lives:
            for line in self.lines[id(life)]:
                note = line["note"]
                match line["action"]:
                    case "register":
                        self._of_session[note["session"]] = life
                        self._of_incarnation[note["incarnation"]] = life
                    case "update_partition":
                        self._causes[note["leader_epoch"], note["version"]] = note["cause"]
                    case "exit":
                        self._exits[id(life)] = line["time_ms"]

    def _read_registration(self, one: Logged, path: str, data: bytes) -> None:
        if one.session not in self._of_session:  # one that was killed before it could record that
            self._of_session[one.session] = self._life_at(IDS[path], one.time_ms)
        if read_broker(path, data).is_legacy:
            self._legacy.add(id(self._of_session[one.session]))

    def is_legacy(self, life: Life) -> bool:
        """It is registered as a legacy broker, which is never fenced."""
        return id(life) in self._legacy

    def _check_beginning(self) -> None:
        state = self.znodes.partition
        if state is None or state.leader != REPLICAS[0] or sorted(state.isr) != list(REPLICAS):
            raise NotBegunError("broker 0 did not lead with every replica in the ISR")
        czxids = [self.znodes.ids[one].czxid if one in self.znodes.ids else 0 for one in REPLICAS]
        if 0 in czxids or czxids != sorted(czxids):
            raise NotBegunError("brokers were not registered in their order")
        for broker in REPLICAS:
            if sum(life.broker == broker and life.began_ms < self.began_ms for life in self.lives) != 1:
                raise NotBegunError("a broker was started twice")
        before = [line for lines in self.lines.values() for line in lines if line["time_ms"] <= self.began_ms]
        before.sort(key=lambda line: int(line["note"]["time_us"]))
        for broker in REPLICAS:
            own = [line for line in before if line["note"].get("broker") == broker]
            fences = [line["action"] for line in own if line["action"] in ("fenced", "unfenced")]
            if fences[-1:] != ["unfenced"] and not self.znodes.ids[broker].is_legacy:
                raise NotBegunError("a broker was fenced")
            states = [_state_after(line) for line in before if line["action"] == "take_office" or line in own]
            if [state for state in states if state][-1:] != ["ACTIVE"]:
                raise NotBegunError("a broker was not active")
        wishes = [set(line["note"]["isr"]) for line in before if line["action"] == "want_isr"]
        if wishes and wishes[-1] != set(REPLICAS):
            raise NotBegunError("a leader wanted less than every replica in the ISR")

    # The trace.

    def trace(self, name: str, model: str) -> str:
        """The run as a trace, NDJSON."""
        lines = [header_line(model, name=name, silent={"steps": SILENT_STEPS, "actions": self.silent})]
        lines.append(event_line(INIT, None, self.znodes.state()))
        for step, znodes in self._filled_in():
            state = {**znodes.state(), **step.state}
            lines.append(event_line(step.action, step.parameters or None, state))
        return "".join([*lines, end_line(len(lines) - 1)])

    def _filled_in(self) -> Iterator[tuple[Step, Znodes]]:
        """All steps in order, with the znodes after each, and with the steps that others imply."""
        znodes = replace(self.znodes, ids=dict(self.znodes.ids))
        epoch = self.znodes.epoch
        self._stopping = set[int]()
        up = {broker: next(life for life in self.lives if life.broker == broker) for broker in REPLICAS}
        for step in sorted(self._steps(), key=lambda step: step.order):
            if step.order[0] > self.until_ms:
                return
            if step.epoch is not None and step.epoch != epoch:
                continue  # of a former controller
            epoch = step.begins if step.begins is not None else epoch
            before = replace(znodes, ids=dict(znodes.ids))
            if step.transaction is not None:
                for change in step.transaction.changes:
                    znodes.apply(change, step.transaction)
                step = self._of_transaction(step, before, znodes, up)
            if step.action == "crash" and (step.life is None or up.get(step.life.broker) is not step.life):
                continue  # it never got to register
            for implied in self._implied(step, before, up):
                yield implied, before
            if step.action != "":
                yield step, znodes
            if step.ends and step.life is not None:
                up.pop(step.life.broker, None)

    def _steps(self) -> Iterator[Step]:
        """In any order; of two that have the same place, the first is before the other."""
        for one in self.transactions:
            yield Step((self.times[one.zxid], one.zxid, 0), None, transaction=one)
        noted = list(self._recorded())
        ends = [self._end(life, noted) for life in self.lives if life.broker in REPLICAS and self._is_killed(life)]
        for end in ends:
            missed = None if end.life is None else self._missed(end.life, noted)
            if missed is not None and missed.order < end.order:
                yield Step(missed.order, "self_fence", end.parameters, life=end.life)
        yield from noted
        yield from ends

    def _is_killed(self, life: Life) -> bool:
        return life.ended_ms is not None and not any(self._is_closing(one, life) for one in self.transactions)

    def _end(self, life: Life, noted: Iterable[Step]) -> Step:
        """The death of a process. Whatever it has sent before may be handled later, and stands before it."""
        written = [
            (self.times[one.zxid], one.zxid, 1)
            for one in self.transactions
            if self._of_session.get(one.session) is life and not one.ends_session
        ]
        own = [one.order for one in noted if one.life is life or (one.of is life and one.action == "handle_heartbeat")]
        order = max([(life.ended_ms or 0, 0, 1), *written, *own])
        return Step(order, "crash", {"process": f"process{life.broker}"}, life=life, ends=True)

    def _missed(self, life: Life, noted: Iterable[Step]) -> Step | None:
        """Where a controller took a lease for over whose process was asleep from before that until it was killed."""
        lines = self.lines[id(life)]
        fences = [line["action"] for line in lines if line["action"] in ("fenced", "unfenced")]
        if life.ended_ms is None or fences[-1:] != ["unfenced"]:
            return None
        expired = next((one for one in noted if one.of is life and one.action == "expire"), None)
        return expired if expired is not None and lines[-1]["time_ms"] < expired.order[0] else None

    def _is_closing(self, one: Logged, life: Life) -> bool:
        """A process leaves in good order by this: it closes its session before anybody kills it."""
        is_own = one.ends_session and self._of_session.get(one.session) is life
        return (
            is_own
            and id(life) in self._exits
            and self._exits[id(life)] <= one.time_ms <= (life.ended_ms or self.until_ms)
        )

    def _recorded(self) -> Iterator[Step]:
        """What processes have recorded, each after all that was written before something that is recorded before it."""
        zxid, terms, taken = 0, dict[int, int | None](), dict[int, dict[str, Any]]()
        lines = [(line, life) for life in self.lives for line in self.lines[id(life)]]
        for line, life in sorted(lines, key=lambda one: int(one[0]["note"]["time_us"])):
            action, note, seen = line["action"], line["note"], line["at"]["zxid"]
            if action in ("take_office", "leave_office"):
                terms[id(life)] = note["epoch"] if action == "take_office" else None
            if action == "take_control_request":
                seen = self.writes.get((note["leader_epoch"], note["version"]), (seen, 0))[0]
                leads = note["leader"] == life.broker
                taken[id(life)] = {"leader_epoch": note["leader_epoch"], "leads": leads}
            zxid = max(zxid, seen)
            step = self._named(action, note, life) if line["time_ms"] > self.began_ms else None
            if step is None:
                continue
            order = max(line["time_ms"], self._time_of(zxid)), zxid, 1
            match action:
                case "take_office":
                    read = note["read_zxid"]
                    step = replace(step, order=(self._time_of(read), read, 1), begins=note["epoch"])
                case "fenced" if note["late_ms"]:
                    at_ms = line["time_ms"] - note["late_ms"]
                    step = replace(step, order=(at_ms, self._last_at(at_ms), 1))
                case "broker_state":
                    if step.action in ("handle_heartbeat", "read_ids"):
                        order = min(order, self._before_unread(note["broker"], seen))
                    step = replace(step, order=order, epoch=terms.get(id(life)))
                case _:
                    step = replace(step, order=order)
            yield step if step.life is None else step.knowing(taken.get(id(life), {}))

    def _time_of(self, zxid: int) -> int:
        """When the last transaction of the run up to this zxid was."""
        return max((at_ms for one, at_ms in self.times.items() if one <= zxid), default=0)

    def _last_at(self, time_ms: int) -> int:
        """The last transaction of the run at this time."""
        return max((one for one, at_ms in self.times.items() if at_ms <= time_ms), default=0)

    def _before_unread(self, broker: int, zxid: int) -> Order:
        """Before a broker's registration changes next after this zxid."""
        path = id_path(broker)
        changes = (one.zxid for one in self.transactions if any(change.path == path for change in one.changes))
        unread = next((one for one in changes if one > zxid), None)
        return (math.inf, 0, 0) if unread is None else (self.times[unread], unread, -1)

    def _named(self, action: str, note: Mapping[str, Any], life: Life) -> Step | None:
        """The step of the spec that a process recorded."""
        if action == "take_office":
            return Step((0, 0, 0), "fail_over", CONTROLLER)
        broker = note.get("broker")
        if broker not in REPLICAS:
            return None
        process = {"process": f"process{broker}"}
        if action == "broker_state":
            state = {"controllers": {"controller0": {"states": {f"broker{broker}": note["to"]}}}}
            of_broker = {**CONTROLLER, "broker": f"broker{broker}"}
            own = self._of_incarnation.get(note["incarnation"])
            match note["cause"]:
                case "heartbeat":
                    stops = None if note["to"] == "ACTIVE" else broker
                    return Step((0, 0, 0), "handle_heartbeat", {**CONTROLLER, **process}, state, of=own, stops=stops)
                case "lease over":
                    return Step((0, 0, 0), "expire", of_broker, state, of=own)
                case "registered" | "znode gone":
                    return Step((0, 0, 0), "read_ids", of_broker, state)
            return Step((0, 0, 0), None, {}, state)
        if action == "fenced" and id(life) in self._exits and note["cause"] == "answered INACTIVE":
            return None  # its leave to exit: it is gone when it has closed its session
        if action == "unfenced" or note.get("cause") in ("answered INACTIVE", "answered INITIAL"):
            of_process = {process["process"]: {"fenced": action == "fenced"}}
            return Step((0, 0, 0), "take_reply", process, {"processes": of_process}, life)
        if action == "fenced" and note["cause"] in ("no answer in time", "a new session"):
            return Step((0, 0, 0), "self_fence", process, {}, life)
        return self._of_wish(note, process, life) if action == "want_isr" else None

    @staticmethod
    def _of_wish(note: Mapping[str, Any], process: Mapping[str, Any], life: Life) -> Step:
        """A leader asks for another ISR. With two replicas that is one member more or less."""
        (member,) = set(note["isr"]) ^ set(note["known"])
        action = "ask_to_expand" if member in note["isr"] else "ask_to_shrink"
        return Step((0, 0, 0), action, {**process, "member": f"broker{member}"}, {}, life)

    def _of_transaction(self, step: Step, before: Znodes, after: Znodes, up: Mapping[int, Life]) -> Step:
        """The step of the spec that a transaction is; without an action: of one of several; "": none."""
        one = step.transaction
        assert one is not None
        for broker in REPLICAS:
            was, now = before.ids.get(broker), after.ids.get(broker)
            if was != now and now is not None:
                parameters = {"process": f"process{broker}"}
                return replace(step, action="register", parameters=parameters, life=self._of_session[one.session])
            if was != now and was is not None:
                return self._end_of_session(step, broker, was, up)
        if before.version == after.version:
            return replace(step, action="")
        return self._of_partition(step, before, after, up)

    def _life_at(self, broker: int, time_ms: int) -> Life:
        return [life for life in self.lives if life.broker == broker and life.began_ms <= time_ms][-1]

    def _end_of_session(self, step: Step, broker: int, was: Registered, up: Mapping[int, Life]) -> Step:
        process = {"process": f"process{broker}"}
        assert step.transaction is not None
        life = self._of_session[was.session]
        if up.get(broker) is not life:
            return replace(step, action="end_dead_session", parameters={"broker": f"broker{broker}"})
        if self._is_closing(step.transaction, life):
            return replace(step, action="take_reply", parameters=process, life=life, ends=True, stops=broker)
        return replace(step, action="expire_session", parameters=process, life=life)

    def _of_partition(self, step: Step, before: Znodes, after: Znodes, up: Mapping[int, Life]) -> Step:
        was, now = before.partition, after.partition
        assert was is not None and now is not None
        if was.leader_epoch != now.leader_epoch:
            cause = self._causes.get((now.leader_epoch, after.version))
            names = {"brokers' states": "update_partition", "controlled shutdown": "move_leadership"}
            return replace(step, action=names.get(cause or ""), parameters=CONTROLLER if cause in names else {})
        process = {"process": f"process{was.leader}"}
        return replace(step, action="handle_isr_change", parameters={**CONTROLLER, **process})

    def _implied(self, step: Step, before: Znodes, up: dict[int, Life]) -> Iterator[Step]:
        """The steps that are seen by what follows from them."""
        if step.life is not None and step.action not in ("crash", "") and step.life.broker not in up:
            process = {"process": f"process{step.life.broker}"}
            up[step.life.broker] = step.life
            yield replace(step, action="start", parameters=process, state={}, transaction=None, ends=False)
        if step.action == "self_fence" and self._is_registered(step.life, before):
            yield replace(step, action="cut_off", state={})
        if step.action == "ask_to_shrink":
            yield replace(step, action="append_further", parameters={"process": step.parameters["process"]}, state={})
        own = up.get(step.stops) if step.stops is not None else None
        if own is not None and own.asked_ms is not None and id(own) not in self._stopping:
            self._stopping.add(id(own))
            process = {"process": f"process{own.broker}"}
            yield replace(step, action="request_shutdown", parameters=process, state={}, transaction=None, ends=False)
        if step.action == "expire":
            broker = int(step.parameters["broker"].removeprefix("broker"))
            if broker in up:
                yield replace(step, action="cut_off", parameters={"process": f"process{broker}"}, state={})

    def _is_registered(self, life: Life | None, znodes: Znodes) -> bool:
        own = None if life is None else znodes.ids.get(life.broker)
        return own is not None and self._of_session.get(own.session) is life

    # Figures.

    def figures(self) -> Figures:
        """What happened, and S2, by the records."""
        named = [step.action for step, _ in self._filled_in()]
        epochs = {epoch for epoch, _ in self.writes}
        return Figures(
            named.count("fail_over"), len(epochs) - 1, named.count("self_fence"), named.count("expire_session"),
            self._double_serving_ms(),
        )  # fmt: skip

    def _double_serving_ms(self) -> int:
        noted = list(self._recorded())
        times = [span for life in self.lives if life.broker in REPLICAS for span in self._served(life, noted)]
        times.sort()
        return sum(max(0, min(before[1], after[1]) - after[0]) for before, after in itertools.pairwise(times))

    def _served(self, life: Life, noted: Iterable[Step]) -> Iterator[tuple[int, int]]:
        """From when to when a process accepted requests as the leader, in ms."""
        is_fenced, leads, since_ms = not self.is_legacy(life), False, 0
        for line in self.lines[id(life)]:
            note, served = line["note"], leads and not is_fenced
            match line["action"]:
                case "fenced" | "unfenced" as action:
                    is_fenced = action == "fenced"
                case "take_control_request":
                    leads = note["leader"] == life.broker
            at_ms = line["time_ms"] - note.get("late_ms", 0)
            if served and not (leads and not is_fenced):
                yield since_ms, max(since_ms, at_ms)
            elif not served and leads and not is_fenced:
                since_ms = at_ms
        if leads and not is_fenced:
            missed = self._missed(life, noted)
            at_ms = self.until_ms if missed is None else int(missed.order[0])
            yield since_ms, min(life.ended_ms or self.until_ms, self.until_ms, at_ms)
