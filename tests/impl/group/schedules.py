"""Seeded schedules of faults on a real ZooKeeper: are the runs behaviours of the spec, and what became of the records?

usage: python -m tests.impl.group.schedules [--count N] [--first SEED] [--at-once N] [--done FILE]

Two brokers of which one is the coordinator, consumers of one group, and a third broker that has the partitions:
consumers may be cut off from it, and nothing else happens to it. Two setups take turns: one server of ZooKeeper, and an
ensemble of three whose leader is killed. Records are produced all the while: that none is skipped (G6), and none
consumed by an assignment after a later one (G1), is looked at in what the consumers wrote; all the rest is held to the
model. `--done FILE` keeps there which seeds were run, with their figures; stopped (Ctrl-C, SIGTERM) and called again,
it goes on with the rest, and with those for which the machine was too slow to begin. A run that fails is kept, trace
and logs, in the folder that is printed. Exit codes: 0 all are as they should be, 1 some are not, 3 stopped before the
end.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from impl.group.znodes import count_path
from impl.zookeeper.transaction_log import Logged
from tests.cluster.links import Links
from tests.cluster.proxy import BOTH, Direction, Proxy
from tests.cluster.recordings import NotBegunError, below
from tests.cluster.schedules import Agenda, Outages, Run, Schedules
from tests.cluster.zookeeper import Ensemble
from tests.impl.group.cluster import SESSION_MS, Cluster, Consumed
from tests.impl.group.history import History, Life

COORDINATORS, DATA = 2, 2
CONSUMERS = ("a", "b", "c")
PARTITIONS = 3
STEPS = 4
END_LIMIT_S = 60.0
_MOMENT_S = 0.008
"""Of a ZooKeeper's leader that is killed: what was begun before may be under way."""
PHASES = ("STOPPING", "COMMITTING", "WRITING", "STARTING")
ACTIONS = (
    "kill_consumer", "stop_consumer", "pause_consumer", "pause_consumer", "kill_coordinator", "kill_at_phase",
    "kill_at_phase", "pause_coordinator", "cut_from_zookeeper", "cut_from_consumers", "cut_from_consumers",
    "cut_from_data",
)  # fmt: skip


@dataclass(frozen=True)
class Setup:
    """As tests.cluster.schedules has it."""

    name: str
    servers: int = 1
    constants: tuple[str, ...] = ()

    @property
    def actions(self) -> Sequence[str]:
        return ACTIONS if self.servers == 1 else (*ACTIONS, "kill_leader", "kill_leader")


SETUPS = (Setup("one server"), Setup("ensemble", servers=3))


@dataclass(frozen=True)
class Ended:
    """A schedule that was run, before its trace is put together. root: its chroot; until_us: its end."""

    seed: int
    root: str
    lives: Sequence[Life]
    until_us: int
    figures: dict[str, int]
    problem: str

    def put_together(self, log: Sequence[Logged]) -> Run:
        try:
            history = History(below(log, self.root), self.lives, self.until_us, last_zxid=log[-1].zxid)
        except NotBegunError as error:
            return Run(self.seed, "", None, str(error))
        return Run(self.seed, history.trace(f"seed {self.seed}", "recorded"), self.figures, violated=self.problem)


