"""Transitions of the product of kraft/membership and impl/kraft per second, in one process and in two."""

from __future__ import annotations

import resource
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
    line("two processes to one", f"{one['seconds'] / two['seconds']:.2f}", "1.6")
    line("their processor time to that of one", f"{two['cpu_s'] / one['cpu_s']:.2f}")


def explored(jobs: int) -> dict[str, Any]:
    """An exploration of so many levels; cpu_s: of all processes."""
    from checker.conform.check import ConformOptions, conform
    from checker.conform.loading import load_system
    from checker.lang.loader import load

    model, system = load(MODEL), load_system("kraft")
    conform(model, system, "kraft", ConformOptions(max_depth=1))  # compiled before the clock runs
    before = processor_s()
    report = conform(model, system, "kraft", ConformOptions(jobs, max_depth=DEPTH))
    assert report.divergence is None, report.reason
    cpu_s = processor_s() - before
    driven = sum(report.counts.driven)
    every = driven + sum(report.counts.tried) + report.probes
    return {"driven": driven, "all": every, "cpu_s": cpu_s, "seconds": report.seconds["product"]}


def processor_s() -> float:
    """Of this process and those that it started and that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
