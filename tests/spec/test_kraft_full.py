"""The model with all faults at once: walks through it find nothing, and do find what shipped Kafka gets wrong."""

from __future__ import annotations

import pytest

from checker.explicit.check import kernel_of
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.random_walks import WalksResult, random_walks
from checker.lang.loader import BoundModel, load


def compiled(setting: str) -> tuple[BoundModel, Kernel, list[list[int]]]:
    model = load("kraft/full", {}, setting)
    kernel = kernel_of(model)
    return model, kernel, [model.state_type.encode(s) for s in model.initial_states()]


def walked(kernel: Kernel, initial: list[list[int]], seed: int, walks: int) -> WalksResult:
    return random_walks(kernel, initial, seed=seed, walks=walks, max_steps=300)


@pytest.mark.long("30 s of CPU: the kernel of kraft/full is compiled")
def test_walks_through_the_repaired_design_find_nothing() -> None:
    model, kernel, initial = compiled("repaired")
    found = walked(kernel, initial, seed=2, walks=190)
    assert (found.violation, found.steps) == (None, 190 * 300)
    assert [a.name for a, taken in zip(model.model.actions, found.taken, strict=True) if not taken] == []


@pytest.mark.long("30 s of CPU: the kernel of kraft/full is compiled")
def test_walks_through_the_shipped_design_find_a_violation() -> None:
    _, kernel, initial = compiled("shipped")
    assert walked(kernel, initial, seed=1, walks=40).violation is not None
