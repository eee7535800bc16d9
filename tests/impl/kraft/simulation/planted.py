"""Plant the bug of each switch of the spec, or leave out a rule of the disk; count the seeds until that is found.

python -m tests.impl.kraft.simulation.planted [--most 300] [--starts 3] [--results FILE] [WORD ...] (only what has each
WORD in its name). What FILE has is not counted again. Exit code 1: some are not found within the most seeds, or not
quickly in the median.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
    "answers_what_is_committed": (
        "Simulation.append",
        "self.clients.begin(number, last.end_offset, last.crc, began)",
        "self.clients.begin(number, last.end_offset, last.crc, began)\nself.answer_clients(number, last.end_offset)",
    ),
    "deposed_answers_nobody": ("Simulation.carry_out", "self.clients.give_up(number)", "pass"),
}
"""By switch: a function, a fragment of it, and what stands for that when the guard is left out.

The last two are about what a controller answers its clients, which only their histories tell of.
"""


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


def seeds_until_found(name: str, first: int, most: int = MOST_SEEDS) -> int | None:
    """How many seeds it takes, from a first one on. None: more than the most."""
    with fault_planted(name):
        shrinking = importlib.import_module("impl.kraft.simulation.shrinking")
        swarm = importlib.import_module("impl.kraft.simulation.swarm")
        for count in range(1, most + 1):
            if shrinking.failure(swarm.plan_of(first + count - 1)) is not None:
                return count
    return None


class Results:
    """Counts of seeds by fault and first seed, each kept in a file as soon as it is known."""

    def __init__(self, path: Path | None, most: int) -> None:
        self.path, self.most = path, most
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.known: dict[tuple[str, int, int], int | None] = {}
        for name, first, most_then, count in map(json.loads, lines):
            self.known[name, first, most_then] = count

    def count(self, name: str, first: int) -> int | None:
        key = name, first, self.most
        if key not in self.known:
            self.known[key] = seeds_until_found(name, first, self.most)
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([*key, self.known[key]]) + "\n")
        return self.known[key]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.kraft.simulation.planted", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--most", type=int, default=MOST_SEEDS, help=f"seeds to try (default: {MOST_SEEDS})")
    parser.add_argument("--starts", type=int, default=len(STARTS), help=f"first seeds: so many of {STARTS}")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep each count, and go on from those there")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    results, is_slow = Results(options.results, options.most), False
    for name in (name for name in (*PLANTED, *DISK_RULES) if all(word in name for word in options.words)):
        found = [results.count(name, first) for first in STARTS[: options.starts]]
        middle = median(count or options.most + 1 for count in found)
        is_slow |= middle > MEDIAN_SEEDS or None in found
        print(f"{name}: {', '.join(str(count or 'not found') for count in found)} seeds; median {middle}", flush=True)
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
