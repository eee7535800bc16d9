"""The figures that `make bench` prints. Nothing here passes or fails: machines are noisy, so peers run beside it.

usage: python -m tests.benchmarks [NAME ...]
names: async_isr whole_process kraft kraft_large diff liveness simulation plain_python proofs mutation conformance list
       validation corpus spark spark_memory spark_workers spark_tasks spark_tail spark_hits spark_export impl_controller
       impl_scale storage pinning pinning_models heartbeats group streams
       quorum apache traced_broker
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks import spark
from tests.benchmarks.apache import apache
from tests.benchmarks.conformance import conformance
from tests.benchmarks.diff import diff
from tests.benchmarks.group import group
from tests.benchmarks.heartbeats import heartbeats
from tests.benchmarks.impl_controller import impl_controller
from tests.benchmarks.impl_scale import impl_scale
from tests.benchmarks.liveness import liveness
from tests.benchmarks.pinning import pinning
from tests.benchmarks.printing import line
from tests.benchmarks.quorum import quorum
from tests.benchmarks.simulation import simulation
from tests.benchmarks.storage import storage
from tests.benchmarks.streams import streams
from tests.benchmarks.traced_broker import traced_broker
from tests.benchmarks.validation import corpus, validation
from tests.conftest import read_pins

ROOT = Path(__file__).parents[2]
FENCEPOST = str(Path(sys.executable).with_name("fencepost"))
ASYNC_ISR = "tests/models/async_isr.py"
LARGE = {"max_version": 5, "max_offset": 4}
REPEATS = 3
NOT_IN_TURN = ("large", "full")  # minutes each, and simulated only


def check(model: str, *arguments: str, cache: str | None = None) -> tuple[float, dict[str, Any]]:
    """(wall seconds of the whole process, its --json object) of one `fencepost check`."""
    environment = {**os.environ, **({"FENCEPOST_CACHE": cache} if cache else {})}
    started = time.perf_counter()
    done = subprocess.run(
        [FENCEPOST, "check", model, "--json", "--quiet", *arguments],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    return time.perf_counter() - started, json.loads(done.stdout)


def large(*arguments: str) -> list[str]:
    return [*[f for n, v in LARGE.items() for f in ("--set", f"{n}={v}")], *arguments]


def async_isr() -> None:
    """AsyncIsr (5, 4), 17,698,201 generated: the search alone, one and two threads in turn, Spin beside it."""
    best: dict[int, float] = {}
    for _ in range(REPEATS):
        for threads in (1, 2):
            _, found = check(ASYNC_ISR, *large("--threads", str(threads)))
            rate = found["generated"] / found["seconds"]["search"]
            best[threads] = max(best.get(threads, 0), rate)
    line("one thread, generated/s", f"{best[1] / 1e6:.1f} M", "12 M")
    line("two threads, generated/s", f"{best[2] / 1e6:.1f} M")
    line("two threads to one", f"{best[2] / best[1]:.2f}", "1.6")
    spin = spin_seconds()
    for name, seconds in spin.items():
        line(f"Spin {name}, generated/s", f"{found['generated'] / seconds / 1e6:.1f} M")
    if spin:
        line("one thread to Spin depth-first", f"{best[1] * spin['depth-first'] / found['generated']:.1f}", "3")
    else:
        print("  Spin is not installed (Debian: spin, gcc): no peer in this run")


def spin_seconds() -> dict[str, float]:
    """Seconds that Spin takes for the same model, depth-first and breadth-first; {} where it is not installed."""
    if not (shutil.which("spin") and shutil.which("gcc")):
        return {}
    promela = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("async_isr_promela.py")), *map(str, LARGE.values())],
        stdout=subprocess.PIPE, check=True,
    ).stdout  # fmt: skip
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.pml").write_bytes(promela)
        subprocess.run(["spin", "-a", "a.pml"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for name, flag in (("depth-first", "-DNOFAIR"), ("breadth-first", "-DBFS")):
            build = ["gcc", "-O3", "-w", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=16000", flag, "-o", "pan", "pan.c"]
            subprocess.run(build, cwd=folder, check=True)
            seconds = []
            for _ in range(REPEATS):
                started = time.perf_counter()
                subprocess.run(["./pan", "-m1000000", "-w24", "-n"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
                seconds.append(time.perf_counter() - started)
            found[name] = min(seconds)
    return found


def whole_process() -> None:
    """The same run as a whole process, from an empty cache and from a filled one."""
    cold, warm = [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(check(ASYNC_ISR, *large("--threads", "1"), cache=cache)[0])
            warm.append(check(ASYNC_ISR, *large("--threads", "1"), cache=cache)[0])
    line("cold, seconds", f"{min(cold):.2f}", "4")
    line("warm, seconds", f"{min(warm):.2f}", "2.5")


def kraft() -> None:
    """The models of KIP-631 on one thread, compiled from an empty cache."""
    from checker.lang.loader import load_spec

    for model in load_spec("kraft").models:
        if model.name in NOT_IN_TURN:
            continue
        with tempfile.TemporaryDirectory() as cache:
            _, found = check(f"kraft/{model.name}", "--threads", "1", cache=cache)
            _, again = check(f"kraft/{model.name}", "--threads", "1", cache=cache)
            _, two = check(f"kraft/{model.name}", "--threads", "2", cache=cache)
        seconds = min(found["seconds"]["search"], again["seconds"]["search"])
        rate = found["generated"] / seconds
        beyond = found["peak_memory_bytes"] / found["distinct"] - found["bytes_per_state"]
        line(f"{model.name}: generated/s (ordinals renumbered)", f"{rate / 1e6:.1f} M", "3 M")
        line(f"{model.name}: two threads to one", f"{seconds / two['seconds']['search']:.2f}")
        line(f"{model.name}: generated, distinct, depth",
             f"{found['generated']:,} {found['distinct']:,} {found['depth']}")  # fmt: skip
        line(f"{model.name}: cold compile, seconds", f"{found['seconds']['compile']:.2f}", "5")
        line(f"{model.name}: packed bytes a state, peak beyond", f"{found['bytes_per_state']} + {beyond:.1f}", "24")


def pinning_models() -> None:
    """The models of KIP-39 on one thread, liveness apart."""
    from checker.lang.loader import load_spec

    for model in load_spec("pinning").models:
        _, found = check(f"pinning/{model.name}", "--threads", "1")
        beyond = found["peak_memory_bytes"] / found["distinct"] - found["bytes_per_state"]
        line(f"{model.name}: generated/s", f"{found['generated'] / found['seconds']['search'] / 1e6:.2f} M")
        line(f"{model.name}: packed bytes a state, peak beyond", f"{found['bytes_per_state']} + {beyond:.1f}")


def kraft_large() -> None:
    """More than 100 million distinct states of one KIP-631 model, on two threads and in 20 GiB."""
    seconds, found = check("kraft/large", "--threads", "2", "--memory-gib", "20")
    [pin] = [p for p in read_pins(ROOT / "tests" / "pins.toml") if p.target == "kraft/large"]
    line("large: generated, distinct, depth", f"{found['generated']:,} {found['distinct']:,} {found['depth']}")
    same = all(found[name] == wanted for name, wanted in pin.expected.items())
    line("large: verdict", f"{found['verdict']}, {'all as pinned' if same else 'NOT AS PINNED'}")
    line("large: whole process, minutes", f"{seconds / 60:.1f}", "8")
    line("large: peak GiB", f"{found['peak_memory_bytes'] / 2**30:.1f}", "20")


def plain_python() -> None:
    """The reference semantics beside the kernel on the same models: plain Python for 5 seconds of the search."""
    for name, changes in ((ASYNC_ISR, {n: str(v) for n, v in LARGE.items()}), ("kraft/membership", {})):
        plain = plain_rate(name, changes)
        arguments = [f for n, v in changes.items() for f in ("--set", f"{n}={v}")]
        _, found = check(name, *arguments, "--threads", "1")
        kernel = found["generated"] / found["seconds"]["search"]
        line(f"{found['model']}: plain Python, generated/s", f"{plain:,.0f}")
        line(f"{found['model']}: kernel to plain Python", f"{kernel / plain:,.0f}")


def plain_rate(name: str, changes: dict[str, str]) -> float:
    """Transitions a second of a breadth-first search in plain Python."""
    from checker.lang.loader import load
    from checker.reference.step import Reference

    model = load(name, changes)
    reference = Reference(model)
    generated = 0
    seen = {reference.canonical(s) for s in model.initial_states()}
    frontier = model.initial_states()
    started = time.perf_counter()
    while frontier and time.perf_counter() - started < 5:
        after = []
        for state in frontier:
            if time.perf_counter() - started > 5:
                break
            for _, successor in reference.successors(state):
                generated += 1
                key = reference.canonical(successor)
                if key not in seen:
                    seen.add(key)
                    after.append(successor)
        frontier = after
    return generated / (time.perf_counter() - started)


def mutation() -> None:
    """`fencepost mutate`: mutants/s with one job and two, and against a cold `fencepost check` of each mutant."""
    from tests.benchmarks.mutation import figures

    for what, value in figures():
        line(what, value)


def list_() -> None:
    """Time of `fencepost list`."""
    seconds = []
    for _ in range(2 * REPEATS):
        started = time.perf_counter()
        subprocess.run([FENCEPOST, "list"], cwd=ROOT, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    line("seconds", f"{min(seconds):.2f}", "0.5")


def proofs() -> None:
    """Seconds per proof and per query; one worker and two in turn."""
    from tests.benchmarks.proofs import proofs as run

    run(line)


BENCHMARKS: dict[str, Callable[[], None]] = {
    "async_isr": async_isr,
    "whole_process": whole_process,
    "kraft": kraft,
    "kraft_large": kraft_large,
    "diff": diff,
    "liveness": liveness,
    "simulation": simulation,
    "validation": validation,
    "corpus": corpus,
    "plain_python": plain_python,
    "proofs": proofs,
    "mutation": mutation,
    "conformance": conformance,
    "list": list_,
    "impl_controller": impl_controller,
    "impl_scale": impl_scale,
    "storage": storage,
    "quorum": quorum,
    "traced_broker": traced_broker,
    "pinning": pinning,
    "pinning_models": pinning_models,
    "heartbeats": heartbeats,
    "group": group,
    "streams": streams,
    "apache": apache,
    **spark.BENCHMARKS,
}


def main(names: list[str]) -> int:
    unknown = [n for n in names if n not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        print(f"{name}: {(BENCHMARKS[name].__doc__ or '').strip()}", flush=True)
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
