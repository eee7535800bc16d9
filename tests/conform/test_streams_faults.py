"""Conformance can fail: each fault of `streams_faults` is found, on a trace that is short enough to be read."""

from __future__ import annotations

from dataclasses import fields

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import load
from impl.streams.design import Design
from tests.conform.faults.kraft_faults import Fault
from tests.conform.faults.patched import patched
from tests.conform.faults.streams_faults import FAULTS, MODELS, SWITCHES

MOST_STEPS = 30


@pytest.mark.long("a product for each")
@pytest.mark.sample(1, verify=12)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_is_found(fault: Fault) -> None:
    name, changes, setting = MODELS[fault.model]
    model = load(f"streams/{name}", {constant: str(value) for constant, value in changes.items()}, setting)
    with patched(fault.function, fault.old, fault.new, "streams") as system:
        report = conform(model, system, "streams", ConformOptions(jobs=1))
        assert report.verdict == "diverges"
        assert report.divergence is not None and len(report.divergence.trace.steps) <= MOST_STEPS


def test_each_switch_has_a_fault() -> None:
    assert [fault.what.partition(":")[0] for fault in SWITCHES] == [switch.name for switch in fields(Design)]
