"""What a step went by: it is recalled only in spec states in which that is the same."""

from __future__ import annotations

from typing import Any

import pytest

from checker.conform.noting import Noting, Reading, noted, reads_alike
from checker.lang.loader import load
from impl.adapters.kraft.probes import changed


@pytest.fixture(scope="module")
def state() -> Any:
    return load("kraft/lifecycle").initial_states()[0]


def reading_of(state: Any) -> Reading:
    """Of somebody who looks at the requests under way, and at one budget."""
    noting = Noting(state, "", {})
    assert noting.lifecycle is state.lifecycle
    assert noting.faults.crashes == state.faults.crashes
    return noted(noting.read)


def test_a_state_reads_alike_where_what_was_not_read_differs(state: Any) -> None:
    faults = changed(state.faults, failovers=state.faults.failovers + 1)
    assert reads_alike(reading_of(state), changed(state, faults=faults, processes=None))


def test_a_state_that_differs_in_a_field_reads_otherwise(state: Any) -> None:
    assert not reads_alike(reading_of(state), changed(state, lifecycle=None))


def test_a_state_that_differs_in_a_field_of_a_record_reads_otherwise(state: Any) -> None:
    faults = changed(state.faults, crashes=state.faults.crashes + 1)
    assert not reads_alike(reading_of(state), changed(state, faults=faults))


def test_what_reads_nothing_reads_alike_everywhere(state: Any) -> None:
    assert reads_alike(noted({}), state)
