"""KIP-268 with all faults at once: walks take every step, and find nothing in the repaired design."""

from __future__ import annotations

import pytest

from checker.explicit.check import kernel_of
from checker.explicit.search.random_walks import random_walks
from checker.lang.loader import load

STEPS = 200


@pytest.mark.long("a kernel is compiled: 4 s of CPU")
def test_walks_through_the_repaired_design_find_nothing() -> None:
    """By unsubscribing, so that every action is taken."""
    changes = {"processes": "3", "threads": "1", "rejoin_keeps_membership": "false"}
    model = load("streams/full", changes, "repaired")
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    found = random_walks(kernel_of(model), initial, seed=1, walks=1_000, max_steps=STEPS)
    assert found.violation is None
    assert [a.name for a, taken in zip(model.model.actions, found.taken, strict=True) if not taken] == []
