"""The controllers that closed models come to are among those that brokers bring about which ask at will."""

from __future__ import annotations

import pytest

from impl.adapters.kraft.core import PythonCore
from tests.conform.controllers_met import met


@pytest.mark.long("thousands of transitions are driven")
@pytest.mark.sample(1, verify=1)
@pytest.mark.parametrize(
    ("model", "changes", "depth", "least"),
    [
        ("membership", {}, 16, 23),
        ("late", {}, 10, 20),
        ("lossy", {"max_disk_losses": "0"}, 10, 20),
        ("zombie", {}, 10, 20),
    ],
)
def test_a_closed_model_comes_to_no_other_controller(
    model: str, changes: dict[str, str], depth: int, least: int
) -> None:
    """Images with all their epochs, sessions, leases, timers."""
    closed = met(PythonCore(), model, changes, depth)
    assert len(closed) >= least
    assert closed <= met(PythonCore(), "open", {})


@pytest.mark.long("6 s of CPU")
def test_one_whose_log_grows_is_not_among_them() -> None:
    assert not met(PythonCore(), "unfencing_ends", {}, 8) <= met(PythonCore(), "open", {})
