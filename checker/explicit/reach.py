"""The shortest way to a state that an expression describes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from checker.explicit.check import SHORTEST, first_state, kernel_of
from checker.explicit.path import Target, shortest
from checker.explicit.results import Limits, Progress
from checker.explicit.search import search
from checker.explicit.tracing import Tracer
from checker.lang.frontend import compile_expression
from checker.lang.loader import BoundModel
from traces import Trace

REACHED, INCOMPLETE, UNREACHABLE = 0, 3, 4


@dataclass(frozen=True)
class Found:
    """Whether a state was reached: the trace to it, the words, and the exit code."""

    trace: Trace | None
    text: str
    exit_code: int


def reach(
    model: BoundModel, expression: str, *, threads: int, limits: Limits, progress: Callable[[Progress], None] | None
) -> Found:
    """Search breadth-first for a state where `expression` over the state `s` holds. Raises SpecError."""
    witness = compile_expression(expression, _names(model))
    only = model.with_properties([witness])
    kernel = kernel_of(only)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    result = search(kernel, initial, threads=threads, limits=limits, progress=progress, stop_on_witness=0)
    level = result.witnesses.get(0)
    if level is not None:
        path = shortest(kernel, result, Target(property=0))
        trace = Tracer(model).trace(first_state(model, kernel, path), path.instances, None, SHORTEST)
        return Found(trace, f"reached in {level} states: {expression}", REACHED)
    seen = f"{result.distinct:,} distinct states, depth {result.depth}"
    if result.stopped is not None:
        return Found(None, f"incomplete ({result.stopped}): not reached in {seen}", INCOMPLETE)
    if result.errors:
        return Found(None, "incomplete: a step breaks down before it is reached (see fencepost check)", INCOMPLETE)
    within = "no state within the model's bounds" if result.cuts(kernel.sites) else "no reachable state"
    return Found(None, f"{within} has it: {expression} ({seen})", UNREACHABLE)


def _names(model: BoundModel) -> dict[str, object]:
    """What an expression may name: everything that the spec's modules can see."""
    names: dict[str, object] = {}
    for declared in (*model.model.properties, model.model.init, *model.model.actions):
        names.update(vars(sys.modules[declared.function.__module__]))
    return names
