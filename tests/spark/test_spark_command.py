"""The command with --engine spark: what it prints, refuses and survives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest
from click.testing import CliRunner, Result

from checker.cli.ending import ending
from checker.cli.main import fencepost
from checker.lang.loader import load
from checker.running.limits import Limits, Progress
from checker.spark.check import SparkOptions, check
from checker.spark.java import java_home
from checker.spark.session import Cluster, SparkError, TaskError
from tests.conftest import ROOT
from tests.spark.outcomes import locally, outcome

MODEL = "tests/models/async_isr.py"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(fencepost, ["check", *arguments], prog_name="fencepost")


def test_it_prints_what_the_local_engine_prints(spark: Cluster) -> None:
    target = ("tests/models/bounds.py/stuck", "--all-violations")
    here, there = _run(*target), _run(*target, "--engine", "spark", "--partitions", "3")
    assert here.exit_code == there.exit_code == 1
    lines, others = here.stdout.splitlines(), there.stdout.splitlines()
    different = [(a, b) for a, b in zip(lines, others, strict=True) if a != b]
    assert [b.split("; ")[0].split(" on ")[-1] for _, b in different][1:] == ["3 partitions"]
    assert len(different) == 2  # bytes held, seconds and who shared the work


def test_a_limit_and_ctrl_c_leave_a_search_that_goes_on(spark: Cluster, tmp_path: Path) -> None:
    model = load(MODEL)

    def interrupt(now: Progress) -> None:
        if now.depth == 10:
            os.kill(os.getpid(), signal.SIGINT)

    place = str(tmp_path / "run")
    options = SparkOptions(small=0, checkpoint=place, limits=Limits(max_depth=5))
    assert check(model, options, started=time.perf_counter()).verdict == "incomplete"
    stopped = check(model, SparkOptions(small=0, resume=place), started=time.perf_counter(), progress=interrupt)
    assert (stopped.verdict, stopped.reason) == ("incomplete", "interrupted")
    late = SparkOptions(small=0, resume=place, limits=Limits(time_limit_s=0))
    assert check(model, late, started=time.perf_counter()).reason == "time limit of 0 s"
    assert outcome(check(model, SparkOptions(resume=place), started=time.perf_counter())) == locally(model)


def test_a_task_that_fails_says_why_in_one_line(spark: Cluster, tmp_path: Path) -> None:
    place = tmp_path / "run"
    options = SparkOptions(small=0, checkpoint=str(place), limits=Limits(max_depth=4))
    check(load(MODEL), options, started=time.perf_counter())
    for run in (place / "levels" / "000004").iterdir():
        run.write_bytes(run.read_bytes()[:-40])
    with pytest.raises(SparkError, match=rf"^{place}/levels/000004/.*parquet has [0-9,]+ bytes, [0-9,]+ were written$"):
        check(load(MODEL), SparkOptions(small=0, resume=str(place)), started=time.perf_counter())


def test_a_bug_in_a_task_is_reported_as_one(spark: Cluster) -> None:
    nothing: dict[int, int] = {}
    broken = spark.numbers(1).map(lambda number: nothing[number])
    with pytest.raises(TaskError, match=r"^KeyError: 0$") as raised:
        spark.collect(broken, lambda done: True)
    text, code = ending(raised.value, ["check", MODEL])
    assert code == 5
    assert text.startswith("internal error: TaskError: KeyError: 0\n") and "nothing[number]" in text


@pytest.mark.parametrize(("arguments", "message"), [
    (("--engine", "spark", "--threads", "2"), "--threads: this is for --engine local"),
    (("--engine", "spark", "--memory-gib", "1"), "--spark-conf spark.executor.cores and spark.executor.memory"),
    (("--master", "local[2]", "--partitions", "2"), "--master, --partitions: this is for --engine spark"),
    (("--engine", "spark", "--spark-conf", "x"), "write NAME=VALUE"),
    (("--engine", "flink"), "'flink' is not one of 'local', 'spark'"),
])  # fmt: skip
def test_options_of_another_engine_are_refused(arguments: tuple[str, ...], message: str) -> None:
    refused = _run("tests/models/two_phase_commit.py", *arguments)
    assert refused.exit_code == 2
    assert message in refused.output


def test_without_another_java_the_wheel_is_used(tmp_path: Path) -> None:
    path = _commands_without_java(tmp_path)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(path)}
    command = [sys.executable, "-m", "checker", "check", "tests/models/two_phase_commit.py", "--engine", "spark",
               "--master", "local[2]", "--json", "--spark-conf", "spark.ui.enabled=false"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["distinct"], found["partitions"]) == (288, 2)


def _commands_without_java(folder: Path) -> Path:
    """A folder for PATH with every command but java."""
    for place in os.environ["PATH"].split(os.pathsep):
        for command in Path(place).glob("*"):
            link = folder / command.name
            if command.name != "java" and not os.path.lexists(link):
                link.symlink_to(command)
    return folder


@pytest.mark.long("starts a Spark of its own")
def test_spark_submit_runs_it(tmp_path: Path) -> None:
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--master", "local[2]", "--conf", "spark.ui.enabled=false", "checker/__main__.py", "check",
               "tests/models/two_phase_commit.py", "--engine", "spark", "--json"]  # fmt: skip
    environment = {**os.environ, "JAVA_HOME": java_home(), "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["distinct"] == 288
