"""What tests of simulated runs with released classes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from impl.apache import jvm as pipe
from impl.apache.release import classes, jars
from impl.kraft.simulation.swarm import Plan, cluster_plan_of
from tests.impl.apache.bytecode import build_with, negate
from tests.impl.kraft.simulation.decided import RecordedCluster, judged

VERSION = "4.3.1"


def first_broken(go: Callable[[int], object], seeds: Iterable[int]) -> str:
    """What the first run that breaks something breaks. go: makes the run of a seed."""
    for seed in seeds:
        try:
            go(seed)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def negated(jar: str, where: str, number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A build of the release in which a condition is negated (`bytecode.negate`), as the commands take it.

    jar: without the version. The sources are compiled against the release once: what is changed is in no signature.
    """
    build_with(jars(VERSION), f"{jar}-{VERSION}.jar", where, partial(negate, number=number), folder / "libs")
    monkeypatch.setattr(pipe, "classes", lambda _, *main: classes(VERSION, *main))
    return str(folder / "libs")


def accepted(run_of: Callable[[Plan], RecordedCluster], seeds: Iterable[int], setting: str | None = None) -> int:
    """How many traces of decisions `kraft/recorded` accepts, of the seeds with up to three brokers: all of them."""
    traces: dict[int, dict[str, str]] = {}
    for seed in seeds:
        plan = cluster_plan_of(seed)
        run = run_of(plan)
        run.go()
        if plan.swarm.brokers < 4:
            traces.setdefault(plan.swarm.brokers, {}).update(run.traces())
    for brokers, texts in traces.items():
        summary = judged(brokers, texts, setting)
        assert summary.counts["accepted"] == len(texts), summary.verdicts
    return sum(map(len, traces.values()))
