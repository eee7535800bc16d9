"""Spark tells what the local engine tells, whatever the number of partitions: counts, coverage, verdict and traces."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from checker.lang.loader import find, load
from checker.running.limits import Limits, Progress
from checker.spark import shard_tasks
from checker.spark.check import SparkOptions, check
from checker.spark.session import Cluster
from tests.conftest import ROOT
from tests.spark.outcomes import locally, outcome

EVERYTHING = 1 << 60
MODELS = [
    f"tests/models/{name}.py/{model.name}"
    for name in ("bounds", "verdicts", "ordinals", "partial_operations", "refinement", "shapes", "philosophers")
    for model in find(str(ROOT / "tests" / "models" / f"{name}.py"))[0].models
]
SPARK_MODELS: list[tuple[str, dict[str, str]]] = [
    ("tests/models/two_phase_commit.py", {}),
    ("tests/models/bounds.py/constraint_is_checked", {}),
    ("tests/models/bounds.py/overflow", {}),
]


@pytest.mark.sample(12)
@pytest.mark.parametrize("partitions", [1, 2, 8])
@pytest.mark.parametrize("target", MODELS)
@pytest.mark.usefixtures("no_cluster")
def test_every_small_model(target: str, partitions: int) -> None:
    model = load(target)
    for all_violations in (False, True):
        options = SparkOptions(partitions=partitions, small=EVERYTHING, all_violations=all_violations)
        expected = locally(model, all_violations=all_violations)
        assert outcome(check(model, options, started=time.perf_counter())) == expected


@pytest.mark.long("12 s of CPU each")
@pytest.mark.parametrize("partitions", [1, 2, 8])
@pytest.mark.usefixtures("no_cluster")
def test_a_historical_bug_of_kraft(partitions: int, tmp_path: Path) -> None:
    model = load("kraft/lossy", {"kip_903": "false"})
    expected = locally(model)
    options = SparkOptions(partitions=partitions, small=EVERYTHING, checkpoint=str(tmp_path))
    assert outcome(check(model, options, started=time.perf_counter())) == expected
    assert expected["verdict"] == "violated"
    # merged runs are all that is left in `runs`: levels are kept, for paths lead through them
    assert len(list((tmp_path / "runs").glob("*"))) <= partitions * 4
    assert len(list(tmp_path.glob("manifest-*"))) == 1


@pytest.mark.parametrize(("target", "changes"), SPARK_MODELS)
def test_on_spark(spark: Cluster, target: str, changes: dict[str, str]) -> None:
    model = load(target, changes)
    expected = locally(model, all_violations=True)
    for partitions, task in ((1, 1 << 16), (2, 1 << 16), (8, 1 << 16), (5, 1)):  # the last: a task for each shard
        options = SparkOptions(partitions=partitions, small=0, all_violations=True, task=task)
        assert outcome(check(model, options, started=time.perf_counter())) == expected, partitions


@pytest.mark.long("a job for each of 19 levels")
def test_pinning_on_spark(spark: Cluster) -> None:
    model = load("pinning/repin")
    options = SparkOptions(partitions=2, small=0)
    found = outcome(check(model, options, started=time.perf_counter()))
    assert found == locally(model)
    assert found["verdict"] == "holds"


@pytest.mark.large("twelve million states: some minutes")
def test_heartbeats_on_spark(spark: Cluster) -> None:
    model = load("heartbeat/zombie", {"max_silences": "5"})
    found = outcome(check(model, SparkOptions(partitions=2), started=time.perf_counter()))
    assert found == locally(model)
    assert (found["verdict"], found["distinct"]) == ("holds", 12_045_301)


@pytest.mark.large("eleven million states: some minutes")
def test_streams_on_spark(spark: Cluster) -> None:
    model = load("streams/both", {"processes": "4"})
    found = outcome(check(model, SparkOptions(partitions=2), started=time.perf_counter()))
    assert found == locally(model)
    assert (found["verdict"], found["distinct"], found["generated"]) == ("holds", 11_325_635, 60_589_361)


@pytest.mark.large("four broken properties in a third of a million states: a minute or two")
def test_the_consumer_coordinator_as_written_on_spark(spark: Cluster) -> None:
    model = load("group/mixed", setting="draft")
    options = SparkOptions(partitions=2, all_violations=True)
    found = outcome(check(model, options, started=time.perf_counter()))
    assert found == locally(model, all_violations=True)
    assert (found["verdict"], found["distinct"], found["generated"]) == ("violated", 362_076, 1_448_182)


@pytest.mark.usefixtures("no_cluster")
def test_a_search_that_forgets_what_it_has_seen_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_tasks, "mark_seen", lambda *arguments: None)
    model = load("tests/models/verdicts.py/never_fires")
    options = SparkOptions(partitions=2, small=EVERYTHING, limits=Limits(max_depth=8))
    report = check(model, options, started=time.perf_counter())
    assert report.result.distinct == 8  # round and round
    assert locally(model)["distinct"] == 4


def test_what_a_task_wrote_that_ran_twice_goes(spark: Cluster, tmp_path: Path) -> None:
    model = load("tests/models/two_phase_commit.py")
    left_over = tmp_path / "levels" / "000002" / "0000-0123456789abcdef.parquet"

    def progress(now: Progress) -> None:
        if now.depth == 3:
            left_over.write_bytes(b"half")

    options = SparkOptions(partitions=2, small=0, checkpoint=str(tmp_path))
    check(model, options, started=time.perf_counter(), progress=progress)
    assert left_over.parent.is_dir() and not left_over.exists()
    assert outcome(check(model, SparkOptions(resume=str(tmp_path)), started=time.perf_counter())) == locally(model)


def test_a_small_level_beside_much_that_is_visited_is_a_job(spark: Cluster) -> None:
    model, jobs = load("tests/models/two_phase_commit.py"), []
    options = SparkOptions(partitions=2, small_groups=1)

    def progress(now: Progress) -> None:
        jobs.append(now.tasks)

    assert outcome(check(model, options, started=time.perf_counter(), progress=progress)) == locally(model)
    assert (0, 0) in jobs and (0, 4) in jobs  # the first level, and those after it
