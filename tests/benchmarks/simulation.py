"""Speed of random walks, relative to the same walks in Python, one state at a time."""

from __future__ import annotations

import random
import time

from checker.explicit.kernel.build import compile_kernel, load_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.random_walks import random_walks
from checker.explicit.search.walk import Walker
from checker.lang.frontend import compile_model
from checker.lang.loader import load
from tests.benchmarks.printing import line

MODELS = {"tests/models/async_isr.py": None, "kraft/isr": "repaired", "kraft/full": "repaired"}
MAX_STEPS = 200
CPU_S = 3  # of each measurement, about


def simulation() -> None:
    """`fencepost simulate`, steps/s of CPU on one job, by optimized code; plain loops over successors beside it."""
    for name, setting in MODELS.items():
        model = load(name, {}, setting)
        kernel = load_kernel(model.key()) or compile_kernel(compile_model(model), model.key())
        initial = [model.state_type.encode(s) for s in model.initial_states()]
        rate, beside = compiled_rate(kernel, initial), python_rate(kernel, initial)
        line(f"{name}: steps/s of CPU", f"{rate:,.0f}", "1 M")
        line(f"{name}: to one state at a time", f"{rate / beside:,.0f}")


def compiled_rate(kernel: Kernel, initial: list[list[int]]) -> float:
    """Steps a second of CPU of compiled walks."""
    walks = 200
    while True:
        started = time.process_time()
        steps = random_walks(kernel, initial, seed=1, walks=walks, max_steps=MAX_STEPS).steps
        seconds = time.process_time() - started
        if seconds > CPU_S / 2:
            return steps / seconds
        walks = int(walks * min(10, CPU_S / seconds))


def python_rate(kernel: Kernel, initial: list[list[int]]) -> float:
    """The same by a loop in Python over the successors of one state at a time."""
    chance, walker, steps = random.Random(1), Walker(kernel), 0
    started = time.process_time()
    while time.process_time() - started < CPU_S / 2:
        state = kernel.layout.pack(chance.choice(initial))
        for _ in range(MAX_STEPS):
            walker.properties(state)
            successors = walker.expand(state).steps
            if not successors:
                break
            state = chance.choice(successors).words
            steps += 1
    return steps / (time.process_time() - started)
