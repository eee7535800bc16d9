"""Random walks through a model that is too large to exhaust."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from checker.explicit.check import declared_by, kernel_of
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.path import Path as Way
from checker.explicit.search.path import Target, first_state
from checker.explicit.search.walk import simulate as walk_randomly
from checker.lang.loader import BoundModel
from checker.reference.switches import repairs, with_switches_on
from checker.reference.trace import Tracer
from checker.running.limits import Limits
from checker.verdicts import INTERRUPTED, ExitCode
from traces import Trace
from traces.values import plural

ROUND = 16  # walks between looks at the clock


@dataclass(frozen=True)
class Simulation:
    """Results of random walks. steps: of all walks; found_steps: of the violating walk before it was shrunk."""

    seed: int
    walks: int
    steps: int
    seconds: float
    stopped: str | None
    trace: Trace | None
    found_steps: int

    @property
    def exit_code(self) -> int:
        if self.trace is not None:
            return ExitCode.VIOLATED
        return ExitCode.INCOMPLETE if self.stopped else ExitCode.HOLDS

    def text(self) -> str:
        rate = self.steps / max(1e-9, self.seconds)
        made = f"{plural(self.walks, 'walk')}, {plural(self.steps, 'step')}, {rate:,.0f}/s, seed {self.seed}"
        if self.trace is not None:
            length = len(self.trace.steps)
            shrunk = f"shrunk from {self.found_steps + 1:,} to " if length <= self.found_steps else ""
            name = self.trace.violation.property if self.trace.violation is not None else ""
            return f"violated: {name}; {made}; {shrunk}{plural(length, 'state')} (there may be a shorter way)"
        stopped = f"incomplete: {self.stopped}; " if self.stopped else ""
        return f"{stopped}no violation found in {made}; this proves nothing about the walks not taken"


def simulate(
    model: BoundModel, *, seed: int, walks: int, max_steps: int, time_limit_s: float | None,
    progress: Callable[[Simulation], None] | None = None,
) -> Simulation:  # fmt: skip
    """Walk at random until something breaks; the same seed gives the same walks. progress: called now and then."""
    kernel = kernel_of(model, Limits(time_limit_s=time_limit_s))
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    made = Simulation(seed, 0, 0, 0.0, None, None, 0)
    started = time.monotonic()
    try:
        while made.walks < walks:
            if time_limit_s is not None and made.seconds >= time_limit_s:
                return replace(made, stopped=f"time limit of {time_limit_s:g} s")
            more = min(ROUND, walks - made.walks)
            found = walk_randomly(kernel, initial, seed=hash((seed, made.walks)), walks=more, max_steps=max_steps)
            made = replace(
                made, walks=made.walks + found.walks, steps=made.steps + found.steps,
                seconds=time.monotonic() - started,
            )  # fmt: skip
            if found.path is not None and found.target is not None:
                trace = _trace(model, kernel, found.path, found.target, found.found_steps)
                return replace(made, trace=trace, found_steps=found.found_steps)
            if progress is not None:
                progress(made)
    except KeyboardInterrupt:
        return replace(made, stopped=INTERRUPTED, seconds=time.monotonic() - started)
    return made


def _trace(model: BoundModel, kernel: Kernel, path: Way, target: Target, found_steps: int) -> Trace:
    shrunk = f"not the shortest: a random walk of {plural(found_steps + 1, 'state')}"
    shrunk += ", shrunk" * (len(path.instances) < found_steps)
    first = first_state(model, kernel, path.words[0])
    trace = Tracer(model).trace(first, path.instances, declared_by(model, kernel, target), shrunk)
    return replace(trace, tail=with_switches_on(repairs(model, trace)))
