"""Speed of judging mutants, relative to a `fencepost check` of each from an empty cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from checker.cli.main import main; main()"]
RUNS = {
    "two_phase_commit": ["tests/models/two_phase_commit.py"],
    "kraft/membership, fence_expired": ["kraft/membership", "--only", "controller.fence_expired: "],
}


def figures() -> Iterator[tuple[str, str]]:
    """(what, value): mutants/s with one and two jobs, and how that compares with a check of each."""
    for name, arguments in RUNS.items():
        seconds = {jobs: mutate(*arguments, "--jobs", str(jobs)) for jobs in (1, 2)}
        mutants = {jobs: found["mutants"] / found["seconds"] for jobs, found in seconds.items()}
        yield f"{name}: mutants", f"{seconds[1]['mutants']}"
        yield f"{name}: one job, mutants/s", f"{mutants[1]:.2f}"
        yield f"{name}: two jobs to one", f"{mutants[2] / mutants[1]:.2f}"
        yield f"{name}: one job to cold checks", f"{mutants[1] * cold_check_s(arguments[0]):.1f}"


def mutate(*arguments: str) -> dict[str, Any]:
    """The --json object of a run."""
    done = subprocess.run([*COMMAND, "mutate", *arguments, "--json", "--quiet"], cwd=ROOT, stdout=subprocess.PIPE,
                          check=False)  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def cold_check_s(model: str) -> float:
    """Seconds of one `fencepost check` from an empty cache on one thread."""
    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        subprocess.run([*COMMAND, "check", model, "--threads", "1", "--quiet"], cwd=ROOT, check=False,
                       env={**os.environ, "FENCEPOST_CACHE": cache}, stdout=subprocess.DEVNULL)  # fmt: skip
        return time.perf_counter() - started
