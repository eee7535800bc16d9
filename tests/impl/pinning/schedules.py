"""Seeded schedules of requests and faults on a real ZooKeeper, and whether the runs are behaviours of the spec.

usage: python -m tests.impl.pinning.schedules [--count N] [--first SEED] [--at-once N] [--done FILE]

Five setups take turns: one server, the same with takeover, with a broker that is not upgraded, and ensembles of three
whose leader is killed. `--done FILE` keeps there which seeds were run, with their figures; stopped (Ctrl-C, SIGTERM)
and called again, it goes on with the rest, and with those for which ZooKeeper was too slow. A run that the spec rejects
is kept, trace and logs, in the folder that is printed. Exit codes: 0 all are accepted, 1 some are not, 3 stopped before
the end.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from impl.zookeeper.office import CONTROLLER
from impl.zookeeper.transaction_log import Logged
from tests.cluster.proxy import BOTH, Direction
from tests.cluster.zookeeper import Ensemble, Server, zookeeper
from tests.conftest import ROOT
from tests.impl.pinning.cluster import BROKERS, Cluster
from tests.impl.pinning.history import Figures, History, Life, below

MODEL = "tests/impl/pinning/recorded.py"
QUIET_LIMIT_S = 10.0
STEPS = 6
LONGEST_S = 2.2
"""A pause or a cut: up to twice the session's timeout, so that some sessions end under a live broker."""
BATCH = 100
MOST_CANDIDATES = 300_000
ACTIONS = ("pin", "pin", "pin", "kill", "stop", "pause", "cut", "cut", "lose_reply", "delete")


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


_TAKEOVER = ("takeover=true", "versions_read=1")
SETUPS = (
    Setup("one server"),
    Setup("takeover", takeover=True, constants=_TAKEOVER),
    Setup("a legacy broker", legacy=1, constants=("legacy_brokers=1",)),
    Setup("ensemble", servers=3),
    Setup("ensemble, takeover", servers=3, takeover=True, constants=_TAKEOVER),
)


def setup_of(seed: int) -> Setup:
    return SETUPS[seed % len(SETUPS)]


@dataclass(frozen=True)
class Run:
    """One schedule that was run. trace: NDJSON; "" and a problem where it cannot be put together."""

    seed: int
    trace: str
    figures: Figures | None
    problem: str = ""


