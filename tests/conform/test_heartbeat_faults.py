"""Conformance can fail: each fault of `heartbeat_faults` is found, on a trace that is short enough to be read."""

from __future__ import annotations

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from tests.conform.faults.heartbeat_faults import FAULTS, MODELS
from tests.conform.faults.kraft_faults import Fault
from tests.conform.faults.patched import patched

MOST_STEPS = 20


@pytest.mark.sample(1, verify=8)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_is_found(fault: Fault) -> None:
    name, changes, setting = MODELS[fault.model]
    model = load(f"heartbeat/{name}", {constant: str(value) for constant, value in changes.items()}, setting)
    with patched(fault.function, fault.old, fault.new, "heartbeat") as system:
        report = conform(model, system, "heartbeat", ConformOptions(jobs=1))
        assert report.verdict == "diverges"
        assert report.divergence is not None and len(report.divergence.trace.steps) <= MOST_STEPS
