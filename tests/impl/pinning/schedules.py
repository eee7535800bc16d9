"""Seeded schedules of requests and faults on a real ZooKeeper, and whether the runs are behaviours of the spec.

usage: python -m tests.impl.pinning.schedules [--count N] [--first SEED] [--at-once N] [--done FILE]

Five setups take turns: one server, the same with takeover, with a broker that is not upgraded, and ensembles of three
whose leader is killed. In every second round of them the controller writes all the while. `--done FILE` keeps there
which seeds were run, with their figures; stopped (Ctrl-C, SIGTERM) and called again, it goes on with the rest, and with
those for which ZooKeeper was too slow. A run that the spec rejects, or whose transaction log breaks P1, P2, P3, P8 or
P9, is kept, trace and logs, in the folder that is printed. Exit codes: 0 all are accepted, 1 some are not, 3 stopped
before the end.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from kazoo.exceptions import NoNodeError

from impl.pinning.messages import UNPIN
from impl.zookeeper.office import CONTROLLER
from impl.zookeeper.transaction_log import Logged
from tests.cluster.brokers import now_ms
from tests.cluster.proxy import BOTH, Direction
from tests.cluster.recordings import Life, NotBegunError, below
from tests.cluster.schedules import Agenda, Outages, Run, Schedules
from tests.cluster.zookeeper import Ensemble
from tests.impl.pinning.cluster import BROKERS, Cluster
from tests.impl.pinning.history import History

QUIET_LIMIT_S = 30.0
WRITES = {"controller.write.interval.ms": "100"}
STEPS = 6
LONGEST_S = 2.2
"""A pause or a cut: up to twice the session's timeout, so that some sessions end under a live broker."""
ACTIONS = ("pin", "pin", "pin", "unpin", "kill", "stop", "pause", "cut", "cut", "lose_reply", "delete")


@dataclass(frozen=True)
class Setup:
    """The parts of a run that a seed does not vary. constants: of the model that its trace is validated on."""

    name: str
    servers: int = 1
    takeover: bool = False
    legacy: int = 0
    constants: tuple[str, ...] = ()

    @property
    def actions(self) -> Sequence[str]:
        return ACTIONS if self.servers == 1 else (*ACTIONS, "kill_leader", "kill_leader")

    @property
    def serves(self) -> bool:
        """P9 is promised: a broker that is not upgraded may win, and never resigns."""
        return not self.legacy


TAKEOVER = ("takeover=true", "versions_read=1")
SETUPS = (
    Setup("one server"),
    Setup("takeover", takeover=True, constants=TAKEOVER),
    Setup("a legacy broker", legacy=1, constants=("legacy_brokers=1",)),
    Setup("ensemble", servers=3),
    Setup("ensemble, takeover", servers=3, takeover=True, constants=TAKEOVER),
)


class Schedule:
    """The faults and requests of one seed, one after the other; pauses and cuts end by themselves."""

    def __init__(self, cluster: Cluster, seed: int, outages: Outages) -> None:
        self.cluster, self.outages = cluster, outages
        self.actions = SCHEDULES.setup_of(seed).actions
        self.random = random.Random(seed)
        self.agenda = Agenda()
        self.last_zxid = self.ended_ms = 0
        """Of ZooKeeper at the end of the run."""

    def run(self) -> None:
        for _ in range(STEPS):
            self.act(self.random.choice(self.actions))
            self.agenda.wait(self.random.uniform(0.05, 0.9))
        self.agenda.wait_for_all()
        for links in self.cluster.links:
            links.heal()
        self.cluster.wait_for(self.is_over, QUIET_LIMIT_S)

    def is_over(self) -> bool:
        """All faults have healed, and so they had when the last transaction of the run was looked up."""
        was_quiet = self.cluster.is_quiet()
        self.last_zxid, self.ended_ms = self.cluster.last_zxid(), now_ms()
        return was_quiet and self.cluster.is_quiet()

    def act(self, action: str) -> None:
        cluster, broker, target = self.cluster, self.random.randrange(BROKERS), self.random.randrange(BROKERS)
        lasts_s, moment_s = self.random.uniform(0.2, LONGEST_S), self.random.uniform(0.0, 0.008)
        ways = self.random.choice((BOTH, BOTH, (Direction.TO_CLIENT,), (Direction.TO_SERVER,)))
        process = cluster.current[broker]
        if action == "pin":
            cluster.pin(broker, target)
        elif action == "unpin":
            cluster.pin(broker, UNPIN)
        elif action == "delete":
            with suppress(NoNodeError):
                cluster.by_hand(cluster.admin.delete, CONTROLLER)
        elif action in ("kill", "stop") and process is not None:
            cluster.kill(broker) if action == "kill" else cluster.terminate(broker)
            self.agenda.after(lasts_s, lambda: cluster.start(broker))
        elif action == "pause" and process is not None:
            process.pause()
            self.agenda.after(lasts_s, process.resume)
        elif action == "cut":
            cluster.links[broker].cut(*ways)
            self.agenda.after(lasts_s, cluster.links[broker].heal)
        elif action == "lose_reply":
            cluster.links[broker].lose_reply(lambda: time.sleep(moment_s))
            cluster.pin(broker, target)
        elif action == "kill_leader":
            leader = self.outages.leader()
            cluster.links[broker].lose_reply(lambda: self.outages.kill(leader, moment_s, lasts_s))
            cluster.pin(broker, target)


@dataclass(frozen=True)
class Ended:
    """A schedule that was run, before its trace is put together. last_zxid: of ZooKeeper at its end, at `ended_ms`."""

    seed: int
    lives: Sequence[Life]
    last_zxid: int
    ended_ms: int

    def put_together(self, log: Sequence[Logged]) -> Run:
        transactions = [one for one in below(log, root_of(self.seed)) if one.zxid <= self.last_zxid]
        try:
            history = History(transactions, self.lives, BROKERS, until=self.last_zxid)
        except NotBegunError as error:
            return Run(self.seed, "", None, str(error))
        figures = history.figures(self.ended_ms, serves=SCHEDULES.setup_of(self.seed).serves)
        trace = history.trace(f"seed {self.seed}", "recorded")
        return Run(self.seed, trace, asdict(figures), violated="; ".join(figures.violated()))


def root_of(seed: int) -> str:
    return f"/run{seed}"


def run(ensemble: Ensemble, seed: int, folder: Path, outages: Outages) -> Ended:
    setup = SCHEDULES.setup_of(seed)
    writes = WRITES if seed // len(SETUPS) % 2 else {}
    cluster = Cluster(ensemble, root_of(seed), folder, takeover=setup.takeover, legacy=setup.legacy, further=writes)
    try:
        cluster.begin()
        schedule = Schedule(cluster, seed, outages)
        schedule.run()
    finally:
        cluster.stop()
    return Ended(seed, cluster.lives(), schedule.last_zxid, schedule.ended_ms)


SCHEDULES = Schedules("tests.impl.pinning.schedules", "tests/impl/pinning/recorded.py", SETUPS, run)

if __name__ == "__main__":
    sys.exit(SCHEDULES.main())
