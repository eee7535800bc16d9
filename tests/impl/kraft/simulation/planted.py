"""Plant the bug of each switch of the spec, and count the seeds until the simulation finds it.

python -m tests.impl.kraft.simulation.planted [WORD] (only those whose switch has WORD in it); exit code 1: some are not
found within the most seeds, or not quickly in the median.
"""

from __future__ import annotations

import importlib
import logging
import sys
from statistics import median

from tests.conform.faults.patched import patched

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


def seeds_until_found(switch: str, first: int) -> int | None:
    """How many seeds it takes, from a first one on. None: more than the most."""
    with patched(*PLANTED[switch], adapter="raft"):
        simulation = importlib.import_module("impl.kraft.simulation.simulation")
        failures = importlib.import_module("impl.kraft.simulation.__main__").FAILURES
        for count in range(1, MOST_SEEDS + 1):
            try:
                simulation.Simulation(first + count - 1).go()
            except failures:
                return count
    return None


def main(words: list[str]) -> int:
    logging.disable(logging.WARNING)
    is_slow = False
    for switch in (switch for switch in PLANTED if all(word in switch for word in words)):
        found = [seeds_until_found(switch, first) for first in STARTS]
        middle = median(count or MOST_SEEDS + 1 for count in found)
        is_slow |= middle > MEDIAN_SEEDS
        print(f"{switch}: {', '.join(str(count or 'not found') for count in found)} seeds; median {middle}", flush=True)
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
