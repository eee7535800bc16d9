"""A divergence, told: the shortest trace to it, the two states side by side, and what is at fault."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.conform.along import Along
from checker.conform.canonical import by_rank, places
from checker.conform.driver import Diverges
from checker.conform.system import Probe, Structure, System
from checker.conform.worker import ATTEMPT, BEGIN, PROBE, Place
from checker.explicit.check import SHORTEST
from checker.explicit.reference import StepResult
from checker.explicit.tracing import Tracer, line_of, location
from checker.lang.loader import BoundModel
from checker.lang.types import ABSENT_ITF
from traces import Step, Trace, Violation
from traces.trace import Value
from traces.values import show

KIND = "divergence"
NOT_UNDER_WAY = "a message that is not under way, tried all the same: "
UNSTEADY = "Driven along the same way again, the implementation did not diverge: it does not always do the same."


@dataclass(frozen=True)
class Row:
    """A place in what is observed, and what stands there, in words."""

    path: str
    spec: str
    system: str

    @property
    def differs(self) -> bool:
        return self.spec != self.system


@dataclass(frozen=True)
class Divergence:
    """What is told of a divergence. rows: the two states side by side; () where the SUT has none."""

    trace: Trace
    rows: tuple[Row, ...]

    @property
    def reason(self) -> str:
        assert self.trace.violation is not None
        return self.trace.violation.statement


def tell(
    model: BoundModel, system: System[Any], name: str, first: int, instances: Sequence[int], place: Place
) -> Divergence:
    """The divergence at `place`, to which the instances lead from the initial state with the number `first`.

    name: of the SUT. The way is gone again, by plain Python.
    """
    telling = _Telling(model, system, name)
    telling.way(first, instances)
    return telling.end(place)


class _Telling:
    def __init__(self, model: BoundModel, system: System[Any], name: str) -> None:
        self._model, self._system, self._name = model, system, name
        self._along = Along(model, system)
        self._tracer = Tracer(model)
        self._steps: list[Step] = []
        self._found: Diverges | None = None

    def way(self, first: int, instances: Sequence[int]) -> None:
        """Go to the pair out of which it diverges; an initial pair may diverge itself."""
        self._found = self._begin(first)
        for instance in instances:
            self._step(instance)

    def _begin(self, number: int) -> Diverges | None:
        found = _what(self._along.begin, number)
        shown, source = self._model.state_type.itf(self._along.plain), self._model.model.init.source
        self._steps.append(Step(1, "init", "", {}, shown, source=source))
        return found

    def _step(self, instance: int) -> Diverges | None:
        before = self._along.plain
        found = _what(self._along.step, instance)
        self._steps.append(self._tracer.step(len(self._steps) + 1, instance, before, self._along.plain))
        return found

    def end(self, place: Place) -> Divergence:
        guard = StepResult(None)
        if place.pair == BEGIN:
            pass
        elif place.phase == ATTEMPT:
            plain = self._along.plain
            guard = self._along.result(place.number)
            self._found = _what(self._along.attempt, place.number)
            self._steps.append(self._tracer.step(len(self._steps) + 1, place.number, plain, plain))
        elif place.phase == PROBE:
            guard = self._probe(self._along.probes()[place.number][place.probe])
        else:
            self._found = self._step(place.number)
        return self._told(guard)

    def _probe(self, probe: Probe) -> StepResult:
        self._found = _what(self._along.probe, probe)
        result = self._along.driver.outcome(probe)
        reference = self._along.reference
        number = next(i for i, action in enumerate(reference.actions) if action.name == probe.action)
        arguments = tuple(probe.arguments[p.name] for p in reference.parameters[number])
        after = probe.state if result.state is None else result.state
        step = self._tracer.step_by(len(self._steps) + 1, number, arguments, after)
        self._steps.append(replace(step, notes=(NOT_UNDER_WAY + probe.name, *step.notes)))
        return result

    def _told(self, guard: StepResult) -> Divergence:
        found = self._found or Diverges(UNSTEADY)
        rows = tuple(self._rows(found))
        refused_by = line_of(guard) if guard.ended else ""
        where = location(guard.file, guard.line) if guard.ended else ""
        values = tuple((row.path, f"{row.system}, in the spec {row.spec}") for row in rows if row.differs)
        sentence = str(found)[:1].upper() + str(found)[1:]
        violation = Violation(self._name, KIND, sentence.rstrip(".") + ".", "", refused_by, where, values)
        trace = Trace(
            model=self._model.name, constants=self._tracer.constants(), steps=tuple(self._steps), violation=violation,
            head=(*self._tracer.head(), f"implementation: {self._name}", SHORTEST), columns=self._tracer.columns(),
        )  # fmt: skip
        return Divergence(trace, rows)

    def _rows(self, found: Diverges) -> Iterator[Row]:
        """The two states side by side."""
        if found.system is None or found.spec is None:
            return
        ordinal = self._system.ordinal
        spec, system = self._system.expect(found.spec), self._system.observe(found.system)
        yield from _beside("", by_rank(spec, ordinal), by_rank(system, ordinal), ordinal)
        if found.before is not None:  # what it remembered before stands for what the spec wants of it
            before, after = (self._system.key(system) for system in (found.before, found.system))
            yield from _beside("hidden", by_rank(before, ordinal), by_rank(after, ordinal), ordinal)


def _beside(path: str, spec: Structure, system: Structure, ordinal: type[Any]) -> Iterator[Row]:
    for below, one, other in places(spec, system, ordinal, path):
        yield Row(below, show(value_of(one)), show(value_of(other)))


def _what(call: Any, *arguments: Any) -> Diverges | None:
    try:
        call(*arguments)
    except Diverges as diverges:
        return diverges
    return None


def value_of(structure: Structure) -> Value:
    """A structure as a value of a trace. Ordinals are numbers."""
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        if structure._fields == ("sort", "value"):
            return int(structure[1])
        return {name: value_of(part) for name, part in zip(structure._fields, structure, strict=True)}
    if isinstance(structure, tuple):
        return [value_of(part) for part in structure]
    if isinstance(structure, frozenset):
        members: list[Value] = [value_of(part) for part in structure]
        return {"#set": members}
    if isinstance(structure, enum.Enum):
        return structure.name
    if structure is None:
        return ABSENT_ITF
    return structure if isinstance(structure, bool | int | str) else repr(structure)


