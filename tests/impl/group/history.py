"""The history of a run: from ZooKeeper's transaction log and the processes' own records to a trace of the spec.

Processes record each step with the time in us before they send what comes of it, and all clocks of a run are of one
machine: that gives one order. Three things stand elsewhere than where they are recorded. A session's end is in the
log. What ZooKeeper did, and a process heard late, stands where it is in the log. And a consumer connects, in the trace,
where its registration is handled: an attempt that comes to nothing changes nothing. That the coordinator reads a
response is left to be found, as a silent step; offsets and pings are left out, and looked at in the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from impl.group.znodes import COORDINATOR
from impl.zookeeper.transaction_log import Logged
from tests.cluster.recordings import NotBegunError, recorded
from traces.events import INIT, end_line, event_line, header_line

SILENT_STEPS = 8
SILENT = ("take_response",)
NOT_MODELLED = ("the connection with ZooKeeper was lost", "a broker has moved", "a topic is new", "a partition is new")
IN_USE = "CONSUMER_ID_IN_USE"
_HEARD_LATE_US = 100_000
_HANDLER, _GROUP = {"handler": "handler0"}, {"group": "group0"}
_STEPS_OF_BROKERS = ("commit_and_go_on", "write_owners", "time_out")
_STEPS_OF_CONSUMERS = ("take_stop", "take_start", "terminate")


class Life(NamedTuple):
    """One process of a broker or consumer. ended_us: when it was killed, by the wall clock."""

    name: str
    trace: Path
    ended_us: int | None


@dataclass(frozen=True)
class Event:
    """Something that happened. life: of whom; None: in ZooKeeper."""

    time_us: int
    life: Life | None
    action: str
    note: Mapping[str, Any] = field(default_factory=dict)
    is_answered: bool = False
    """Of a registration: its consumer has taken the answer."""


class Step(NamedTuple):
    """A step of the trace."""

    action: str | None
    parameters: Mapping[str, Any]
    state: Mapping[str, Any] | None = None


class History:
    """One run, put together, up to a time. Raises NotBegunError; also where the log ends before the run does.

    last_zxid: of the log, in which there are runs of others.
    """

    def __init__(self, transactions: Sequence[Logged], lives: Sequence[Life], until_us: int, *, last_zxid: int) -> None:
        self._newest_zxid = 0
        self._times = {one.zxid: one.time_ms * 1_000 for one in transactions}
        self._elections = dict[str, list[int]]({life.name: [] for life in lives})
        """By broker, when it became the coordinator."""
        events = list(self._of_office(transactions))
        events += [event for life in lives for event in self._of_life(life)]
        events = sorted((event for event in events if event.time_us <= until_us), key=lambda event: event.time_us)
        if self._newest_zxid > last_zxid:
            raise NotBegunError(f"ZooKeeper's log ends at zxid {last_zxid}, the run at {self._newest_zxid}")
        elected = next((at for at, event in enumerate(events) if event.action == "elect"), None)
        if elected is None:
            raise NotBegunError("no coordinator was elected")
        first = events[elected]
        assert first.life is not None
        holder = first.life.name
        self.first_epoch: int = first.note["epoch"]
        names = sorted({life.name for life in lives if life.name.startswith("broker")}, key=lambda name: name != holder)
        self._brokers = {name: f"broker{number}" for number, name in enumerate(names)}
        consumers = sorted({life.name for life in lives} - set(names))
        self._consumers = {name: f"consumer{number}" for number, name in enumerate(consumers)}
        self.events = self._matched(events[:elected] + events[elected + 1 :])
        self._lives = dict[str, Life]()
        """By name, the life of each consumer that the trace is in."""
        self._states = dict.fromkeys(consumers, "STARTING")
        self._served = dict[str, str | None]()
        """By consumer the broker that both ends of its connection are open with."""
        self._holder: str | None = holder
        self._dying = set[str]()
        self._down = set[str]()
        self._expired = set[str]()
        self._waiting = set[str]()
        """Brokers that wait for the longest session since they were elected."""

    def _of_life(self, life: Life) -> Iterator[Event]:
        last_us = 0
        for line in recorded(life.trace):
            if "note" not in line:
                continue
            time_us, zxid = line["note"]["time_us"], line.get("at", {}).get("zxid", 0)
            self._newest_zxid = max(self._newest_zxid, zxid)
            written_us = 0
            if line["action"] == "elect":
                written_us = max((at_us for at_us in self._elections[life.name] if at_us <= time_us), default=0)
            elif line["action"] in ("commit_and_go_on", "write_owners"):
                written_us = self._times.get(zxid, 0)
            if written_us and time_us - written_us > _HEARD_LATE_US:
                time_us = written_us
            last_us = max(last_us, time_us)
            yield Event(last_us, life, line["action"], line["note"])
        if life.ended_us is not None:
            yield Event(max(last_us, life.ended_us), life, "crash")

    def _of_office(self, transactions: Sequence[Logged]) -> Iterator[Event]:
        """The coordinators' znodes that go with their sessions."""
        holder = ""
        for one in transactions:
            for change in one.changes:
                if change.path == COORDINATOR and change.data is not None:
                    holder = f"broker{int(change.data)}"
                    self._elections[holder].append(one.time_ms * 1_000)
                elif change.path == COORDINATOR and one.ends_session:
                    yield Event(one.time_ms * 1_000, None, "end_session", {"broker": holder})

    @staticmethod
    def _matched(events: Sequence[Event]) -> list[Event]:
        """Registrations and the answers that were taken; answers to what is not modelled are left out."""
        found = list[Event]()
        for event in events:
            if event.action == "take_answer":
                at = _registration(found, event)
                if at is None:
                    continue
                found[at] = replace(found[at], is_answered=True)
            found.append(event)
        return found

    # The trace.

    def trace(self, name: str, model: str) -> str:
        """The run as a trace, NDJSON."""
        lines = [header_line(model, name=name, silent={"steps": SILENT_STEPS, "actions": SILENT})]
        lines.append(event_line(INIT, None, {"zookeeper": {"epoch": self.first_epoch}}))
        for event in self.events:
            for step in self._steps(event):
                lines.append(event_line(step.action, step.parameters or None, step.state))
        return "".join([*lines, end_line(len(lines) - 1)])

    def _steps(self, event: Event) -> Iterator[Step]:
        if event.life is None:
            yield from self._end_session(event.note["broker"])
        elif event.life.name in self._brokers:
            yield from self._of_broker(event, event.life)
        else:
            yield from self._of_consumer(event, event.life)

    # Brokers.

    def _end_session(self, name: str) -> Iterator[Step]:
        broker = {"broker": self._brokers[name]}
        if self._holder != name:
            return  # it never heard that it was elected
        self._holder = None
        if name in self._dying:
            yield from self._crash_broker(name)
        else:
            self._expired.add(name)
            yield Step("expire", broker)

    def _crash_broker(self, name: str) -> Iterator[Step]:
        self._dying.discard(name)
        self._expired.discard(name)
        self._down.add(name)
        self._end_connections(name)
        yield Step("crash_broker", {"broker": self._brokers[name]})

    def _end_connections(self, name: str) -> None:
        self._served = {consumer: None if broker == name else broker for consumer, broker in self._served.items()}

    def _of_broker(self, event: Event, life: Life) -> Iterator[Step]:
        name, note = life.name, event.note
        broker = {"broker": self._brokers[name]}
        if event.action == "crash":
            if self._holder == name:
                self._dying.add(name)  # its session goes on
            elif name not in self._down:
                yield from self._crash_broker(name)
            return
        if name in self._down:
            self._down.discard(name)
            yield Step("restart_broker", broker)
        match event.action:
            case "elect":
                self._holder = name
                self._waiting.add(name)
                yield Step("elect", broker, {"zookeeper": {"epoch": note["epoch"]}})
            case "wait_out_sessions" if name in self._waiting:  # the first one has waited where models start
                self._waiting.discard(name)
                yield Step("wait_out_sessions", broker)
            case "handle_new_session" if name in self._expired:
                self._expired.discard(name)
                self._end_connections(name)
                yield Step("handle_new_session", broker)
            case "step_down":
                self._end_connections(name)
                yield Step("step_down", broker)
            case "register" if note["accepted"] or note.get("code") == IN_USE:
                yield from self._register(event, name)
            case "find_dead":
                is_served = self._served.get(note["consumer"]) == name
                self._served[note["consumer"]] = None
                parameters = {**broker, "consumer": self._consumers[note["consumer"]]}
                yield Step("declare_dead" if is_served else "find_dead", parameters)
            case "begin" if not note["skipped"]:
                if note["cause"] in NOT_MODELLED:
                    yield Step("ask", {**broker, **_GROUP})
                elif note["cause"] == "given up before":
                    yield Step("resume", {**broker, **_GROUP})
                state = {"brokers": {broker["broker"]: {"handlers": {"handler0": {"phase": "STOPPING"}}}}}
                yield Step("begin", {**broker, **_HANDLER, **_GROUP}, state)
            case action if action in _STEPS_OF_BROKERS:
                yield Step(action, {**broker, **_HANDLER})

    def _register(self, event: Event, name: str) -> Iterator[Step]:
        consumer = event.note["consumer"]
        parameters = {"broker": self._brokers[name], "consumer": self._consumers[consumer]}
        if event.is_answered:
            self._states[consumer] = "REGISTERING"
            self._served[consumer] = name if event.note["accepted"] else None
            yield Step("connect", {"consumer": self._consumers[consumer], "asked": self._brokers[name]})
            yield Step("register", parameters)
        elif event.note["accepted"]:
            yield Step("register_late", parameters)

    # Consumers.

    def _of_consumer(self, event: Event, life: Life) -> Iterator[Step]:
        name = life.name
        consumer = {"consumer": self._consumers[name]}
        if self._lives.setdefault(name, life) is not life:
            self._lives[name] = life
            if self._states[name] == "LEFT":
                yield Step("crash", consumer)
            self._states[name] = "STARTING"
            yield Step("restart", consumer)
        state = self._states[name]
        match event.action:
            case "take_answer":
                self._states[name] = "JOINED" if event.note["joined"] else "STARTING"
                yield Step("take_answer", consumer, self._is(name))
            case "suspect" if state == "JOINED":
                self._states[name], self._served[name] = "STARTING", None
                yield Step(None, {}, self._is(name))
            case "crash" if state not in ("LEFT", "DOWN"):
                self._states[name], self._served[name] = "DOWN", None
                yield Step("crash", consumer)
            case "leave" if state not in ("LEFT", "DOWN"):
                self._states[name], self._served[name] = "LEFT", None
                yield Step("leave", consumer)
            case "take_start":
                share = [{"partition": f"partition{_number(of)}", "offset": 0} for _, of in event.note["partitions"]]
                yield Step("take_start", consumer, {"consumers": {consumer["consumer"]: {"fetched": share}}})
            case action if action in _STEPS_OF_CONSUMERS:
                self._states[name] = "SHUTTING_DOWN" if action == "terminate" else state
                yield Step(action, consumer, self._is(name))

    def _is(self, name: str) -> dict[str, Any]:
        return {"consumers": {self._consumers[name]: {"state": self._states[name]}}}


def _number(partition: str) -> int:
    return int(partition.partition("-")[2])


def _registration(before: Sequence[Event], answer: Event) -> int | None:
    """Where the registration is whose answer a consumer took: the last one of its by that coordinator; None: none."""
    assert answer.life is not None
    for at in range(len(before) - 1, -1, -1):
        one = before[at]
        if one.action == "register" and one.note["consumer"] == answer.life.name:
            is_same = one.note["epoch"] == answer.note["epoch"]
            if is_same and (one.note["accepted"] or not answer.note["joined"]):
                return at if one.note["accepted"] or one.note["code"] == IN_USE else None
    return None
