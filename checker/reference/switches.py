"""A counterexample's steps on a repaired design: where it goes another way, and by which guard."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checker.lang.ir import EventKind
from checker.lang.loader import BoundModel
from checker.lang.values import RuntimeViolation
from checker.reference.lasso import unfair
from checker.reference.replay import ANOTHER_ORDER, ENDED, itf_differences, not_there
from checker.reference.step import Reference, step
from checker.reference.trace import line_of, location, usual
from traces import Step, Trace

_SHOWN = 3  # places of a state that a line of text names


@dataclass(frozen=True)
class Guard:
    """A line of the spec that asks for a design switch."""

    text: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.text} ({location(self.file, self.line)})"


@dataclass(frozen=True)
class Departed:
    """The first step of a trace that goes another way under another binding, and what becomes of the rest.

    how: "is refused by require(...)", "does otherwise", ...; changes: (place of the state, what the step leaves
    there, what it left in the trace); rest: how the steps after it end, "" where there is nothing to say.
    repairs: the steps are no counterexample any more, as far as they show it.
    """

    step: Step
    how: str
    changes: tuple[tuple[str, str, str], ...] = ()
    rest: str = ""
    repairs: bool = True

    def __str__(self) -> str:
        shown = "; ".join(f"{place}: {now}, not {before}" for place, now, before in self.changes[:_SHOWN])
        brackets = f" ({shown})" if shown else ""
        return f"{_named(self.step)} {self.how}{brackets}" + (f"; {self.rest}" if self.rest else "")


@dataclass(frozen=True)
class Repair:
    """A design switch that is off; departed: what the same steps do with it on, None where it changes nothing."""

    switch: str
    departed: Departed | None
    guards: tuple[Guard, ...]


def switches_off(model: BoundModel) -> list[str]:
    """The design switches that are off and usually on."""
    return [name for name, value in model.constants.items() if value is False and usual(model, name) is True]


def repairs(model: BoundModel, trace: Trace) -> Iterator[Repair]:
    """For each design switch that is off: the steps of the trace with it on."""
    off = switches_off(model)
    asked = guards(model, off)
    for name in off:
        other = model.with_constants({name: True})
        other.bind()
        try:
            departed = _same_steps(other, trace) or _unfair(other, trace)
        finally:
            model.bind()
        yield Repair(name, departed, tuple(asked[name]))


def with_switches_on(found: Iterable[Repair]) -> tuple[str, ...]:
    """The effects of the repairs, as lines for the end of a trace; those without effect are named in one line."""
    lines, idle = [], []
    for repair in found:
        if repair.departed is None:
            idle.append(repair.switch)
            continue
        asked = "; ".join(map(str, repair.guards))
        lines.append(f"{repair.switch}: switched on, {repair.departed}" + (f". Guard: {asked}" if asked else ""))
    return (*lines, *[f"no difference: {', '.join(idle)} (switched on, the same steps are taken)"] * bool(idle))


def _named(recorded: Step) -> str:
    return f"{recorded.action} of step {recorded.index}"


def _same_steps(model: BoundModel, trace: Trace) -> Departed | None:
    """Take the steps of a trace without insisting on its states.

    Where they can be taken to the end, `rest` says whether what the trace violates still is violated.
    """
    actions = {a.name: a for a in model.model.actions}
    initial = model.initial_states()
    states = [next((s for s in initial if model.state_type.itf(s) == trace.steps[0].state), initial[0])]
    departed: Departed | None = None
    for recorded in trace.steps[1:]:
        action = actions[recorded.action]
        given = {p.name: p.type.parse(recorded.parameters[p.name]) for p in model.parameters(action)}
        absent = not_there(model.parameters(action), states[-1], given)
        if absent:
            return _ending(departed, recorded, f"cannot be taken: {absent}")
        result = step(states[-1], action, tuple(given.values()))
        if result.ended is not None:
            if result.ended is EventKind.ERROR and recorded.state is None and departed is None:
                return None
            return _ending(departed, recorded, f"{ENDED[result.ended]} {line_of(result)}")
        states.append(result.state)
        if departed is None:
            departed = _other_way(model, recorded, result.state)
    if departed is None:
        return None
    rest, still_violated = _to_the_end(model, trace, states)
    return replace(departed, rest=rest, repairs=not still_violated)


def _unfair(model: BoundModel, trace: Trace) -> Departed | None:
    """Of a lasso whose steps can all be taken: what makes a behaviour leave its loop, None where nothing does."""
    if trace.loop is None:
        return None
    loop = [model.state_type.parse(recorded.state) for recorded in trace.steps[trace.loop :]]
    refusal, _ = unfair(model, loop, trace.loop)
    return Departed(trace.steps[-1], f"ends no counterexample: {refusal}") if refusal else None


def _ending(departed: Departed | None, recorded: Step, how: str) -> Departed:
    """The steps end before `recorded`, which is where they depart unless they did before."""
    return Departed(recorded, how) if departed is None else replace(departed, rest=f"{_named(recorded)} {how}")


def _other_way(model: BoundModel, recorded: Step, state: Any) -> Departed | None:
    """The difference of a step that was taken from the recorded one, None where there is none."""
    if recorded.state is None:
        return Departed(recorded, "does not break down")
    here = model.state_type.itf(state)
    if here == recorded.state:
        return None
    changes = itf_differences(here, recorded.state)
    return Departed(recorded, "does otherwise" if changes else f"does otherwise ({ANOTHER_ORDER})", tuple(changes))


def _to_the_end(model: BoundModel, trace: Trace, states: list[Any]) -> tuple[str, bool]:
    """A line on the property that a trace violates, along other states; and whether it is violated there as far as is
    seen.
    """
    if trace.loop is not None:
        refusal, _ = unfair(model, states[trace.loop :], trace.loop)
        return "the steps after it can be taken" + (f", but {refusal}" if refusal else ""), not refusal
    name = trace.violation.property if trace.violation is not None else ""
    declared = model.declared(name)
    if declared is None or not declared.span:
        return "the steps after it can be taken", False
    reference = Reference(model)
    for last in range(declared.span, len(states) + 1):
        try:
            if reference.evaluate(declared, *states[last - declared.span : last]):
                continue
        except RuntimeViolation:
            pass
        return f"{name} is violated all the same, at step {last}", True
    return f"{name} holds to the end", False


def guards(model: BoundModel, switches: Iterable[str]) -> dict[str, list[Guard]]:
    """The lines of the spec that ask for each of these switches, by module and line."""
    found: dict[str, list[Guard]] = {name: [] for name in switches}
    if not found:
        return found
    assert model.info is not None
    package = model.info.cls.__module__.rpartition(".")[0]
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or not (name == model.info.cls.__module__ or (package and name.startswith(package + "."))):
            continue
        text = Path(file).read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr in found and isinstance(node.value, ast.Name):
                if node.value.id == model.info.cls.__name__:
                    found[node.attr].append(Guard(lines[node.lineno - 1].strip(), file, node.lineno))
    return found
