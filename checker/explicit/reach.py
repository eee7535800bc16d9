"""The shortest way to a state that an expression describes."""

from __future__ import annotations

import ast
import linecache
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from checker.explicit.check import SHORTEST, bounds, kernel_of
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.breadth_first import search
from checker.explicit.search.path import Target, first_state, shortest
from checker.explicit.search.results import SearchResult
from checker.lang.errors import Place, SpecError
from checker.lang.frontend import compile_expression
from checker.lang.loader import BoundModel
from checker.reference.expression import names_of
from checker.reference.trace import Tracer
from checker.running.limits import Limits, Progress
from checker.verdicts import INCOMPLETE, NOT_REACHED, REACHED, ExitCode
from traces import Trace
from traces.values import plural

_WITNESS, _EVALUATES = 0, 1  # indices of the kernel's properties: the expression, and that it can be evaluated
_BEFORE = len("    return ")  # what `compile_expression` puts in front of an expression


@dataclass(frozen=True)
class Found:
    """The answer on a state: the trace to it (or to where the expression breaks down), words, exit code."""

    trace: Trace | None
    text: str
    exit_code: int
    result: SearchResult

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints. verdict: null where the expression cannot be evaluated."""
        verdict = {ExitCode.HOLDS: REACHED, ExitCode.VACUOUS: NOT_REACHED, ExitCode.INCOMPLETE: INCOMPLETE}
        return {
            "verdict": verdict.get(ExitCode(self.exit_code)),
            "text": self.text,
            "trace_length": len(self.trace.steps) if self.trace is not None else None,
            "distinct": self.result.distinct,
            "depth": self.result.depth,
            "stopped": self.result.stopped,
        }


def reach(
    model: BoundModel, expression: str, *, threads: int, limits: Limits, progress: Callable[[Progress], None] | None
) -> Found:
    """Search breadth-first for a state where `expression` over the state `s` holds. Raises SpecError."""
    text = expression.strip()
    began = time.monotonic()
    only, kernel = _compiled(model, text, limits)
    limits = replace(limits, spent_s=time.monotonic() - began)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    # where a step, or the expression, breaks down, the search continues elsewhere
    result = search(kernel, initial, threads=threads, limits=limits, progress=progress, stop_on_witness=_WITNESS,
                    all_violations=True)  # fmt: skip
    level = result.witnesses.get(_WITNESS)
    if level is not None:
        words = f"reached in {plural(level, 'state')}: {text}"
        return Found(_trace(only, kernel, result, _WITNESS), words, ExitCode.HOLDS, result)
    seen = f"{result.distinct:,} distinct, depth {result.depth}"
    if result.stopped is not None:
        return Found(None, f"incomplete ({result.stopped}): not reached; {seen}", ExitCode.INCOMPLETE, result)
    level = result.broken.get(_EVALUATES)
    if level is not None:
        way = plural(level, "state")
        words = f"error: no state has it, and it cannot be evaluated in a state that is reached in {way}"
        return Found(_trace(only, kernel, result, _EVALUATES), f"{words}: {text} ({seen})", ExitCode.USAGE, result)
    limiting = bounds(model, kernel, result)
    limiting += [f"{len(result.errors)} of its steps break down (see fencepost check)"] * bool(result.errors)
    words = "no reachable state has it"
    if limiting:
        words, seen = "no state within the bounds has it", "; ".join([seen, *limiting])
    return Found(None, f"{words}: {text} ({seen})", ExitCode.VACUOUS, result)


def _trace(model: BoundModel, kernel: Kernel, result: SearchResult, target: int) -> Trace:
    path = shortest(kernel, result, Target(property=target))
    witness = model.model.properties[_WITNESS]
    trace = Tracer(model).trace(first_state(model, kernel, path.words[0]), path.instances, witness, SHORTEST)
    assert trace.violation is not None
    return replace(trace, violation=replace(trace.violation, location=""))  # it stands in no file


def _compiled(model: BoundModel, text: str, limits: Limits) -> tuple[BoundModel, Kernel]:
    """The model with the expression as its only property. Raises SpecError that shows the expression alone."""
    hint = "write a Python expression over the state s, such as: len(s.serving) == 2"
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else "it is nested too deep, or no text"
        raise SpecError(f"not an expression: {text[:200]} ({why if text else 'it is empty'})", hint=hint) from None
    try:
        only = model.with_properties([replace(compile_expression(text, names_of(model)), doc="")])
        return only, kernel_of(only, limits)
    except RecursionError:
        raise SpecError(f"not an expression: {text[:200]} (it is nested too deep)", hint=hint) from None
    except SpecError as error:
        if error.place.file != "<expression>":
            raise
        if error.place.line != 2:  # the function that was made around it
            raise SpecError(error.reason, hint=error.hint or hint) from None
        name = "expression"
        linecache.cache[name] = (len(text), None, [text], name)
        place = Place(name, 1, error.place.column - _BEFORE, error.place.end_column - _BEFORE)
        raise SpecError(error.reason, hint=error.hint, place=place) from None
