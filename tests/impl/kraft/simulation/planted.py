"""Plant the bug of each switch of the spec, or leave out a rule of the disk; count the seeds until that is found.

python -m tests.impl.kraft.simulation.planted [WORD] (only what has WORD in its name); exit code 1: some are not found
within the most seeds, or not quickly in the median.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from tests.conform.faults.patched import patched
from tests.impl.kraft.storage.test_planted_faults import FAULTS, planted

MOST_SEEDS = 300
MEDIAN_SEEDS = 200
STARTS = (0, 10_000, 20_000)
OTHERS = "dict.fromkeys((one for one in election.voters if one != node_id), 0)"

PLANTED: dict[str, tuple[str, str, str]] = {
    "own_epoch_commits": (
        "leader.advance",
        "end <= max(voter.high_watermark, role.epoch_start)",
        "end <= voter.high_watermark",
    ),
    "restart_resigns": ("role_at_start", "Resigned()", f"Leader(0, {OTHERS}, {OTHERS})"),
    "restart_keeps_vote": (
        "Raft.__init__",
        "stored or ElectionState(0, voters=settings.voters)",
        "ElectionState(stored.epoch) if stored and stored.leader == settings.node_id else stored or ElectionState(0)",
    ),
    "flush_before_fetch": ("follower.fetch", "not log.is_flushed", "False"),
    "counts_flushed_only": ("leader.advance", "voter.log.flushed_end", "voter.log.end_offset"),
    "vote_is_durable": (
        "elections.grant",
        "voter.persist(replace(election, voted_for=request.candidate_id))",
        "voter.election = replace(election, voted_for=request.candidate_id)",
    ),
    "vote_compares_logs": (
        "elections.grant",
        "not voter.log.is_as_good(request.last_epoch, request.last_offset)",
        "False",
    ),
    "candidate_flushes": (
        "elections.ask",
        "isinstance(role, Candidate) and not voter.log.is_flushed",
        "False",
    ),
    "resigned_raises_epoch": (
        "elections.on_election_timeout",
        "voter.enter_epoch(voter.epoch + 1, None)",
        "voter.attach()",
    ),
}
"""By switch: a function, a fragment of it, and what stands for that when the guard is left out."""


DISK_RULES = {
    fault.rule: fault
    for fault in FAULTS
    if fault.module not in ("snapshots", "batches") and not fault.script and not fault.torn_sector
}
"""Those of the storage that random crashes can find, but for snapshots, which the simulation has not."""


@contextmanager
def fault_planted(name: str) -> Iterator[None]:
    """A switch is off, or a rule of the disk is left out."""
    with patched(*PLANTED[name], adapter="raft") if name in PLANTED else planted(DISK_RULES[name]):
        yield


def seeds_until_found(name: str, first: int) -> int | None:
    """How many seeds it takes, from a first one on. None: more than the most."""
    with fault_planted(name):
        simulation = importlib.import_module("impl.kraft.simulation.simulation")
        swarm = importlib.import_module("impl.kraft.simulation.swarm")
        failures = importlib.import_module("impl.kraft.simulation.__main__").FAILURES
        for count in range(1, MOST_SEEDS + 1):
            try:
                simulation.Simulation(swarm.plan_of(first + count - 1)).go()
            except failures:
                return count
    return None


def main(words: list[str]) -> int:
    logging.disable(logging.WARNING)
    is_slow = False
    for name in (name for name in (*PLANTED, *DISK_RULES) if all(word in name for word in words)):
        found = [seeds_until_found(name, first) for first in STARTS]
        middle = median(count or MOST_SEEDS + 1 for count in found)
        is_slow |= middle > MEDIAN_SEEDS
        print(f"{name}: {', '.join(str(count or 'not found') for count in found)} seeds; median {middle}", flush=True)
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
