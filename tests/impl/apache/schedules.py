"""Seeded runs of real clusters of Apache Kafka, and whether what their controllers decided is a behaviour of the spec.

usage: python -m tests.impl.apache.schedules [--release VERSION] [--count N] [--first SEED] [--done FILE] [--at-once N]

Two of three seeds have one controller, the third has three; all have three brokers. A run takes one to two minutes.
`--done`, stopping and exit codes are as tests.cluster.campaign has them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from impl.apache.recording.projection import MODEL
from impl.apache.recording.record import PROBLEMS, VERSION, record, setting_of
from impl.apache.recording.scenario import seeded
from impl.apache.release import missing
from tests.cluster.campaign import Campaign, Run, judged

BROKERS = 3


def controllers_of(seed: int) -> int:
    return 3 if seed % 3 == 2 else 1


def run_one(seed: int, folder: Path, version: str = VERSION) -> Run:
    """folder: of its own, for the cluster."""
    controllers = controllers_of(seed)
    steps = seeded(seed, controllers, BROKERS)
    try:
        found = record(folder, version, controllers, BROKERS, steps, f"seed {seed}", lambda _said: None)
    except PROBLEMS as problem:
        return Run(seed, "", {}, str(problem))
    return Run(seed, found.text, found.figures)


def validated(runs: Sequence[Run], version: str = VERSION) -> dict[int, list[str]]:
    """By seed, what is said of its traces that are not accepted."""
    return judged(runs, MODEL, "--setting", setting_of(version))


def campaign(version: str) -> Campaign:
    """Of a release, or a folder with the jars of a build."""
    return Campaign(
        "tests.impl.apache.schedules", lambda seed, folder: run_one(seed, folder, version),
        lambda runs: validated(runs, version), lambda seed: f"controllers {controllers_of(seed)}",
        lambda: missing(version, ("java",)),
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--release", default=VERSION)
    given, rest = parser.parse_known_args()
    sys.exit(campaign(given.release).main(rest))
