"""Random walks through models that do not close."""

from __future__ import annotations

from checker.explicit.check import kernel_of
from checker.explicit.search.random_walks import WalksResult, random_walks
from checker.lang.loader import load

SEED, STEPS = 7, 300


def walked(model: str, setting: str, walks: int) -> WalksResult:
    """So many walks of at most STEPS steps through a model."""
    bound = load(model, {}, setting)
    initial = [bound.state_type.encode(s) for s in bound.initial_states()]
    return random_walks(kernel_of(bound), initial, seed=SEED, walks=walks, max_steps=STEPS)
