"""Recorded traces in files: found, unpacked, read line by line, each trace for itself.

Whatever is wrong with a line makes its trace unreadable, and no other: a header line starts the next one.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from checker.lang.errors import SpecError
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel, suggest
from checker.lang.types import RecordType
from checker.validate.decoding import DecodingError, StateDecoder
from checker.validate.events import EventKinds
from traces import events, ndjson
from traces.document import VERSION as TRACE_VERSION
from traces.merging import Stamp, predecessors
from traces.trace import TraceError
from traces.values import shortened

ENDINGS = (".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz")
INIT, ANYWHERE = "init", "anywhere"
_SHORT = 256  # bytes: shorter lines are remembered as a whole
_KEPT = 1 << 16
MOST_UNPACKED = 256 << 20  # bytes that a packed file may hold: the few that would fill memory are not read
MOST_SHOWN = 2000  # characters of a problem
_VERSIONS = {events.FORMAT: events.VERSION, ndjson.FORMAT: TRACE_VERSION}
_HEADER_KEYS = ("format", "version", "model", "constants", "name", "starts", "silent", "events", "processes", "killed")


_ANY = msgspec.json.Decoder()
_KINDS: dict[type, str] = {dict: "an object", int: "a number", str: "a text", list: "a list"}
Event = tuple[int, tuple[int, ...]]


@dataclass
class Recorded:
    """One trace. events: per event its kind and the numbers of its fields' values; lines: per event its line number.

    problem: why it cannot be read, "" where it can; silent: steps, and names of actions (None: all), that may go
    unobserved before each event; source: the lines as they are. Of a run of several processes, processes: their names;
    killed: those whose last events may be missing; stamps: per event; after: per event those that it comes after.
    """

    name: str
    starts: str = INIT
    silent: tuple[int, frozenset[str] | None] = (0, None)
    events: list[Event] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    problem: str = ""
    announced: int | None = None
    source: list[bytes] = field(default_factory=list)
    processes: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    stamps: list[Stamp] = field(default_factory=list)
    after: list[tuple[int, ...]] = field(default_factory=list)


def files_below(paths: Sequence[Path]) -> list[Path]:
    """The trace files that are named, or lie below the folders that are, in order of their names.

    Raises SpecError for a path that does not exist and for a folder without any.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = sorted(p for p in path.rglob("*") if p.name.endswith(ENDINGS) and p.is_file())
            if not below:
                raise SpecError(f"{path} holds no traces", hint=f"they end in {', '.join(ENDINGS)}")
            found += below
        elif path.exists():
            found.append(path)
        else:
            raise SpecError(f"there is no file {path}", hint="name files, or folders of them")
    return found


def unpacked(content: bytes, most: int = MOST_UNPACKED) -> tuple[bytes, str]:
    """(the text, what is wrong with the packing): of a packed file that was cut, what can be had.

    Of a file that unpacks to more than `most` bytes nothing is read.
    """
    if not content.startswith(b"\x1f\x8b"):
        return content, ""
    parts, rest, room = [], content, most
    try:
        while rest:
            member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            parts.append(member.decompress(rest, room + 1))
            room -= len(parts[-1])
            if room < 0:
                return b"", f"it unpacks to more than {most >> 20:,} MiB: unpack it, or split it"
            if not member.eof:
                return b"".join(parts), "the packed file was cut"
            rest = member.unused_data
    except zlib.error as error:
        return b"".join(parts), f"the packed file is damaged: {error}"
    return b"".join(parts), ""


