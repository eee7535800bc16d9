"""The model with all faults at once: walks through it find nothing, and do find what shipped Kafka gets wrong."""

from __future__ import annotations

import random

from checker.explicit.check import kernel_of
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.walk import SimulationResult, Walker, simulate
from checker.lang.loader import BoundModel, load


def compiled(setting: str) -> tuple[BoundModel, Kernel, list[list[int]]]:
    model = load("kraft/full", {}, setting)
    kernel = kernel_of(model)
    return model, kernel, [model.state_type.encode(s) for s in model.initial_states()]


def walked(kernel: Kernel, initial: list[list[int]]) -> SimulationResult:
    return simulate(kernel, initial, seed=1, walks=40, max_steps=300)


def test_walks_through_the_repaired_design_find_nothing() -> None:
    model, kernel, initial = compiled("repaired")
    found = walked(kernel, initial)
    assert (found.target, found.steps) == (None, 40 * 300)
    chance, walker, seen = random.Random(5), Walker(kernel), set()
    for _ in range(150):
        state = kernel.layout.pack(initial[0])
        for _ in range(300):
            step = chance.choice(walker.expand(state).steps)
            seen.add(kernel.instances[step.instance][0])
            state = step.words
    assert {a.name for i, a in enumerate(model.model.actions) if i not in seen} == set(), "never taken"


def test_walks_through_the_shipped_design_find_a_violation() -> None:
    _, kernel, initial = compiled("shipped")
    assert walked(kernel, initial).target is not None
