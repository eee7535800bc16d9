"""Traces of random walks, as an implementation would record them: its ordinals are numbers of its own."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.lang.loader import BoundModel
from checker.lang.types import Type
from checker.reference.step import Reference
from traces import events

Numbers = dict[str, dict[int, int]]
"""sort -> an ordinal's value in plain Python -> the number that the implementation has for it"""


@dataclass(frozen=True)
class Event:
    """An event as JSON, None for what was not recorded. look: it is not a step."""

    action: str | None
    parameters: dict[str, Any] | None
    state: dict[str, Any] | None
    look: bool = False

    def line(self) -> str:
        if self.look:
            return events.seen_line(self.state or {})
        return events.event_line(self.action, self.parameters, self.state)


def text(trace: list[Event], **header: Any) -> bytes:
    """The trace as a file."""
    lines = [events.header_line(**header), *[event.line() for event in trace], events.end_line(len(trace))]
    return "".join(lines).encode()


class Walks:
    """Random walks of one model, in plain Python."""

    def __init__(self, model: BoundModel, seed: int) -> None:
        self.reference = Reference(model)
        self.type = model.state_type
        self.chance = random.Random(seed)
        self._initial = model.initial_states()

    def walk(self, steps: int) -> list[Event]:
        """A behaviour, with everything recorded: the initial state and up to so many steps."""
        state = self.chance.choice(self._initial)
        numbers: Numbers = {}
        self._renumber(numbers, state)
        trace = [Event(events.INIT, None, self._itf(self.type, state, numbers))]
        for _ in range(steps):
            choices = list(self.reference.successors(state))
            if not choices:
                break
            instance, after = self.chance.choice(choices)
            number, _ = self.reference.instances[instance]
            arguments = self.reference.arguments(state, instance)
            assert arguments is not None
            parameters = {
                p.name: self._itf(p.type, value, numbers)
                for p, value in zip(self.reference.parameters[number], arguments, strict=True)
            }
            self._renumber(numbers, after)
            trace.append(Event(self.reference.actions[number].name, parameters, self._itf(self.type, after, numbers)))
            state = after
        return trace

    def _renumber(self, numbers: Numbers, state: Any) -> None:
        """Keep the numbers of ordinals that are alive in `state`; the others get numbers above all that were."""
        live: dict[str, set[int]] = {}
        for (_, leaf), code in zip(self.type.leaves, self.type.encode(state), strict=True):
            if leaf.sort:
                live.setdefault(leaf.sort, set()).update({code - 1} - {-1})
        for sort, values in live.items():
            before = numbers.get(sort, {})
            now = {value: before[value] for value in values if value in before}
            top = max(before.values(), default=self.chance.randrange(5))
            for value in sorted(values - now.keys()):
                top += self.chance.randint(1, 3)
                now[value] = top
            numbers[sort] = now

    @staticmethod
    def _itf(type_: Type, value: Any, numbers: Numbers) -> Any:
        codes = [
            numbers[leaf.sort][code - 1] + 1 if leaf.sort and code else code
            for (_, leaf), code in zip(type_.leaves, type_.encode(value), strict=True)
        ]
        return type_.itf(type_.decode(codes))

    def partial(self, trace: list[Event]) -> list[Event]:
        """The same, of which less was recorded."""
        found = []
        for event in trace:
            keep = self.chance.random()
            action = event.action if keep < 0.8 or event.action == events.INIT else None
            parameters = event.parameters if action is not None and keep < 0.6 else None
            if parameters:
                parameters = {n: v for n, v in parameters.items() if self.chance.random() < 0.7}
            state = self._thinned(event.state) if self.chance.random() < 0.8 else None
            found.append(Event(action, parameters, state))
            if state is not None and self.chance.random() < 0.1:
                found.append(Event(None, None, state, look=True))
        return found

    def _thinned(self, value: Any) -> Any:
        if isinstance(value, dict) and not set(value) & {"#set", "tag", "#tup"}:
            if "#map" in value:
                if any(isinstance(k, dict) or isinstance(n, int) for k, n in value["#map"]):
                    return value  # a bag, or numbers by number
                return {"#map": [[k, self._thinned(v)] for k, v in value["#map"] if self.chance.random() < 0.6]}
            return {n: self._thinned(v) for n, v in value.items() if self.chance.random() < 0.6}
        return value

    def corrupted(self, trace: list[Event]) -> list[Event]:
        """The same with one thing changed, which may leave it a behaviour or not."""
        found = list(trace)
        at = self.chance.randrange(1, len(found)) if len(found) > 1 else 0
        kind = self.chance.choice(["drop", "repeat", "swap", "action", "number", "number", "state", "parameter"])
        if kind == "drop" and len(found) > 1:
            del found[at]
        elif kind == "repeat":
            found.insert(at, found[at])
        elif kind == "swap" and at + 1 < len(found):
            found[at], found[at + 1] = found[at + 1], found[at]
        elif kind == "action" and not found[at].look and at:
            found[at] = replace(found[at], action=self.chance.choice(self.reference.actions).name, parameters=None)
        elif kind == "number":
            found[at] = replace(found[at], state=self._renumbered(found[at].state, found))
        elif kind == "parameter":
            other = [e for e in found if e.action == found[at].action]
            found[at] = replace(found[at], parameters=self.chance.choice(other).parameters)
        else:
            donor = self.chance.choice(found)
            found[at] = replace(found[at], state=donor.state)
        return found

    def _renumbered(self, value: Any, trace: list[Event]) -> Any:
        """One of its numbers, if it has any, changed to another of the trace or to a neighbour of one."""
        places = list(_numbers_in(value))
        if not places:
            return value
        every = [_at(event.state, path) for event in trace for path in _numbers_in(event.state)]
        changed = json.loads(json.dumps(value))
        *path, last = self.chance.choice(places)
        _at(changed, path)[last] = max(0, self.chance.choice(every) + self.chance.choice([-1, 0, 0, 1]))
        return changed


def _at(value: Any, path: Sequence[Any]) -> Any:
    for part in path:
        value = value[part]
    return value


def _numbers_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _numbers_in(inner, (*path, key))
