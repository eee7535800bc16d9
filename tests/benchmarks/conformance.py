"""Transitions of the products of models and implementations per second, in one process and in two."""

from __future__ import annotations

import resource
from multiprocessing import get_context
from typing import Any

from tests.benchmarks.printing import line

DEPTHS = {"kraft/membership": 17, "kraft/lifecycle": None, "kraft/zombie": 12}
"""Of each model, how many levels; None: all of it."""
WHOLE = "kraft/lifecycle"
PINNING, PINNING_DEPTH = "pinning/expiry", 7
FORK = get_context("fork")


def conformance() -> None:
    """Steps driven per second, with all attempts and probes, and bytes a pair; models of kraft and pinning."""
    for model, depth in DEPTHS.items():
        one, two = measured(model, depth, 1), measured(model, depth, 2)
        assert one["driven"] == two["driven"]
        line(f"{model}: transitions driven", f"{one['driven']:,}")
        line(f"{model}: one process, transitions/s of processor time", f"{one['driven'] / one['cpu_s']:,.0f}", "10,000")
        line(f"{model}: one process, with attempts and probes", f"{one['all'] / one['cpu_s']:,.0f}")
        line(f"{model}: pairs, messages not under way", f"{one['pairs']:,} {one['probes']:,}")
        line(f"{model}: bytes a pair", f"{one['bytes'] / one['pairs']:,.0f}", "2,000")
        line(f"{model}: two processes, transitions/s", f"{two['driven'] / two['seconds']:,.0f}", "17,000")
        line(f"{model}: two processes to one", f"{one['seconds'] / two['seconds']:.2f}", "1.7")
        if model == WHOLE:
            line(f"{model}: one process, seconds of processor time", f"{one['cpu_s']:.1f}", "15")
        line(f"{model}: their processor time to that of one", f"{two['cpu_s'] / one['cpu_s']:.2f}")
    pinning = measured(PINNING, PINNING_DEPTH, 1)
    line(f"{PINNING}: transitions driven", f"{pinning['driven']:,}")
    line(f"{PINNING}: one process, transitions/s of processor time", f"{pinning['driven'] / pinning['cpu_s']:,.0f}")
    line(f"{PINNING}: one process, with attempts and probes", f"{pinning['all'] / pinning['cpu_s']:,.0f}")


def measured(name: str, depth: int | None, jobs: int, implementation: str = "", setting: str = "") -> dict[str, Any]:
    """`explored`, in a process of its own: the memory that another exploration has left would not count."""
    theirs, ours = FORK.Pipe()
    process = FORK.Process(target=lambda: ours.send(explored(name, depth, jobs, implementation, setting)))
    process.start()
    ours.close()
    found: dict[str, Any] = theirs.recv()
    process.join()
    return found


def explored(name: str, depth: int | None, jobs: int, implementation: str, setting: str) -> dict[str, Any]:
    """An exploration of so many levels, or of all; cpu_s: of all processes. implementation: if not the design's own."""
    from checker.conform.check import ConformOptions, conform
    from checker.conform.loading import load_system
    from checker.lang.loader import load

    driven_by = implementation or name.partition("/")[0]
    model, system = load(name, setting=setting or None), load_system(driven_by)
    conform(model, system, driven_by, ConformOptions(max_depth=1))  # compiled before the clock runs
    before = processor_s()
    report = conform(model, system, driven_by, ConformOptions(jobs, max_depth=depth))
    assert report.divergence is None, report.reason
    cpu_s = processor_s() - before
    driven = sum(report.counts.driven)
    every = driven + sum(report.counts.tried) + report.probes
    return {"driven": driven, "all": every, "cpu_s": cpu_s, "seconds": report.seconds["product"],
            "bytes": report.peak_memory_bytes, "pairs": report.pairs, "probes": report.probes}  # fmt: skip


def processor_s() -> float:
    """Of this process and those that it started and that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
