"""The consumer coordinator with all faults at once: walks find nothing in the repaired design."""

from __future__ import annotations

import pytest

from checker.explicit.check import kernel_of
from checker.explicit.search.random_walks import WalksResult, random_walks
from checker.lang.loader import load

pytestmark = pytest.mark.long("the kernel of group/full is compiled, 15 s of CPU a setting")


def walked(setting: str, walks: int) -> WalksResult:
    model = load("group/full", {}, setting)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    return random_walks(kernel_of(model), initial, seed=7, walks=walks, max_steps=300)


def test_walks_through_the_repaired_design_find_nothing() -> None:
    found = walked("repaired", 1_000)
    assert (found.violation, found.steps) == (None, 1_000 * 300)


@pytest.mark.parametrize("setting", ["draft", "shipped"])
def test_walks_through_other_settings_find_a_violation(setting: str) -> None:
    assert walked(setting, 100).violation is not None