class Reader:
    """Reads the traces of one model. `kinds` and `states` give what the events' numbers mean."""

    def __init__(self, model: BoundModel, silent: int = 0) -> None:
        self._model = model
        self._decode = _line_decoder(model.state_type)
        self._silent = silent
        self._constants = {name: to_itf(value) for name, value in model.constants.items()}
        self._actions = [action.name for action in model.model.actions]
        self.kinds = EventKinds(model)
        self.states = StateDecoder(model.state_type)
        self._known: dict[bytes, tuple[Event, Stamp | None]] = {}

    def forget(self) -> None:
        """Make room. The numbers given out so far are void."""
        self._known.clear()
        self.kinds.forget()
        self.states.forget()

    def traces(self, name: str, content: bytes | OSError) -> Iterator[Recorded]:
        """The traces of a file, or why there are none. name: what they are called, with a number from the second on."""
        if isinstance(content, OSError):
            yield Recorded(name, problem=f"the file cannot be read: {content.strerror}")
            return
        text, damage = unpacked(content)
        lines = text.split(b"\n")
        unfinished = lines[-1] != b""
        lines = lines if unfinished else lines[:-1]
        trace: Recorded | None = None
        first = count = 0
        for number, line in enumerate(lines, 1):
            if trace is not None and self._add(trace, line, number):
                continue
            header = _header(line, trace is None)
            if header is None:
                continue
            if trace is not None:
                yield self._closed(trace, lines[first : number - 1])
            count += 1
            first = number - 1
            trace = self._opened(header, name if count == 1 else f"{name}#{count}", number)
        trace = trace or Recorded(name, problem=damage or "the file is empty")
        if unfinished and trace.problem.startswith(f"line {len(lines)}:"):
            trace.problem += " (the file ends in the middle of the line)"
        trace.problem = trace.problem or damage
        yield self._closed(trace, lines[first:])

    def _opened(self, header: dict[str, Any], name: str, number: int) -> Recorded:
        trace = Recorded(name)
        try:
            self._read_header(trace, header)
        except DecodingError as error:
            trace.problem = f"line {number}: {error}"
        return trace

    def _read_header(self, trace: Recorded, header: dict[str, Any]) -> None:
        form = header.get("format")
        if not isinstance(form, str) or form not in _VERSIONS:
            raise DecodingError(f'this is not a header: it does not say "format": "{events.FORMAT}"')
        if header.get("version") != _VERSIONS[form]:
            version = _shown(header.get("version"))
            raise DecodingError(f"version {version} of {form}, and only {_VERSIONS[form]} is read here")
        for constant, value in _entry(header, "constants", dict, {}).items():
            if constant not in self._constants:
                raise DecodingError(f"{self._model.name} has no constant {constant} "
                                   f"({suggest(constant, self._constants, 'constants')})")  # fmt: skip
            if value != self._constants[constant]:
                here = _shown(self._constants[constant])
                raise DecodingError(f"recorded with {constant}={_shown(value)}, and the model has {here}")
        if form == ndjson.FORMAT:
            trace.announced, trace.silent = _entry(header, "steps", int, None), (self._silent, None)
            return
        if "process" in header:
            process = _shown(header["process"])
            raise DecodingError(
                f"this is the trace of one process of a run, {process}: fencepost trace merge them first"
            )
        unknown = [key for key in header if key not in _HEADER_KEYS]
        if unknown:
            raise DecodingError(f"a header has no {unknown[0]} ({suggest(unknown[0], _HEADER_KEYS, 'entries')})")
        trace.announced = _entry(header, "events", int, None)
        trace.name = shortened(_entry(header, "name", str, trace.name) or trace.name, MOST_SHOWN)
        trace.starts = header.get("starts", INIT)
        if trace.starts not in (INIT, ANYWHERE):
            raise DecodingError(f'a trace starts in "{INIT}" or "{ANYWHERE}", not in {_shown(trace.starts)}')
        trace.silent = self._read_silent(header.get("silent"))
        trace.processes, trace.killed = _names(header, "processes"), _names(header, "killed")
        if trace.processes and trace.starts != INIT:
            raise DecodingError(f'a run of several processes starts in "{INIT}"')

    def _read_silent(self, given: Any) -> tuple[int, frozenset[str] | None]:
        if given is None:
            return self._silent, None
        steps = given.get("steps") if isinstance(given, dict) else None
        if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0 or set(given) - {"steps", "actions"}:
            raise DecodingError('silent steps are declared as {"steps": 2, "actions": ["name", ...]}')
        names = _entry(given, "actions", list, None)
        for name in names or []:
            if name not in self._actions:
                near = suggest(str(name), self._actions, "actions")
                raise DecodingError(f"{self._model.name} has no action {name} ({near})")
        return steps, None if names is None else frozenset(names)

    def _add(self, trace: Recorded, line: bytes, number: int) -> bool:
        """Take in one line of a trace; whether it may be one (else it may be the header of the next)."""
        short = len(line) < _SHORT
        known = self._known.get(line) if short else None
        if known is None:
            try:
                known = self._event(trace, line)
            except (DecodingError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                if b'"format"' in line:
                    return False
                trace.problem = trace.problem or f"line {number}: {error}"
                return True
            if known is None:
                return True
            if short:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[line] = known
        event, stamp = known
        if event[0] == self.kinds.start and trace.events:
            trace.problem = trace.problem or f"line {number}: the initial state is recorded after other events"
        misplaced = _misplaced(trace, stamp)
        if misplaced:
            trace.problem = trace.problem or f"line {number}: {misplaced}"
        if not trace.problem:
            trace.events.append(event)
            trace.lines.append(number)
            trace.stamps += [stamp] if stamp is not None else []
        return True

    def _event(self, trace: Recorded, line: bytes) -> tuple[Event, Stamp | None] | None:
        """The event of a line, and its stamp; None for the line that ends a trace, and for an empty one."""
        if not line or line.isspace():
            return None
        found = self._decode(line)
        if found.end is not None:
            trace.announced = found.end
            return None
        state = found.state
        if found.seen is not None:
            if found.action is not None or state is not None:
                raise DecodingError("a state is seen with no step, and this line has both")
            state, kind = found.seen, self.kinds.look
        elif found.action == events.INIT:
            kind = self.kinds.start
        else:
            parameters = bytes(found.parameters)
            kind = self.kinds.number(found.action, b"" if parameters in (b"{}", b"null") else parameters)
        numbers = self.states.nothing if state is None else self.states.read(msgspec.structs.astuple(state))
        return (kind, numbers), _stamp(found, is_initial=kind == self.kinds.start)

    def _closed(self, trace: Recorded, source: list[bytes]) -> Recorded:
        """The trace once its last line was read: is it as long as it says, can it start where it does?"""
        trace.source = source
        trace.problem = shortened(trace.problem, MOST_SHOWN)
        counted = len(trace.events)
        if not trace.problem and trace.announced is not None and trace.announced != counted:
            trace.problem = f"{trace.announced} events are announced, and there are {counted}: the file was cut"
        if not trace.problem and trace.processes:
            try:
                trace.after = predecessors(trace.stamps, trace.killed)
            except TraceError as error:
                trace.problem = str(error)
        if not trace.problem and trace.starts == ANYWHERE and counted:
            if not self.states.whole(np.array([trace.events[0][1]]))[0]:
                trace.problem = f"line {trace.lines[0]}: what starts {ANYWHERE} begins with a state given in full"
        return trace


def _line_decoder(type_: RecordType) -> Callable[[bytes], Any]:
    """Decodes a line that is not a header, with the parts of its state as raw JSON.

    The last row is what a trace of Fencepost's own has besides, and is not looked at.
    """
    raw, none = msgspec.Raw, msgspec.Raw(b"")
    state = msgspec.defstruct("State", [(name, raw, none) for name in type_.fields], forbid_unknown_fields=True)
    fields: list[tuple[str, Any, Any]] = [
        ("action", str | None, None), ("parameters", raw, none), ("state", state | None, None),
        ("seen", state | None, None), ("end", int | None, None), ("note", raw, none),
        ("process", str | None, None), ("sends", tuple[str, ...], ()), ("receives", tuple[str, ...], ()),
        ("at", dict[str, int], {}), ("time_ms", int, 0),
        ("index", raw, none), ("actor", raw, none), ("notes", raw, none), ("source", raw, none),
    ]  # fmt: skip
    return msgspec.json.Decoder(msgspec.defstruct("Line", fields, forbid_unknown_fields=True)).decode


def _entry(header: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    """An entry of a header that is a `kind`; `default` where it is missing or null. Raises DecodingError."""
    found = header.get(name)
    if found is None:
        return default
    if type(found) is not kind:
        raise DecodingError(f'"{name}" is {_KINDS[kind]}, not {_shown(found)}')
    return found


def _names(header: dict[str, Any], name: str) -> tuple[str, ...]:
    found = _entry(header, name, list, [])
    if not all(isinstance(each, str) for each in found):
        raise DecodingError(f'"{name}" is a list of names of processes, not {_shown(found)}')
    return tuple(found)


def _stamp(line: Any, *, is_initial: bool) -> Stamp | None:
    """The stamp of a decoded line; None where it has none. Raises DecodingError for one that is of no process."""
    if line.process is not None:
        return Stamp(line.process, line.sends, line.receives, tuple(line.at.items()), is_initial)
    if line.sends or line.receives or line.at:
        raise DecodingError("it sends, receives or is ordered by a counter, and names no process")
    return None


def _misplaced(trace: Recorded, stamp: Stamp | None) -> str:
    """The reason why an event with this stamp, or without one, is none of this trace; "" where it is one."""
    if stamp is None:
        return "this is a run of several processes, and the event names none" if trace.processes else ""
    if not trace.processes:
        return f"the event is of process {_shown(stamp.process)}, and the header names no processes"
    named = stamp.process in trace.processes
    return "" if named else f"the header does not name the process {_shown(stamp.process)}"


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, default=str), 80)


def _header(line: bytes, first: bool) -> dict[str, Any] | None:
    """The header that a line holds, None if it is another line; {} for a broken one. first: there is no trace yet."""
    try:
        found = _ANY.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {} if first or line.startswith(b'{"format"') else None
    return found if isinstance(found, dict) and "format" in found else ({} if first else None)


def in_batches(traces: Iterable[Recorded], events_at_once: int) -> Iterator[list[Recorded]]:
    """Whole traces, about so many events together."""
    batch: list[Recorded] = []
    size = 0
    for trace in traces:
        batch.append(trace)
        size += len(trace.events) + 1
        if size >= events_at_once:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
