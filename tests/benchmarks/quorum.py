"""Speed of the simulated quorum of impl/kraft: simulated hours, and events, a minute of one core."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import replace

from impl.kraft.simulation.cluster import simulation_of
from impl.kraft.simulation.shrinking import CALM
from impl.kraft.simulation.swarm import Plan, cluster_plan_of, plan_of
from tests.benchmarks.printing import line

RUNS = 5
QUIET_MS = 60_000


def quorum() -> None:
    """Runs on disks in bytes, all rules held at every event: voters alone, clusters, and a cluster left in peace."""
    logging.disable(logging.WARNING)
    figures("voters alone, under chaos", map(plan_of, range(RUNS)), "0.5")
    figures("clusters, under chaos", map(cluster_plan_of, range(RUNS)), "0.5")
    in_peace = replace(CALM, chaos_ms=QUIET_MS, brokers=3, snapshot_ms=0)
    figures("three controllers and three brokers in peace", [Plan(0, in_peace, ())], "5")
    logging.disable(logging.NOTSET)


def figures(what: str, plans: Iterable[Plan], aim: str) -> None:
    """Simulated hours and events a minute of processor time."""
    simulated_ms = events = 0
    began = time.process_time()
    for plan in plans:
        run = simulation_of(plan, None)
        run.go()
        simulated_ms += run.now_ms
        events += run.events
    minutes = (time.process_time() - began) / 60
    line(f"{what}: simulated hours a CPU minute", f"{simulated_ms / 3_600_000 / minutes:.2f}", aim)
    line("  events a CPU second", f"{events / (60 * minutes):,.0f}")
