"""Faults planted into the nodes of seeded schedules, each of which must be found.

usage: python -m tests.impl.kraft.server.planted [--most SEEDS] [WORD ...]   (faults with each WORD in their names)
       python -m tests.impl.kraft.server.planted node NAME PROPERTIES        (a node with a fault, of a schedule)

Exit codes: 0 all are found within the most seeds, 1 some are not.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.conform.faults.patched import Patching

MOST_SEEDS = 12
PLANTED: Mapping[str, tuple[str, str, str]] = {
    "acknowledged before it is replicated": (
        "PartitionLeader.acknowledgement", "self.log.high_watermark < end_offset", "False",
    ),
    "committed where the leader alone has it": (
        "PartitionLeader.replicated_offset",
        "min(offset, follower.log_end_offset if follower is not None else 0)",
        "offset",
    ),
    "a follower keeps what its leader does not have": (
        "PartitionFollower.fetched", "log.truncate(min(own.end_offset, response.diverging.end_offset))", "",
    ),
    "a record that is sent again is written again": (
        "Producers.verdict", "header.producer_id == NO_PRODUCER or known is None", "True",
    ),
    "who is fenced stays in its ISRs": ("fenced", "taken_out(image, settings, broker_id)", "()"),
    "replicas outside the ISR are elected": ("elect", "replica in partition.isr", ""),
    "a new leader does not raise the leader epoch": (
        "Partition.changed", "self.leader_epoch + 1 if leads_anew else self.leader_epoch", "self.leader_epoch",
    ),
    "who lags behind its own registration is unfenced": (
        "heartbeat.is_caught_up", "request.current_metadata_offset >= registration.broker_epoch", "True",
    ),
    "a broker goes before others have seen that it leads nothing": (
        "calculate_next_state", "sessions.all_reach(shutdown_offset, others)", "True",
    ),
}  # fmt: skip
"""By name: a function, and what stands in it for what. Three are not among them, which 12 seeds have not found, and
conformance or the simulation does: who is behind joins the ISR, and catches up within milliseconds; who leads no more
changes the ISR, and is refused for its leader epoch as well; who votes forgets it, and two ask hardly ever in one
epoch."""


def program_of(name: str) -> tuple[str, ...]:
    """As `own_cluster` takes it."""
    return "-m", "tests.impl.kraft.server.planted", "node", name


def run_node(name: str, properties: str) -> None:
    """In this process, which has loaded nothing of the nodes yet."""
    sys.meta_path.insert(0, Patching(*PLANTED[name], "kraft"))
    sys.argv = ["impl.kraft.server", properties]
    runpy.run_module("impl.kraft.server", run_name="__main__", alter_sys=True)


def finding(name: str, most: int) -> str:
    """The first seed that finds it, and by what; "" where so many do not."""
    from tests.impl.kraft.server.schedules import NEVER_BEGAN, run_one, validated  # a node has no use for it

    for seed in range(most):
        with tempfile.TemporaryDirectory(prefix="planted-") as folder:
            run = run_one(seed, Path(folder) / "cluster", program_of(name))
        if run is None:
            return ""
        if run.problem.startswith(NEVER_BEGAN):
            continue
        reasons = [run.problem] if run.problem else [*run.violated, *validated([run]).get(seed, ())]
        if reasons:
            return f"seed {seed}: {reasons[0]}"
    return ""


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["node"]:
        run_node(*arguments[1:])
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.impl.kraft.server.planted")
    parser.add_argument("--most", type=int, default=MOST_SEEDS)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    names = [name for name in PLANTED if all(word in name for word in options.words)]
    missed = 0
    for name in names:
        found = finding(name, options.most)
        missed += not found
        print(f"{name}: {found or f'not found by {options.most} seeds'}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
