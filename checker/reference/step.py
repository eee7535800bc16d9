"""The reference semantics: the spec's own functions, run on plain Python objects.

Slow, and the oracle that kernel and solver are held to. A step is tried on the state itself, which
is read-only meanwhile; only one that reaches its first assignment is run again on a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from checker.lang.declare import Declared
from checker.lang.ir import EventKind
from checker.lang.loader import BoundModel
from checker.lang.marks import MARK
from checker.lang.parameters import Parameter, bindings
from checker.lang.scalars import canonical
from checker.lang.values import Cut, Disabled, Map, RuntimeViolation, WriteToReadOnly, _Mode
from checker.lang.where import raised_at

# what plain Python raises where a spec's operation has no result
BREAKDOWNS = (AssertionError, AttributeError, TypeError, IndexError, KeyError, ValueError, ZeroDivisionError)


@dataclass(frozen=True)
class StepResult:
    """The result of a step. `ended` is None if it fired, and `state` the state after it.

    file, line: the place in the spec that ended it; reason: what it says.
    """

    state: Any
    ended: EventKind | None = None
    file: str = ""
    line: int = 0
    reason: str = ""


class read_only:
    """While this is entered, an assignment to a state raises WriteToReadOnly."""

    def __enter__(self) -> None:
        self.before, _Mode.read_only = _Mode.read_only, True

    def __exit__(self, *exception: object) -> None:
        _Mode.read_only = self.before


def copy_state(state: Any, origin: Any = None) -> Any:
    """A copy to assign to; `fresh` issues ordinals above those of `origin`."""
    made = _copied(state)
    made.__dict__.pop("_issued", None)  # what `fresh` issued in the step that led to it counts no more
    if origin is not None:
        made.__dict__["_origin"] = origin
    return made


def _copied(value: Any) -> Any:
    """A value that was stored, with copies of all in it that can be assigned to. It is not checked again."""
    kind = value.__class__
    if kind is Map:
        return value.copied(_copied)
    if not _is_assigned_to(kind):
        return value
    made = object.__new__(kind)
    made.__dict__.update({name: _copied(part) for name, part in vars(value).items()})
    return made


@cache
def _is_assigned_to(kind: type[Any]) -> bool:
    """Values of this class are records whose fields can be assigned to."""
    info = getattr(kind, MARK, None)
    return info is not None and not info.frozen


def step(state: Any, action: Declared, parameters: tuple[Any, ...]) -> StepResult:
    """Take a step of `action` from `state`, which stays as it is."""
    try:
        try:
            with read_only():
                action.function(state, *parameters)
            return StepResult(copy_state(state))  # it fired and assigned nothing
        except WriteToReadOnly:
            after = copy_state(state, origin=state)
            action.function(after, *parameters)
            after.__dict__.pop("_origin")
            after.__dict__.pop("_issued", None)
            return StepResult(after)
    except Disabled as end:
        return _ended(EventKind.REQUIRE, end)
    except Cut as end:
        return _ended(EventKind.CUT, end)
    except (RuntimeViolation, *BREAKDOWNS) as end:
        return _ended(EventKind.ERROR, end)


def _ended(kind: EventKind, error: Exception) -> StepResult:
    return StepResult(None, kind, *raised_at(error), str(error))


class Reference:
    """A bound model as plain Python: its instances, their steps and its properties."""

    def __init__(self, model: BoundModel) -> None:
        self.model = model
        self.type = model.state_type
        self.actions = list(model.model.actions)
        self.parameters: list[list[Parameter]] = [model.parameters(a) for a in self.actions]
        self.instances: list[tuple[int, tuple[Any, ...]]] = [
            (i, binding) for i, ps in enumerate(self.parameters) for binding in bindings(ps)
        ]

    def arguments(self, state: Any, instance: int) -> tuple[Any, ...] | None:
        """The values that an instance's parameters stand for in `state`; None where a member is not there."""
        action, binding = self.instances[instance]
        values: dict[str, Any] = {}
        for parameter, candidate in zip(self.parameters[action], binding, strict=True):
            there, value = parameter.value(candidate, state, values)
            if not there:
                return None
            values[parameter.name] = value
        return tuple(values.values())

    def step(self, state: Any, instance: int) -> StepResult:
        """Take the step of an instance from `state`."""
        arguments = self.arguments(state, instance)
        if arguments is None:
            return StepResult(None, EventKind.ABSENT)
        return step(state, self.actions[self.instances[instance][0]], arguments)

    def successors(self, state: Any) -> Iterator[tuple[int, Any]]:
        """(instance, state after it) for every instance that fires."""
        for instance in range(len(self.instances)):
            result = self.step(state, instance)
            if result.ended is None:
                yield instance, result.state

    def evaluate(self, declared: Declared, *states: Any) -> bool:
        """True if a property holds. Raises RuntimeViolation where evaluating it breaks down."""
        try:
            with read_only():
                return bool(declared.function(*states))
        except (Cut, *BREAKDOWNS) as error:  # a helper's value may be too large for its annotation
            raise RuntimeViolation(f"{declared.name} cannot be evaluated: {error}") from None

    def canonical(self, state: Any) -> tuple[int, ...]:
        """The codes of `state` with ordinals renumbered by rank: equal exactly for equal states."""
        return canonical(self.type, state)
