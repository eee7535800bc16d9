"""A run of controllers and brokers, by their raw traces: what was asked for, what was decided on it, and who heard.

What was decided and never committed is left out, and with it whatever its controller did after it. So are requests that
decided nothing where no active controller answered them.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from impl.kraft.errors import ErrorCode
from impl.kraft.metadata.encoding import MetadataRecord, decode
from impl.kraft.recorded.events import Event, RawTraceError, is_of_broker
from impl.kraft.recorded.records import numbered
from impl.kraft.storage.batches import decode_all

ProcessKey = tuple[int, int]
"""The id of a node, and when its process started."""
CallKey = tuple[int, int, int]
"""Of the process of a controller, and the number of the call there."""
BatchKey = tuple[int, int]
"""Epoch and end: no two batches of a log have the same."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as a controller took it. process: of its sender, by its number; None where no broker has sent it.

    isr: that a leader asks for, with the epoch of each broker. error: None where its controller died before it
    answered. is_heard: its sender took the answer.
    """

    api: str
    fields: Mapping[str, Any]
    broker: int | None
    process: int | None
    error: ErrorCode | None
    response: Mapping[str, Any]
    is_heard: bool
    isr: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """process: how many of all brokers have started before."""

    broker: int
    process: int


@dataclass(frozen=True, slots=True)
class Stopping:
    """It has learnt that it shall stop."""

    broker: int


@dataclass(frozen=True, slots=True)
class Elected:
    """Another controller leads, or the same one anew."""

    node: int


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided in a step, be it nothing. lapsed: the broker whose lease has expired, if that is why."""

    records: tuple[MetadataRecord, ...]
    asked: tuple[Asked, ...]
    lapsed: int | None = None
    last_offset: int = -1


@dataclass(frozen=True, slots=True)
class Looked:
    """The state that a broker is in from now on."""

    broker: int
    process: int
    state: str


Step = Started | Stopping | Elected | Decided | Looked


@dataclass(slots=True)
class _Exchange:
    """A request of a broker. is_heard: by now it has taken the answer. taken: the last call of it that was handled."""

    process: int
    api: str
    fields: Mapping[str, Any]
    is_heard: bool = False
    taken: CallKey | None = None


