"""From a path of instances to a trace that a person reads, and back: replaying a trace on the spec."""

from __future__ import annotations

import linecache
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checker.lang.declare import Declared
from checker.lang.frontend.source import function_of
from checker.lang.ir import EVALUATES, EventKind
from checker.lang.itf import to_itf
from checker.lang.liveness import LIVENESS
from checker.lang.loader import BoundModel, notes_of
from checker.lang.notes import TakenStep
from checker.lang.parameters import bindings
from checker.lang.types import IdentityType, MapType, OptionType, RecordType, Type
from checker.lang.values import Identity
from checker.lang.where import raised_at
from checker.reference.explain import breakdown_in, explain
from checker.reference.step import Reference, StepResult, read_only, step
from traces import Column, Step, Trace, Violation
from traces.values import show

OWN_COLUMN = 8  # scalars that a record of the state must have to be drawn in a column of its own
MANY_CONSTANTS = 12  # above this the head lists only those that are not as declared


@dataclass(frozen=True)
class _Field:
    """A part of the state: how it is labelled, where it is, and of what type."""

    label: str
    path: tuple[Any, ...]
    type: Type

    def cells(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """One cell; of a record of which some parts have one value only, a cell for each of the others."""
        if self.type.is_constant:
            return
        if not isinstance(self.type, RecordType) or not any(t.is_constant for t in self.type.fields.values()):
            yield self.label, self.path
            return
        for name, type_ in self.type.fields.items():
            yield from _Field(f"{self.label}.{name}".lstrip("."), (*self.path, name), type_).cells()


class Tracer:
    """Builds traces of one model by running it as plain Python, where ordinals are not renumbered."""

    def __init__(self, model: BoundModel) -> None:
        self.model = model
        self.reference = Reference(model)
        self.type = model.state_type
        self.notes = notes_of(model)

    def trace(self, first: Any, instances: Sequence[int], broken: Declared | None, *head: str) -> Trace:
        """The trace from the initial state `first` by `instances`.

        broken: the property that the end breaks (None: the last instance ends in a runtime error, or
        the trace is not a counterexample); head: further lines for its head.
        """
        states = [first]
        steps = [Step(1, "init", "", {}, self.type.itf(first), source=self.model.model.init.source)]
        taken: list[TakenStep[Any]] = []
        result = StepResult(states[0])
        for instance in instances:
            number, _ = self.reference.instances[instance]
            action = self.reference.actions[number]
            arguments = self.reference.arguments(states[-1], instance)
            assert arguments is not None, "the kernel took a member that is not there"
            result = step(states[-1], action, arguments)
            made = self.step_by(len(steps) + 1, number, arguments, result.state)
            if result.ended is not None:
                steps.append(made)
                break
            taken.append(self._taken(made.index, number, arguments, states[-1], result.state))
            steps.append(self._noted(made, taken))
            states.append(result.state)
        violation = self._violation(broken, states, result)
        return Trace(
            model=self.model.name,
            constants=self.constants(),
            steps=tuple(steps),
            violation=violation,
            head=(*self.head(), *head),
            tail=_said(self.notes.at_end, taken) if self.notes else (),
            columns=self.columns(),
        )

    def step(self, index: int, instance: int, before: Any, after: Any) -> Step:
        """A step by an instance, whose members are there in `before`."""
        arguments = self.reference.arguments(before, instance)
        assert arguments is not None, "a member was taken that is not there"
        number, _ = self.reference.instances[instance]
        made = self.step_by(index, number, arguments, after)
        return made if after is before else self._noted(made, [self._taken(index, number, arguments, before, after)])

    def step_by(self, index: int, number: int, arguments: tuple[Any, ...], state: Any) -> Step:
        """A step by the action with that number (declared order) to `state`; None: it broke while it ran.

        It is without the notes of the spec.
        """
        shown = None if state is None else self.type.itf(state)
        action, parameters = self.reference.actions[number], self.reference.parameters[number]
        named = self._given(number, arguments)
        picks = {p.name: p.type.itf(named[p.name]) for p in parameters}
        notes = tuple(n for n in (action.api, action.doc.split(". ")[0].rstrip(".")) if n)
        return Step(index, action.name, actor(action, named), picks, shown, notes, action.source)

    def _given(self, number: int, arguments: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip((p.name for p in self.reference.parameters[number]), arguments, strict=True))

    def _taken(self, index: int, number: int, arguments: tuple[Any, ...], before: Any, after: Any) -> TakenStep[Any]:
        return TakenStep(index, self.reference.actions[number].name, self._given(number, arguments), before, after)

    def _noted(self, made: Step, taken: Sequence[TakenStep[Any]]) -> Step:
        """A step with the notes of the spec on the last of `taken`."""
        return replace(made, notes=(*made.notes, *_said(self.notes.of_step, taken))) if self.notes else made

    def _violation(self, broken: Declared | None, states: list[Any], result: StepResult) -> Violation | None:
        if result.ended is EventKind.ERROR:
            where = location(result.file, result.line)
            return Violation(line_of(result), "runtime error", result.reason, "", location=where)
        if broken is None:
            return None
        if broken.kind == "deadlock":
            return Violation(broken.name, "deadlock", broken.doc, "", values=tuple(self._refusals(states[-1])))
        if broken.kind == "refinement":
            return self._refinement(broken, states[-2:])
        if broken.kind in (*LIVENESS, "fairness"):
            return breakdown(self.model, broken, states[-1])
        return violation(broken, *states[-(broken.span or 1) :])

    @staticmethod
    def _refinement(broken: Declared, states: list[Any]) -> Violation:
        """A step that is not one of the abstract spec: the abstract states before and after it, if there are such."""
        assert broken.abstract is not None
        around = list(zip(("before", "after"), states, strict=True))
        for when, state in around:
            found = breakdown_in(broken, state)
            if found is not None:
                statement = f"{broken.doc} The state {when} the step cannot be mapped: {found.breakdown}".strip(": ")
                where = location(found.file, found.line)
                return Violation(
                    broken.name, broken.kind, statement, broken.source, found.conjunct, where, found.values
                )  # fmt: skip
        values = tuple((when, to_itf(broken.function(s))) for when, s in around)
        place = broken.place
        return Violation(
            broken.name, broken.kind, broken.doc, broken.source,
            f"a step of {broken.abstract.name} leads from what it shows before to what it shows after",
            location(place.file, place.line), values,
        )  # fmt: skip

    def _refusals(self, state: Any) -> list[tuple[str, str]]:
        """For each action, the guard that refuses its first binding."""
        refusals: dict[str, str] = {}
        for i, (number, _) in enumerate(self.reference.instances):
            result = self.reference.step(state, i)
            if result.ended is EventKind.REQUIRE:
                refusals.setdefault(self.reference.actions[number].name, line_of(result))
        for action, parameters in zip(self.reference.actions, self.reference.parameters, strict=True):
            missing = " and ".join(p.name for p in parameters if p.collection is not None)
            refusals.setdefault(action.name, f"there is no {missing} to take")
        return [(action.name, refusals[action.name]) for action in self.reference.actions]

    def constants(self) -> dict[str, Any]:
        """Every constant and switch in force, as a trace has them."""
        return {name: to_itf(value) for name, value in self.model.constants.items()}

    def head(self) -> tuple[str, ...]:
        """Lines that a reader needs before the first step."""
        lines = [*self._constants(), *([f"model: {self.model.model.doc}"] if self.model.model.doc else [])]
        for word, wanted in (("on", True), ("off", False)):
            names = [n for n, v in self.model.constants.items() if v is wanted and usual(self.model, n) is not wanted]
            lines += [f"switched {word}: {', '.join(names)}"] * bool(names)
        if self.model.model.faults:
            lines.append(f"fault budget: {self.model.model.faults}")
        if self.model.model.not_modelled:
            lines.append(f"not modelled: {self.model.model.not_modelled}")
        return tuple(lines)

    def _constants(self) -> list[str]:
        """The constants; where they are many, those that are not as declared."""
        values, defaults = self.model.constants, self.model.info.defaults if self.model.info else {}
        listed = {n: v for n, v in values.items() if len(values) <= MANY_CONSTANTS or v != defaults.get(n)}
        rest = ["the others as declared"] if len(listed) < len(values) else []
        shown = "  ".join([*(f"{name}={show(to_itf(value))}" for name, value in listed.items()), *rest])
        return [f"constants: {shown}"] if values else []

    def columns(self) -> tuple[Column, ...]:
        """One column for each key of a map over an identity, one for each large record, one for what is left.

        What has one value only is in none of them.
        """
        found: dict[str, list[_Field]] = {}
        rest: list[_Field] = []
        for name, type_ in self.type.fields.items():
            if isinstance(type_, MapType) and isinstance(type_.key_type, IdentityType):
                single = self._is_record(type_.value_type)
                for key in type_.keys:
                    title = " ".join(_label_and_number(key))
                    field = _Field("" if single else name, (name, repr(key)), type_.value_type)
                    found.setdefault(title, []).append(field)
            elif self._is_record(type_) and type_.width >= OWN_COLUMN:
                found.setdefault(name, []).append(_Field("", (name,), type_))
            else:
                rest.append(_Field(name, (name,), type_))
        drawn = {**found, "shared" if found else "state": rest}
        cells = {title: tuple(self._cells(fields)) for title, fields in drawn.items()}
        return tuple(Column(title, shown) for title, shown in cells.items() if shown)

    @staticmethod
    def _cells(fields: list[_Field]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """The cells of a column. Where it has several fields, each needs a name."""
        varying = [field for field in fields if not field.type.is_constant]
        for field in varying:
            label = field.label if len(varying) == 1 else field.label or str(field.path[0])
            yield from replace(field, label=label).cells()

    @staticmethod
    def _is_record(type_: Type) -> bool:
        inner = type_.inner if isinstance(type_, OptionType) else type_
        return isinstance(inner, RecordType)


def _said(say: Callable[[Sequence[TakenStep[Any]]], Iterable[str]], taken: Sequence[TakenStep[Any]]) -> tuple[str, ...]:
    """The lines of a spec's notes. Where they break down, a line says so: a counterexample is not lost for that."""
    try:
        with read_only():
            return tuple(say(taken))
    except Exception as error:  # whatever a spec may raise
        return (f"the spec's notes break down ({location(*raised_at(error))}): {type(error).__name__}: {error}",)


def violation(broken: Declared, *states: Any) -> Violation:
    """The report of a property that is broken (a witness: reached) in `states`, or breaks down there."""
    found = explain(broken, *states, holds=broken.kind == "witness")
    name, kind, statement = broken.name, broken.kind, broken.doc
    if found.breakdown:
        statement = f"{statement} It cannot be evaluated here: {found.breakdown}".strip()
        if kind not in ("invariant", "transition invariant"):
            name, kind = name + EVALUATES, "invariant"
    where = location(found.file, found.line)
    return Violation(name, kind, statement, broken.source, found.conjunct, where, found.values)


def breakdown(model: BoundModel, declared: Declared, state: Any) -> Violation:
    """The report of a liveness property that cannot be evaluated in `state` under some binding."""
    function = function_of(declared.function)
    where = location(function.file, function.tree.lineno)
    for binding in bindings(model.parameters(declared)):
        try:
            with read_only():
                declared.function(state, *binding)
        except Exception as error:  # whatever a spec may raise
            statement = f"{declared.doc} It cannot be evaluated here: {error}".strip()
            values = tuple((p.name, to_itf(v)) for p, v in zip(model.parameters(declared), binding, strict=True))
            return Violation(declared.name, "invariant", statement, declared.source, location=where, values=values)
    raise AssertionError(f"{declared.name} can be evaluated under every binding")


def usual(model: BoundModel, name: str) -> Any:
    """The value that a constant has when nobody sets it."""
    defaults = model.info.defaults if model.info else {}
    return model.model.constants.get(name, defaults.get(name))


def actor(action: Declared, parameters: dict[str, Any]) -> str:
    """The process that acts, with the parameters it names filled in: "broker {broker}" is "broker 1"."""
    try:
        return _Actor().vformat(action.who, (), parameters)
    except (KeyError, ValueError, AttributeError, IndexError):
        return action.who


class _Actor(string.Formatter):
    """Identities by their number, so that "broker {broker}" reads well."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return _label_and_number(value)[1] if isinstance(value, Identity) else str(value)


def _label_and_number(member: Identity) -> tuple[str, str]:
    """("broker", "0") of broker0."""
    name = repr(member)
    label = re.split(r"\d", name, maxsplit=1)[0]
    return label, name.removeprefix(label)


def line_of(result: StepResult) -> str:
    return linecache.getline(result.file, result.line).strip()


def location(file: str, line: int) -> str:
    """A place in a spec as people write it: relative to where they are, if it is below."""
    path = Path(file)
    here = Path.cwd()
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{line}"
