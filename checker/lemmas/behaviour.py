"""A solver's counterexample, run again as plain Python: codes of states and instances become a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from checker.lang.declare import Declared
from checker.lang.ir import EVALUATES, EventKind
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.reference.step import Reference
from checker.reference.trace import Tracer
from checker.symbolic.bounded import SHORTEST, Bounded
from checker.symbolic.induction import Proof
from traces import Trace

ASSUMED = "any state"
"""Stands for the action before the first state of a counterexample to induction."""


class DisagreementError(Exception):
    """The solver took a step that the spec does not: an error of the checker, not of the spec."""


def run_trace(bounded: Bounded) -> Trace:
    """The violation that an unrolling found."""
    run, model = bounded.run, bounded.model
    assert run is not None
    broken = None if run.broken is None else _declared(model, bounded.program.properties[run.broken].name)
    return _trace(model, bounded.program, run.states, run.instances, broken, SHORTEST)


def induction_trace(proof: Proof, claim: int) -> Trace:
    """The counterexample to induction of a claim, as a trace of two states."""
    finding = proof.findings[claim]
    example, model = finding.counterexample, proof.model
    assert example is not None
    broken = None if finding.claim.index is None else _declared(model, finding.claim.name)
    states = [example.before, *([example.after] if example.after is not None else [])]
    start = "step 1: no initial state, but one that has everything that was assumed of the state before a step"
    trace = _trace(model, proof.program, states, [example.instance], broken, start)
    assert trace.violation is not None
    broken_induction = replace(trace.violation, kind=f"induction of the {trace.violation.kind}")
    first = replace(trace.steps[0], action=ASSUMED, source="")
    return replace(trace, steps=(first, *trace.steps[1:]), violation=broken_induction)


def initial_trace(proof: Proof, claim: int) -> Trace:
    """An initial state that breaks an invariant."""
    finding = proof.findings[claim]
    assert finding.initial is not None
    return _trace(proof.model, proof.program, [finding.initial], [], _declared(proof.model, finding.claim.name))


def _declared(model: BoundModel, name: str) -> Declared:
    name = name.removesuffix(EVALUATES)
    found = model.declared(name) or next((d for d in model.model.lemmas if d.name == name), None)
    assert found is not None, name
    return found


def _trace(
    model: BoundModel, program: Program, states: Sequence[Sequence[int]], instances: Sequence[int],
    broken: Declared | None, *head: str,
) -> Trace:  # fmt: skip
    """The states' own steps: which member of a bag a parameter stands for, plain Python counts in its own way."""
    reference = Reference(model)
    decoded = [model.state_type.decode(codes) for codes in states]
    state, taken = decoded[0], []
    for number, instance in enumerate(instances):
        wanted = decoded[number + 1] if number + 1 < len(decoded) else None
        found, state = _step(reference, state, program.instances[instance].action, wanted)
        taken.append(found)
    return Tracer(model).trace(decoded[0], taken, broken, *head)


def _step(reference: Reference, state: Any, action: int, wanted: Any) -> tuple[int, Any]:
    """(instance of an action that leads to the wanted state, that state); wanted None: one that breaks down."""
    for instance, (number, _) in enumerate(reference.instances):
        if number == action:
            result = reference.step(state, instance)
            if wanted is None and result.ended is EventKind.ERROR:
                return instance, None
            if wanted is not None and result.ended is None:
                if reference.canonical(result.state) == reference.canonical(wanted):
                    return instance, result.state
    raise DisagreementError(f"{reference.actions[action].name} does not do what the solver says: {state} {wanted}")
