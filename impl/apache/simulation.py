"""Simulated runs of released classes of Apache Kafka, held to the rules of `impl.kraft.simulation`.

    python -m impl.apache.simulation 4.3.1 --seeds 20 [--first 0] [--mixed] [--brokers | --record FOLDER]

Runs of quorums whose voters are Kafka's; or, with --brokers, of whole clusters whose brokers are, under our
controllers. With --mixed every second one is ours. What only our cores promise is not asked of Kafka's. Exit codes:
0 every rule held, 1 a rule was broken, 2 usage, or there is no such release here, 3 interrupted, 6 a trace could not be
written.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from impl.apache.brokers import KafkaBrokers
from impl.apache.errors import ApacheError
from impl.apache.jvm import Jvm
from impl.apache.quorum import KafkaQuorum, kafka_plan_of
from impl.apache.release import missing, numbers
from impl.apache.voters import SINCE, jvm_of_voters
from impl.kraft.simulation.__main__ import judged, recorded
from impl.kraft.simulation.swarm import cluster_plan_of


def run_plan(jvm: Jvm, seed: int, options: argparse.Namespace) -> tuple[bool, int]:
    """Does the run of a seed break a rule, and in how many events?"""
    prints_digest = options.seeds == 1
    if options.brokers:
        plan = cluster_plan_of(seed)
        return judged(KafkaBrokers(jvm, plan, mixed=options.mixed), plan, prints_digest)
    plan = kafka_plan_of(seed)
    with recorded(plan, options.record) as rules:
        return judged(KafkaQuorum(jvm, plan, rules=rules, mixed=options.mixed), plan, prints_digest)


def run_seeds(jvm: Jvm, options: argparse.Namespace) -> int:
    """How many runs break a rule."""
    broken = events = 0
    for seed in range(options.first, options.first + options.seeds):
        is_broken, count = run_plan(jvm, seed, options)
        broken += is_broken
        events += count
    print(f"{options.seeds} runs, {events} events, {broken} broken")
    return broken


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m impl.apache.simulation", description=__doc__)
    parser.add_argument("release", help="a version whose jars are there, or a folder of the jars of a build")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=20, help="how many (default: 20)")
    parser.add_argument("--mixed", action="store_true", help="every second voter, or broker, is ours")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--brokers", action="store_true", help="whole clusters with brokers of Kafka")
    what.add_argument("--record", metavar="FOLDER", type=Path, help="write the trace of each run, to be validated")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    why = missing(options.release)
    try:
        if not why and numbers(options.release) < SINCE:
            why = f"classes of Apache Kafka {options.release} cannot be simulated: those since 4.3 can"
        if why:
            print(why, file=sys.stderr)
            return 2
        with closing(jvm_of_voters(options.release)) as jvm:
            return int(run_seeds(jvm, options) > 0)
    except ApacheError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename} could not be written: {error.strerror}", file=sys.stderr)
        return 6
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
