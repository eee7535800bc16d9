"""Running a recorded trace again on the spec: whether it is a behaviour, and where it departs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.lang.declare import Declared
from checker.lang.ir import EVALUATES, EventKind
from checker.lang.liveness import LIVENESS
from checker.lang.loader import BoundModel, suggest
from checker.lang.parameters import Parameter
from checker.lang.values import RuntimeViolation
from checker.reference.expression import values_of
from checker.reference.lasso import goes_round
from checker.reference.step import Reference, step
from checker.reference.trace import line_of, location
from traces import Step, Trace, TraceError
from traces.values import show

ENDED = {EventKind.REQUIRE: "is refused by", EventKind.CUT: "is cut by", EventKind.ERROR: "breaks down in"}
"""The way in which a step ended that was not taken, as text; the line of the spec follows."""

ANOTHER_ORDER = "ordinals stand in another order"


@dataclass(frozen=True)
class Departure:
    """The first step of a trace that is not a step of the model: step `index`, for `reason`."""

    index: int
    reason: str


@dataclass
class Replay:
    """A trace run again: the states it came through, and where it departs (None: it is a behaviour)."""

    states: list[Any]
    departure: Departure | None


def replay(model: BoundModel, trace: Trace) -> Replay:
    """Run a trace under the plain Python semantics. Raises TraceError for values that fit no type."""
    if not trace.steps:
        raise TraceError("the trace has no steps")
    reference = Reference(model)
    states: list[Any] = []
    for recorded in trace.steps:
        if not states:
            departure, state = _initial(model, reference, recorded)
        else:
            departure, state = _next(model, reference, states[-1], recorded)
        if departure:
            return Replay(states, Departure(recorded.index, departure))
        if state is None:
            break  # the step that broke while it ran
        states.append(state)
    return Replay(states, None)


def confirmed(model: BoundModel, trace: Trace, replayed: Replay) -> str:
    """The verdict on the end of a trace that was run again, against what the trace says; "" where it says nothing."""
    if trace.violation is None or replayed.departure is not None or trace.violation.kind == "refinement":
        return ""
    name, kind = trace.violation.property.removesuffix(EVALUATES), trace.violation.kind
    if kind == "runtime error":
        return f"its last step breaks down in {name}"
    declared = model.declared(name)
    if declared is None and kind == "witness" and not name.isidentifier():
        [value] = values_of(model, name, replayed.states[-1:])  # an expression that `reach` was given
        return f"its end {'is' if value is True else 'is not'} what was asked for: {name}"
    if declared is None:
        return f"{model.name} has no property {name}, which it was recorded for"
    reference = Reference(model)
    if declared.kind in LIVENESS:
        return goes_round(model, trace, replayed.states)
    if declared.kind == "deadlock":
        stuck = next(reference.successors(replayed.states[-1]), None) is None
        return "its end is a deadlock" if stuck else "its end is not a deadlock"
    try:
        holds = reference.evaluate(declared, *replayed.states[-(declared.span or 1) :])
    except RuntimeViolation as error:
        return str(error)
    if declared.kind == "witness":
        return f"its end {'is' if holds else 'is not'} what {name} describes"
    return f"its end {'does not violate' if holds else 'violates'} {name}"


def _initial(model: BoundModel, reference: Reference, recorded: Step) -> tuple[str, Any]:
    wanted = parsed_state(model, recorded)
    initial = model.initial_states()
    if any(reference.canonical(state) == reference.canonical(wanted) for state in initial):
        return "", wanted
    return f"this is not an initial state: {difference(model, initial[0], wanted)}", None


def parsed_state(model: BoundModel, recorded: Step) -> Any:
    """The recorded state. Raises TraceError if it is not a state of the model."""
    where = f"step {recorded.index}"
    hint = "Replay it on the model and with the constants it was recorded with"
    if recorded.state is None:
        raise TraceError("the step has no state", where=where, hint="Record the state of every step")
    fields = list(model.state_type.fields)
    if set(recorded.state) != set(fields):
        what = f"its state has {', '.join(recorded.state) or 'no fields'}; a state of {model.name} has"
        raise TraceError(f"{what} {', '.join(fields)}", where=where, hint=hint)
    try:
        return model.state_type.parse(recorded.state)
    except (ValueError, KeyError, TypeError) as error:
        raise TraceError(f"its state is none of {model.name}: {_said(error)}", where=where, hint=hint) from None


def _said(error: Exception) -> str:
    return f"{error} is missing or unknown" if isinstance(error, KeyError) else str(error)


def _next(model: BoundModel, reference: Reference, before: Any, recorded: Step) -> tuple[str, Any]:
    actions = {a.name: a for a in reference.actions}
    if not recorded.action:
        return _any_step(model, reference, before, recorded, list(actions), {})
    if recorded.action not in actions:
        raise TraceError(
            f"{model.name} has no action {recorded.action}", where=f"step {recorded.index}",
            hint=_sentence(suggest(recorded.action, actions, "actions")),
        )  # fmt: skip
    action = actions[recorded.action]
    given = given_parameters(model, action, recorded)
    if len(given) < len(model.parameters(action)):
        return _any_step(model, reference, before, recorded, [action.name], given)
    absent = not_there(model.parameters(action), before, given)
    if absent:
        return f"{action.name} cannot be taken: {absent}", None
    result = step(before, action, tuple(given.values()))
    if recorded.state is None:
        ends = "does not break down here, as was recorded"
        return ("", None) if result.ended is EventKind.ERROR else (f"{action.name} {ends}", None)
    if result.ended is not None:
        return f"{action.name} {ENDED[result.ended]} {line_of(result)} ({location(result.file, result.line)})", None
    wanted = parsed_state(model, recorded)
    if reference.canonical(wanted) != reference.canonical(result.state):
        return f"{action.name} leads elsewhere: {difference(model, result.state, wanted)}", None
    return "", wanted


def given_parameters(model: BoundModel, action: Declared, recorded: Step) -> dict[str, Any]:
    """The recorded parameters by name, in order of declaration. Raises TraceError for what fits no parameter."""
    parameters = {p.name: p for p in model.parameters(action)}
    where = f"step {recorded.index}"
    for name in recorded.parameters:
        if name not in parameters:
            hint = _sentence(suggest(name, parameters, "parameters"))
            raise TraceError(f"{action.name} has no parameter {name}", where=where, hint=hint)
    given = {}
    for name, parameter in parameters.items():
        if name in recorded.parameters:
            try:
                given[name] = parameter.type.parse(recorded.parameters[name])
            except (ValueError, KeyError, TypeError) as error:
                raise TraceError(f"the parameter {name} does not fit: {_said(error)}", where=where) from None
    return given


def not_there(parameters: list[Parameter], before: Any, given: dict[str, Any]) -> str:
    """Name the parameter that is not a member of the collection of the state that it ranges over, "" for none."""
    for parameter in parameters:
        values = (parameter.value(candidate, before, given) for candidate in parameter.candidates)
        if parameter.source and (True, given[parameter.name]) not in values:
            return f"{parameter.name} is not a member of {parameter.source} there"
    return ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _any_step(
    model: BoundModel, reference: Reference, before: Any, recorded: Step, actions: list[str], given: dict[str, Any]
) -> tuple[str, Any]:
    """A step of which not all was recorded: any of `actions` that leads to the recorded state will do."""
    wanted = parsed_state(model, recorded)
    for i, (number, _) in enumerate(reference.instances):
        action = reference.actions[number]
        arguments = reference.arguments(before, i) if action.name in actions else None
        if arguments is None:
            continue
        named = dict(zip((p.name for p in reference.parameters[number]), arguments, strict=True))
        if all(named[name] == value for name, value in given.items()):
            result = step(before, action, arguments)
            if result.ended is None and reference.canonical(result.state) == reference.canonical(wanted):
                return "", wanted
    who = f"{actions[0]} leads to this state under no binding" if recorded.action else "no action leads to this state"
    return who, None


def difference(model: BoundModel, one: Any, other: Any, between: str = ", not") -> str:
    """The first places in which two states differ: `path: value, not value; ...`."""
    shown = "; ".join(f"{path}: {a}{between} {b}" for path, a, b in differences(model, one, other)[:3])
    return shown or ANOTHER_ORDER


def differences(model: BoundModel, one: Any, other: Any) -> list[tuple[str, str, str]]:
    """The smallest places in which two states differ, and what stands there in each."""
    return itf_differences(model.state_type.itf(one), model.state_type.itf(other))


def itf_differences(one: Any, other: Any) -> list[tuple[str, str, str]]:
    """As `differences`, of two states as a trace has them: one may be of a design whose types have no room for it."""
    parts: list[tuple[str, str, str]] = []
    _differences("", one, other, parts)
    return parts


def _differences(path: str, a: Any, b: Any, found: list[tuple[str, str, str]]) -> None:
    """Collect (path, value, value) of the smallest places that differ in two ITF values."""
    if a == b:
        return
    if isinstance(a, dict) and isinstance(b, dict) and set(a) == set(b):
        if "#map" in a and [k for k, _ in a["#map"]] == [k for k, _ in b["#map"]]:
            for (key, x), (_, y) in zip(a["#map"], b["#map"], strict=True):
                _differences(f"{path}[{show(key)}]", x, y, found)
            return
        if "#map" in a:
            _bag_differences(path, a["#map"], b["#map"], found)
            return
        if "tag" in a and a["tag"] == b["tag"]:
            _differences(path, a["value"], b["value"], found)
            return
        if not set(a) & {"#set", "#map", "tag", "#tup"}:
            for name in a:
                _differences(f"{path}.{name}" if path else name, a[name], b[name], found)
            return
    found.append((path, show(a), show(b)))


def _bag_differences(path: str, a: list[Any], b: list[Any], found: list[tuple[str, str, str]]) -> None:
    """Of two bags, what only one holds; two messages of one kind are compared field by field."""
    only_a = [member for member, count in a if [member, count] not in b]
    only_b = [member for member, count in b if [member, count] not in a]
    if len(only_a) == len(only_b) == 1 and isinstance(only_a[0], dict) and "tag" in only_a[0]:
        if only_a[0]["tag"] == only_b[0].get("tag"):
            _differences(f"{path}, {only_a[0]['tag']}", only_a[0]["value"], only_b[0]["value"], found)
            return
    shown = [", ".join(show(member) for member in only) or "nothing" for only in (only_a, only_b)]
    found.append((path, shown[0], shown[1]))
