"""Lassos as traces that a person reads, and the report of an obligation that breaks down."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from checker.explicit.search.path import first_state
from checker.lang.declare import Declared
from checker.lang.frontend.source import function_of
from checker.lang.itf import to_itf
from checker.lang.liveness import EVENTUALLY_ALWAYS, LEADS_TO
from checker.lang.loader import BoundModel
from checker.lang.parameters import bindings
from checker.reference.trace import Tracer, location
from traces import Trace, Violation

if TYPE_CHECKING:
    from checker.explicit.kernel.kernel import Kernel
    from checker.explicit.liveness.obligations import Lasso


def lasso_trace(model: BoundModel, kernel: Kernel, lasso: Lasso) -> Trace:
    """The trace of a lasso, with `loop` set. Its last step is the one that closes the loop."""
    obligation = kernel.obligations[lasso.obligation]
    declared = model.model.properties[obligation.property]
    binding = list(bindings(model.parameters(declared)))[obligation.number]
    trace = Tracer(model).trace(first_state(model, kernel, lasso.start), lasso.instances, None)
    tail = tuple(_tail(declared, lasso, trace))
    return replace(trace, violation=_violation(model, declared, binding), loop=lasso.loop, tail=(*tail, *trace.tail))


def _violation(model: BoundModel, declared: Declared, binding: tuple[Any, ...]) -> Violation:
    function = function_of(declared.function)
    values = tuple((p.name, to_itf(v)) for p, v in zip(model.parameters(declared), binding, strict=True))
    return Violation(
        declared.name, declared.kind, declared.doc, declared.source, _goal(declared),
        location(function.file, function.tree.lineno), values,
    )  # fmt: skip


def _goal(declared: Declared) -> str:
    """The goal in the spec's own text; "" if the function is not a single return."""
    where = _goal_text(declared)
    if not declared.actions:
        return where
    steps = f"{' or '.join(action.name for action in declared.actions)} is taken"
    return steps if where in ("", "True") else f"{steps} where {where}"


def _goal_text(declared: Declared) -> str:
    """The source of the goal as a state; "" if the function is not a single return."""
    function = function_of(declared.function)
    returns = [n.value for n in ast.walk(function.tree) if isinstance(n, ast.Return) and n.value is not None]
    if len(returns) != 1:
        return ""
    whole = returns[0]
    if declared.kind != LEADS_TO:
        return function.text(whole)
    return function.text(whole.elts[1]) if isinstance(whole, ast.Tuple) else ""


def _tail(declared: Declared, lasso: Lasso, trace: Trace) -> list[str]:
    step = f"step {lasso.asked + 1}"
    lines = [f"asked for: at {step} the condition holds"] if declared.kind == LEADS_TO else []
    if declared.kind == EVENTUALLY_ALWAYS:
        lines.append(f"missing: at {step}, which recurs forever, the goal does not hold")
    else:
        lines.append(f"missing: from {step} on {'no step is the goal' if declared.actions else 'the goal never holds'}")
    if lasso.turn is None:
        return [*lines, f"the end: in step {lasso.length} no fair action is enabled, so nothing has to happen any more"]
    last, before = trace.steps[-1], trace.steps[lasso.turn]
    same = "is that" if last.state == before.state else "is, but for the numbers of ordinals, that"
    return [*lines, f"the loop: the state of step {last.index} {same} of step {before.index}"]
