"""A divergence as a test that needs nothing but itself: it fails as long as the implementation diverges."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path

from checker.conform.divergence import KIND, PROBED, Divergence, Recorder
from checker.conform.loading import load_system
from checker.lang.ir import EventKind
from checker.lang.loader import BoundModel, load
from checker.reference.replay import given_parameters
from checker.reference.trace import usual
from traces import Step, Trace, TraceError
from traces.trace import Value

Parameters = dict[str, Value]
WIDTH = 110


def assert_conforms(
    model: str, implementation: str, constants: Mapping[str, str], steps: Sequence[tuple[str, Parameters]], *,
    initial: int = 0, probe: str = "", folder: Path | None = None,
) -> None:  # fmt: skip
    """Drive an implementation along a behaviour of a model. Raises AssertionError where it diverges.

    steps: actions with their parameters (ITF) from the initial state with the number `initial` on; the last one may be
    one that the spec refuses. probe: the message that is let land at last. folder: where the files and modules are that
    `model` and `implementation` name; None: the current one. Raises TraceError for steps that are no
    behaviour of the model any more.
    """
    __tracebackhide__ = True  # pytest shows the call, not what is below
    with chdir(folder or "."):
        sys.path.append(str(Path.cwd()))
        try:
            bound, system = load(model, constants), load_system(implementation)
        finally:
            sys.path.pop()
    recorder = Recorder(bound, system, implementation)
    recorder.begin(initial)
    for number, (action, parameters) in enumerate(steps):
        if recorder.found is None:
            _go(recorder, bound, Step(number + 2, action, "", parameters, None), number + 1 == len(steps))
    if probe and recorder.found is None:
        _land(recorder, probe, len(steps) + 2)
    if recorder.found is not None:
        raise AssertionError(_text(recorder.divergence()))


def _go(recorder: Recorder, model: BoundModel, step: Step, last: bool) -> None:
    """Take a step. Raises TraceError where the spec has no such step."""
    instance = _instance(recorder, model, step)
    result = recorder.behaviour.result(instance)
    if result.ended is None:
        recorder.step(instance)
    elif last and result.ended is EventKind.REQUIRE:
        recorder.attempt(instance)
    else:
        raise TraceError(f"{model.name} does not take {step.action} here any more", where=f"step {step.index}")


def _instance(recorder: Recorder, model: BoundModel, step: Step) -> int:
    reference = recorder.behaviour.reference
    number = next((i for i, action in enumerate(reference.actions) if action.name == step.action), None)
    if number is None:
        raise TraceError(f"{model.name} has no action {step.action}", where=f"step {step.index}")
    wanted = tuple(given_parameters(model, reference.actions[number], step).values())
    for instance, (action, _) in enumerate(reference.instances):
        if action == number and reference.arguments(recorder.behaviour.plain, instance) == wanted:
            return instance
    raise TraceError(f"{step.action} has no such parameters there", where=f"step {step.index}")


def _land(recorder: Recorder, name: str, index: int) -> None:
    for probes in recorder.behaviour.probes():
        for probe in probes:
            if probe.name == name:
                recorder.probe(probe)
                return
    raise TraceError(f"the implementation is not probed with {name} any more", where=f"step {index}")


def _text(found: Divergence) -> str:
    violation = found.trace.violation
    assert violation is not None
    last = found.trace.steps[-1]
    where = f"{violation.property} diverges from {found.trace.model} at step {last.index}, {last.action}"
    refused = [f"the spec refuses it: {violation.conjunct} ({violation.location})"] * bool(violation.conjunct)
    differs = [f"{path}: {text}" for path, text in violation.values]
    return "\n  ".join([where, violation.statement, *refused, *differs])


# Writing the test.


def to_test(trace: Trace, out: Path | None = None) -> str:
    """A pytest file that drives the implementation along a trace of a divergence, and runs from anywhere.

    The model and the implementation are named as from the current folder; the test finds that from its own place,
    `out` (None: by its absolute path).

    Raises TraceError for any other trace, SpecError where its model is not there.
    """
    violation = trace.violation
    if violation is None or violation.kind != KIND:
        raise TraceError("this is not a trace of a divergence", hint="fencepost conform --trace-out writes one")
    model = load(trace.model, {name: str(value) for name, value in trace.constants.items()})
    constants: Parameters = {
        name: str(trace.constants[name]) for name, value in model.constants.items() if value != usual(model, name)
    }
    steps: list[Value] = [[step.action, step.parameters] for step in trace.steps[1:]]
    probe = next((n.removeprefix(PROBED) for n in trace.steps[-1].notes if n.startswith(PROBED)), "")
    arguments: list[str] = [json.dumps(trace.model), json.dumps(violation.property), _literal(constants, 8), "STEPS"]
    initial = _initial(model, trace)
    arguments += [f"initial={initial}"] * bool(initial) + [f"probe={json.dumps(probe)}"] * bool(probe)
    arguments.append("folder=FOLDER")
    words = re.findall(r"[a-z0-9]+", f"{violation.property} conforms to {trace.model}".lower())
    return TEMPLATE.format(
        head=f"{violation.property} diverged from {trace.model} at step {len(trace.steps)}.",
        statement=violation.statement,
        folder=_folder(out),
        steps=_steps(steps[:-1] if probe else steps),
        name="_".join(words),
        arguments=_together(arguments),
    )


TEMPLATE = '''"""{head}

{statement}
Written by `fencepost trace to-test`. It fails as long as that is so.
"""

from pathlib import Path

from checker.conform.regression import assert_conforms

FOLDER = {folder}
STEPS = {steps}


def test_{name}() -> None:
    assert_conforms({arguments})
'''


def _folder(out: Path | None) -> str:
    """The current folder, in Python."""
    if out is None:
        return f"Path({json.dumps(str(Path.cwd()))})"
    up = Path(os.path.relpath(Path.cwd(), out.resolve().parent)).as_posix()
    return "Path(__file__).resolve().parent" + f" / {json.dumps(up)}" * (up != ".")


def _initial(model: BoundModel, trace: Trace) -> int:
    shown = [model.state_type.itf(state) for state in model.initial_states()]
    if trace.steps[0].state not in shown:
        raise TraceError(f"its first state is not an initial state of {model.name}", where="step 1")
    return shown.index(trace.steps[0].state)


def _steps(steps: list[Value]) -> str:
    lines = []
    for step in steps:
        assert isinstance(step, list)
        action, parameters = (_literal(part, 8) for part in step)
        lines.append(f"    ({action}, {parameters}),")
    return "\n".join(["[", *lines, "]"]) if lines else "[]"


def _together(arguments: list[str]) -> str:
    """The arguments of a call, on one line where they fit."""
    text = ", ".join(arguments)
    return text if len(text) < WIDTH - 24 else "\n        " + ",\n        ".join(arguments) + ",\n    "


def _literal(value: Value, indent: int) -> str:
    """A value as Python, broken into lines where it is long."""
    if isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    opened, closed = "[]" if isinstance(value, list) else "{}"
    parts = [_literal(part, indent + 4) for part in (value if isinstance(value, list) else value.values())]
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {part}" for name, part in zip(value, parts, strict=True)]
    text = f"{opened}{', '.join(parts)}{closed}"
    if indent + len(text) <= WIDTH:
        return text
    lines = "".join(f"{' ' * (indent + 4)}{part},\n" for part in parts)
    return f"{opened}\n{lines}{' ' * indent}{closed}"
