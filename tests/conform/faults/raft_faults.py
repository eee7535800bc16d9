"""Faults of impl/kraft/raft, in `raft_faults.toml`, and for each a small model in which conformance finds it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.conform.faults.kraft_faults import Fault

MODELS: dict[str, tuple[str, dict[str, object], int | None]] = {
    "raft, one epoch": ("raft", {"max_epoch": 1}, 9),
    "raft, two epochs": ("raft", {"pending_batches": 1}, 7),
    "raft, torn": ("raft_torn", {}, 11),
    "raft, crash": ("raft_crash", {}, 6),
    "raft, crash of one epoch": ("raft_crash", {"max_epoch": 1, "pending_batches": 1}, 9),
    "raft, not flushed": ("raft_candidate", {}, 4),
    "raft, snapshot": ("raft_snapshot", {"pending_batches": 1, "max_snapshots": 1}, 13),
    "raft, newer snapshot": ("raft_snapshot_torn", {"max_epoch": 3, "pending_batches": 3}, 20),
    "raft, snapshot of one epoch": ("raft_snapshot_torn", {"max_epoch": 3}, None),
    "raft, log of three": ("raft_snapshot_torn", {"max_epoch": 3, "pending_batches": 3, "max_snapshots": 1}, None),
    "raft, snapshot of two epochs": ("raft_snapshot_torn", {"max_snapshots": 1}, 15),
    "raft, crash with a snapshot": ("raft_snapshot_crash", {}, 9),
}
"""By name: a model of the spec, what is set in it, and how many levels of it are enough."""

ROWS = tomllib.loads(Path(__file__).with_name("raft_faults.toml").read_text())
FAULTS = [Fault(*row) for rows in ROWS.values() for row in rows]
