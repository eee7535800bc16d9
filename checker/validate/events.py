"""Recorded events as what the kernel is asked for: which action, and which of its instances.

Events that name the same action and parameters are one `kind`; kinds are numbered and kept in tables.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from checker.explicit.kernel.observed_steps import ANY
from checker.explicit.kernel.slots import NotFixed, Slot, slots_of
from checker.lang.loader import BoundModel, suggest
from checker.lang.parameters import Parameter
from checker.reference.step import Reference
from checker.running.arrays import Bits, Longs
from checker.validate.decoding import DecodingError, parsed

LOOK, START = -2, -3  # for an action: no step, the state was looked at; the initial state was
_PARAMETERS = msgspec.json.Decoder(dict[str, Any])


class EventKinds:
    """The kinds of events of one model. actions[kind]: number of the action, ANY, LOOK or START.

    leaves_of[instance]: the leaves where members of the state lie that its parameters stand for, in one order for all
    instances of an action; given(kind): the codes that an event of that kind wants there.
    """

    def __init__(self, model: BoundModel) -> None:
        reference = Reference(model)
        self._model = model
        self._numbers = {action.name: i for i, action in enumerate(reference.actions)}
        self._parameters: list[list[Parameter]] = reference.parameters
        self._instances: list[list[int]] = [[] for _ in reference.actions]
        self._slots: dict[int, dict[str, Any]] = {}
        for instance, (action, binding) in enumerate(reference.instances):
            self._instances[action].append(instance)
            try:
                self._slots[instance] = slots_of(model.state_type, reference.parameters[action], binding)
            except NotFixed:
                continue
        self._count = len(reference.instances)
        self.leaves_of = [self._leaves(i) for i in range(self._count)]
        self._every = np.ones(self._count, dtype=bool)
        self.forget()

    def forget(self) -> None:
        """Drop all kinds but those without an action; the numbers given out so far are then void."""
        self._kinds: dict[tuple[str | None, bytes], int] = {}
        self.actions: list[int] = []
        self.names: list[str] = []
        self._given: list[tuple[tuple[int, ...], tuple[bool, ...]]] = []
        self._allowed: list[int] = []  # per kind a row of `_rows`
        self._rows: list[Bits] = []
        self._row_of: dict[bytes, int] = {}
        self._sealed: tuple[Longs, Bits, Bits] | None = None
        self.any = self._add(ANY, "a step", self._every)
        self.look = self._add(LOOK, "a look at the state", self._every)
        self.start = self._add(START, "the initial state", self._every)

    def _leaves(self, instance: int) -> list[int]:
        slots = [v for v in self._slots.get(instance, {}).values() if isinstance(v, Slot)]
        return [leaf for slot in slots for leaf in range(slot.first, slot.first + slot.type.width)]

    def _add(
        self, action: int, name: str, allowed: Bits, given: tuple[tuple[int, ...], tuple[bool, ...]] = ((), ())
    ) -> int:
        row = self._row_of.setdefault(allowed.tobytes(), len(self._rows))
        if row == len(self._rows):
            self._rows.append(allowed)
        self.actions.append(action)
        self.names.append(name)
        self._allowed.append(row)
        self._given.append(given)
        self._sealed = None
        return len(self.actions) - 1

    def _tables(self) -> tuple[Longs, Bits, Bits]:
        """Per kind: its row among the allowed instances; those rows; per kind whether it wants members."""
        if self._sealed is None:
            wants = np.array([bool(given[0]) for given in self._given])
            self._sealed = np.array(self._allowed), np.array(self._rows), wants
        return self._sealed

    def number(self, action: str | None, parameters: bytes) -> int:
        """The kind of an event. parameters: JSON text, b"" for none. Raises DecodingError for what the model lacks."""
        key = (action, parameters)
        found = self._kinds.get(key)
        if found is None:
            found = self._kinds[key] = self._new(action, parameters)
        return found

    def _new(self, action: str | None, text: bytes) -> int:
        try:
            recorded = _PARAMETERS.decode(text) if text else {}
        except msgspec.DecodeError:
            raise DecodingError("the parameters are not a JSON object") from None
        if not action:
            if recorded:
                raise DecodingError("parameters of no action")
            return self.any
        if action not in self._numbers:
            near = suggest(action, self._numbers, "actions")
            raise DecodingError(f"{self._model.name} has no action {action} ({near})")
        number = self._numbers[action]
        values = self._values(action, number, recorded)
        shown = ", ".join(f"{n}={_text(recorded[n])}" for n in values)
        name = f"{action}({shown})" if shown else action
        return self._add(number, name, self._fitting(number, values), self._members(number, values))

    def _values(self, action: str, number: int, recorded: dict[str, Any]) -> dict[str, Any]:
        """The recorded parameters as values, in order of declaration."""
        parameters = {p.name: p for p in self._parameters[number]}
        for name in recorded:
            if name not in parameters:
                raise DecodingError(f"{action} has no parameter {name} ({suggest(name, parameters, 'parameters')})")
        if recorded and any(i not in self._slots for i in self._instances[number]):
            what = "ranges over a place that depends on another member: record it without parameters"
            raise DecodingError(f"a parameter of {action} {what}")
        values = {}
        for name, parameter in parameters.items():
            if name in recorded:
                try:
                    values[name] = parsed(parameter.type, recorded[name])
                except (ValueError, KeyError, TypeError) as error:
                    raise DecodingError(f"the parameter {name} of {action} does not fit: {error}") from None
        return values

    def _fitting(self, number: int, values: dict[str, Any]) -> Bits:
        """The instances that have these values, as far as they have one on their own."""
        if not values:
            return self._every
        allowed = np.zeros(self._count, dtype=bool)
        for instance in self._instances[number]:
            own = self._slots[instance]
            allowed[instance] = all(isinstance(own[n], Slot) or own[n] == v for n, v in values.items())
        return allowed

    def _members(self, number: int, values: dict[str, Any]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
        """The codes that are wanted where the members lie, and whether each is; ((), ()) where nothing is."""
        codes: list[int] = []
        known: list[bool] = []
        for name, slot in self._slots.get(self._instances[number][0], {}).items():
            if isinstance(slot, Slot):
                codes += slot.type.encode(values[name]) if name in values else [0] * slot.type.width
                known += [name in values] * slot.type.width
        signed = tuple(code - (code >> 63 << 64) for code in codes)  # a set of 64
        return (signed, tuple(known)) if any(known) else ((), ())

    def fits(self, kinds: Longs, instances: Longs) -> Bits:
        """Per row, whether an event of this kind may be this instance, by parameters that are not members."""
        allowed, rows, _ = self._tables()
        return rows[allowed[kinds], instances]

    def members(self, kinds: Longs, instances: Longs, leaves: int) -> tuple[Longs, Longs, Bits] | None:
        """(rows, codes, known) that members of the state must have before the step; None where nothing is asked.

        codes, known: shape (rows, leaves).
        """
        rows = np.flatnonzero(self._tables()[2][kinds])
        if not len(rows):
            return None
        codes, known = np.zeros((len(rows), leaves), np.int64), np.zeros((len(rows), leaves), np.bool_)
        for instance in np.unique(instances[rows]).tolist():
            mine = np.flatnonzero(instances[rows] == instance)
            given = [self._given[kind] for kind in kinds[rows[mine]].tolist()]
            place = np.ix_(mine, self.leaves_of[instance])
            codes[place] = [g[0] for g in given]
            known[place] = [g[1] for g in given]
        return rows, codes, known


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
