"""Conformance can fail: each fault of `group_faults` is found, on a trace that is short enough to be read."""

from __future__ import annotations

import sys

import pytest

import impl.group
from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from tests.conform.faults.group_faults import FAULTS, MODELS
from tests.conform.faults.kraft_faults import Fault
from tests.conform.faults.patched import patched

MOST_STEPS = 22


@pytest.mark.sample(3, verify=15)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_is_found(fault: Fault) -> None:
    name, changes, setting = MODELS[fault.model]
    model = load(f"group/{name}", {constant: str(value) for constant, value in changes.items()}, setting)
    with patched(fault.function, fault.old, fault.new, "group") as system:
        report = conform(model, system, "group", ConformOptions(jobs=1))
        assert report.verdict == "diverges"
        assert report.divergence is not None and len(report.divergence.trace.steps) <= MOST_STEPS


def test_a_fault_leaves_no_other_module_behind() -> None:
    former, fault = impl.group, FAULTS[0]
    with patched(fault.function, fault.old, fault.new, "group"):
        assert sys.modules["impl.group"] is impl.group is not former
    assert sys.modules["impl.group"] is impl.group is former
