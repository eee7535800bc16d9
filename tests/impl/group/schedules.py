"""Seeded schedules of faults on a real ZooKeeper, and what the consumers made of the records (G1, G6).

usage: python -m tests.impl.group.schedules [--count N] [--first SEED] [--at-once N] [--done FILE]

Two brokers of which one is the coordinator, consumers of one group, and a third broker that has the partitions and that
no fault hits. Records are produced all the while. `--done FILE` keeps there which seeds were run, with their figures;
stopped (Ctrl-C, SIGTERM) and called again, it goes on with the rest, and with those for which the machine was too slow
to begin. Exit codes: 0 all are as they should be, 1 some are not, 3 stopped before the end.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.cluster.proxy import BOTH, Direction
from tests.cluster.schedules import Agenda
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.impl.group.cluster import SESSION_MS, Cluster, Consumed

COORDINATORS, DATA = 2, 2
CONSUMERS = ("a", "b", "c")
PARTITIONS = 3
STEPS = 4
END_LIMIT_S = 60.0
PHASES = ("STOPPING", "COMMITTING", "WRITING", "STARTING")
ACTIONS = (
    "kill_consumer", "stop_consumer", "pause_consumer", "pause_consumer", "kill_coordinator", "kill_at_phase",
    "kill_at_phase", "pause_coordinator", "cut_from_zookeeper", "cut_from_consumers", "cut_from_consumers",
)  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """Of one run. again: records that were consumed more than once. began: else it says nothing."""

    seed: int
    records: int
    again: int
    rebalances: int
    coordinators: int
    problem: str = ""
    began: bool = True


class Run:
    """One schedule: its processes, its faults, and a producer."""

    def __init__(self, ensemble: Ensemble, seed: int, folder: Path) -> None:
        self.seed, self.folder = seed, folder / f"run{seed}"
        self.random = random.Random(seed)
        self.folder.mkdir(parents=True)
        self.cluster = Cluster(ensemble, self.folder, brokers=0, topics="", is_linked=True)
        self.agenda = Agenda()
        self.produced: list[str] = []
        self._is_over = threading.Event()

    def run(self) -> Figures:
        began, problem = False, ""
        try:
            self.begin()
            began = True
            producer = threading.Thread(target=self.produce, daemon=True)
            producer.start()
            for _ in range(STEPS):
                self.act(self.random.choice(ACTIONS))
                self.agenda.wait(self.random.uniform(0.1, 1.2 * SESSION_MS / 1000))
            self.agenda.wait_for_all()
            self._is_over.set()
            producer.join()
            wanted = set(self.produced)
            problem = (
                "" if self._until(lambda: wanted <= {one.payload for one in self.cluster.consumed()}) else "skipped"
            )
        except AssertionError as error:
            problem = f"{'it could not go on' if began else 'it never began'}: {error}"
        finally:
            self._is_over.set()
            self.cluster.stop()
        return self.judged(problem, began=began)

    def begin(self) -> None:
        self.cluster.start_data_broker(DATA, f"t:{PARTITIONS}")
        for broker in range(COORDINATORS):
            self.cluster.start_broker(broker)
        for consumer in CONSUMERS[:2]:
            self.cluster.start_consumer(consumer)
        self.cluster.wait_for(lambda: self.cluster.are_fetched(PARTITIONS, set(CONSUMERS[:2])))

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
            link = (cluster.links if action == "cut_from_zookeeper" else cluster.fronts)[coordinator]
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

    def judged(self, problem: str, *, began: bool) -> Figures:
        consumed = self.cluster.consumed()
        logs = "".join(process.log.read_text(errors="replace") for process in self.cluster.processes)
        counts = Counter(one.payload for one in consumed)
        return Figures(
            seed=self.seed,
            records=len(counts),
            again=sum(count - 1 for count in counts.values()),
            rebalances=logs.count('"rebalance has ended"'),
            coordinators=logs.count('"elected"'),
            problem=problem or ("it raised" if "Traceback" in logs else "") or judgement(consumed),
            began=began,
        )


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


def run_all(seeds: Sequence[int], folder: Path, *, at_once: int) -> list[Figures]:
    """The runs of these seeds, on one ZooKeeper that they share."""
    if not seeds:
        return []
    with zookeeper() as ensemble, ThreadPoolExecutor(at_once) as pool:
        try:
            running = [pool.submit(lambda seed=seed: Run(ensemble, seed, folder).run()) for seed in seeds]  # type: ignore[misc]
            return [one.result() for one in running]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.group.schedules")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--done", type=Path)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logging.getLogger("kazoo").setLevel(logging.ERROR)  # that connections are lost is meant
    before = options.done.read_text().splitlines() if options.done and options.done.exists() else []
    found = {line["seed"]: Figures(**line) for line in map(json.loads, before)}
    seeds = [seed for seed in range(options.first, options.first + options.count) if seed not in found]
    folder = Path(tempfile.mkdtemp(prefix="group-schedules-"))
    try:
        for at in range(0, len(seeds), options.at_once):
            for one in run_all(seeds[at : at + options.at_once], folder, at_once=options.at_once):
                found[one.seed] = one
                if one.problem:
                    print(f"seed {one.seed}: {one.problem}; its logs are in {folder / f'run{one.seed}'}", flush=True)
                else:
                    shutil.rmtree(folder / f"run{one.seed}")
                if options.done and one.began:
                    with options.done.open("a") as file:
                        file.write(json.dumps(asdict(one)) + "\n")
            print(f"{min(at + options.at_once, len(seeds))} of {len(seeds)}", flush=True)
    except KeyboardInterrupt:
        print(f"stopped; {len(found)} runs are done")
        return 3
    print(summary(found.values()))
    return 1 if any(one.problem for one in found.values()) else 0


def summary(found: Iterable[Figures]) -> str:
    runs = list(found)
    total = {
        name: sum(getattr(one, name) for one in runs) for name in ("records", "again", "rebalances", "coordinators")
    }
    wrong = sum(bool(one.problem) for one in runs)
    counts = ", ".join(f"{count:,} {name}" for name, count in total.items())
    return f"{len(runs)} runs, {wrong} with a problem; {counts}"


if __name__ == "__main__":
    sys.exit(main())
