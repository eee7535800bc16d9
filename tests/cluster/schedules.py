"""Seeded schedules of faults on a real ZooKeeper, for any design: run, held to a model, and kept by seed.

A run that the model rejects is kept, trace and logs, in a folder that is printed. With a file of what is done,
schedules that were stopped go on with the rest, and with those that never began: ZooKeeper or a broker was too slow.
Ctrl-C and SIGTERM end the runs under way; those that had ended are judged and kept.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from impl.zookeeper.transaction_log import Logged
from tests.cluster import stopping
from tests.cluster.recordings import NotBegunError
from tests.cluster.verdicts import not_accepted
from tests.cluster.zookeeper import Ensemble, NotServingError, Server, zookeeper

_BATCH = 25
_TRIALS = 3


class Setup(Protocol):
    """The parts of a run that a seed does not vary. constants: of the model that its trace is validated on."""

    @property
    def name(self) -> str: ...

    @property
    def servers(self) -> int: ...

    @property
    def constants(self) -> tuple[str, ...]: ...


S = TypeVar("S", bound=Setup)


@dataclass(frozen=True)
class Run:
    """One schedule that was run. trace: NDJSON; "" and a problem where it never began, or cannot be put together.

    figures: measured on it. Of several runs they are added up; of those that begin with "longest" the largest counts.
    violated: what they show to be wrong, whatever the model says of the trace; "" where nothing is.
    """

    seed: int
    trace: str
    figures: dict[str, int] | None
    problem: str = ""
    violated: str = ""


class Ended(Protocol):
    """A schedule that was run, before its trace is put together."""

    def put_together(self, log: Sequence[Logged]) -> Run:
        """log: of all that was committed on the ensemble."""


class Agenda:
    """Waits, and ends what was begun when its time is over."""

    def __init__(self) -> None:
        self._ends = list[tuple[float, Callable[[], object]]]()

    def after(self, delay_s: float, end: Callable[[], object]) -> None:
        self._ends.append((time.monotonic() + delay_s, end))

    def wait(self, delay_s: float) -> None:
        """Let time pass, and end what is over by then."""
        until = time.monotonic() + delay_s
        while True:
            now = time.monotonic()
            for one in [one for one in self._ends if one[0] <= now]:
                self._ends.remove(one)
                one[1]()
            if now >= until:
                return
            stopping.sleep(min([until, *(at for at, _ in self._ends)]) - now)

    def wait_for_all(self) -> None:
        """Until nothing is yet to end."""
        self.wait(max((at - time.monotonic() for at, _ in self._ends), default=0.0))


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


@dataclass
class Verdicts:
    """The model's judgement of traces. reasons: by seed, of those that are not accepted; report: to be printed."""

    reasons: dict[int, str] = field(default_factory=dict)
    report: str = ""


def rejected(runs: Sequence[Run], model: str, constants: Sequence[str], folder: Path) -> dict[int, str]:
    """The seeds of those traces that a model does not accept, with the reasons. The traces are named "seed N"."""
    folder.mkdir(parents=True)
    for one in runs:
        (folder / f"{one.seed}.ndjson").write_text(one.trace)
    words = [word for change in constants for word in ("--set", change)]
    return {
        int(verdict["trace"].removeprefix("seed ")): f"{verdict['status']} at line {verdict['line']}, "
        f"{verdict['event']}: {verdict['reason']}"
        for verdict in not_accepted(folder, model, words)
    }


