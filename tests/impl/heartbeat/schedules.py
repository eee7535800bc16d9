"""Seeded schedules of faults on a real ZooKeeper, and whether the runs are behaviours of the spec.

usage: python -m tests.impl.heartbeat.schedules [--count N] [--first SEED] [--at-once N] [--done FILE]

Two setups take turns: one server, and an ensemble of three whose leader is killed. A producer writes all the while; in
the end, what was acknowledged is looked for on the disk of every member of the ISR.
`--done FILE` keeps there which seeds were run, with their figures; stopped (Ctrl-C, SIGTERM) and called again, it goes
on with the rest, and with those that never began. A run that the spec rejects is kept, trace and logs, in the folder
that is printed. Exit codes: 0 all are accepted, 1 some are not, 3 stopped before the end.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from impl.zookeeper.transaction_log import Logged
from tests.cluster.brokers import now_ms
from tests.cluster.proxy import BOTH, Direction
from tests.cluster.recordings import Life, NotBegunError, below
from tests.cluster.schedules import Agenda, Outages, Run, Schedules
from tests.cluster.zookeeper import Ensemble
from tests.impl.heartbeat.cluster import BROKERS, Cluster, Producer
from tests.impl.heartbeat.history import History

QUIET_LIMIT_S = 20.0
STEPS = 5
LONGEST_S = 4.0
"""A pause or a cut: up to twice the longest timeout, so that some leases and some sessions end under a live broker."""
ACTIONS = ("kill", "stop", "pause", "pause", "cut", "cut", "shut", "shut", "lose_reply")


@dataclass(frozen=True)
class Setup:
    """As tests.cluster.schedules has it."""

    name: str
    servers: int = 1
    constants: tuple[str, ...] = ()

    @property
    def actions(self) -> Sequence[str]:
        return ACTIONS if self.servers == 1 else (*ACTIONS, "kill_leader", "kill_leader")


SETUPS = (
    Setup("one server"),
    Setup("ensemble", servers=3),
)


class Schedule:
    """The faults of one seed, one after the other; pauses and cuts end by themselves."""

    def __init__(self, cluster: Cluster, seed: int, outages: Outages) -> None:
        self.cluster, self.outages = cluster, outages
        self.actions = SCHEDULES.setup_of(seed).actions
        self.random = random.Random(seed)
        self.agenda = Agenda()

    def run(self) -> None:
        for _ in range(STEPS):
            self.act(self.random.choice(self.actions))
            self.agenda.wait(self.random.uniform(0.1, 1.6))
        self.agenda.wait_for_all()
        for links, door in zip(self.cluster.links, self.cluster.doors, strict=True):
            links.heal()
            door.heal()
        self.cluster.wait_for(self.cluster.is_quiet, QUIET_LIMIT_S)

    def act(self, action: str) -> None:
        cluster, broker = self.cluster, self.random.randrange(BROKERS)
        lasts_s, moment_s = self.random.uniform(0.2, LONGEST_S), self.random.uniform(0.0, 0.008)
        ways = self.random.choice((BOTH, BOTH, (Direction.TO_CLIENT,), (Direction.TO_SERVER,)))
        process = cluster.current[broker]
        if action == "kill" and process is not None:
            cluster.kill(broker)
            self.agenda.after(lasts_s, lambda: cluster.start(broker))
        elif action == "stop" and process is not None and process.life.asked_ms is None:
            process.ask_to_stop()
            self.agenda.after(LONGEST_S, lambda: self.replace(broker))
        elif action == "pause" and process is not None:
            process.pause()
            self.agenda.after(lasts_s, process.resume)
        elif action == "cut":
            cluster.links[broker].cut(*ways)
            self.agenda.after(lasts_s, cluster.links[broker].heal)
        elif action == "shut":
            cluster.doors[broker].cut(*ways)
            self.agenda.after(lasts_s, cluster.doors[broker].heal)
        elif action == "lose_reply":
            cluster.links[broker].lose_reply(lambda: time.sleep(moment_s))
        elif action == "kill_leader":
            self.outages.kill(self.outages.leader(), moment_s, lasts_s)

    def replace(self, broker: int) -> None:
        """Start a broker that was asked to stop; one that is still there is killed."""
        if self.cluster.current[broker] is not None:
            self.cluster.kill(broker)
            self.cluster.start(broker)


@dataclass(frozen=True)
class Ended:
    """A schedule that was run.

    began: zxid and time; until_ms: its end; lost: how much was acknowledged and is not on the disk of some ISR member.
    """

    seed: int
    lives: Sequence[Life]
    began: tuple[int, int]
    until_ms: int
    acknowledged: int
    lost: int

    def put_together(self, log: Sequence[Logged]) -> Run:
        try:
            history = History(below(log, root_of(self.seed)), self.lives, self.began, self.until_ms)
        except NotBegunError as error:
            return Run(self.seed, "", None, str(error))
        figures = {**asdict(history.figures()), "acknowledged": self.acknowledged, "lost": self.lost}
        trace = history.trace(f"seed {self.seed}", "recorded")
        return Run(self.seed, trace, figures, violated="; ".join(violated(figures)))


def violated(figures: Mapping[str, int]) -> list[str]:
    """What the records of a run show to be wrong."""
    serving_ms, lost = figures["double_serving_ms"], figures["lost"]
    return [
        *([f"S2: two processes served for {serving_ms} ms"] if serving_ms else []),
        *([f"S5: {lost} acknowledged records are not on the disk of every member"] if lost else []),
    ]


def root_of(seed: int) -> str:
    return f"/run{seed}"


def run(ensemble: Ensemble, seed: int, folder: Path, outages: Outages) -> Ended:
    """Run one schedule."""
    return run_with(ensemble, seed, folder, lambda cluster, producer: Schedule(cluster, seed, outages).run())


def run_with(ensemble: Ensemble, seed: int, folder: Path, work: Callable[[Cluster, Producer], None]) -> Ended:
    """Run a cluster, with a producer, through what is to happen to it."""
    cluster = Cluster(ensemble, root_of(seed), folder)
    try:
        cluster.begin()
        began = cluster.last_zxid(), now_ms()
        producer = Producer(cluster)
        try:
            work(cluster, producer)
        finally:
            producer.stop()
        members = cluster.isr()
        until_ms = now_ms()
    finally:
        cluster.stop()
    acknowledged = set(producer.acknowledged)
    lost = max((len(acknowledged - cluster.on_disk(one)) for one in members), default=len(acknowledged))
    return Ended(seed, cluster.lives(), began, until_ms, len(acknowledged), lost)


SCHEDULES = Schedules("tests.impl.heartbeat.schedules", "tests/impl/heartbeat/recorded.py", SETUPS, run)

if __name__ == "__main__":
    sys.exit(SCHEDULES.main())
