"""Conformance can fail: each fault of `pinning_faults` is found, on a trace that is short enough to be read."""

from __future__ import annotations

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from tests.conform.faults.kraft_faults import Fault
from tests.conform.faults.patched import patched
from tests.conform.faults.pinning_faults import FAULTS, MODELS

MOST_STEPS = 20


@pytest.mark.sample(3, verify=12)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_is_found(fault: Fault) -> None:
    name, changes, setting = MODELS[fault.model]
    model = load(f"pinning/{name}", {constant: str(value) for constant, value in changes.items()}, setting)
    with patched(fault.function, fault.old, fault.new, "pinning") as system:
        report = conform(model, system, "pinning", ConformOptions(jobs=1))
        assert report.verdict == "diverges"
        assert report.divergence is not None and len(report.divergence.trace.steps) <= MOST_STEPS
