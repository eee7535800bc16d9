"""The judgement on a recorded lasso in plain Python: is it a loop, a fair one, and without the goal?

The definitions of `fairness` once more, by the reference semantics and for the states of one loop: a fair group is
taken where a step of it leads from a state of the loop to the next one, and changes something.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from checker.lang.declare import Declared
from checker.lang.groups import Group, fair_groups, groups_of
from checker.lang.ir import EventKind, Member
from checker.lang.liveness import ALWAYS_EVENTUALLY, EVENTUALLY_ALWAYS, LEADS_TO, STRONG
from checker.lang.loader import BoundModel
from checker.lang.parameters import Parameter, bindings, fair_binding
from checker.lang.types import MapType, SetType
from checker.reference.step import Reference, StepResult, read_only
from traces import Trace
from traces.values import show


@dataclass
class _Fair:
    """A fair group on a loop. enabled: at which states; taken: on the way to the next."""

    group: Group
    name: str
    enabled: set[int] = field(default_factory=set)
    taken: bool = False


def goes_round(model: BoundModel, trace: Trace, states: list[Any]) -> str:
    """The verdict of `fencepost trace replay` on a lasso that was run again."""
    if trace.loop is None or not states:
        return "it is not a loop: what must eventually happen could still happen"
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
    met = _met(model, trace, states, idle or not comes_back)
    return f"{said}; {met}" if met and not refusal else said


def unfair(model: BoundModel, loop: Sequence[Any], before: int = 0) -> tuple[str, bool]:
    """(what keeps a behaviour from going round in these states, "" where nothing does; whether it may just stay).

    before: how many steps of the trace come before the loop. The last state is followed by the first.
    """
    reference = Reference(model)
    canonical = [reference.canonical(state) for state in loop]
    found = [_Fair(group, _named(reference, group)) for group in fair_groups(model)]
    for at, state in enumerate(loop):
        following = canonical[(at + 1) % len(loop)]
        for fair in found:
            for instance in fair.group.instances if _asks(fair.group, state) else ():
                result = reference.step(state, instance)
                withheld = _withheld(reference, result)
                if withheld:
                    return f"{fair.name} {withheld} at step {before + at + 1}: what would follow is not known", False
                if result.ended is None and result.state != state:
                    fair.enabled.add(at)
                    fair.taken |= reference.canonical(result.state) == following
    idle = len(loop) == 1 and not any(fair.enabled for fair in found)
    return next(_refusals(found, len(loop), before), ""), idle


def _asks(group: Group, state: Any) -> bool:
    """True if the condition of a fair group holds."""
    with read_only():
        return group.declared.kind != "fairness" or bool(group.declared.function(state, *group.binding))


def _withheld(reference: Reference, result: StepResult) -> str:
    """The reason that it is not known what an enabled step leads to; "" where it is."""
    if result.ended in (EventKind.REQUIRE, EventKind.ABSENT):
        return ""
    if result.ended is not None:
        return "is cut by a bound" if result.ended is EventKind.CUT else "breaks down"
    inside = all(reference.evaluate(c, result.state) for c in reference.model.model.constraints)
    return "" if inside else "leads outside a state constraint"


def _refusals(found: Sequence[_Fair], length: int, before: int) -> Iterator[str]:
    """The fair groups that a loop of `length` states starves."""
    for fair in found:
        kind, always = fair.group.declared.fair, len(fair.enabled) == length
        if fair.enabled and not fair.taken and (always or kind == STRONG):
            where = "always enabled there" if always else f"enabled at step {before + min(fair.enabled) + 1}"
            yield f"{fair.name}, {kind}ly fair, is {where} and never taken"


def _named(reference: Reference, group: Group) -> str:
    """A fair action and what it is fair to, or a fairness and its parameters."""
    declared = group.declared
    if declared.kind == "fairness":
        kept = reference.model.parameters(declared)
    else:
        number, _ = reference.instances[group.instances[0]]
        kept = [p for p in reference.parameters[number] if fair_binding([p], [None])]
    shown = ", ".join(f"{p.name}={_value(p, c)}" for p, c in zip(kept, group.binding, strict=True))
    return f"{declared.name}({shown})" if shown else declared.name


def _value(parameter: Parameter, candidate: Any) -> str:
    if isinstance(candidate, Member) and isinstance(parameter.collection, MapType) and parameter.path is not None:
        collection = parameter.collection
        return f"{ast.unparse(parameter.path)}[{show(collection.key_type.itf(collection.keys[candidate.index]))}]"
    if isinstance(candidate, Member) and isinstance(parameter.collection, SetType):
        candidate = parameter.collection.members[candidate.index]
    return show(parameter.type.itf(candidate))


def _met(model: BoundModel, trace: Trace, states: Sequence[Any], stays: bool) -> str:
    """Return why a lasso does not violate its property: the goal is met on it, or never asked for. "" if it does.

    stays: its behaviour stays in the last state.
    """
    assert trace.violation is not None and trace.loop is not None
    declared = model.declared(trace.violation.property)
    assert declared is not None, "whoever replays the trace has looked"
    given = dict(trace.violation.values)
    parameters = model.parameters(declared)
    groups = groups_of(model, declared) if declared.actions else []
    said = ""
    for number, binding in enumerate(bindings(parameters)):
        if all(given.get(p.name, p.type.itf(v)) == p.type.itf(v) for p, v in zip(parameters, binding, strict=True)):
            asked = _asked(declared, states, binding)
            if declared.kind == EVENTUALLY_ALWAYS:
                said = "the goal holds all along" if all(goal for _, goal in asked[trace.loop :]) else ""
            elif declared.actions:
                met = max(_goal_steps(model, groups[number], states, [goal for _, goal in asked]), default=-1)
                again = met >= trace.loop - 1 and not stays
                said = f"the step to step {met + 2} is the goal" if again else _never_asked(asked, met)
            else:
                met = max((at for at, (_, goal) in enumerate(asked) if goal), default=-1)
                said = f"the goal holds at step {met + 1}" if met >= trace.loop else _never_asked(asked, met)
            if not said:
                return ""
    return f"but it does not violate {declared.name}: {said}"


def _never_asked(asked: Sequence[tuple[bool, bool]], met: int) -> str:
    """That no state after `met` asks for the goal; "" where one does."""
    return "" if any(condition for condition, _ in asked[met + 1 :]) else f"after step {met + 1} nothing asks for it"


def _goal_steps(model: BoundModel, group: Group, states: Sequence[Any], goals: Sequence[bool]) -> Iterator[int]:
    """The states out of which a step is taken that is the goal."""
    reference = Reference(model)
    for at, (state, after) in enumerate(itertools.pairwise(states)):
        for instance in group.instances if goals[at] else ():
            result = reference.step(state, instance)
            if result.ended is None and result.state != state:
                if reference.canonical(result.state) == reference.canonical(after):
                    yield at
                    break


def _asked(declared: Declared, states: Sequence[Any], binding: Sequence[Any]) -> list[tuple[bool, bool]]:
    """(condition, goal) in each state."""
    with read_only():
        said = [declared.function(state, *binding) for state in states]
    if declared.kind == LEADS_TO:
        return said
    return [(at == 0 or declared.kind == ALWAYS_EVENTUALLY, goal) for at, goal in enumerate(said)]
