"""Mutates the quorum's raft and storage: do simulated runs alone object, without tests and without models?

usage: python -m tests.impl_mutation.quorum [--only TEXT] [--every N] [--jobs N] [--verdicts FILE]

Judges are crash runs of the storage, voters under chaos, and whole clusters, so many seeds of each. --only: mutants
whose key has TEXT in it. --every: each Nth of them. A run that was ended goes on where it was. Exit codes are those of
`python -m tests.impl_mutation`. See docs/quorum.md.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

from checker.mutate.summary import read_explained
from impl.kraft.simulation.shrinking import failure
from impl.kraft.simulation.swarm import cluster_plan_of, plan_of
from tests.conftest import ROOT
from tests.impl.kraft.storage.crashes import Run as CrashRun
from tests.impl_mutation.judges import Judge, Seeds
from tests.impl_mutation.mutants import QUORUM, all_mutants
from tests.impl_mutation.run import Run, judged
from tests.impl_mutation.verdicts import Verdicts

EXPLAINED = Path(__file__).parent / "quorum_survivors.toml"


def crash(seed: int) -> str | None:
    try:
        CrashRun(seed).go()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def judges() -> list[Judge]:
    return [
        Seeds("crash runs", range(3_000), crash),
        Seeds("voters", range(100), lambda seed: failure(plan_of(seed))),
        Seeds("clusters", range(20), lambda seed: failure(cluster_plan_of(seed))),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl_mutation.quorum")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verdicts", type=Path, default=ROOT / "build" / "quorum-mutants.ndjson")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # of torn tails, which are cut
    mutants = [mutant for mutant in all_mutants(QUORUM) if arguments.only in mutant.key][:: arguments.every]
    if not mutants:
        print("no mutant is called so", file=sys.stderr)
        return 2
    arguments.verdicts.parent.mkdir(parents=True, exist_ok=True)
    return judged(Run(mutants, judges(), Verdicts(arguments.verdicts), arguments.jobs), read_explained(EXPLAINED))


if __name__ == "__main__":
    sys.exit(main())
