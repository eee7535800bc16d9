"""Seeded runs of real clusters of Apache Kafka, and whether what their controllers decided is a behaviour of the spec.

usage: python -m tests.impl.apache.schedules [--count N] [--first SEED] [--done FILE] [--at-once N]

Two of three seeds have one controller, the third has three; all have three brokers. A run takes one to two minutes.
`--done FILE` keeps there which seeds were run, with their figures, and their traces in the folder FILE.traces; stopped
(Ctrl-C, SIGTERM) and called again, it goes on with the rest, and with those that never began. A run that the spec
rejects is kept, logs and data, in the folder that is printed. What is under way is finished first.
Exit codes: 0 all are accepted, 1 some are not, 3 stopped before the end.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impl.apache.recording.projection import MODEL
from impl.apache.recording.record import PROBLEMS, SETTING, VERSION, record
from impl.apache.recording.scenario import seeded
from impl.apache.release import missing
from tests.cluster import stopping
from tests.conftest import ROOT

BROKERS = 3
MOST_CANDIDATES = 300_000
_BATCH = 4


def controllers_of(seed: int) -> int:
    return 3 if seed % 3 == 2 else 1


@dataclass(frozen=True)
class Run:
    """A schedule that was run. text: its traces; "" and a problem where it never began, or ended early."""

    seed: int
    text: str
    figures: dict[str, int]
    problem: str = ""


def run_one(seed: int, folder: Path) -> Run:
    """folder: of its own, for the cluster."""
    controllers = controllers_of(seed)
    steps = seeded(seed, controllers, BROKERS)
    try:
        found = record(folder, VERSION, controllers, BROKERS, steps, f"seed {seed}", lambda _said: None)
    except PROBLEMS as problem:
        return Run(seed, "", {}, str(problem))
    return Run(seed, found.text, found.figures)


def validated(runs: Sequence[Run]) -> dict[int, list[str]]:
    """By seed, what is said of its traces that are not accepted."""
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            (Path(folder) / f"{run.seed}.ndjson").write_text(run.text)
        command = [
            sys.executable, "-m", "checker", "trace", "validate", folder, "--model", MODEL, "--setting", SETTING,
            "--json", "--quiet", "--max-candidates", str(MOST_CANDIDATES),
        ]  # fmt: skip
        # In a group of its own: Ctrl-C is not for it.
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, process_group=0)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"traces were not judged: {done.stderr}") from None
    if report["stopped"] is not None:
        raise RuntimeError(f"not all traces were judged: {report['stopped']}")
    found: dict[int, list[str]] = {}
    for one in report["verdicts"]:
        seed = int(one["trace"].removeprefix("seed ").partition(",")[0])
        reason = f"{one['trace']}: {one['status']} at line {one['line']}, {one['event']}: {one['reason']}"
        found.setdefault(seed, []).append(reason)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run schedules and validate them. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.impl.apache.schedules")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--done", type=Path)
    options = parser.parse_args(arguments)
    if why := missing(VERSION, ("java",)):
        parser.error(why)
    known = known_runs(options.done)
    seeds = [seed for seed in range(options.first, options.first + options.count) if seed not in known]
    folder = Path(tempfile.mkdtemp(prefix="schedules-"))
    with stopping.on_signals():
        for at in range(0, len(seeds), _BATCH):
            with ThreadPoolExecutor(options.at_once) as pool:
                runs = pool.map(lambda seed: _one(seed, folder), seeds[at : at + _BATCH])
                ended = [run for run in runs if run is not None]
            reasons = validated([run for run in ended if run.text])
            for run in ended:
                known[run.seed] = _judged(run, reasons.get(run.seed, []), folder, options.done)
            if stopping.asked():
                break
        stopped = stopping.asked()
    print(*totals(known.values()), sep="\n")
    if any(folder.iterdir()):
        print(f"what is not accepted is in {folder}")
    else:
        folder.rmdir()
    return 3 if stopped else 1 if any(line["reasons"] for line in known.values()) else 0


def known_runs(done: Path | None) -> dict[int, dict[str, Any]]:
    if done is None:
        return {}
    done.parent.mkdir(parents=True, exist_ok=True)
    lines = done.read_text().splitlines() if done.exists() else []
    return {line["seed"]: line for line in map(json.loads, lines)}


def _one(seed: int, folder: Path) -> Run | None:
    """None: the process is asked to stop."""
    return None if stopping.asked() else run_one(seed, folder / str(seed))


def _judged(run: Run, reasons: list[str], folder: Path, done: Path | None) -> dict[str, Any]:
    """The line of a run; what is accepted leaves nothing in the folder."""
    reasons = [run.problem] if run.problem else reasons
    line = {"seed": run.seed, "controllers": controllers_of(run.seed), "reasons": reasons, "figures": run.figures}
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


def totals(lines: Iterable[dict[str, Any]]) -> list[str]:
    """The totals by number of controllers, and what is not accepted."""
    lines = sorted(lines, key=lambda line: line["seed"])
    found = []
    for controllers in sorted({line["controllers"] for line in lines}):
        total = Counter[str]()
        for line in (line for line in lines if line["controllers"] == controllers):
            total.update(runs=1, accepted=not line["reasons"])
            total.update(line["figures"])
        counts = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in total.items())
        found.append(f"controllers {controllers}: {counts}")
    return found + [f"seed {line['seed']}: {'; '.join(line['reasons'])}" for line in lines if line["reasons"]]


if __name__ == "__main__":
    sys.exit(main())
