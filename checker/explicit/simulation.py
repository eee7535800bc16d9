"""Random walks through a model that is too large to exhaust."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from checker.explicit.check import first_state, kernel_of
from checker.explicit.path import Target
from checker.explicit.replay import with_switches_on
from checker.explicit.tracing import Tracer
from checker.explicit.walk import simulate as walk_randomly
from checker.lang.declare import Declared
from checker.lang.loader import BoundModel
from traces import Trace

NOTHING_FOUND, VIOLATED, INCOMPLETE = 0, 1, 3
ROUND = 16  # walks between looks at the clock


@dataclass(frozen=True)
class Simulation:
    """What random walks came to. steps: of all walks; found_steps: of the violating walk before it was shrunk."""

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
            return VIOLATED
        return INCOMPLETE if self.stopped else NOTHING_FOUND

    def text(self) -> str:
        rate = self.steps / max(1e-9, self.seconds)
        made = f"{self.walks:,} walks, {self.steps:,} steps, {rate:,.0f}/s, seed {self.seed}"
        if self.trace is not None:
            length = len(self.trace.steps)
            return f"violated: after {made}; shrunk from {self.found_steps + 1} to {length} states (not the shortest)"
        stopped = f"stopped by {self.stopped}; " if self.stopped else ""
        return f"{stopped}no violation found in {made}; this proves nothing about the walks not taken"


def simulate(model: BoundModel, *, seed: int, walks: int, max_steps: int, time_limit_s: float | None) -> Simulation:
    """Walk at random until something breaks; the same seed gives the same walks."""
    kernel = kernel_of(model)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    started = time.monotonic()
    done = steps = 0
    stopped = None
    try:
        while done < walks:
            if time_limit_s is not None and time.monotonic() - started > time_limit_s:
                stopped = f"limit of {time_limit_s:g} s"
                break
            found = walk_randomly(
                kernel, initial, seed=hash((seed, done)), walks=min(ROUND, walks - done), max_steps=max_steps
            )
            done, steps = done + found.walks, steps + found.steps
            if found.path is not None and found.target is not None:
                first = first_state(model, kernel, found.path)
                broken = _broken(model, found.target)
                shrunk = f"not the shortest: a random walk of {found.found_steps + 1} states, shrunk"
                trace = Tracer(model).trace(first, found.path.instances, broken, shrunk)
                trace = replace(trace, tail=with_switches_on(model, trace))
                return Simulation(seed, done, steps, time.monotonic() - started, None, trace, found.found_steps)
    except KeyboardInterrupt:
        stopped = "interrupt"
    return Simulation(seed, done, steps, time.monotonic() - started, stopped, None, 0)


def _broken(model: BoundModel, target: Target) -> Declared | None:
    if target.deadlock:
        return next(p for p in model.model.properties if p.kind == "deadlock")
    return None if target.property is None else list(model.model.properties)[target.property]
