"""Seeded runs, each on a cluster of its own: judged by a model in batches, kept by seed, gone on with where they ended.

With `--done FILE` the file keeps which seeds were run, with their figures, and the folder FILE.traces their traces.
What is under way when Ctrl-C or SIGTERM comes is finished first. A run that is not accepted is kept, logs and data, in
the folder that is printed. Exit codes: 0 all are accepted, 1 some are not, 3 stopped before the end.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster import stopping
from tests.cluster.verdicts import not_accepted

_BATCH = 4


@dataclass(frozen=True)
class Run:
    """A run. text: its traces, each named "seed N, ..."; "" and a problem where it never began, or ended early.

    violated: what it shows to be wrong, whatever the model says of its traces.
    """

    seed: int
    text: str
    figures: dict[str, int]
    problem: str = ""
    violated: tuple[str, ...] = ()


def judged(runs: Sequence[Run], model: str, *words: str) -> dict[int, list[str]]:
    """By seed, what is said of its traces that are not accepted. words: further ones of `fencepost trace validate`."""
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            (Path(folder) / f"{run.seed}.ndjson").write_text(run.text)
        verdicts = not_accepted(Path(folder), model, words)
    found: dict[int, list[str]] = {}
    for one in verdicts:
        seed = int(one["trace"].removeprefix("seed ").partition(",")[0])
        reason = f"{one['trace']}: {one['status']} at line {one['line']}, {one['event']}: {one['reason']}"
        found.setdefault(seed, []).append(reason)
    return found


@dataclass(frozen=True)
class Campaign:
    """The runs of a design. module: the command. run: of a seed, in a folder of its own. setup: of a seed, in words.

    run gives None where it ends early because the process is asked to stop.
    judge: what is said of runs, by seed, where they are not accepted. missing: what keeps them from running, or "".
    """

    module: str
    run: Callable[[int, Path], Run | None]
    judge: Callable[[Sequence[Run]], dict[int, list[str]]]
    setup: Callable[[int], str]
    missing: Callable[[], str | None] = lambda: None

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run seeds and judge them. Returns the exit code."""
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}")
        parser.add_argument("--count", type=int, default=10)
        parser.add_argument("--first", type=int, default=0)
        parser.add_argument("--at-once", type=int, default=1)
        parser.add_argument("--done", type=Path)
        options = parser.parse_args(arguments)
        if why := self.missing():
            parser.error(why)
        known = known_runs(options.done)
        seeds = [seed for seed in range(options.first, options.first + options.count) if seed not in known]
        folder = Path(tempfile.mkdtemp(prefix="runs-"))
        with stopping.on_signals():
            for at in range(0, len(seeds), _BATCH):
                for run, reasons in self._batch(seeds[at : at + _BATCH], folder, options.at_once):
                    known[run.seed] = self._kept(run, reasons, folder, options.done)
                if stopping.asked():
                    break
            stopped = stopping.asked()
        print(*totals(known.values()), sep="\n")
        if any(folder.iterdir()):
            print(f"what is not accepted is in {folder}")
        else:
            folder.rmdir()
        return 3 if stopped else 1 if any(line["reasons"] for line in known.values()) else 0

    def _batch(self, seeds: Sequence[int], folder: Path, at_once: int) -> list[tuple[Run, list[str]]]:
        """Those that ended, and why they are not accepted."""
        with ThreadPoolExecutor(at_once) as pool:
            running = [pool.submit(self._one, seed, folder / str(seed)) for seed in seeds]
            stopping.wait_for(running)
        ended = [run for one in running if (run := one.result()) is not None]
        with_traces = [run for run in ended if run.text]
        reasons = self.judge(with_traces) if with_traces else {}
        return [
            (run, [run.problem] if run.problem else [*run.violated, *reasons.get(run.seed, [])]) for run in ended
        ]  # fmt: skip

    def _one(self, seed: int, folder: Path) -> Run | None:
        """None: the process is asked to stop."""
        return None if stopping.asked() else self.run(seed, folder)

    def _kept(self, run: Run, reasons: list[str], folder: Path, done: Path | None) -> dict[str, Any]:
        """The line of a run; what is accepted leaves nothing in the folder."""
        line = {"seed": run.seed, "setup": self.setup(run.seed), "reasons": reasons, "figures": run.figures}
        if not reasons:
            shutil.rmtree(folder / str(run.seed))
        if done is not None and run.text:
            with done.open("a") as file:
                file.write(json.dumps(line) + "\n")
            traces = done.with_name(f"{done.name}.traces")
            traces.mkdir(exist_ok=True)
            (traces / f"{run.seed}.ndjson").write_text(run.text)
        print(f"seed {run.seed}: {'; '.join(reasons) or 'accepted'}", flush=True)
        return line


def known_runs(done: Path | None, key: str = "seed") -> dict[Any, dict[str, Any]]:
    """The lines of a file, by what they are about."""
    if done is None:
        return {}
    done.parent.mkdir(parents=True, exist_ok=True)
    lines = done.read_text().splitlines() if done.exists() else []
    return {line[key]: line for line in map(json.loads, lines)}


def totals(lines: Iterable[dict[str, Any]]) -> list[str]:
    """The totals by setup, and what is not accepted. Of figures that begin with "longest" the largest counts."""
    lines = sorted(lines, key=lambda line: line["seed"])
    found = []
    for setup in sorted({line["setup"] for line in lines}):
        total = Counter[str]()
        for line in (line for line in lines if line["setup"] == setup):
            total.update(runs=1, accepted=not line["reasons"])
            for name, figure in line["figures"].items():
                total[name] = max(total[name], figure) if name.startswith("longest") else total[name] + figure
        counts = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in total.items())
        found.append(f"{setup}: {counts}")
    return found + [f"seed {line['seed']}: {'; '.join(line['reasons'])}" for line in lines if line["reasons"]]
