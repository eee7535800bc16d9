"""The consumer coordinator with all faults at once: walks find nothing in the repaired design."""

from __future__ import annotations

import pytest

from tests.spec.walks import walked

pytestmark = pytest.mark.long("the kernel of group/full is compiled, 15 s of CPU a setting")


def test_walks_through_the_repaired_design_find_nothing() -> None:
    found = walked("group/full", "repaired", 1_000)
    assert (found.violation, found.steps) == (None, 1_000 * 300)


@pytest.mark.parametrize("setting", ["draft", "shipped"])
def test_walks_through_other_settings_find_a_violation(setting: str) -> None:
    assert walked("group/full", setting, 100).violation is not None
