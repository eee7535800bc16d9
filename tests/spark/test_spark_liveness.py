"""Liveness on Spark: the verdicts and lassos of the local engine, in the memory of the driver."""

from __future__ import annotations

import time

import pytest

from checker.lang.loader import load
from checker.running.deadline import Stage
from checker.running.limits import Limits
from checker.spark.check import SparkOptions, check
from checker.spark.session import Cluster
from tests.spark.outcomes import locally, outcome

EVERYTHING = 1 << 60
MODELS = [
    "liveness_mutex.py/weak_lock", "liveness_mutex.py/strong_lock", "liveness_philosophers.py/weak",
    "liveness_bounds.py/beside", "liveness_bounds.py/starts", "liveness_clocks.py/weak", "liveness_bindings.py/mail",
    "liveness_groups.py/desk", "liveness_groups.py/lamp",
]  # fmt: skip


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.usefixtures("no_cluster")
def test_the_same_lassos(target: str) -> None:
    model = load(f"tests/models/{target}")
    for all_violations in (False, True):
        expected = locally(model, all_violations=all_violations)
        for partitions in (1, 3):
            options = SparkOptions(partitions=partitions, small=EVERYTHING, all_violations=all_violations)
            assert outcome(check(model, options, started=time.perf_counter())) == expected


def test_on_spark(spark: Cluster) -> None:
    model = load("tests/models/liveness_philosophers.py/weak")
    expected = locally(model)
    assert expected["verdict"] == "violated" and expected["traces"]
    assert outcome(check(model, SparkOptions(partitions=2, small=0), started=time.perf_counter())) == expected


@pytest.mark.usefixtures("no_cluster")
def test_what_the_driver_cannot_hold_is_incomplete() -> None:
    model = load("tests/models/liveness_mutex.py/strong_lock")
    options = SparkOptions(partitions=2, small=EVERYTHING, limits=Limits(memory_bytes=1))
    report = check(model, options, started=time.perf_counter())
    assert report.verdict == "incomplete"
    assert report.reason.startswith("memory limit: for liveness the driver holds all states: ")


@pytest.mark.usefixtures("no_cluster")
def test_ctrl_c_while_the_driver_reads_is_incomplete() -> None:
    stages: list[str] = []

    def interrupt(now: Stage) -> None:
        if now.name != "compiling":
            stages.append(now.name)
            raise KeyboardInterrupt

    options = SparkOptions(partitions=2, small=EVERYTHING)
    model = load("tests/models/liveness_mutex.py/strong_lock")
    report = check(model, options, started=time.perf_counter(), stages=interrupt)
    assert (report.verdict, report.reason, stages) == ("incomplete", "interrupted", ["liveness, states"])
