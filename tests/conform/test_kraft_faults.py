"""Conformance can fail: each fault of `kraft_faults` is found, on a trace that is short enough to be read."""

from __future__ import annotations

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from tests.conform.faults.kraft_faults import FAULTS, MODELS, SURVIVORS, Fault
from tests.conform.faults.patched import patched

MOST_STEPS = 20


@pytest.mark.sample(3, verify=30)
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.what not in SURVIVORS], ids=str)
def test_is_found(fault: Fault) -> None:
    name, changes, max_depth = MODELS[fault.model]
    model = load(f"kraft/{name}", {constant: str(value) for constant, value in changes.items()})
    with patched(fault.function, fault.old, fault.new) as system:
        report = conform(model, system, "kraft", ConformOptions(jobs=1, max_depth=max_depth))
        assert report.verdict == "diverges"
        assert report.divergence is not None and len(report.divergence.trace.steps) <= MOST_STEPS


def test_nothing_of_a_fault_stays() -> None:
    from impl.adapters.kraft import SYSTEM

    with patched(FAULTS[0].function, FAULTS[0].old, FAULTS[0].new) as system:
        assert type(system) is not type(SYSTEM)
    from impl.adapters.kraft import SYSTEM as AFTER

    assert AFTER is SYSTEM


def test_nine_faults_of_ten_are_found() -> None:
    """Conformance alone finds them; each of the others is explained."""
    whats = [fault.what for fault in FAULTS]
    assert len(set(whats)) == len(FAULTS) >= 200
    assert set(SURVIVORS) <= set(whats) and all(SURVIVORS.values())
    assert len(SURVIVORS) <= len(FAULTS) // 10