class Outages:
    """Servers of an ensemble that are killed, one at a time, and started again: two are a quorum."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._is_on = threading.Lock()
        self._restart: threading.Timer | None = None
        self._starter = ThreadPoolExecutor(1)
        """A server dies with the thread that started it: this one lives as long as the ensemble."""

    def leader(self) -> Server | None:
        return self._ensemble.leader()

    def kill(self, server: Server | None, delay_s: float, down_s: float) -> None:
        """kill -9 after a moment, unless another one is down; it is started again later."""
        if server is None or not self._is_on.acquire(blocking=False):
            return
        time.sleep(delay_s)
        server.kill()
        self._restart = threading.Timer(down_s, lambda: self._starter.submit(self._start))
        self._restart.start()

    def _start(self) -> None:
        self._ensemble.start()
        self._is_on.release()

    def end(self) -> None:
        """Wait until all servers serve."""
        if self._restart is not None:
            self._restart.cancel()
        self._starter.submit(self._ensemble.start).result()

    def close(self) -> None:
        self._starter.shutdown()


class Schedule:
    """The faults and requests of one seed, one after the other; pauses and cuts end by themselves."""

    def __init__(self, cluster: Cluster, seed: int, outages: Outages) -> None:
        self.cluster, self.outages = cluster, outages
        self.actions = setup_of(seed).actions
        self.random = random.Random(seed)
        self.ends: list[tuple[float, Callable[[], None]]] = []

    def run(self) -> None:
        for _ in range(STEPS):
            self.act(self.random.choice(self.actions))
            self.wait(self.random.uniform(0.05, 0.9))
        self.wait(max((at - time.monotonic() for at, _ in self.ends), default=0.0))
        for links in self.cluster.links:
            links.heal()
        self.cluster.wait_for(self.cluster.is_quiet, QUIET_LIMIT_S)

    def act(self, action: str) -> None:
        cluster, broker, target = self.cluster, self.random.randrange(BROKERS), self.random.randrange(BROKERS)
        lasts_s, moment_s = self.random.uniform(0.2, LONGEST_S), self.random.uniform(0.0, 0.008)
        ways = self.random.choice((BOTH, BOTH, (Direction.TO_CLIENT,), (Direction.TO_SERVER,)))
        process = cluster.current[broker]
        if action == "pin":
            cluster.pin(broker, target)
        elif action == "delete":
            with suppress(NoNodeError):
                cluster.by_hand(cluster.admin.delete, CONTROLLER)
        elif action in ("kill", "stop") and process is not None:
            cluster.kill(broker) if action == "kill" else cluster.terminate(broker)
            self.after(lasts_s, lambda: cluster.start(broker))
        elif action == "pause" and process is not None:
            process.pause()
            self.after(lasts_s, process.resume)
        elif action == "cut":
            cluster.links[broker].cut(*ways)
            self.after(lasts_s, cluster.links[broker].heal)
        elif action == "lose_reply":
            cluster.links[broker].lose_reply(lambda: time.sleep(moment_s))
            cluster.pin(broker, target)
        elif action == "kill_leader":
            leader = self.outages.leader()
            cluster.links[broker].lose_reply(lambda: self.outages.kill(leader, moment_s, lasts_s))
            cluster.pin(broker, target)

    def after(self, delay_s: float, end: Callable[[], None]) -> None:
        self.ends.append((time.monotonic() + delay_s, end))

    def wait(self, delay_s: float) -> None:
        """Let time pass, and end what is over by then."""
        until = time.monotonic() + delay_s
        while True:
            now = time.monotonic()
            for one in [one for one in self.ends if one[0] <= now]:
                self.ends.remove(one)
                one[1]()
            if now >= until:
                return
            time.sleep(min([until, *(at for at, _ in self.ends)]) - now if self.ends else until - now)


@dataclass(frozen=True)
class Ended:
    """A schedule that was run, before its trace is put together. last_zxid: of ZooKeeper at its end."""

    seed: int
    lives: Sequence[Life]
    last_zxid: int

    def put_together(self, log: Sequence[Logged]) -> Run:
        transactions = [one for one in below(log, root_of(self.seed)) if one.zxid <= self.last_zxid]
        try:
            history = History(transactions, self.lives, BROKERS, until=self.last_zxid)
        except ValueError as error:
            return Run(self.seed, "", None, str(error))
        return Run(self.seed, history.trace(f"seed {self.seed}", "recorded"), history.figures())


def root_of(seed: int) -> str:
    return f"/run{seed}"


def run(ensemble: Ensemble, seed: int, folder: Path, outages: Outages) -> Ended | Run:
    """Run one schedule. A Run at once where ZooKeeper did not serve for so long that the schedule could not go on."""
    try:
        return _run(ensemble, seed, folder, outages)
    except (KazooException, KazooTimeoutError) as error:
        return Run(seed, "", None, f"ZooKeeper does not serve: {error!r}")


def _run(ensemble: Ensemble, seed: int, folder: Path, outages: Outages) -> Ended:
    setup = setup_of(seed)
    cluster = Cluster(ensemble, root_of(seed), folder, takeover=setup.takeover, legacy=setup.legacy)
    try:
        cluster.begin()
        Schedule(cluster, seed, outages).run()
        last_zxid = cluster.last_zxid()
    finally:
        cluster.stop()
    return Ended(seed, [Life(one.broker, one.trace, one.ended_ms) for one in cluster.processes], last_zxid)


def run_all(seeds: Iterable[int], folder: Path, *, at_once: int) -> list[Run]:
    """The runs of these seeds: those of one server, then those of an ensemble, each on one that they share."""
    found = list[Run]()
    for servers in sorted({setup.servers for setup in SETUPS}):
        own = [seed for seed in seeds if setup_of(seed).servers == servers]
        if own:
            found += _run_all(own, folder, servers, at_once)
    return found


def _run_all(seeds: Sequence[int], folder: Path, servers: int, at_once: int) -> list[Run]:
    with zookeeper(servers) as ensemble:
        outages = Outages(ensemble)
        try:
            with ThreadPoolExecutor(at_once) as pool:
                try:
                    running = [pool.submit(run, ensemble, seed, folder / str(seed), outages) for seed in seeds]
                    ended = [one.result() for one in running]
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
            outages.end()
            log = ensemble.transactions()
        finally:
            outages.close()
    return [one.put_together(log) if isinstance(one, Ended) else one for one in ended]


@dataclass
class Verdicts:
    """What the spec says of traces. reasons: by seed, of those that are not accepted; report: what was printed."""

    reasons: dict[int, str] = field(default_factory=dict)
    report: str = ""


def validate(runs: Sequence[Run], folder: Path) -> Verdicts:
    """Hold the traces against the spec, each setup with its constants."""
    found = Verdicts({one.seed: one.problem for one in runs if one.problem})
    for number, setup in enumerate(SETUPS):
        own = [one for one in runs if one.trace and setup_of(one.seed) is setup]
        if own:
            _validate(own, setup, folder / f"traces{number}", found)
    return found


def _validate(runs: Sequence[Run], setup: Setup, folder: Path, found: Verdicts) -> None:
    folder.mkdir(parents=True)
    for one in runs:
        (folder / f"{one.seed}.ndjson").write_text(one.trace)
    command = [sys.executable, "-m", "checker", "trace", "validate", str(folder), "--model", MODEL, "--json", "--quiet"]
    changes = [word for change in setup.constants for word in ("--set", change)]
    changes += ["--max-candidates", str(MOST_CANDIDATES)]
    done = subprocess.run([*command, *changes], cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        verdicts: list[dict[str, Any]] = json.loads(done.stdout)["verdicts"]
    except ValueError:
        raise RuntimeError(f"traces were not judged: {done.stderr}") from None
    for verdict in verdicts:
        seed = int(verdict["trace"].removeprefix("seed "))
        found.reasons[seed] = f"{verdict['status']} at line {verdict['line']}, {verdict['event']}: {verdict['reason']}"
        found.report += f"seed {seed} ({setup.name}): {found.reasons[seed]}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.pinning.schedules")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=12)
    parser.add_argument("--done", type=Path)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logging.getLogger("kazoo").setLevel(logging.ERROR)  # that connections are lost is meant
    before = options.done.read_text().splitlines() if options.done and options.done.exists() else []
    known = {line["seed"]: line for line in map(json.loads, before)}
    seeds = [seed for seed in range(options.first, options.first + options.count) if seed not in known]
    folder = Path(tempfile.mkdtemp(prefix="schedules-"))
    try:
        for at in range(0, len(seeds), BATCH):
            for line in _batch(seeds[at : at + BATCH], folder, options.at_once):
                known[line["seed"]] = line
                if options.done and "elections" in line:
                    with options.done.open("a") as file:
                        file.write(json.dumps(line) + "\n")
            print(f"{at + len(seeds[at : at + BATCH])} of {len(seeds)}", flush=True)
    except KeyboardInterrupt:
        print(f"stopped; {len(known)} runs are done")
        shutil.rmtree(folder, ignore_errors=True)
        return 3
    print("\n".join(summary(known.values())))
    if any(folder.iterdir()):
        print(f"what is not accepted is in {folder}")
    else:
        folder.rmdir()
    return 1 if any(line["reason"] for line in known.values()) else 0


def _batch(seeds: Sequence[int], folder: Path, at_once: int) -> list[dict[str, Any]]:
    """Run some schedules, and validate them. Returns a line for each; what is accepted leaves nothing in the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        runs = run_all(seeds, Path(scratch), at_once=at_once)
        verdicts = validate(runs, Path(scratch))
        print(verdicts.report, end="", flush=True)
        for one in runs:
            if one.seed in verdicts.reasons:
                shutil.copytree(Path(scratch) / str(one.seed), folder / str(one.seed))
                (folder / f"{one.seed}.ndjson").write_text(one.trace)
    return [
        {
            "seed": one.seed,
            "setup": setup_of(one.seed).name,
            "reason": verdicts.reasons.get(one.seed, ""),
            **(asdict(one.figures) if one.figures else {}),
        }
        for one in runs
    ]


def summary(lines: Iterable[dict[str, Any]]) -> list[str]:
    """The totals by setup, and what is not accepted."""
    lines = sorted(lines, key=lambda line: line["seed"])
    totals = {setup.name: Counter[str]() for setup in SETUPS}
    longest_ms = dict.fromkeys(totals, 0)
    for line in lines:
        of_setup = totals[line["setup"]]
        of_setup.update(runs=1, accepted=not line["reason"])
        of_setup.update({name: line.get(name, 0) for name in ("elections", "requests")})
        of_setup.update({name: line.get(name, 0) for name in ("moves_without_cause", "foreign_deletions")})
        longest_ms[line["setup"]] = max(longest_ms[line["setup"]], line.get("longest_vacancy_ms", 0))
    found = []
    for name, total in totals.items():
        counts = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in total.items())
        found.append(f"{name}: {counts}; longest without a controller {longest_ms[name]:,} ms")
    return found + [f"seed {line['seed']}: {line['reason']}" for line in lines if line["reason"]]


if __name__ == "__main__":
    sys.exit(main())