@dataclass
class Run:
    """events: of all nodes, merged. brokers: their ids, in order, which count from 0 in steps."""

    events: Sequence[Event]
    brokers: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Raises RawTraceError where a node is missing, or the run began before these traces."""
        self.brokers = sorted({int(event["node"]) for event in self.events if event["event"] == "logs_found"})
        self._numbers = {broker: number for number, broker in enumerate(self.brokers)}
        self._processes = _processes(self.events)
        self._committed = _committed(self.events)
        self._answers = {call: response for event in self.events for call, response in _answers(event)}
        self._handled = {_call(one): one for event in self.events for one in _requests(event)}
        self._senders = self._matched()

    def steps(self) -> Iterator[Step]:
        """In their order. Raises RawTraceError."""
        in_batches = {
            (event["node"], event["process"], call)
            for event in self.events if event["event"] == "appended" for call in event.get("calls", ())
        }  # fmt: skip
        epochs: dict[ProcessKey, int] = {}
        lapsed: dict[ProcessKey, int] = {}
        lost: set[tuple[ProcessKey, int]] = set()
        newest = -1
        for event in self.events:
            key = event["node"], event["process"]
            match event["event"]:
                case "logs_found" | "sigterm" | "broker_state":
                    yield self._of_broker(event, key)
                case "lease_expired":
                    lapsed[key] = self._numbers[event["broker"]]
                case "appended" if "calls" in event:
                    epoch = event["batches"][-1][1]
                    is_first, epochs[key] = epochs.get(key) != epoch, epoch
                    lapsed_now = lapsed.pop(key, None)
                    committed = self._committed_of(event)
                    if committed and is_first:
                        newest = epoch
                        yield Elected(event["node"])
                    elif committed:
                        yield self._decided(event, committed, lapsed_now)
                    if committed < len(event["batches"]):
                        lost.add((key, epoch))
                case "request_handled" if epochs.get(key) == newest and (key, newest) not in lost:
                    for one in _requests(event):
                        asked = self._asked(one)
                        if _call(one) not in in_batches and asked.error not in (None, ErrorCode.NOT_CONTROLLER):
                            yield Decided((), (asked,))

    def _of_broker(self, event: Event, key: ProcessKey) -> Step:
        broker, process = self._numbers[event["node"]], self._processes[key]
        match event["event"]:
            case "logs_found":
                return Started(broker, process)
            case "sigterm":
                return Stopping(broker)
        return Looked(broker, process, event["state"])

    def _decided(self, event: Event, batches: int, lapsed: int | None) -> Decided:
        """By the first so many batches."""
        try:
            records = tuple(numbered(decode(value), self._numbers) for value in _values(event, batches))
        except KeyError as missing:
            raise RawTraceError(f"{event['line']}: broker {missing} has no raw trace among these") from None
        calls = [(event["node"], event["process"], call) for call in event["calls"]]
        last_offset = event["batches"][batches - 1][0] - 1
        return Decided(records, tuple(self._asked(self._handled[call]) for call in calls), lapsed, last_offset)

    def _asked(self, event: Event) -> Asked:
        answer, sender = self._answers.get(_call(event)), self._senders.get(_call(event))
        asked = event["request"]
        return Asked(
            event["api"], asked, self._numbers.get(asked.get("broker_id")), None if sender is None else sender.process,
            None if answer is None else ErrorCode(answer["error"]), answer or {},
            sender is not None and sender.is_heard and sender.taken == _call(event),
            {self._numbers.get(one["broker_id"], -1): one["broker_epoch"] for one in asked.get("new_isr", ())},
        )  # fmt: skip

    def _committed_of(self, event: Event) -> int:
        """How many of its batches are: of what is appended at once, a first part."""
        return sum((epoch, end_offset) in self._committed for end_offset, epoch, _ in event["batches"])

    def _matched(self) -> dict[CallKey, _Exchange]:
        """By call, what its sender knows of it: of equal requests of a broker, the last that was sent before.

        An answer that its sender took is that to the last of these that was handled before.
        """
        exchanges: dict[int, list[_Exchange]] = {broker: [] for broker in self.brokers}
        by_number: dict[tuple[ProcessKey, int], _Exchange] = {}
        found: dict[CallKey, _Exchange] = {}
        for event in self.events:
            key = event["node"], event["process"]
            match event["event"]:
                case "request_sent":
                    sent = _Exchange(self._processes[key], event["api"], event["request"])
                    exchanges[event["node"]].append(sent)
                    by_number[key, event["request_number"]] = sent
                case "response_received":
                    by_number[key, event["request_number"]].is_heard = True
                case "request_handled":
                    for taken in _requests(event):
                        own = exchanges.get(taken["request"].get("broker_id", -1), [])
                        said = taken["api"], taken["request"]
                        same = (one for one in reversed(own) if (one.api, one.fields) == said)
                        sender = next((one for one in same if not one.is_heard), None)
                        if sender is not None:
                            found[_call(taken)] = sender
                            sender.taken = _call(taken)
        return found


def _requests(event: Event) -> Iterator[Event]:
    """Of an event that says which requests were handled, each by itself; of another one nothing."""
    if event["event"] == "request_handled":
        for call, request in zip(event["calls"], event["requests"], strict=True):
            yield event | {"call": call, "request": request}


def _answers(event: Event) -> Iterator[tuple[CallKey, Mapping[str, Any]]]:
    """The calls that an event says to be answered, each with its response."""
    if event["event"] in ("request_handled", "request_answered"):
        for call, response in zip(event["calls"], event["responses"], strict=False):  # there may be none yet
            yield (event["node"], event["process"], call), response


def _values(event: Event, batches: int) -> list[bytes]:
    """The records that were decided, encoded, of the first so many batches."""
    if "data" not in event:
        return [b64decode(value) for batch in event["records"][:batches] for value in batch]
    appended = decode_all(b64decode(event["data"]))[:batches]
    return [record.value or b"" for batch in appended if not batch.is_control for record in batch.records]


def _call(event: Event) -> CallKey:
    return event["node"], event["process"], event["call"]


def _processes(events: Sequence[Event]) -> dict[ProcessKey, int]:
    """The brokers' processes, numbered in the order in which they start."""
    starts = [(event["node"], event["process"]) for event in events if event["event"] == "logs_found"]
    return {key: number for number, key in enumerate(dict.fromkeys(starts))}


def _between(log: Sequence[BatchKey], since: int, until: int) -> Iterator[BatchKey]:
    """The batches that end behind an offset, and not behind another one."""
    for batch in reversed(log):
        if batch[1] <= since:
            return
        if batch[1] <= until:
            yield batch


def _committed(events: Sequence[Event]) -> set[BatchKey]:
    """Each batch that is committed. Raises RawTraceError where its leader has no trace here."""
    logs: dict[int, list[BatchKey]] = {}
    found: set[BatchKey] = set()
    led: set[BatchKey] = set()
    end_offset = 0
    for event in events:
        if is_of_broker(event):
            continue
        log = logs.setdefault(event["node"], [])
        match event["event"]:
            case "started":
                log[:] = [(epoch, end) for end, epoch, _ in event["batches"]]
            case "appended":
                batches = [(epoch, end) for end, epoch, _ in event["batches"]]
                log += batches
                led.update(batches if "calls" in event else ())
            case "truncated":
                log[:] = [one for one in log if one[1] <= event["end_offset"]]
            case "installed":
                log.clear()
            case "committed" if event["end_offset"] > end_offset:
                found.update(_between(log, end_offset, event["end_offset"]))
                end_offset = event["end_offset"]
    if found - led:
        epoch, end = min(found - led, key=lambda one: one[1])
        raise RawTraceError(
            f"who appended the batch of epoch {epoch} that ends at {end} has no raw trace among these: "
            "they must be those of all controllers, from the cluster's first start on"
        )
    return found
