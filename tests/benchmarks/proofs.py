"""Seconds per proof and per query, one worker and two in turn."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FENCEPOST = str(Path(sys.executable).with_name("fencepost"))
PROOFS = [
    ("docs/tutorial/proved_lease.py", ()),
    ("kraft/membership", ()),
    ("kraft/membership", ("--set", "brokers=3")),
    ("kraft/membership", ("--set", "brokers=5")),
    ("kraft/twins_spurious", ()),
]
BOUNDED = [("kraft/membership", "7"), ("docs/tutorial/lease.py", "9")]
S1_TO_S5 = [
    "superseded_incarnation_changes_nothing", "leader_epoch_has_one_incarnation", "broker_epochs_rise",
    "leader_may_lead", "isr_is_never_empty", "fenced_broker_is_out_of_isr", "epochs_never_go_back",
]  # fmt: skip


def prove(model: str, *arguments: str) -> tuple[float, dict[str, Any]]:
    """(wall seconds of the whole process, its --json object) of one `fencepost prove`."""
    started = time.perf_counter()
    done = subprocess.run(
        [FENCEPOST, "prove", model, "--json", "--quiet", "--triage-s", "0", *arguments],
        cwd=ROOT, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    return time.perf_counter() - started, json.loads(done.stdout)


def proofs(line: Callable[..., None]) -> None:
    """Every claim of some models, S1 to S5 alone, and unrollings."""
    named = [option for name in S1_TO_S5 for option in ("--property", name)]
    cases = [(f"{model} {' '.join(extra)}".strip(), model, extra) for model, extra in PROOFS]
    cases += [(f"S1-S5, {n} brokers", "kraft/membership", ("--set", f"brokers={n}", *named)) for n in (3, 5)]
    for what, model, extra in cases:
        seconds = {}
        for jobs in (1, 2):
            seconds[jobs], found = prove(model, *extra, "--jobs", str(jobs))
        spent = sum(claim["seconds"] for claim in found["claims"])
        slowest = max(claim["slowest_s"] for claim in found["claims"])
        aim = "120" if what.startswith("S1") else ""
        line(f"{what}: {found['verdict']}, seconds, two workers", f"{seconds[2]:.2f}", aim)
        line("  two workers to one", f"{seconds[1] / seconds[2]:.2f}")
        line("  queries, ms each, slowest",
             f"{found['queries']:,} {1000 * spent / found['queries']:.1f} {1000 * slowest:.0f}")  # fmt: skip
    for model, steps in BOUNDED:
        wall_s, found = prove(model, "--bounded", steps)
        line(f"{model} --bounded {steps}: {found['verdict']}, seconds", f"{wall_s:.2f}")
