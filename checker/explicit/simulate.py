"""Random walks through a model that is too large to exhaust."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from checker.explicit.check import declared_by, kernel_of
from checker.explicit.kernel.coverage import SiteCoverage
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.path import first_state
from checker.explicit.search.random_walks import Violation, WalkProgress, WalksResult, random_walks
from checker.lang.ir import EventKind, Site
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.reference.switches import repairs, with_switches_on
from checker.reference.trace import Tracer
from checker.running.deadline import Stage
from checker.running.limits import Limits
from checker.verdicts import INCOMPLETE, NONE_FOUND, VIOLATED, exit_code
from traces import Trace
from traces.values import plural


@dataclass(frozen=True)
class Simulation:
    """Results of random walks. trace: of the violation, if there is one."""

    model: BoundModel
    kernel: Kernel
    seed: int
    jobs: int
    result: WalksResult
    trace: Trace | None

    @property
    def verdict(self) -> str:
        if self.trace is not None:
            return VIOLATED
        return INCOMPLETE if self.result.stopped else NONE_FOUND

    @property
    def violated(self) -> str | None:
        """The name of what is violated."""
        return None if self.trace is None or self.trace.violation is None else self.trace.violation.property

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def never_taken(self) -> list[str]:
        """The actions that no walk took."""
        return [name for name, taken in zip(self.kernel.actions, self.result.taken, strict=True) if not taken]

    def guards(self) -> list[tuple[Site, SiteCoverage]]:
        """The `require`s, and how often each was evaluated, and refused."""
        sites = zip(self.kernel.sites, self.result.sites, strict=True)
        return [(site, seen) for site, seen in sites if site.kind is EventKind.REQUIRE]

    def witnesses(self) -> dict[str, bool]:
        """Per witness, whether a walk reached it."""
        declared = enumerate(self.kernel.properties)
        return {p.name: bool(self.result.witnesses >> i & 1) for i, p in declared if p.kind == "witness"}

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        result, violation = self.result, self.result.violation
        return {
            "model": self.model.name,
            "constants": {name: to_itf(value) for name, value in self.model.constants.items()},
            "verdict": self.verdict,
            "reason": self.violated or result.stopped or "",
            "seed": self.seed,
            "walks": result.walks,
            "steps": result.steps,
            "violation": None if violation is None or self.trace is None else {
                "name": self.violated, "walk": violation.walk, "walk_steps": violation.found_steps,
                "trace_length": len(self.trace.steps),
            },
            "actions": [
                {"name": name, "enabled": c.enabled, "taken": taken, "cut": c.cut}
                for name, c, taken in zip(self.kernel.actions, result.actions, result.taken, strict=True)
            ],
            "requires": [
                {"action": self.kernel.actions[s.action], "file": s.file, "line": s.line, "text": s.text,
                 "evaluated": c.evaluated, "refused": c.ended}
                for s, c in self.guards()
            ],
            "witnesses": [{"name": name, "reached": reached} for name, reached in self.witnesses().items()],
            "seconds": round(result.seconds, 4),
            "jobs": self.jobs,
        }  # fmt: skip


def simulate(
    model: BoundModel, *, seed: int, walks: int, max_steps: int, jobs: int = 1, time_limit_s: float | None = None,
    progress: Callable[[WalkProgress], None] | None = None, stages: Callable[[Stage], None] | None = None,
) -> Simulation:  # fmt: skip
    """Walk at random until something breaks; the same seed gives the same walks, whatever the number of jobs.

    jobs: threads. progress, stages: called with the progress of the walks, and of compiling before them. Raises
    CompilationStopped.
    """
    kernel = kernel_of(model, Limits(time_limit_s=time_limit_s), stages)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    result = random_walks(kernel, initial, seed=seed, walks=walks, max_steps=max_steps, jobs=jobs,
                          time_limit_s=time_limit_s, progress=progress)  # fmt: skip
    trace = None if result.violation is None else _trace(model, kernel, result.violation)
    return Simulation(model, kernel, seed, jobs, result, trace)


def _trace(model: BoundModel, kernel: Kernel, found: Violation) -> Trace:
    """The violation, gone through again by plain Python. Ctrl-C only spares the settings that would not allow it."""
    path = found.path
    shrunk = f"not the shortest: a random walk of {plural(found.found_steps + 1, 'state')}"
    shrunk += ", shrunk" * (len(path.instances) < found.found_steps)
    first = first_state(model, kernel, path.words[0])
    trace = Tracer(model).trace(first, path.instances, declared_by(model, kernel, found.target), shrunk)
    try:
        return replace(trace, tail=(*trace.tail, *with_switches_on(repairs(model, trace))))
    except KeyboardInterrupt:
        return trace
