"""Faults of impl/kraft, and for each a small model in which conformance finds it. The faults are in `faults.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

MODELS: dict[str, tuple[str, dict[str, object], int | None]] = {
    "late": ("late", {"max_crashes": 1, "max_duplicates": 0, "lifecycle_in_flight": 1}, None),
    "membership": ("membership", {"max_crashes": 0, "lifecycle_in_flight": 1}, None),
    "superseded": ("twins_spurious", {"max_crashes": 0}, None),
    "unregistered": ("unregistered", {"max_crashes": 0, "lifecycle_in_flight": 1, "alter_in_flight": 1}, None),
    "shutdown": ("shutdown", {"max_crashes": 0, "max_early_expiries": 0, "max_failovers": 0}, None),
    "shutdown with a crash": ("shutdown", {"max_early_expiries": 0, "max_failovers": 0}, 8),
    "failover": ("shutdown", {"max_crashes": 0, "max_early_expiries": 0}, None),
    "one broker": ("unfencing_ends", {"brokers": 1}, None),
    "three with a crash": ("isr", {}, 4),
    "three brokers": ("reassignment", {"max_reassignments": 1, "max_early_expiries": 0}, 4),
    "reassignment": ("reassignment", {"max_reassignments": 1, "max_early_expiries": 0}, None),
    "three replicas": ("reassignment", {"max_reassignments": 1, "spare_brokers": 0}, 6),
    "two reassignments": ("reassignment", {}, 6),
    "topics": ("topics", {"alter_in_flight": 1, "max_topics": 1, "max_reassignments": 0, "partitions": 1}, None),
    "recreated": ("recreated", {"max_crashes": 0}, None),
    "zombie": ("zombie", {"max_crashes": 0, "max_disk_losses": 0, "max_early_expiries": 1}, None),
    "two in sync": ("zombie", {"max_crashes": 0, "max_early_expiries": 1, "min_insync_replicas": 2}, None),
    "lossy": ("lossy", {"max_crashes": 1, "max_duplicates": 0}, 12),
    "election": ("election", {"max_failovers": 2}, None),
    "quorum": ("quorum", {"max_crashes": 0, "max_failovers": 1, "pending_batches": 2}, None),
    "steady quorum": ("quorum", {"max_failovers": 0}, None),
    "two leaderships": ("refusal", {"max_failovers": 1}, None),
    "snapshot": ("snapshot", {"lifecycle_in_flight": 1, "max_crashes": 0}, None),
    "listing": ("failover_reassignment", {"max_failovers": 0, "pending_batches": 1}, None),
}
"""By name: a model of the spec, what is set in it, and how many levels of it are enough."""


@dataclass(frozen=True)
class Fault:
    """A fault in `function`, named with its module where its name alone is ambiguous, and where it is found.

    `new` stands for the fragment `old`, which without it is left out: see tests.fragments.
    """

    model: str
    what: str
    function: str
    old: str
    new: str = ""

    def __str__(self) -> str:
        return self.what


ROWS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text())
FAULTS = [Fault(*row) for rows in ROWS.values() for row in rows]
SCALE = [Fault(*row) for row in tomllib.loads(Path(__file__).with_name("scale.toml").read_text())["scale"]]
"""Those that begin where a cluster is large: see tests/conform/test_kraft_scale.py."""
SURVIVORS: dict[str, str] = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text())
"""By what is wrong: why conformance alone does not find it."""
