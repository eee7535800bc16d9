"""Runs of several processes: their traces merged into one, whose events are ordered as far as causes order them.

Each process records a trace of its own. Its header names the process, and its events have stamps:

    {"format": "fencepost-events", "version": 1, "model": "pinning/pin", "process": "broker0"}
    {"action": "ask", "parameters": {...}, "sends": ["broker0-1"], "time_ms": 1700000000000}
    {"action": "hear", "receives": ["broker1-4"], "at": {"zxid": 17}, "time_ms": 1700000000007}

An event comes after the events of its process before it, after the sending of what it receives, and after each event
with a smaller value of a counter that both have in `at` (ZooKeeper's zxid, an epoch: whatever orders what several
processes do). An initial state comes before everything. Nothing else is known of the order: `time_ms` only decides in
which of the possible orders the merged file has the events. Lamport, "Time, Clocks, and the Ordering of Events in a
Distributed System".

The header of a merged trace has `processes`, and `killed`: those whose traces have no end. What they sent last may be
missing, and others may have received it. Each of its events has `process`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from traces.events import FORMAT, INIT, VERSION
from traces.trace import TraceError


class Stamp(NamedTuple):
    """The facts about an event that order it among those of other processes. at: (counter, value)."""

    process: str
    sends: tuple[str, ...] = ()
    receives: tuple[str, ...] = ()
    at: tuple[tuple[str, int], ...] = ()
    is_initial: bool = False


def stamp_of(line: Mapping[str, Any], process: str) -> Stamp:
    """The stamp of an event that was read from JSON. Raises TraceError where it is none."""
    at = line.get("at") or {}
    if not isinstance(at, dict) or not all(isinstance(v, int) and not isinstance(v, bool) for v in at.values()):
        raise TraceError('"at" is an object of counters and whole numbers, such as {"zxid": 17}')
    return Stamp(
        process, _labels(line, "sends"), _labels(line, "receives"), tuple(at.items()), line.get("action") == INIT
    )


def _labels(line: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = line.get(name) or []
    if not isinstance(found, list | tuple) or not all(isinstance(label, str) for label in found):
        raise TraceError(f'"{name}" is a list of texts, the labels of messages')
    return tuple(found)


def predecessors(stamps: Sequence[Stamp], killed: Iterable[str] = ()) -> list[tuple[int, ...]]:
    """For each event the events that it comes after, by position; those that follow from others may be left out.

    killed: processes whose last events may be missing. Raises TraceError where a message is received that nobody
    sent, or is sent twice, and where causes form a circle.
    """
    found: list[set[int]] = [set() for _ in stamps]
    _add_initial(stamps, found)
    _add_processes(stamps, found)
    _add_messages(stamps, found, may_be_missing=bool(list(killed)))
    _add_counters(stamps, found)
    result = [tuple(sorted(before)) for before in found]
    if len(linear(result)) < len(stamps):
        raise TraceError(f"causes form a circle: {_circle(stamps, result)}")
    return result


def linear(after: Sequence[Sequence[int]], rank: Sequence[Any] | None = None) -> list[int]:
    """The events in an order that `after` allows, by rank where there is a choice; without those in circles."""
    key = list(range(len(after))) if rank is None else list(rank)
    waits = [len(before) for before in after]
    successors: list[list[int]] = [[] for _ in after]
    for event, before in enumerate(after):
        for earlier in before:
            successors[earlier].append(event)
    ready = [(key[event], event) for event, count in enumerate(waits) if not count]
    heapify(ready)
    order = []
    while ready:
        _, event = heappop(ready)
        order.append(event)
        for later in successors[event]:
            waits[later] -= 1
            if not waits[later]:
                heappush(ready, (key[later], later))
    return order


def _add_initial(stamps: Sequence[Stamp], found: list[set[int]]) -> None:
    initial = [event for event, stamp in enumerate(stamps) if stamp.is_initial]
    if len(initial) > 1:
        raise TraceError(f"the initial state is recorded {len(initial)} times in one run")
    for event in range(len(stamps)):
        found[event].update(set(initial) - {event})


def _add_processes(stamps: Sequence[Stamp], found: list[set[int]]) -> None:
    last: dict[str, int] = {}
    for event, stamp in enumerate(stamps):
        if stamp.is_initial:
            continue
        if stamp.process in last:
            found[event].add(last[stamp.process])
        last[stamp.process] = event


def _add_messages(stamps: Sequence[Stamp], found: list[set[int]], *, may_be_missing: bool) -> None:
    sent: dict[str, int] = {}
    for event, stamp in enumerate(stamps):
        for label in stamp.sends:
            if label in sent:
                raise TraceError(f"{label} is sent twice, by {stamps[sent[label]].process} and by {stamp.process}",
                                 hint="The label of a message is unique in a run")  # fmt: skip
            sent[label] = event
    for event, stamp in enumerate(stamps):
        for label in stamp.receives:
            if label in sent:
                found[event].add(sent[label])
            elif not may_be_missing:
                raise TraceError(f"{stamp.process} receives {label}, which nobody sends",
                                 hint="Are the traces of all processes of the run there?")  # fmt: skip


def _add_counters(stamps: Sequence[Stamp], found: list[set[int]]) -> None:
    """Each event comes after those with the next smaller value of a counter, and so after all smaller ones."""
    values: dict[str, dict[int, list[int]]] = {}
    for event, stamp in enumerate(stamps):
        for counter, value in stamp.at:
            values.setdefault(counter, {}).setdefault(value, []).append(event)
    for by_value in values.values():
        below: list[int] = []
        for value in sorted(by_value):
            for event in by_value[value]:
                found[event].update(below)
            below = by_value[value]


def _circle(stamps: Sequence[Stamp], after: Sequence[Sequence[int]]) -> str:
    """Some events of a circle, by process and place in it."""
    left = set(range(len(stamps))) - set(linear(after))
    event = min(left)
    seen: list[int] = []
    while event not in seen:
        seen.append(event)
        event = min(set(after[event]) & left)
    round_ = seen[seen.index(event) :]
    return ", after ".join(_named(stamps, each) for each in [*round_, event])


def _named(stamps: Sequence[Stamp], event: int) -> str:
    mine = stamps[event].process
    return f"event {sum(stamp.process == mine for stamp in stamps[: event + 1])} of {mine}"


@dataclass
class _Recording:
    """The trace of one process, as it was read. time_ms: per event, the last known before it where it has none."""

    name: str
    header: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    has_end: bool = False

    @property
    def process(self) -> str:
        return str(self.header["process"])


def merge(files: Iterable[tuple[str, str]]) -> str:
    """The trace of a run, as NDJSON, from those of its processes, given as (name of the file, its text).

    The last line of a process that was killed may be half written: it is left out. Raises TraceError, which names the
    file, where one is no trace of a process, where two disagree on what they are traces of, and as `predecessors` does.
    """
    recordings = [_read(name, text) for name, text in files]
    if not recordings:
        raise TraceError("there are no traces to merge")
    header = _merged_header(recordings)
    events = [(recording, event) for recording in recordings for event in recording.events]
    stamps = [stamp_of(event, recording.process) for recording, event in events]
    times = [time_ms for recording in recordings for time_ms in recording.times_ms]
    order = linear(predecessors(stamps, header.get("killed", ())), times)
    lines = [header]
    for position in order:
        recording, event = events[position]
        lines.append({**event, "process": recording.process})
    lines.append({"end": len(order)})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def _merged_header(recordings: Sequence[_Recording]) -> dict[str, Any]:
    shared: dict[str, Any] = {}
    for recording in recordings:
        about = {k: v for k, v in recording.header.items() if k not in ("process", "events", "name")}
        if shared and about != shared:
            name = next(k for k in {**about, **shared} if about.get(k) != shared.get(k))
            raise TraceError(
                f'"{name}" is {_shown(about.get(name))}, and {_shown(shared.get(name))} in {recordings[0].name}',
                where=recording.name, hint="Traces of one run are recorded of one model",
            )  # fmt: skip
        shared = about
    names = [recording.process for recording in recordings]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TraceError(f"two traces are of the process {twice}",
                         hint="A process that was started again has a name of its own, such as broker0.2")  # fmt: skip
    killed = [recording.process for recording in recordings if not recording.has_end]
    return {**shared, "processes": names, **({"killed": killed} if killed else {})}


def _read(name: str, text: str) -> _Recording:
    try:
        return _recording(name, text)
    except TraceError as error:
        raise error.within(name) from None


def _recording(name: str, text: str) -> _Recording:
    lines = _objects(text)
    _, header = next(lines, (0, {}))
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise TraceError(f'it does not begin with a header of "format": "{FORMAT}", "version": {VERSION}')
    if not isinstance(header.get("process"), str) or not header["process"]:
        raise TraceError('its header names no process: "process": "broker0"', hint="Only such traces are merged")
    found = _Recording(name, header)
    time_ms = 0
    for number, line in lines:
        if "end" in line or found.has_end:
            _check_end(found, line, number)
            continue
        if "format" in line:
            raise TraceError("a second trace begins", where=f"line {number}", hint="One trace of a process a file")
        try:
            stamp_of(line, found.process)
        except TraceError as error:
            raise error.within(f"line {number}") from None
        given = line.get("time_ms")
        time_ms = max(time_ms, given) if isinstance(given, int) else time_ms
        found.events.append(line)
        found.times_ms.append(time_ms)
    return found


def _check_end(found: _Recording, line: Mapping[str, Any], number: int) -> None:
    if found.has_end:
        raise TraceError("it goes on after its end", where=f"line {number}")
    if line["end"] != len(found.events):
        raise TraceError(f"{_shown(line['end'])} events are announced, and there are {len(found.events)}",
                         where=f"line {number}", hint="Lines are missing")  # fmt: skip
    found.has_end = True


def _objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a file with their numbers, but for a last one that is half written."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines):  # no line end follows: the process was killed while it wrote
                return
            raise TraceError("this is not JSON", where=f"line {number}") from None
        if not isinstance(value, dict):
            raise TraceError("this is not a JSON object", where=f"line {number}")
        yield number, value


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
