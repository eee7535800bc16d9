"""Running a recorded trace again on the spec: where it departs, and where a repaired design does otherwise."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.explicit.reference import Reference, step
from checker.explicit.tracing import line_of, location, usual
from checker.lang.ir import EventKind
from checker.lang.loader import BoundModel, suggest
from traces import Step, Trace, TraceError
from traces.values import show


@dataclass(frozen=True)
class Departure:
    """Where a trace is no behaviour of the model: at step `index`, for `reason`."""

    index: int
    reason: str


@dataclass
class Replay:
    """A trace run again: the states it came through, and where it departs (None: it is a behaviour)."""

    states: list[Any]
    departure: Departure | None


def replay(model: BoundModel, trace: Trace) -> Replay:
    """Run a trace under the plain Python semantics. Raises TraceError for values that fit no type."""
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


def _initial(model: BoundModel, reference: Reference, recorded: Step) -> tuple[str, Any]:
    wanted = _parsed(model, recorded)
    for state in model.initial_states():
        if reference.canonical(state) == reference.canonical(wanted):
            return "", wanted
    nearest = model.initial_states()[0]
    return f"this is no initial state: {difference(model, nearest, wanted)}", None


def _parsed(model: BoundModel, recorded: Step) -> Any:
    if recorded.state is None:
        raise TraceError("the step has no state", where=f"step {recorded.index}", mend="record the state of every step")
    try:
        return model.state_type.parse(recorded.state)
    except (ValueError, KeyError, TypeError) as error:
        raise TraceError(
            f"its state is none of {model.name}: {error}", where=f"step {recorded.index}",
            mend="replay it on the model and with the constants it was recorded with",
        ) from None  # fmt: skip


def _next(model: BoundModel, reference: Reference, before: Any, recorded: Step) -> tuple[str, Any]:
    actions = {a.name: a for a in reference.actions}
    if recorded.action not in actions:
        raise TraceError(
            f"{model.name} has no action {recorded.action}", where=f"step {recorded.index}",
            mend=suggest(recorded.action, actions, "actions"),
        )  # fmt: skip
    action = actions[recorded.action]
    parameters = model.parameters(action)
    if set(recorded.parameters) != {p.name for p in parameters}:
        return _any_binding(model, reference, before, recorded)
    try:
        arguments = tuple(p.type.parse(recorded.parameters[p.name]) for p in parameters)
    except (ValueError, KeyError, TypeError) as error:
        raise TraceError(f"a parameter does not fit: {error}", where=f"step {recorded.index}") from None
    result = step(before, action, arguments)
    if result.ended is EventKind.ERROR and recorded.state is None:
        return "", None
    if result.ended is not None:
        how = {EventKind.REQUIRE: "is refused by", EventKind.CUT: "is cut by", EventKind.ERROR: "goes wrong in"}
        return f"{action.name} {how[result.ended]} {line_of(result)} ({location(result.file, result.line)})", None
    wanted = _parsed(model, recorded)
    if reference.canonical(wanted) != reference.canonical(result.state):
        return f"{action.name} leads elsewhere: {difference(model, result.state, wanted)}", None
    return "", wanted


def _any_binding(model: BoundModel, reference: Reference, before: Any, recorded: Step) -> tuple[str, Any]:
    """A step whose parameters were not recorded: any binding that leads to the recorded state will do."""
    wanted = _parsed(model, recorded)
    for i, (number, _) in enumerate(reference.instances):
        if reference.actions[number].name == recorded.action:
            result = reference.step(before, i)
            if result.ended is None and reference.canonical(result.state) == reference.canonical(wanted):
                return "", wanted
    return f"{recorded.action} leads to this state under no binding of its parameters", None


def difference(model: BoundModel, one: Any, other: Any, between: str = ", not") -> str:
    """The first places in which two states differ: `path: value, not value; ...`."""
    parts: list[tuple[str, str, str]] = []
    _differences("", model.state_type.itf(one), model.state_type.itf(other), parts)
    shown = "; ".join(f"{path}: {a}{between} {b}" for path, a, b in parts[:3])
    return shown or "ordinals stand in another order"


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


# What a repaired design does with the same prefix.


def with_switches_on(model: BoundModel, trace: Trace) -> tuple[str, ...]:
    """For each design switch that is off: where the same steps end when it is on, and the guard that it is."""
    lines = []
    for name, value in model.constants.items():
        if value is False and usual(model, name) is True:
            other = model.with_constants({name: True})
            other.bind()
            try:
                lines.append(f"with {name} on: {_same_steps(other, trace)}")
            finally:
                model.bind()
            lines += [f"guard of {name}: {guard}" for guard in _guards(model, name)]
    return tuple(lines)


def _same_steps(model: BoundModel, trace: Trace) -> str:
    """Take the steps of a trace without insisting on its states; say where they stop or what differs first."""
    actions = {a.name: a for a in model.model.actions}
    initial = model.initial_states()
    state = next((s for s in initial if model.state_type.itf(s) == trace.steps[0].state), initial[0])
    departs = ""
    for recorded in trace.steps[1:]:
        action = actions[recorded.action]
        arguments = tuple(p.type.parse(recorded.parameters[p.name]) for p in model.parameters(action))
        result = step(state, action, arguments)
        if result.ended is not None:
            return f"{departs}step {recorded.index}, {action.name}, is refused by {line_of(result)}"
        state = result.state
        if not departs and recorded.state is not None and model.state_type.itf(state) != recorded.state:
            wanted = model.state_type.parse(recorded.state)
            departs = f"step {recorded.index}, {action.name}, does otherwise ({difference(model, state, wanted)}); "
    return f"{departs}the steps after it can be taken and end well" if departs else "the same steps are taken"


def _guards(model: BoundModel, switch: str) -> Iterator[str]:
    """The lines of the spec that ask for a switch."""
    assert model.info is not None
    package = model.info.cls.__module__.rpartition(".")[0]
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or not (name == model.info.cls.__module__ or (package and name.startswith(package + "."))):
            continue
        text = Path(file).read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr == switch and isinstance(node.value, ast.Name):
                if node.value.id == model.info.cls.__name__:
                    yield f"{lines[node.lineno - 1].strip()} ({location(file, node.lineno)})"
