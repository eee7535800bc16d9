"""Stepping through a model by hand, from the states of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.lang.ir import EventKind
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.lang.values import RuntimeViolation
from checker.reference.replay import difference
from checker.reference.step import Reference
from checker.reference.trace import actor, line_of
from traces.values import show


@dataclass(frozen=True)
class Choice:
    """An enabled step as text, and the state after it (None: it is cut, or breaks down)."""

    text: str
    after: Any


class Session:
    """The states so far, and the steps that are enabled in the last one.

    states: of the spec, at least one. choices: in the order of the actions and their parameters.
    """

    def __init__(self, model: BoundModel, states: list[Any]) -> None:
        self.model = model
        self.reference = Reference(model)
        self.states = list(states)
        self.choices = self._enabled()

    def take(self, choice: Choice) -> bool:
        """Take an enabled step; False where it leads to no state."""
        if choice.after is None:
            return False
        self.states.append(choice.after)
        self.choices = self._enabled()
        return True

    def back(self) -> bool:
        """Undo the last step; False in the first state."""
        if len(self.states) == 1:
            return False
        self.states.pop()
        self.choices = self._enabled()
        return True

    def fields(self) -> dict[str, str]:
        """The fields of the last state as text."""
        return {name: show(value) for name, value in self.model.state_type.itf(self.states[-1]).items()}

    def broken(self) -> list[str]:
        """The invariants that the last state, or the step to it, breaks."""
        found = []
        for declared in self.model.model.properties:
            if declared.span and len(self.states) >= declared.span:
                try:
                    if not self.reference.evaluate(declared, *self.states[-declared.span :]):
                        found.append(f"{declared.name} is violated")
                except RuntimeViolation as error:
                    found.append(str(error))
        return found

    def _enabled(self) -> list[Choice]:
        return [c for i in range(len(self.reference.instances)) if (c := self._choice(i)) is not None]

    def _choice(self, instance: int) -> Choice | None:
        """The step of one instance of an action here, None where it is not enabled."""
        before = self.states[-1]
        arguments = self.reference.arguments(before, instance)
        if arguments is None:
            return None
        result = self.reference.step(before, instance)
        if result.ended is EventKind.REQUIRE:
            return None
        number, _ = self.reference.instances[instance]
        action = self.reference.actions[number]
        named = dict(zip((p.name for p in self.reference.parameters[number]), arguments, strict=True))
        shown = ", ".join(f"{name}={show(to_itf(value))}" for name, value in named.items())
        what = f"{actor(action, named)}: {action.name}" + (f"({shown})" if shown else "")
        if result.ended is not None:
            how = "is cut by" if result.ended is EventKind.CUT else f"breaks down ({result.reason}) in"
            return Choice(f"{what} {how} {line_of(result)}", None)
        changes = difference(self.model, before, result.state, between=" →") if before != result.state else "no change"
        return Choice(f"{what}: {changes}", result.state)
