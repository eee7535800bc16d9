"""Bugs of a design's gallery, run: the counterexample that the checker finds, and what the guard does with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from checker.explicit.check import CheckOptions, Report, check
from checker.lang.declare import Bug
from checker.lang.loader import BoundModel, Spec, bind_model
from checker.reference.switches import Repair, repairs, with_switches_on
from checker.running.limits import Progress
from checker.verdicts import INTERRUPTED, VIOLATED
from traces import Trace
from traces.values import plural


@dataclass(frozen=True)
class Reproduction:
    """A bug, and the result of the search for it.

    verdict: as text. states, trace: of its counterexample, None where there is none; repairs: what the same steps do
    with each switch on that is off.
    """

    bug: Bug
    model: BoundModel
    verdict: str
    states: int | None
    trace: Trace | None
    repairs: tuple[Repair, ...]

    @property
    def as_declared(self) -> bool:
        """True if the property broke, in as many states as the gallery says."""
        return self.trace is not None and self.states == self.bug.states


def reproduce(
    spec: Spec, bug: Bug, *, threads: int, progress: Callable[[Progress], None] | None = None
) -> Reproduction:
    """Search for the bug's counterexample. Raises SpecError, and KeyboardInterrupt where Ctrl-C stopped the search."""
    changes = {name: str(getattr(value, "name", value)) for name, value in bug.constants.items()}  # enums by name
    model = bind_model(spec, bug.model.name, changes).with_properties([bug.violates])
    report = check(model, CheckOptions(threads=threads), started=time.perf_counter(), progress=progress)
    if report.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return reproduced(bug, model, report)


def reproduced(bug: Bug, model: BoundModel, report: Report) -> Reproduction:
    """The bug as a report on its model has it; the report may be about other properties besides."""
    found = next(p for p in report.properties if p.name == bug.violates.name)
    if found.verdict != VIOLATED or found.trace is None or found.trace_length is None:
        return Reproduction(bug, model, f"{found.name}: {found.verdict}", None, None, ())
    verdict = f"{found.name} violated in {plural(found.trace_length, 'state')}"
    made = tuple(repairs(model, found.trace))
    own = len(found.trace.tail) - len(with_switches_on(made))  # the page shows the repairs in a section of its own
    trace = replace(found.trace, tail=found.trace.tail[:own])
    return Reproduction(bug, model, verdict, found.trace_length, trace, made)
