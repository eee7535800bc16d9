"""Spark beside the local engine: what a level and a state cost, what memory it takes, what a second worker brings."""

from __future__ import annotations

import itertools
import os
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from checker.explicit.check import CheckOptions, Report, check
from checker.lang.loader import load
from checker.running.limits import Limits, Progress
from tests.benchmarks.printing import line

SIZES: list[tuple[str, dict[str, str]]] = [
    ("kraft/membership", {}),
    ("kraft/lossy", {}),
    ("kraft/lossy", {"max_crashes": "3"}),
]
LOCAL = "local[2]"
MEMORY_GIB = 0.5  # too little for the local engine at the largest size


class Levels:
    """Start time of each level of a search, and the number of states found by then."""

    def __init__(self) -> None:
        self._begun: list[tuple[float, int]] = []
        self._depth = 0

    def note(self, now: Progress) -> None:
        if now.depth > self._depth:
            self._depth = now.depth
            self._begun.append((now.seconds, now.frontier))

    def spans(self) -> list[tuple[int, float]]:
        """(states that a level expands, seconds)."""
        return [(states, after - before) for (before, states), (after, _) in itertools.pairwise(self._begun)]


def cost(levels: list[Levels], least: int) -> tuple[float, float]:
    """(seconds that a level takes whatever its size, microseconds a state): a line through the levels of several
    searches that expand more than `least` states."""
    states, seconds = np.array([span for one in levels for span in one.spans() if span[0] > least]).T
    slope, fixed = np.polyfit(states, seconds, 1)
    return float(fixed), float(slope) * 1e6


def on_spark(target: str, changes: dict[str, str], master: str, **options: Any) -> tuple[Report, Levels]:
    """One check on Spark, with what its levels took."""
    from checker.spark.check import SparkOptions
    from checker.spark.check import check as spark_check

    levels = Levels()
    how = SparkOptions(master=master, **options)
    return spark_check(load(target, changes), how, started=time.perf_counter(), progress=levels.note), levels


def here(target: str, changes: dict[str, str], **limits: Any) -> tuple[Report, Levels]:
    """The same on the local engine, on two threads."""
    levels = Levels()
    how = CheckOptions(threads=2, limits=Limits(**limits))
    return check(load(target, changes), how, started=time.perf_counter(), progress=levels.note), levels


def name(target: str, changes: dict[str, str]) -> str:
    return " ".join([target, *[f"{n}={v}" for n, v in changes.items()]])


def sizes() -> None:
    """A KIP-631 model at three sizes: the local engine on two threads and Spark local[2] in turn."""
    from checker.spark.search import SMALL

    totals, mine_all, theirs_all = [], [], []
    for target, changes in SIZES:
        (mine, local), (theirs, spark) = here(target, changes), on_spark(target, changes, LOCAL)
        same = [getattr(mine.result, n) == getattr(theirs.result, n) for n in ("generated", "distinct", "depth")]
        label, distinct = name(target, changes), theirs.result.distinct
        line(f"{label}: distinct", f"{distinct:,}" + ("" if all(same) else " DIFFERENT"))
        line(f"{label}: search, seconds here", f"{mine.seconds['search']:.1f}")
        line(f"{label}: search, seconds on Spark", f"{theirs.seconds['search']:.1f}")
        totals.append((distinct, theirs.seconds["search"]))
        mine_all.append(local)
        theirs_all.append(spark)
    fixed, marginal = cost(theirs_all, SMALL)
    here_marginal = cost(mine_all, SMALL)[1]
    line("seconds a job, whatever the size of its level", f"{fixed:.2f}")
    line("microseconds a state here", f"{here_marginal:.2f}")
    line("microseconds a state on Spark", f"{marginal:.2f}")
    line("Spark to here, a state", f"{marginal / here_marginal:.1f}", "4 at most")
    (n, first), (m, last) = totals[-2:]
    line("seconds a state, largest size to the one before", f"{last / m / (first / n):.2f}", "1")


def memory() -> None:
    """The largest size where the local engine has not memory enough, and Spark in many small parts."""
    target, changes = SIZES[-1]
    mine, _ = here(target, changes, memory_bytes=int(MEMORY_GIB * 2**30))
    theirs, _ = on_spark(target, changes, LOCAL, partitions=16)
    line(f"here with {MEMORY_GIB} GiB", f"{mine.verdict}, {mine.result.distinct:,} distinct")
    line("Spark, 16 partitions", f"{theirs.verdict}, {theirs.result.distinct:,} distinct")
    line("largest process of Python, MiB", f"{theirs.result.peak_memory_bytes / 2**20:,.0f}")


def workers() -> None:
    """A standalone cluster with one worker and with two, of one core each."""
    from tests.spark.standalone import CONF, standalone

    target, changes = SIZES[1]
    seconds = {}
    for count in (1, 2):
        with tempfile.TemporaryDirectory() as folder, standalone(count, Path(folder)) as found:
            place = str(Path(folder, "run"))
            report, _ = on_spark(target, changes, found.master, conf=CONF, partitions=2, checkpoint=place)
            seconds[count] = report.seconds["search"]
        line(f"{name(target, changes)}: {count} worker(s), search, seconds", f"{seconds[count]:.1f}")
    line("one worker to two", f"{seconds[1] / seconds[2]:.2f}")


