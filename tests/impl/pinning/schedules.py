"""Seeded schedules of requests and faults on a real ZooKeeper, and whether the runs are behaviours of the spec.

usage: python -m tests.impl.pinning.schedules [--count N] [--first SEED] [--at-once N] [--takeover] [--done FILE]

`--done FILE` keeps there which seeds were run, with their figures; stopped and called again, it goes on with the rest.
A run that the spec rejects is kept, trace and logs, in the folder that is printed. Exit codes: 0 all are accepted, 1
some are rejected, 3 stopped before the end.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from impl.pinning.messages import PIN_CONTROLLER, PinControllerRequest
from impl.pinning.tool import ToolError, ask
from impl.pinning.znodes import CONTROLLER, NEXT, PERSISTENT
from impl.runtime.wire import WireError
from impl.zookeeper.transaction_log import read_logs
from tests.cluster.proxy import Proxy
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.conftest import ROOT
from tests.impl.pinning.brokers import BrokerProcess
from tests.impl.pinning.history import Figures, History, Life, below

MODEL = "tests/impl/pinning/recorded.py"
BROKERS = 3
SESSION_MS = 1_000
START_LIMIT_S = 30.0
QUIET_LIMIT_S = 10.0
ACTIONS = ("pin", "pin", "pin", "kill", "pause", "cut", "delete")
STEPS = 6
LONGEST_S = 2.2
"""A pause or a cut: up to twice the session's timeout, so that some sessions end under a live broker."""


@dataclass(frozen=True)
class Run:
    """One schedule that was run. trace: NDJSON; "" and a problem where the cluster never came up."""

    seed: int
    trace: str
    figures: Figures | None
    problem: str = ""


class Cluster:
    """Brokers below a chroot, each with a link of its own to ZooKeeper. further: entries of their configuration."""

    def __init__(
        self,
        ensemble: Ensemble,
        root: str,
        folder: Path,
        *,
        takeover: bool = False,
        brokers: int = BROKERS,
        further: Mapping[str, str] | None = None,
    ) -> None:
        self.root, self.folder = root, folder
        self.further = {"controller.pinning.takeover": str(takeover).lower(), **(further or {})}
        self.admin = KazooClient(ensemble.hosts, timeout=10.0)
        self.admin.start(timeout=START_LIMIT_S)
        for path, data in PERSISTENT:
            self.admin.create(f"{root}{path}", data, makepath=True)
        self.links = [Proxy(ensemble.servers[0].address) for _ in range(brokers)]
        self.processes: list[BrokerProcess] = []
        self.current: list[BrokerProcess | None] = [None] * brokers

    def start(self, broker: int) -> None:
        settings = {
            "broker.id": str(broker),
            "zookeeper.connect": f"{self.links[broker].address}{self.root}",
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            **self.further,
        }
        process = BrokerProcess(broker, self.folder, len(self.processes), settings)
        self.processes.append(process)
        self.current[broker] = process

    def kill(self, broker: int) -> None:
        process = self.current[broker]
        if process is not None:
            process.kill()
            self.current[broker] = None

    def begin(self) -> None:
        """Broker 0 in office, and all others up: the state that models start from."""
        for broker in range(len(self.links)):
            self.start(broker)
            process = self.processes[-1]
            self.wait_for(lambda process=process: _has(process.trace, '"start"'), START_LIMIT_S)  # type: ignore[misc]
            if broker == 0:
                self.wait_for(lambda process=process: _has(process.trace, '"begin_term"'), START_LIMIT_S)  # type: ignore[misc]

    def wait_for(self, condition: Callable[[], bool], limit_s: float) -> bool:
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def is_quiet(self) -> bool:
        """Somebody is in office, and no request stands."""
        return (
            self.admin.exists(f"{self.root}{CONTROLLER}") is not None
            and self.admin.exists(f"{self.root}{NEXT}") is None
        )

    def pin(self, through: int, target: int) -> None:
        """Ask a broker; without waiting for the move, and whatever becomes of it."""
        process = self.current[through]
        address = None if process is None else address_of(process.log)
        if address is not None:
            with suppress(ToolError, WireError, OSError):
                ask(*address, PIN_CONTROLLER, PinControllerRequest(target, 0), 0, grace_ms=500)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for link in self.links:
            link.stop()
        self.admin.stop()
        self.admin.close()


def _has(trace: Path, text: str) -> bool:
    return trace.exists() and text in trace.read_text(encoding="utf-8", errors="replace")


