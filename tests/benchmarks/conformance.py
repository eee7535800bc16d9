"""Transitions of the product of kraft/membership and impl/kraft per second, in one process and in two."""

from __future__ import annotations

import time
from typing import Any

from tests.benchmarks.printing import line

MODEL, DEPTH = "kraft/membership", 12


def conformance() -> None:
    """kraft/membership and impl/kraft, the first 12 levels: steps driven, with all attempts and probes, per second."""
    one, two = explored(1), explored(2)
    assert one["driven"] == two["driven"]
    line("transitions driven", f"{one['driven']:,}")
    line("one process, transitions/s of processor time", f"{one['driven'] / one['cpu_s']:,.0f}", "5,000")
    line("one process, with attempts and probes", f"{one['all'] / one['cpu_s']:,.0f}")
    line("two processes to one", f"{one['seconds'] / two['seconds']:.2f}")


def explored(jobs: int) -> dict[str, Any]:
    """An exploration of so many levels; cpu_s: of this process, so of one job only."""
    from checker.conform.check import Options, conform
    from checker.conform.loading import load_system
    from checker.lang.loader import load

    model, system = load(MODEL), load_system("kraft")
    conform(model, system, "kraft", Options(max_depth=1))  # compiled before the clock runs
    before = time.process_time()
    report = conform(model, system, "kraft", Options(jobs, max_depth=DEPTH))
    assert report.divergence is None, report.reason
    cpu_s = time.process_time() - before
    driven = sum(report.counts.driven)
    every = driven + sum(report.counts.tried) + report.probes
    return {"driven": driven, "all": every, "cpu_s": cpu_s, "seconds": report.seconds["product"]}