def tasks() -> None:
    """Processor time of levels as jobs with two shards; with many, in tasks that share them; with a task for each."""
    from checker.spark.session import cluster

    target, limits = "kraft/restarts", Limits(max_depth=8)
    with cluster(LOCAL, {}):
        on_spark("tests/models/two_phase_commit.py", {}, LOCAL, partitions=2, small=0)  # workers and kernels are there
        spent = {}
        for label, options in (("2", {"partitions": 2}), ("64", {"partitions": 64}),
                               ("64, a task each", {"partitions": 64, "task": 1})):  # fmt: skip
            before = processor_seconds()
            on_spark(target, {}, LOCAL, limits=limits, small=0, **options)
            spent[label] = processor_seconds() - before
    for label, seconds in spent.items():
        line(f"{target}, {limits.max_depth} levels, {label} partitions: to 2", f"{seconds / spent['2']:.1f}")


def tail() -> None:
    """Small levels beside many visited states: done by the driver, and as jobs."""
    from checker.spark.session import cluster

    target, spent = "kraft/membership", {}
    with cluster(LOCAL, {}):
        on_spark("tests/models/two_phase_commit.py", {}, LOCAL, partitions=2, small=0)
        for groups in (1 << 30, 256, 4):
            before = processor_seconds()
            on_spark(target, {}, LOCAL, partitions=2, small_groups=groups)
            spent[groups] = processor_seconds() - before
    for groups, seconds in spent.items():
        line(f"{target}, at most {groups:,} row groups in the driver: to any", f"{seconds / spent[1 << 30]:.2f}")


def hits() -> None:
    """Share of visited parts next to a candidate that hold one: a filter would save reading the others."""
    from checker.spark import runs, shard_tasks

    beside, found = runs._beside, np.zeros(4, np.int64)

    def mark_seen(folder: Any, run: Any, order: Any, records: Any, is_seen: Any) -> None:
        for _, first, end, states in beside(folder, run, order, records):
            there = np.zeros(len(records), np.uint8)
            order.mark_seen(records, first, states, there)
            is_seen |= there
            parts = order.locate(np.ascontiguousarray(records[first:end, :-1]), states) >> 12
            hit = parts[there[first:end] == 1]
            found[:] += [1, len(hit) > 0, len(np.unique(parts)), len(np.unique(hit))]

    target = "kraft/membership"
    with patch.object(shard_tasks, "mark_seen", mark_seen):
        on_spark(target, {}, LOCAL, partitions=2, small=1 << 60, small_groups=1 << 60)
    line(f"{target}: row groups next to a candidate that have one", f"{found[1] / found[0]:.3f}")
    line(f"{target}: parts of 4,096 states next to a candidate that have one", f"{found[3] / found[2]:.3f}")


def export_memory() -> None:
    """Peak memory of the tasks of an export, each in its own process, above what the process holds at the start."""
    from checker.explicit.export import about
    from checker.spark.check import SparkOptions, checked
    from checker.spark.export import Tables, numbered

    model = load("kraft/membership")
    options = SparkOptions(master="local[1]", partitions=1, small=1 << 60, small_groups=1 << 60, all_violations=True)
    with tempfile.TemporaryDirectory() as folder, checked(model, options, started=time.perf_counter()) as report:
        exploration: Any = report.result.exploration
        here: Any = SimpleNamespace(load=lambda: model)
        tables = Tables(exploration.job, here, numbered(exploration), folder, about(report))
        sent = list(tables.send(0))
        for label, task in (
            ("send", lambda: sum(len(data) for _, data in tables.send(0))),
            ("write transitions", lambda: tables.write_transitions(0, (data for _, data in sent))),
            ("write states", lambda: tables.write_states(0)),
        ):
            line(f"{report.result.generated:,} steps in one shard: {label}, MiB", f"{_peak_mib(task):,.0f}")


def _peak_mib(task: Callable[[], Any]) -> float:
    """Peak memory of `task` in a fork of this process, above what the fork starts with, in MiB."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        task()
        os.write(write, str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before).encode())
        os._exit(0)
    os.waitpid(process, 0)
    return int(os.read(read, 100)) / 1024


def processor_seconds() -> float:
    """Of this process and all below it."""
    times: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            times[int(entry.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    total, below = 0, [os.getpid()]
    while below:
        parent = below.pop()
        total += times[parent][1]
        below += [process for process, (above, _) in times.items() if above == parent]
    return total / os.sysconf("SC_CLK_TCK")


BENCHMARKS: dict[str, Callable[[], None]] = {
    "spark": sizes, "spark_memory": memory, "spark_workers": workers, "spark_tasks": tasks, "spark_tail": tail,
    "spark_hits": hits, "spark_export": export_memory,
}  # fmt: skip
