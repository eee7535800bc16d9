"""Is a recorded trace a behaviour? By brute force: every path of the model in plain Python is tried.

It shares nothing with the validator. Ordinals are variables here: along a path, each that is issued is a new one.
Where two are alive at once, or one is issued above another, their order is an edge; what was recorded gives some of
them numbers. A path is possible where numbers rise along every way from one numbered variable to another.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from checker.lang.loader import BoundModel
from checker.lang.types import (
    BagType,
    BoundedSetType,
    MapType,
    OptionType,
    OrdinalType,
    RecordType,
    SeqType,
    Type,
    UnionType,
)
from checker.reference.step import Reference
from tests.validate.walks import Event
from traces import events

Names = dict[tuple[str, int], int]
"""(sort, value in plain Python) -> the variable that it is in this state"""
Wanted = list[tuple[tuple[str, int], int]]
"""[(sort, value), the number that was recorded for it]"""


class Path:
    """Knowledge of the variables along one path."""

    def __init__(self, count: int = 0, edges: frozenset[tuple[int, int]] = frozenset(),
                 numbers: frozenset[tuple[int, int]] = frozenset()) -> None:  # fmt: skip
        self.count, self.edges, self.numbers = count, edges, numbers

    def possible(self) -> bool:
        known: dict[int, int] = {}
        for variable, number in self.numbers:
            if known.setdefault(variable, number) != number:
                return False
        above: dict[int, set[int]] = {}
        for low, high in self.edges:
            above.setdefault(low, set()).add(high)
        for variable, number in known.items():
            seen, queue = set(), list(above.get(variable, ()))
            while queue:
                other = queue.pop()
                if other in seen:
                    continue
                seen.add(other)
                if known.get(other, number + 1) <= number:
                    return False
                queue += above.get(other, ())
        return True


class Oracle:
    def __init__(self, model: BoundModel, silent: int = 0) -> None:
        self._reference = Reference(model)
        self._type = model.state_type
        self._initial = model.initial_states()
        self._silent = silent

    def accepts(self, trace: list[Event]) -> bool:
        """True if some path explains all events."""
        for state in self._initial:
            path, names = self._alive(Path(), {}, state)
            rest = trace
            paths: Iterator[Path] = iter([path])
            if trace and trace[0].action == events.INIT:
                paths, rest = self._observed(self._type, state, trace[0].state, names, path), trace[1:]
            if any(self._goes_on(state, names, found, rest, self._silent) for found in paths):
                return True
        return False

    def _goes_on(self, state: Any, names: Names, path: Path, rest: list[Event], silent: int) -> bool:
        if not rest:
            return True
        event = rest[0]
        if event.look or event.action == events.INIT:
            found = self._observed(self._type, state, event.state, names, path)
            if any(self._goes_on(state, names, other, rest[1:], self._silent) for other in found):
                return True
        for instance, after in self._reference.successors(state):
            moved, later = self._alive(path, names, after)
            if silent and self._goes_on(after, later, moved, rest, silent - 1):
                return True
            if event.look or not self._is(event, instance):
                continue
            for taken in self._parameters(event, instance, state, names, moved):
                for seen in self._observed(self._type, after, event.state, later, taken):
                    if self._goes_on(after, later, seen, rest[1:], self._silent):
                        return True
        return False

    def _is(self, event: Event, instance: int) -> bool:
        action = self._reference.actions[self._reference.instances[instance][0]].name
        return event.action is None or event.action == action

    def _parameters(self, event: Event, instance: int, state: Any, names: Names, path: Path) -> Iterator[Path]:
        arguments = self._reference.arguments(state, instance)
        assert arguments is not None
        parameters = self._reference.parameters[self._reference.instances[instance][0]]
        found = [path]
        for parameter, value in zip(parameters, arguments, strict=True):
            if event.parameters and parameter.name in event.parameters:
                recorded = event.parameters[parameter.name]
                found = [p for f in found for p in self._observed(parameter.type, value, recorded, names, f)]
        yield from found

    def _alive(self, path: Path, names: Names, state: Any) -> tuple[Path, Names]:
        """The variables of a state; those that were not alive before are new."""
        live = {(leaf.sort, code - 1) for (_, leaf), code in
                zip(self._type.leaves, self._type.encode(state), strict=True) if leaf.sort and code}  # fmt: skip
        count, later = path.count, {}
        edges = set(path.edges)
        for key in sorted(live):
            if key not in names:
                edges |= {(v, count) for (sort, _), v in names.items() if sort == key[0]}
                later[key] = count
                count += 1
            else:
                later[key] = names[key]
        edges |= {(later[a], later[b]) for a in live for b in live if a[0] == b[0] and a[1] < b[1]}
        return Path(count, frozenset(edges), path.numbers), later

    def _observed(self, type_: Type, value: Any, recorded: Any, names: Names, path: Path) -> Iterator[Path]:
        for wanted in [] if recorded is None else _matches(type_, value, recorded):
            numbers = path.numbers | {(names[key], number) for key, number in wanted}
            found = Path(path.count, path.edges, numbers)
            if found.possible():
                yield found
        if recorded is None and path.possible():
            yield path


def _matches(type_: Type, value: Any, recorded: Any) -> Iterator[Wanted]:
    """The ways in which `value` is what was recorded (of which parts may be missing)."""
    match type_:
        case OrdinalType():
            yield [((type_.sort, value.value), recorded)]
        case OptionType():
            if (value is None) != (recorded["tag"] == "None"):
                return
            yield from [[]] if value is None else _matches(type_.inner, value, recorded["value"])
        case RecordType():
            yield from _all([(type_.fields[n], getattr(value, n), v) for n, v in recorded.items()])
        case MapType():
            keys = {str(type_.key_type.itf(k)): k for k in type_.keys}
            yield from _all([(type_.value_type, value[keys[str(k)]], v) for k, v in recorded["#map"]])
        case UnionType():
            variant = type_.variants[type_.tags[type(value)]]
            if recorded["tag"] == str(variant):
                yield from _matches(variant, value, recorded["value"])
        case SeqType():
            if len(value) == len(recorded):
                yield from _all([(type_.element, v, r) for v, r in zip(value, recorded, strict=True)])
        case BagType():
            bounded_set = isinstance(type_, BoundedSetType)
            members = recorded["#set"] if bounded_set else [m for m, n in recorded["#map"] for _ in range(n)]
            for order in permutations(value) if len(members) == len(value) else ():
                yield from _all([(type_.element, v, r) for v, r in zip(order, members, strict=True)])
        case _:
            if type_.itf(value) == recorded:
                yield []


def _all(parts: list[tuple[Type, Any, Any]]) -> Iterator[Wanted]:
    if not parts:
        yield []
        return
    for first in _matches(*parts[0]):
        for rest in _all(parts[1:]):
            yield first + rest
