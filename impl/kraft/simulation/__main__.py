"""Run seeds, and print what each broke: python -m impl.kraft.simulation --seeds 100 [--first 0]

Exit codes: 0 every rule held, 1 a rule was broken (run its seed alone with `--first SEED --seeds 1`), 3 interrupted.
"""

from __future__ import annotations

import argparse
import logging
import sys

from impl.kraft.raft.errors import CommittedTruncationError
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.simulation import NotRecoveredError, Simulation
from impl.kraft.storage.errors import StorageError

FAILURES = (BrokenRuleError, NotRecoveredError, CommittedTruncationError, StorageError)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m impl.kraft.simulation", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=100, help="how many (default: 100)")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)  # a torn tail is cut in every other run
    broken = events = 0
    try:
        for seed in range(options.first, options.first + options.seeds):
            run = Simulation(seed)
            try:
                digest = run.go()
                if options.seeds == 1:
                    print(f"seed {seed}: {run.events} events, {digest}")
            except FAILURES as error:
                broken += 1
                print(f"seed {seed}, at {run.now_ms} ms, after {run.events} events: {error}\n  {run.swarm}")
            events += run.events
    except KeyboardInterrupt:
        print(f"stopped after {events} events", file=sys.stderr)
        return 3
    print(f"{options.seeds} runs, {events} events, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
