"""Whether a recorded lasso is a counterexample, judged in plain Python: a loop, a fair one, and without the goal.

The definitions of `fairness` once more, by the reference semantics and for the states of one loop: a fair binding is
taken where its step leads from a state of the loop to the next one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from checker.lang.declare import Declared
from checker.lang.ir import EventKind, Member
from checker.lang.liveness import LEADS_TO, STRONG
from checker.lang.loader import BoundModel
from checker.lang.parameters import Parameter, bindings, fair_binding
from checker.lang.types import MapType, SetType
from checker.reference.step import Reference, StepResult, read_only
from traces import Trace
from traces.values import show


@dataclass
class _Binding:
    """A fair binding of an action on a loop. enabled: at which states; taken: on the way to the next."""

    action: Declared
    name: str
    enabled: set[int] = field(default_factory=set)
    taken: bool = False


def goes_round(model: BoundModel, trace: Trace, states: list[Any]) -> str:
    """Whether a lasso that was run again is one, as `fencepost trace replay` says it."""
    if trace.loop is None or not states:
        return "it is no loop: what must eventually happen could still happen"
    reference = Reference(model)
    last, turn = len(states) - 1, trace.loop - 1
    comes_back = turn >= 0 and reference.canonical(states[turn]) == reference.canonical(states[last])
    if not comes_back and trace.loop != last:
        return f"its end does not come back to step {trace.loop}"
    refusal, idle = unfair(model, states[trace.loop :], trace.loop)
    if comes_back and not idle:
        said = f"its steps {trace.loop + 1} to {last + 1} are a loop"
        said += f", but no counterexample: {refusal}" if refusal else ", and a fair one"
    elif refusal:
        return f"it cannot stay in step {last + 1}: {refusal}"
    else:
        said = f"it may stay in step {last + 1}, where no fair action is enabled"
    met = _met(model, trace, states)
    return f"{said}; {met}" if met and not refusal else said


def unfair(model: BoundModel, loop: Sequence[Any], before: int = 0) -> tuple[str, bool]:
    """(what keeps a behaviour from going round in these states, "" where nothing does; whether it may just stay).

    before: how many steps of the trace come before the loop. The last state is followed by the first.
    """
    reference = Reference(model)
    found: dict[tuple[int, tuple[Any, ...]], _Binding] = {}
    canonical = [reference.canonical(state) for state in loop]
    for at, state in enumerate(loop):
        following = canonical[(at + 1) % len(loop)]
        for instance, (number, bound) in enumerate(reference.instances):
            action, parameters = reference.actions[number], reference.parameters[number]
            if not action.fair:
                continue
            result = reference.step(state, instance)
            if result.ended in (EventKind.REQUIRE, EventKind.ABSENT):
                continue
            key = number, fair_binding(parameters, bound)
            binding = found.setdefault(key, _Binding(action, _named(action, parameters, bound)))
            withheld = _withheld(reference, result)
            if withheld:
                return f"{binding.name} {withheld} at step {before + at + 1}: what would follow is not known", False
            binding.enabled.add(at)
            binding.taken |= reference.canonical(result.state) == following
    return next(_refusals(list(found.values()), len(loop), before), ""), len(loop) == 1 and not found


def _withheld(reference: Reference, result: StepResult) -> str:
    """Why it is not known what an enabled step leads to; "" where it is."""
    if result.ended is not None:
        return "is cut by a bound" if result.ended is EventKind.CUT else "breaks down"
    inside = all(reference.evaluate(c, result.state) for c in reference.model.model.constraints)
    return "" if inside else "leads outside a state constraint"


def _refusals(found: Sequence[_Binding], length: int, before: int) -> Iterator[str]:
    """The fair bindings that a loop of `length` states starves."""
    for binding in found:
        always = len(binding.enabled) == length
        where = "always enabled there" if always else f"enabled at step {before + min(binding.enabled) + 1}"
        if not binding.taken and (always or binding.action.fair == STRONG):
            yield f"{binding.name}, {binding.action.fair}ly fair, is {where} and never taken"


def _named(action: Declared, parameters: Sequence[Parameter], bound: Sequence[Any]) -> str:
    """An action and what it is fair to."""
    kept = [p for p in parameters if fair_binding([p], [None])]
    shown = ", ".join(f"{p.name}={_value(p, c)}" for p, c in zip(kept, fair_binding(parameters, bound), strict=True))
    return f"{action.name}({shown})" if shown else action.name


def _value(parameter: Parameter, candidate: Any) -> str:
    if isinstance(candidate, Member) and isinstance(parameter.collection, MapType) and parameter.path is not None:
        collection = parameter.collection
        return f"{ast.unparse(parameter.path)}[{show(collection.key_type.itf(collection.keys[candidate.index]))}]"
    if isinstance(candidate, Member) and isinstance(parameter.collection, SetType):
        candidate = parameter.collection.members[candidate.index]
    return show(parameter.type.itf(candidate))


def _met(model: BoundModel, trace: Trace, states: Sequence[Any]) -> str:
    """Why a lasso does not violate its property: the goal is met on it, or never asked for. "" where it does."""
    assert trace.violation is not None and trace.loop is not None
    declared = model.declared(trace.violation.property)
    assert declared is not None, "whoever replays the trace has looked"
    given = dict(trace.violation.values)
    parameters = model.parameters(declared)
    for binding in bindings(parameters):
        if all(given.get(p.name, p.type.itf(v)) == p.type.itf(v) for p, v in zip(parameters, binding, strict=True)):
            asked = _asked(declared, states, binding)
            met = max((at for at, (_, goal) in enumerate(asked) if goal), default=-1)
            if met < trace.loop and any(condition for condition, _ in asked[met + 1 :]):
                return ""
    if met >= trace.loop:
        return f"but it does not violate {declared.name}: the goal holds at step {met + 1}"
    return f"but it does not violate {declared.name}: after step {met + 1} nothing asks for the goal"


def _asked(declared: Declared, states: Sequence[Any], binding: Sequence[Any]) -> list[tuple[bool, bool]]:
    """(condition, goal) in each state."""
    with read_only():
        said = [declared.function(state, *binding) for state in states]
    return said if declared.kind == LEADS_TO else [(at == 0, goal) for at, goal in enumerate(said)]
