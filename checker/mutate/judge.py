"""The verdict on one mutant: killed, survived, or proved equivalent.

Exact in each case. A mutant is equivalent where its steps out of every state of the original are the original's:
by induction from the initial states, which no mutant changes, both then reach the same states by the same steps.
Most of these are found without a look at their steps (`infection`). It stutters where the only other steps are such
that leave the state as it is.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checker.explicit.check import SHORTEST, Report, declared_by
from checker.explicit.kernel import abi
from checker.explicit.kernel.build import passing_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.layout import LayoutError
from checker.explicit.search.breadth_first import search
from checker.explicit.search.path import Target, first_state, shortest, way_to
from checker.explicit.search.results import SearchResult
from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.frontend import compile_variants
from checker.lang.ir import Instance, Site
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.mutate.compare import CUT, Difference, Stepper, differing, extent, first_difference
from checker.mutate.infection import infection
from checker.mutate.mutants import Mutant, mutated
from checker.reference.trace import Tracer
from checker.running.limits import Limits
from checker.verdicts import INCOMPLETE, VIOLATED
from traces import Trace
from traces.values import plural, show

KILLED, SURVIVED, STUTTERING, EQUIVALENT, NOT_EXERCISED, INVALID, UNDECIDED = (
    "killed", "survived", "stuttering", "equivalent", "not exercised", "invalid", "undecided",
)  # fmt: skip
UNREACHED = " is not reached"  # after the name of a witness, where that objects
PRECEDENCE = (KILLED, SURVIVED, UNDECIDED, STUTTERING, EQUIVALENT, NOT_EXERCISED, INVALID)  # over several models
LEAST_MAX_STATES = 1_000_000
QUICK_STATES = 1 << 19  # what a kernel made in a quarter of the time is given to find a violation
QUICK_ONLY_STATES = 3 << 19  # models up to this size: a second kernel costs more than the quick one's slower search


@dataclass(frozen=True)
class Verdict:
    """The verdict on a mutant.

    by: what objects (properties, witnesses, "ACTION fires"). length: states of the shortest trace to the violation, or
    for a survivor to the first step that differs. reason: the same for people. seconds: what it took.
    trace: where it was asked for.
    """

    key: str
    place: str
    verdict: str
    reason: str
    by: tuple[str, ...] = ()
    length: int | None = None
    seconds: float = 0.0
    trace: Trace | None = None

    def to_json(self) -> dict[str, Any]:
        """Without the trace, which is shown."""
        fields = ("key", "place", "verdict", "reason", "by", "length")
        return {**{name: getattr(self, name) for name in fields}, "seconds": round(self.seconds, 3)}

    @staticmethod
    def from_json(found: dict[str, Any]) -> Verdict:
        return Verdict(**{**found, "by": tuple(found["by"])})


class Original:
    """A model that was explored whole, and what its mutants are held to. Raises SpecError for others.

    mutants: those that will be judged.
    max_states: of a mutant; one with more is undecided (None: 4 times the model's, and a million at least).
    memory_bytes: that one mutant may take.
    """

    def __init__(self, report: Report, mutants: Sequence[Mutant], max_states: int | None, memory_bytes: int) -> None:
        self.model, self.kernel, self.result = report.model, report.kernel, report.result
        if report.verdict in (VIOLATED, INCOMPLETE):
            raise SpecError(
                f"{self.model.name} is {report.verdict} as it stands: {report.reason}",
                hint="mutants show what the properties of a model catch that holds, explored to the end",
            )
        if self.model.model.hide:
            raise SpecError(
                f"{self.model.name} hides {', '.join(self.model.model.hide)}: of states that a view makes equal one is"
                " explored, so that no mutant could be proved equivalent",
                place=self.model.model.place, hint="a model without hide",
            )  # fmt: skip
        self.compile = compile_variants(self.model)
        self.program = self.compile({})
        self.max_states = max_states or max(LEAST_MAX_STATES, 4 * self.result.distinct)
        self.quick_states = self.max_states
        if self.result.distinct > QUICK_ONLY_STATES:
            self.quick_states = min(QUICK_STATES, self.max_states)
        self.memory_bytes = memory_bytes
        self._steppers: dict[tuple[int, ...], Stepper] = {}
        self._infection = infection(self.model, self.result, mutants)

    def infects(self, mutant: Mutant) -> bool:
        """True if the mutant may leave something else than the original in some reachable state."""
        return mutant.key in self._infection.infected

    def reaches(self, mutant: Mutant) -> bool:
        """True if some reachable state gets to what the mutant changes."""
        return mutant.key in self._infection.reached

    def stepper(self, actions: tuple[int, ...]) -> Stepper:
        """The steps of these actions."""
        if actions not in self._steppers:
            self._steppers[actions] = Stepper(self.program, actions)
        return self._steppers[actions]


def judge(original: Original, mutant: Mutant, *, traced: bool = False, so_far: str = INVALID) -> Verdict:
    """The verdict on `mutant`. traced: with a trace to what kills it, or to where a survivor differs.

    so_far: the verdict of other models, which spares what would add nothing to it: how far a survivor differs where
    another model has shown that.
    """
    started = time.perf_counter()
    found = _Judge(original, mutant, traced, PRECEDENCE.index(so_far)).verdict()
    return dataclasses.replace(found, seconds=time.perf_counter() - started)


class _Judge:
    def __init__(self, original: Original, mutant: Mutant, traced: bool, so_far: int) -> None:
        self.original, self.mutant, self.traced, self.so_far = original, mutant, traced, so_far

    @functools.cached_property
    def changed(self) -> dict[int, Declared]:
        return self.mutant.of(self.original.model)

    @functools.cached_property
    def model(self) -> BoundModel:
        return mutated(self.original.model, self.changed)

    def _said(self, verdict: str, reason: str, **more: Any) -> Verdict:
        return Verdict(self.mutant.key, self.mutant.place, verdict, reason, **more)

    def verdict(self) -> Verdict:
        original, actions = self.original, self.mutant.actions
        if not original.infects(self.mutant):
            return self._unchanged()
        try:
            program = original.compile(self.changed)
            if _same(original.program, program):
                return self._unchanged()
            self.theirs = Stepper(program, actions)
        except (SpecError, LayoutError) as error:
            return self._said(INVALID, getattr(error, "reason", str(error)))
        self.ours = original.stepper(actions)
        difference = first_difference(original.result, self.ours, self.theirs)
        if difference is None:
            return self._unchanged()
        kernel, result = self._explored(program)
        killed = self._killed(kernel, result)
        if killed is not None:
            return killed
        if result.stopped is not None:
            return self._said(UNDECIDED, f"nothing is violated up to the {result.stopped}")
        return self._survived(result, difference)

    def _unchanged(self) -> Verdict:
        """The same steps out of every state."""
        if self.original.reaches(self.mutant):
            return self._said(EQUIVALENT, "the same states and steps")
        return self._said(NOT_EXERCISED, "no reachable state gets there")

    def _explored(self, program: Program) -> tuple[Kernel, SearchResult]:
        """Explore the mutant up to a violation: with a quick kernel, and if that has much to do, a good one."""
        original = self.original
        initial = [original.model.state_type.encode(s) for s in original.model.initial_states()]
        for quick, most in ((True, original.quick_states), (False, original.max_states)):
            kernel = passing_kernel(program, quick=quick)
            result = search(kernel, initial, limits=Limits(max_states=most, memory_bytes=original.memory_bytes))
            if result.stopped is None or result.violated or most == original.max_states:
                break
        return kernel, result

    # Objections.

    def _killed(self, kernel: Kernel, result: SearchResult) -> Verdict | None:
        if result.violated:
            found = [(level, kernel.properties[i].name, Target(property=i)) for i, level in result.broken.items()]
            for site, level in result.errors.items():
                place = kernel.sites[site]
                found.append((level, f"{place.reason}: {place.text}", Target(site=site)))
            found.sort(key=lambda one: one[0])
            length, _, target = found[0]
            by = tuple(name for _, name, _ in found)
            words = f"{', '.join(by)} in {plural(length, 'state')}"
            return self._said(KILLED, words, by=by, length=length, trace=self._violation(kernel, result, target))
        if result.stopped is not None:
            return None
        missing = self._missing(kernel, result)
        if missing:
            return self._said(KILLED, "; ".join(missing), by=tuple(missing))
        return self._lasso(kernel, result)

    def _missing(self, kernel: Kernel, result: SearchResult) -> list[str]:
        """The states that the original reaches, or the steps it takes, and the mutant does not."""
        before = self.original.result
        witnesses = [kernel.properties[i].name + UNREACHED for i in sorted(before.witnesses)
                     if i not in result.witnesses]  # fmt: skip
        pairs = zip(kernel.actions, before.actions, result.actions, strict=True)
        return witnesses + [f"{name} never fires (vacuous)" for name, a, b in pairs if a.fired and not b.fired]

    def _lasso(self, kernel: Kernel, result: SearchResult) -> Verdict | None:
        if not kernel.obligations:
            return None
        from checker.explicit.liveness.lasso import lasso_trace
        from checker.explicit.liveness.obligations import find_lassos

        found = find_lassos(kernel, result)
        lassos = found.by_property
        if not lassos:
            if found.stopped is None:
                return None
            return self._said(UNDECIDED, f"nothing is violated up to the {found.stopped}")
        first = lassos[min(lassos)]
        by = tuple(kernel.properties[i].name for i in sorted(lassos))
        words = f"{', '.join(by)} in a lasso of {plural(first.length, 'state')}"
        trace = lasso_trace(self.model, kernel, first) if self.traced else None
        return self._said(KILLED, words, by=by, length=first.length, trace=trace)

    def _violation(self, kernel: Kernel, result: SearchResult, target: Target) -> Trace | None:
        if not self.traced:
            return None
        path = shortest(kernel, result, target)
        broken = declared_by(self.model, kernel, target)
        first = first_state(self.model, kernel, path.words[0])
        return Tracer(self.model).trace(first, path.instances, broken, f"mutant: {self.mutant.edit.text}", SHORTEST)

    # Survivors.

    def _survived(self, result: SearchResult, difference: Difference) -> Verdict:
        if self.so_far <= PRECEDENCE.index(SURVIVED) and not self.traced:
            reason = f"its steps differ after {plural(difference.level, 'state')}"
            return self._said(SURVIVED, reason, length=difference.level)
        how = extent(self.original.result, result, self.ours, self.theirs)
        words, trace = self._first_step(difference)
        reached = f"states +{how.states[1]:,} -{how.states[0]:,}; steps +{how.steps[1]:,} -{how.steps[0]:,}"
        shown = trace if self.traced else None
        verdict = STUTTERING if how.stutters and how.states == (0, 0) else SURVIVED
        return self._said(verdict, f"{words}; {reached}", length=difference.level, trace=shown)

    def _first_step(self, difference: Difference) -> tuple[str, Trace]:
        """The first step that differs, as text, and the shortest way to it."""
        path = way_to(self.original.kernel, self.original.result, difference.states, difference.level)
        state = np.array(path.words[-1], dtype=np.uint64)
        ours, theirs = differing(*[s.steps(state.ctypes.data, 0, 1) for s in (self.ours, self.theirs)])
        ends = [{int(row[-2]) & abi.NO_INSTANCE: int(row[-1]) for row in rows} for rows in (ours, theirs)]
        least = min(min(found) for found in ends if found)
        before, after = (found.get(least) for found in ends)
        what = _how(before, after)
        model = self.original.model if after is None else self.model
        first = first_state(self.original.model, self.original.kernel, path.words[0])
        instances = [*path.instances, self.ours.numbers[least]]
        head = (f"mutant: {self.mutant.edit.text}", f"shortest way to the first step that differs: the last one {what}")
        trace = Tracer(model).trace(first, instances, None, *head)
        last = trace.steps[-1]
        arguments = ", ".join(f"{name}={show(value)}" for name, value in last.parameters.items())
        call = f"{last.action}({arguments})" if arguments else last.action
        return f"{call} {what} after {plural(difference.level, 'state')}", trace


def _how(before: int | None, after: int | None) -> str:
    """The difference of a mutant's step from the original's, by their ends (see `compare`), None if there is none."""
    if after is None:
        return "is gone"
    if after == CUT:
        return "is cut by a bound"
    return "is new" if before is None else "is no longer cut" if before == CUT else "leads elsewhere"


def _same(ours: Program, theirs: Program) -> bool:
    """True if two variants compile to the same steps."""
    pairs = zip(ours.instances, theirs.instances, strict=True)
    return all(a is b or _meaning(a, ours.sites) == _meaning(b, theirs.sites) for a, b in pairs)


def _meaning(instance: Instance, sites: Sequence[Site]) -> tuple[Any, ...]:
    """The meaning of a step, by the numbers of nodes, which variants share."""
    events = [(sites[e.site].kind, e.condition.serial, e.reached.serial) for e in instance.events]
    updates = {leaf: node.serial for leaf, node in instance.updates.items()}
    return events, updates, [(p, n.serial) for p, n in instance.breaks], instance.outside.serial
