"""Conformance can fail: faults of `raft_faults` are found. `python -m tests.conform.faults raft` seeds them all."""

from __future__ import annotations

import pytest

from tests.conform.faults.__main__ import verdict_of
from tests.conform.faults.kraft_faults import Fault
from tests.conform.faults.patched import Patching
from tests.conform.faults.raft_faults import FAULTS

OFTEN = 16


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            fault,
            marks=pytest.mark.large("some seconds each, and there are many")
            if number % OFTEN
            else pytest.mark.long("some seconds each"),
        )
        for number, fault in enumerate(FAULTS)
    ],
    ids=str,
)
def test_is_found(fault: Fault) -> None:
    assert verdict_of(fault) == "found"


@pytest.mark.long("every fragment is looked for")
def test_every_fault_is_of_a_fragment_that_is_there() -> None:
    for fault in FAULTS:
        Patching(fault.function, fault.old, fault.new, "kraft", "raft").tree()
