"""KIP-343 with all faults at once: walks find nothing in the repaired design, and what the draft gets wrong."""

from __future__ import annotations

import pytest

from checker.explicit.check import kernel_of
from checker.explicit.search.random_walks import WalksResult, random_walks
from checker.lang.loader import load

pytestmark = pytest.mark.long("30 s of CPU: the kernel of heartbeat/full is compiled")


def walked(setting: str, walks: int) -> WalksResult:
    model = load("heartbeat/full", {}, setting)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    return random_walks(kernel_of(model), initial, seed=7, walks=walks, max_steps=300)


def test_walks_through_the_repaired_design_find_nothing() -> None:
    found = walked("repaired", 300)
    assert (found.violation, found.steps) == (None, 300 * 300)


def test_walks_through_the_draft_find_a_violation() -> None:
    assert walked("draft", 40).violation is not None