class Schedules(Generic[S]):
    """The schedules of one design.

    module: the command. model: the model, a path from the root of the project. setups: they take turns by seed. run:
    runs one, given the ensemble, the seed, a folder of its own and what kills servers.
    """

    def __init__(
        self, module: str, model: str, setups: Sequence[S], run: Callable[[Ensemble, int, Path, Outages], Ended]
    ) -> None:
        self.module = module
        self.model = model
        self.setups = setups
        self._run = run

    def setup_of(self, seed: int) -> S:
        return self.setups[seed % len(self.setups)]

    # Running.

    def run_all(self, seeds: Iterable[int], folder: Path, *, at_once: int) -> list[Run]:
        """The runs of these seeds: those of one server, then those of an ensemble, each on one that they share.

        Where the process is asked to stop, those that had ended by then.
        """
        seeds, found = list(seeds), list[Run]()
        for servers in sorted({setup.servers for setup in self.setups}):
            own = [seed for seed in seeds if self.setup_of(seed).servers == servers]
            if own and not stopping.asked():
                try:
                    found += self._run_on(servers, own, folder, at_once)
                except NotServingError as error:  # at the beginning, or a server that was killed did not come back
                    found += [Run(seed, "", None, str(error)) for seed in own]
        return found

    def run_until_begun(self, seeds: Iterable[int], folder: Path, *, at_once: int) -> list[Run]:
        """As `run_all`; those that never began, which say nothing of the model, again, one at a time."""
        runs = self.run_all(seeds, folder, at_once=at_once)
        for trial in range(_TRIALS):
            never_began = [one.seed for one in runs if one.problem]
            runs = [one for one in runs if not one.problem]
            runs += self.run_all(never_began, folder / f"again{trial}", at_once=1)
        return runs

    def _run_on(self, servers: int, seeds: Sequence[int], folder: Path, at_once: int) -> list[Run]:
        with zookeeper(servers) as ensemble:
            outages = Outages(ensemble)
            try:
                with ThreadPoolExecutor(at_once) as pool:
                    try:
                        running = [pool.submit(self._one, ensemble, seed, folder, outages) for seed in seeds]
                        stopping.wait_for(running)
                    except BaseException:
                        pool.shutdown(cancel_futures=True)
                        raise
                outages.end()
                log = ensemble.transactions()
            finally:
                outages.close()
        ended = [one.result() for one in running]
        return [one if isinstance(one, Run) else one.put_together(log) for one in ended if one is not None]

    def _one(self, ensemble: Ensemble, seed: int, folder: Path, outages: Outages) -> Ended | Run | None:
        """Run one. A Run at once where its brokers did not come up, or ZooKeeper did not serve for too long.

        None: the process is asked to stop.
        """
        if stopping.asked():
            return None
        try:
            return self._run(ensemble, seed, folder / str(seed), outages)
        except stopping.StoppedError:
            return None
        except NotBegunError as error:
            return Run(seed, "", None, str(error))
        except (KazooException, KazooTimeoutError) as error:
            return Run(seed, "", None, f"ZooKeeper does not serve: {error!r}")

    # Judging.

    def validate(self, runs: Sequence[Run], folder: Path) -> Verdicts:
        """Hold the traces against the model, each setup with its constants."""
        found = Verdicts({one.seed: one.problem or one.violated for one in runs if one.problem or one.violated})
        found.report = "".join(f"seed {one.seed}: {one.violated}\n" for one in runs if one.violated)
        for number, setup in enumerate(self.setups):
            own = [one for one in runs if one.trace and self.setup_of(one.seed) is setup]
            if own:
                self._validate(own, setup, folder / f"traces{number}", found)
        return found

    def _validate(self, runs: Sequence[Run], setup: S, folder: Path, found: Verdicts) -> None:
        for seed, reason in rejected(runs, self.model, setup.constants, folder).items():
            found.reasons[seed] = "; ".join(filter(None, (found.reasons.get(seed), reason)))
            found.report += f"seed {seed} ({setup.name}): {reason}\n"

    # The command.

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run schedules and validate them. Returns the exit code."""
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}")
        parser.add_argument("--count", type=int, default=50)
        parser.add_argument("--first", type=int, default=0)
        parser.add_argument("--at-once", type=int, default=12)
        parser.add_argument("--done", type=Path)
        options = parser.parse_args(arguments)
        logging.getLogger("kazoo").setLevel(logging.ERROR)  # that connections are lost is meant
        if options.done:
            options.done.parent.mkdir(parents=True, exist_ok=True)
        before = options.done.read_text().splitlines() if options.done and options.done.exists() else []
        known = {line["seed"]: line for line in map(json.loads, before)}
        seeds = [seed for seed in range(options.first, options.first + options.count) if seed not in known]
        folder = Path(tempfile.mkdtemp(prefix="schedules-"))
        with stopping.on_signals():
            for at in range(0, len(seeds), _BATCH):
                for line in self._batch(seeds[at : at + _BATCH], folder, options.at_once):
                    known[line["seed"]] = line
                    if options.done and line["began"]:
                        with options.done.open("a") as file:
                            file.write(json.dumps(line) + "\n")
                if stopping.asked():
                    break
                print(f"{at + len(seeds[at : at + _BATCH])} of {len(seeds)}", flush=True)
            stopped = stopping.asked()
        if stopped:
            print(f"stopped; {len(known)} runs are done")
        else:
            print("\n".join(self.summary(known.values())))
        if any(folder.iterdir()):
            print(f"what is not accepted is in {folder}")
        else:
            folder.rmdir()
        return 3 if stopped else 1 if any(line["reason"] for line in known.values()) else 0

    def _batch(self, seeds: Sequence[int], folder: Path, at_once: int) -> list[dict[str, Any]]:
        """Run some, and validate them. Returns a line for each; what is accepted leaves nothing in the folder."""
        with tempfile.TemporaryDirectory() as scratch:
            runs = self.run_all(seeds, Path(scratch), at_once=at_once)
            verdicts = self.validate(runs, Path(scratch))
            print(verdicts.report, end="", flush=True)
            for one in runs:
                if one.seed in verdicts.reasons:
                    if (Path(scratch) / str(one.seed)).exists():  # it does not where no server came up
                        shutil.copytree(Path(scratch) / str(one.seed), folder / str(one.seed))
                    (folder / f"{one.seed}.ndjson").write_text(one.trace)
        return [
            {
                "seed": one.seed,
                "setup": self.setup_of(one.seed).name,
                "reason": verdicts.reasons.get(one.seed, ""),
                "began": one.figures is not None,
                "figures": one.figures or {},
            }
            for one in runs
        ]

    def summary(self, lines: Iterable[dict[str, Any]]) -> list[str]:
        """The totals by setup, and what is not accepted."""
        lines = sorted(lines, key=lambda line: line["seed"])
        found = []
        for setup in self.setups:
            total = Counter[str]()
            for line in (line for line in lines if line["setup"] == setup.name):
                total.update(runs=1, accepted=not line["reason"])
                for name, figure in line["figures"].items():
                    total[name] = max(total[name], figure) if name.startswith("longest") else total[name] + figure
            counts = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in total.items())
            found.append(f"{setup.name}: {counts}")
        return found + [f"seed {line['seed']}: {line['reason']}" for line in lines if line["reason"]]