def address_of(log: Path) -> tuple[str, int] | None:
    """Where a broker listens, as its log says."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    found = re.search(r'"event": "listening".*"host": "([^"]*)", "port": (\d+)', text)
    return None if found is None else (found[1], int(found[2]))


class Schedule:
    """The faults and requests of one seed, one after the other; pauses and cuts end by themselves."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.random = random.Random(seed)
        self.ends: list[tuple[float, Callable[[], None]]] = []

    def run(self) -> None:
        for _ in range(STEPS):
            self.act(self.random.choice(ACTIONS))
            self.wait(self.random.uniform(0.05, 0.9))
        self.wait(max((at - time.monotonic() for at, _ in self.ends), default=0.0))
        self.cluster.wait_for(self.cluster.is_quiet, QUIET_LIMIT_S)

    def act(self, action: str) -> None:
        cluster, broker = self.cluster, self.random.randrange(BROKERS)
        lasts_s = self.random.uniform(0.2, LONGEST_S)
        process = cluster.current[broker]
        if action == "pin":
            cluster.pin(broker, self.random.randrange(BROKERS))
        elif action == "delete":
            with suppress(NoNodeError):
                cluster.admin.delete(f"{cluster.root}{CONTROLLER}")
        elif action == "kill" and process is not None:
            cluster.kill(broker)
            self.after(lasts_s, lambda: cluster.start(broker))
        elif action == "pause" and process is not None:
            process.pause()
            self.after(lasts_s, process.resume)
        elif action == "cut":
            cluster.links[broker].cut()
            self.after(lasts_s, cluster.links[broker].heal)

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


def run(ensemble: Ensemble, seed: int, folder: Path, *, takeover: bool) -> Run:
    """Run one schedule, and put its trace together."""
    root = f"/run{seed}"
    cluster = Cluster(ensemble, root, folder, takeover=takeover)
    try:
        cluster.begin()
        Schedule(cluster, seed).run()
        cluster.admin.get("/")
        last_zxid = cluster.admin.last_zxid
    finally:
        cluster.stop()
    lives = [Life(one.broker, one.trace, one.ended_ms) for one in cluster.processes]
    logs = ensemble.servers[0].log_folder
    transactions = [one for one in below(read_logs(logs), root) if one.zxid <= last_zxid]
    try:
        history = History(transactions, lives, BROKERS)
    except ValueError as error:
        return Run(seed, "", None, str(error))
    return Run(seed, history.trace(f"seed {seed}", "recorded"), history.figures())


def run_all(seeds: Iterable[int], folder: Path, *, at_once: int, takeover: bool) -> Iterator[Run]:
    """The runs of these seeds on one server, as they end."""
    with zookeeper() as ensemble, ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(run, ensemble, seed, folder / str(seed), takeover=takeover) for seed in seeds]
        try:
            for done in as_completed(running):
                yield done.result()
        finally:
            for one in running:
                one.cancel()


@dataclass(frozen=True)
class Verdicts:
    """The verdict on each trace file, and what was printed."""

    exit_code: int
    report: str


def validate(runs: Sequence[Run], folder: Path, *, takeover: bool) -> Verdicts:
    """Hold the traces against the spec."""
    traces = folder / "traces"
    traces.mkdir(parents=True, exist_ok=True)
    for one in runs:
        (traces / f"{one.seed}.ndjson").write_text(one.trace)
    command = [sys.executable, "-m", "checker", "trace", "validate", str(traces), "--model", MODEL]
    changes = ["--set", "takeover=true", "--set", "versions_read=1"] if takeover else []
    done = subprocess.run([*command, *changes], cwd=ROOT, capture_output=True, text=True, check=False)
    return Verdicts(done.returncode, done.stdout + done.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.pinning.schedules")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--takeover", action="store_true")
    parser.add_argument("--done", type=Path)
    options = parser.parse_args(arguments)
    done = options.done.read_text().splitlines() if options.done and options.done.exists() else []
    known = {json.loads(line)["seed"] for line in done}
    seeds = [seed for seed in range(options.first, options.first + options.count) if seed not in known]
    folder = Path(tempfile.mkdtemp(prefix="schedules-"))
    rejected = False
    try:
        for batch in (seeds[at : at + 20] for at in range(0, len(seeds), 20)):
            rejected |= _batch(batch, folder, options)
    except KeyboardInterrupt:
        print(f"stopped; traces and logs are in {folder}")
        return 3
    if rejected:
        print(f"traces and logs are in {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _batch(seeds: Sequence[int], folder: Path, options: argparse.Namespace) -> bool:
    """Run some schedules, and validate them. Returns whether one was rejected."""
    started_s = time.monotonic()
    runs = []
    for one in run_all(seeds, folder, at_once=options.at_once, takeover=options.takeover):
        print(f"seed {one.seed}: {one.problem or one.figures}", flush=True)
        runs.append(one)
    verdicts = validate([one for one in runs if one.trace], folder / f"batch{seeds[0]}", takeover=options.takeover)
    print(verdicts.report)
    print(f"{len(runs)} runs in {time.monotonic() - started_s:.0f} s", flush=True)
    if verdicts.exit_code == 0 and options.done:
        with options.done.open("a") as file:
            for one in runs:
                file.write(json.dumps({"seed": one.seed, **(asdict(one.figures) if one.figures else {})}) + "\n")
    return verdicts.exit_code != 0


if __name__ == "__main__":
    sys.exit(main())
