"""Cost of comparing two settings, relative to exploring both."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.printing import line

ROOT = Path(__file__).parents[2]
MODEL, SETTING = "kraft/lossy", "kip_903=false"


def diff() -> None:
    """`fencepost diff kraft/lossy --set kip_903=false`, 12 million states in all, beside the two explorations."""
    whole = [seconds("check", MODEL, "--all-violations", *given) for given in ([], ["--set", SETTING])]
    compared = seconds("diff", MODEL, "--set", SETTING)
    line("both explorations, seconds", f"{sum(whole):.1f}")
    line("compared, to both explorations", f"{compared / sum(whole):.2f}")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    line("peak of a process, MiB", f"{most / 1024:,.0f}")


def seconds(*arguments: str) -> float:
    """Wall seconds of a command, compiled before."""
    command = [sys.executable, "-c", "from checker.cli.main import main; main()", *arguments, "--quiet", "--json"]
    subprocess.run([*command, "--max-depth", "1"], cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started