class Schedule:
    """One schedule: its processes, its faults, and a producer."""

    def __init__(self, ensemble: Ensemble, seed: int, folder: Path, outages: Outages) -> None:
        self.seed, self.outages = seed, outages
        self.actions = SCHEDULES.setup_of(seed).actions
        self.random = random.Random(seed)
        folder.mkdir(parents=True)
        self.cluster = Cluster(ensemble, folder, brokers=0, topics="", is_linked=True)
        self.agenda = Agenda()
        self.produced: list[str] = []
        self._is_over = threading.Event()

    def run(self) -> Ended:
        problem, until_us = "", 0
        try:
            try:
                self.begin()
            except AssertionError as error:
                raise NotBegunError(f"not everybody fetched: {error}") from None
            problem = self.schedule()
            until_us = time.time_ns() // 1_000
        finally:
            self._is_over.set()
            self.cluster.stop()
        lives = [Life(name, trace, process.ended_us) for name, trace, process in self.cluster.lives]
        return Ended(self.seed, self.cluster.root, lives, until_us, *self.judged(problem))

    def schedule(self) -> str:
        """The faults, until all is consumed that was produced. Returns what goes wrong with that."""
        producer = threading.Thread(target=self.produce, daemon=True)
        producer.start()
        try:
            for _ in range(STEPS):
                self.act(self.random.choice(self.actions))
                self.agenda.wait(self.random.uniform(0.1, 1.2 * SESSION_MS / 1000))
            self.agenda.wait_for_all()
        except AssertionError as error:
            return f"it could not go on: {error}"
        self._is_over.set()
        producer.join()
        wanted = set(self.produced)
        all_consumed = self._until(lambda: wanted <= {one.payload for one in self.cluster.consumed()})
        return "" if all_consumed else "skipped"

    def begin(self) -> None:
        cluster = self.cluster
        cluster.start_data_broker(DATA, f"t:{PARTITIONS}")
        cluster.wait_for(lambda: cluster.admin.exists(f"{cluster.root}{count_path('t', str(DATA))}") is not None)
        for broker in range(COORDINATORS):
            cluster.start_broker(broker)
        for consumer in CONSUMERS[:2]:
            cluster.start_consumer(consumer)
        cluster.wait_for(lambda: cluster.are_fetched(PARTITIONS, set(CONSUMERS[:2])))

    def produce(self) -> None:
        """A record for each partition, again and again."""
        number = 0
        while not self._is_over.wait(0.04):
            for partition in range(PARTITIONS):
                payload = f"{partition}-{number}"
                self.cluster.produce(DATA, partition, [payload])
                self.produced.append(payload)
            number += 1

    # Faults.

    def act(self, action: str) -> None:
        lasts_s = self.random.choice((0.5, 1.0, 2.0)) * SESSION_MS / 1000
        consumer, phase = self.random.choice(CONSUMERS), self.random.choice(PHASES)
        ways = self.random.choice((BOTH, (Direction.TO_CLIENT,), (Direction.TO_SERVER,)))
        cluster, coordinator = self.cluster, self.cluster.coordinator()
        process = cluster.consumers.get(consumer)
        if action in ("kill_consumer", "stop_consumer") and process is not None:
            process.kill() if action == "kill_consumer" else process.terminate()
            self.agenda.after(lasts_s, lambda: self.start_again(consumer))
        elif action == "pause_consumer" and process is not None:
            process.pause()
            self.agenda.after(lasts_s, process.resume)
        elif action.endswith("consumer"):
            cluster.start_consumer(consumer)
        elif action == "cut_from_data":
            self.cut(cluster.fronts[DATA], ways, lasts_s)
        elif action == "kill_leader":
            self.outages.kill(self.outages.leader(), self.random.uniform(0.0, _MOMENT_S), lasts_s)
        elif coordinator is not None:
            self.act_on(action, coordinator, lasts_s, phase, ways)

    def act_on(self, action: str, coordinator: int, lasts_s: float, phase: str, ways: Sequence[Direction]) -> None:
        cluster = self.cluster
        process = cluster.brokers[coordinator]
        if action in ("kill_coordinator", "kill_at_phase"):
            if action == "kill_at_phase":
                self.await_phase(process.log, phase)
            process.kill()
            self.agenda.after(lasts_s, lambda: self.start_broker_again(coordinator))
        elif action == "pause_coordinator":
            process.pause()
            self.agenda.after(lasts_s, process.resume)
        else:
            links = cluster.links if action == "cut_from_zookeeper" else cluster.fronts
            self.cut(links[coordinator], ways, lasts_s)

    def cut(self, link: Links | Proxy, ways: Sequence[Direction], lasts_s: float) -> None:
        link.cut(*ways)
        self.agenda.after(lasts_s, link.heal)

    def start_again(self, consumer: str) -> None:
        self.cluster.consumers[consumer].kill()
        self.cluster.start_consumer(consumer)

    def start_broker_again(self, broker: int) -> None:
        self.cluster.brokers[broker].kill()
        self.cluster.start_broker(broker)

    def await_phase(self, log: Path, phase: str) -> None:
        """A consumer dies, and the coordinator gets to a phase of the rebalance."""
        at = log.stat().st_size
        victim = self.random.choice(sorted(self.cluster.consumers))
        self.cluster.consumers[victim].kill()
        self.agenda.after(0.5, lambda: self.start_again(victim))
        end = time.monotonic() + 1.0
        while f'"phase": "{phase}"' not in log.read_text(errors="replace")[at:] and time.monotonic() < end:
            time.sleep(0.001)

    @staticmethod
    def _until(condition: Callable[[], bool]) -> bool:
        end = time.monotonic() + END_LIMIT_S
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    # Judgement.

    def judged(self, problem: str) -> tuple[dict[str, int], str]:
        """Figures, and what is wrong. consumed_again: records that were consumed more than once."""
        consumed = self.cluster.consumed()
        logs = "".join(process.log.read_text(errors="replace") for process in self.cluster.processes)
        counts = Counter(one.payload for one in consumed)
        figures = {
            "records": len(counts),
            "consumed_again": sum(count - 1 for count in counts.values()),
            "rebalances": logs.count('"rebalance has ended"'),
            "coordinators": logs.count('"elected"'),
        }
        return figures, problem or ("it raised" if "Traceback" in logs else "") or judgement(consumed)


def judgement(consumed: Iterable[Consumed]) -> str:
    """The first thing that is wrong with what was consumed, in the order of time; "": nothing.

    G1: once a consumer has consumed by an assignment, nobody does by an earlier one. G6: no record is skipped: each
    begins where its consumer stopped, or at an offset up to which somebody of the group has consumed.
    """
    newest: dict[str, tuple[int, int]] = {}
    ends: dict[str, int] = {}
    for one in consumed:
        assignment = one.epoch, one.attempt
        if assignment < newest.get(one.partition, (0, 0)):
            before = newest[one.partition]
            return f"{one.consumer} consumes {one.partition} at {one.offset} by {assignment}, after {before}"
        newest[one.partition] = assignment
        if one.offset > ends.get(one.partition, 0):
            return f"{one.consumer} skips from {ends.get(one.partition, 0)} to {one.offset} of {one.partition}"
        ends[one.partition] = max(ends.get(one.partition, 0), one.next_offset)
    return ""


def run(ensemble: Ensemble, seed: int, folder: Path, outages: Outages) -> Ended:
    return Schedule(ensemble, seed, folder, outages).run()


SCHEDULES = Schedules("tests.impl.group.schedules", "tests/impl/group/recorded.py", SETUPS, run)

if __name__ == "__main__":
    sys.exit(SCHEDULES.main())
