"""Run seeds, and print what each broke: python -m impl.kraft.simulation --seeds 100 [--first 0] [--cluster]

Exit codes: 0 every rule held, 1 a rule was broken (run its seed alone with `--first SEED --seeds 1`), 2 a file is no
plan, or there is no folder to write one to, 3 interrupted, 6 a plan or a trace could not be written.
"""

from __future__ import annotations

import argparse
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from impl.kraft.raft.errors import CommittedTruncationError
from impl.kraft.simulation.cluster import simulation_of
from impl.kraft.simulation.histories import NotLinearizableError, WrongReadError
from impl.kraft.simulation.invariants import BrokenRuleError, NotRecoveredError, Rules
from impl.kraft.simulation.recording import Recording
from impl.kraft.simulation.shrinking import failure, shrunk
from impl.kraft.simulation.simulation import Simulation
from impl.kraft.simulation.swarm import Plan, cluster_plan_of, plan_of
from impl.kraft.storage.errors import StorageError

FAILURES = (
    BrokenRuleError,
    NotLinearizableError,
    WrongReadError,
    NotRecoveredError,
    CommittedTruncationError,
    StorageError,
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m impl.kraft.simulation", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--cluster", action="store_true", help="controllers and brokers above the log, too")
    parser.add_argument("--shrink", metavar="FILE", help="shrink the first run that breaks a rule, and write its plan")
    parser.add_argument("--replay", metavar="FILE", help="run the plan of a file, and print its events")
    parser.add_argument("--record", metavar="FOLDER", type=Path, help="write the trace of each run, to be validated")
    options = parser.parse_args(arguments)
    if options.cluster and options.record is not None:
        parser.error("--record writes the quorum's log, by runs without --cluster")
    logging.disable(logging.WARNING)  # a torn tail is cut in every other run
    try:
        if options.replay is not None:
            return replay(Path(options.replay))
        if options.shrink is not None and not Path(options.shrink).parent.is_dir():
            print(
                f"{options.shrink} cannot be written: there is no folder {Path(options.shrink).parent}", file=sys.stderr
            )
            return 2
        seeds = range(options.first, options.first + options.seeds)
        return run_seeds(seeds, cluster_plan_of if options.cluster else plan_of, options.shrink, options.record)
    except OSError as error:
        print(f"{error.filename} could not be written: {error.strerror}", file=sys.stderr)
        return 6
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 3


def replay(path: Path) -> int:
    try:
        plan = Plan.from_json(path.read_text())
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{path} is no plan that --shrink has written: {error}", file=sys.stderr)
        return 2
    is_broken, _ = run_plan(plan, print)
    return int(is_broken)


def run_seeds(seeds: range, plan_of_seed: Callable[[int], Plan], shrink_to: str | None, folder: Path | None) -> int:
    broken = events = 0
    for seed in seeds:
        plan = plan_of_seed(seed)
        is_broken, count = run_plan(plan, None, prints_digest=len(seeds) == 1, folder=folder)
        broken += is_broken
        events += count
        if is_broken and shrink_to is not None:
            return write_shrunk(plan, Path(shrink_to))
    print(f"{len(seeds)} runs, {events} events, {broken} broken")
    return 1 if broken else 0


def run_plan(
    plan: Plan, watch: Callable[[str], None] | None, *, prints_digest: bool = True, folder: Path | None = None
) -> tuple[bool, int]:
    """Does it break a rule, and in how many events? folder: for its trace."""
    with recorded(plan, folder) as rules:
        run = simulation_of(plan, watch) if rules is None else Simulation(plan, watch, rules)
        return judged(run, plan, prints_digest)


@contextmanager
def recorded(plan: Plan, folder: Path | None) -> Iterator[Rules | None]:
    """Rules that record the run, if there is a folder for its trace. Raises OSError."""
    if folder is None:
        yield None
        return
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    rules = Recording(plan.swarm.voters, lines.append, f"seed {plan.seed}")
    yield rules
    rules.close()
    (folder / f"seed-{plan.seed}.ndjson").write_text("".join(lines))


def judged(run: Simulation, plan: Plan, prints_digest: bool) -> tuple[bool, int]:
    try:
        digest = run.go()
        if prints_digest:
            print(f"seed {plan.seed}: {run.events} events, {digest}")
        return False, run.events
    except Exception as error:  # of a rule, or one that no core may raise
        where = f"seed {plan.seed}, at {run.now_ms} ms, after {run.events} events"
        print(f"{where}: {type(error).__name__}: {error}\n  {run.swarm}")
        if not isinstance(error, FAILURES):
            traceback.print_exc()
        return True, run.events


def write_shrunk(plan: Plan, path: Path) -> int:
    """The exit code."""
    smaller = shrunk(plan)
    path.write_text(smaller.to_json() + "\n")
    print(f"{len(plan.schedule)} steps shrunk to {len(smaller.schedule)}, which break the same: {failure(smaller)}")
    print(f"run them with --replay {path}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
