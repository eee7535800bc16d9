"""Simulated runs of released classes of Apache Kafka, held to the rules of `impl.kraft.simulation`.

    python -m impl.apache.simulation 4.3.1 --seeds 20 [--first 0] [--mixed] [--controllers] [--brokers]
    python -m impl.apache.simulation 4.3.1 --seeds 20 [--first 0] [--mixed] [--record FOLDER]

Runs of whole clusters whose controllers or brokers are Kafka's, or both, above our quorum; or else of quorums whose
voters are. With --mixed every second one is ours. What only our cores promise is not asked of Kafka's. Exit codes: 0
every rule held, 1 a rule was broken, 2 usage, or there is no such release here, 3 interrupted, 6 a trace could not be
written.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path

from impl.apache.brokers import KafkaBrokers
from impl.apache.controllers import KafkaClusters, KafkaControllers
from impl.apache.errors import ApacheError
from impl.apache.jvm import Jvm
from impl.apache.quorum import KafkaQuorum, kafka_plan_of
from impl.apache.release import missing, numbers
from impl.apache.voters import jvm_of_voters
from impl.kraft.simulation.__main__ import judged, recorded
from impl.kraft.simulation.cluster import Cluster
from impl.kraft.simulation.swarm import Plan, cluster_plan_of

SINCE = {"brokers": (4, 1), "controllers": (4, 0), "voters": (4, 0)}
"""The first releases whose classes can be simulated."""


def run_plan(jvm: Jvm | None, seed: int, options: argparse.Namespace) -> tuple[bool, int]:
    """Does the run of a seed break a rule, and in how many events?"""
    prints_digest = options.seeds == 1
    if options.brokers or options.controllers:
        plan = cluster_plan_of(seed)
        return judged(cluster_of(jvm, plan, options), plan, prints_digest)
    plan = kafka_plan_of(seed)
    assert jvm is not None
    with recorded(plan, options.record) as rules:
        return judged(KafkaQuorum(jvm, plan, rules=rules, mixed=options.mixed), plan, prints_digest)


def cluster_of(jvm: Jvm | None, plan: Plan, options: argparse.Namespace) -> Cluster:
    """jvm: of voters and brokers. Controllers have one of their own."""
    if jvm is None:
        return KafkaControllers(options.release, plan, mixed=options.mixed)
    kind = KafkaClusters if options.controllers else KafkaBrokers
    return kind(jvm, plan, mixed=options.mixed)


def run_seeds(jvm: Jvm | None, options: argparse.Namespace) -> int:
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
    parser.add_argument("--mixed", action="store_true", help="every second one is ours")
    parser.add_argument("--controllers", action="store_true", help="whole clusters with controllers of Kafka")
    parser.add_argument("--brokers", action="store_true", help="whole clusters with brokers of Kafka")
    parser.add_argument("--record", metavar="FOLDER", type=Path, help="write the trace of each run, to be validated")
    options = parser.parse_args(arguments)
    if options.record is not None and (options.controllers or options.brokers):
        parser.error("--record writes the quorum's log, by runs without --controllers and --brokers")
    logging.disable(logging.WARNING)
    why = missing(options.release)
    try:
        kind = "brokers" if options.brokers else "controllers" if options.controllers else "voters"
        if not why and numbers(options.release) < SINCE[kind]:
            first = ".".join(map(str, SINCE[kind]))
            why = f"{kind} of Apache Kafka {options.release} cannot be simulated: those since {first} can"
        if why:
            print(why, file=sys.stderr)
            return 2
        with nullcontext() if kind == "controllers" else closing(jvm_of_voters(options.release)) as jvm:
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
