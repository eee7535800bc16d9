"""KIP-343 with all faults at once: walks find nothing in the repaired design, and what the draft gets wrong."""

from __future__ import annotations

import pytest

from tests.spec.walks import walked

pytestmark = pytest.mark.long("30 s of CPU: the kernel of heartbeat/full is compiled")


def test_walks_through_the_repaired_design_find_nothing() -> None:
    found = walked("heartbeat/full", "repaired", 300)
    assert (found.violation, found.steps) == (None, 300 * 300)


def test_walks_through_the_draft_find_a_violation() -> None:
    assert walked("heartbeat/full", "draft", 40).violation is not None
