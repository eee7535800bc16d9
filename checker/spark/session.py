"""The Spark context that a search runs in, and its jobs."""

from __future__ import annotations

import builtins
import functools
import itertools
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import RDD, SparkConf, SparkContext
from pyspark.errors import PySparkException

from checker.errors import FencepostError, UnwritableError
from checker.spark.java import java_home
from checker.spark.stalls import Cancelled, StallDetector

TICK_S = 0.1  # between looks at a running job
PACKAGES = ("checker", "traces")  # what tasks import from
_ROOT = Path(__file__).parents[2]
_MASTER = re.compile(r"local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+")
_OURS = re.compile(r"checker(?:\.\w+)*\.(\w+Error): ")
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # in the environment under spark-submit, which has started the JVM
_SETTINGS = {
    "spark.shuffle.compress": "false",  # what is sent is compressed already
    "spark.locality.wait": "0",  # any executor reads the shared folder
    "spark.scheduler.minRegisteredResourcesRatio": "1",  # the first job waits for the executors, for 30 s at most
    "spark.ui.showConsoleProgress": "false",
    "spark.speculation": "true",  # a task may run twice: what it writes has a name of its own each time
    "spark.speculation.minTaskRuntime": "10s",
    "spark.speculation.task.duration.threshold": "10min",  # of tasks that have no others to be compared with
}
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
_JAVA_OPTIONS, _LOGGING_FILE = "spark.driver.extraJavaOptions", "log4j2.properties"
_JIT = "-XX:TieredStopAtLevel=1"  # it moves bytes for a minute or two: the better compiler costs more than it gives
# Errors only, and not those of tasks, which `SparkError` reports. By a filter: where the root's level is another than
# `warn`, Spark says that it changes it.
_LOGGING = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.filter.threshold.type = ThresholdFilter
appender.console.filter.threshold.level = error
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}
"""


class TaskError(Exception):
    """A bug of ours that a task met: nothing that was foreseen. Its cause has the stack."""


class SparkError(FencepostError):
    """A context that cannot be had, or a job that failed; the message says what Spark says."""


class Cluster:
    """A Spark context, and the jobs of one search in it. task_timeout_s: how long no task of a job may end."""

    def __init__(self, context: SparkContext, task_timeout_s: float | None = None) -> None:
        self._context, self._task_timeout_s = context, task_timeout_s
        self._serial = itertools.count(1)

    @property
    def is_local(self) -> bool:
        """True if all tasks run on this machine, in processes of this one's JVM."""
        return str(self._context.master).startswith("local")

    def cores(self) -> int:
        """Cores that the cluster has, once its executors are there. Raises StalledError where they do not come."""
        if not self.is_local:
            self.collect(self.numbers(1), lambda done: True)  # waits for them
        return int(self._context.defaultParallelism)

    def slots(self) -> int:
        """Tasks that run at once, as far as executors are there by now."""
        return int(self._context.defaultParallelism)

    def broadcast(self, value: Any) -> Any:
        """Something that every executor gets once; tasks see it as `.value`."""
        return self._context.broadcast(value)

    def numbers(self, n: int) -> RDD[int]:
        """0 to n - 1, each in a partition of its own."""
        return self._context.parallelize(range(n), n)

    def collect(self, rdd: RDD[Any], tick: Callable[[int], bool]) -> list[Any]:
        """The elements of an RDD. tick: called now and then with how many tasks are done; False gives the job up.

        Raises Cancelled for a job that was given up, StalledError for one that does not get on, SparkError for one that
        failed.
        """
        watch = StallDetector(str(self._context.master), self._task_timeout_s)
        group = f"fencepost {id(self)}-{next(self._serial)}"

        def run() -> list[Any]:
            self._context.setJobGroup(group, group, interruptOnCancel=True)
            return rdd.collect()

        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(run)
            try:
                while True:
                    with suppress(NotYet):
                        return work.result(timeout=TICK_S)
                    done, running = self._tasks(group)
                    watch.look(done, running)
                    if not tick(done):
                        raise Cancelled
            except (PySparkException, Py4JError) as error:
                raise _error_of(error) from error
            except BaseException:
                self._context.cancelJobGroup(group)
                raise

    def _tasks(self, group: str) -> tuple[int, int]:
        """Tasks of a job that are done, and that run."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        there = [stage for stage in stages if stage is not None]
        return sum(stage.numCompletedTasks for stage in there), sum(stage.numActiveTasks for stage in there)


@contextmanager
def cluster(master: str | None, conf: Mapping[str, str], task_timeout_s: float | None = None) -> Iterator[Cluster]:
    """The Spark context at hand, else one of its own: on `master` (None: what spark-submit says, or all cores here).

    conf: settings of Spark, over those that a search chooses. task_timeout_s: see `Cluster`. Raises SparkError,
    JavaError.
    """
    own = SparkContext._active_spark_context is None
    try:
        context = SparkContext.getOrCreate(_settings(master, conf) if own else None)
        try:
            found = Cluster(context, task_timeout_s)
            if not found.is_local:
                _ship(str(context.applicationId))
            yield found
        finally:
            if own:
                context.stop()
    except (PySparkException, Py4JError) as error:
        raise _error_of(error, f"Spark on {master or 'this cluster'} failed: ") from error


def _settings(master: str | None, conf: Mapping[str, str]) -> SparkConf:
    settings = {"spark.app.name": "fencepost", **_SETTINGS}
    if _SUBMITTED not in os.environ:
        os.environ["JAVA_HOME"] = java_home()
        master = master or "local[*]"
        theirs = conf.get(_JAVA_OPTIONS, "")
        conf = {**conf, _JAVA_OPTIONS: f"-Dlog4j2.configurationFile=file:{_file(_LOGGING_FILE)} {_JIT} {theirs}"}
    if master is not None:
        if not _MASTER.fullmatch(master):
            raise SparkError(
                f"{master} is not a master of Spark: write local[2], spark://HOST:7077, yarn or k8s://HOST:443"
            )
        settings["spark.master"] = master
        settings |= {**_LOCAL, "spark.executorEnv.PYTHONPATH": str(_ROOT)} if master.startswith("local") else {}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkConf().setAll(list({**settings, **conf}.items()))


@functools.cache
def _ship(application: str) -> None:
    """Give the code of the tasks to the executors of an application: once."""
    context = SparkContext.getOrCreate()
    assert context.applicationId == application
    context.addPyFile(_file("fencepost.zip"))


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fencepost-spark-")


def own_folder() -> Path:
    """For files that must be there as long as this process."""
    return Path(_temporary().name)


@functools.cache
def _file(name: str) -> str:
    path = own_folder() / name
    if name.endswith(".zip"):
        archive(path)
    else:
        path.write_text(_LOGGING)
    return str(path)


def archive(path: Path) -> None:
    """Write the packages that tasks import from as a zip, for executors that have no Fencepost (or an older one)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for package in PACKAGES:
            for source in sorted((_ROOT / package).rglob("*.py")):
                file.write(source, source.relative_to(_ROOT))


def _error_of(error: BaseException, where: str = "") -> Exception:
    """The error to report for one of Spark: what Python raised in a task, else what Java says in one line."""
    text = str(error)
    raised = text[text.rindex('\n  File "') :].splitlines()[2:] if '\n  File "' in text else []
    lines = [line.strip() for line in raised if line and not line.startswith(" ")]
    lines += [line.removeprefix(": ") for line in text.splitlines() if line.startswith(": ")]  # after py4j's own line
    words = (lines or text.strip().splitlines() or [type(error).__name__])[0]
    if raised and _is_bug(words):
        return TaskError(words)
    ours = _OURS.match(words)  # foreseen: the message says all
    kind = UnwritableError if ours and ours[1] == UnwritableError.__name__ else SparkError
    return kind(where + (words[ours.end() :] if ours else words))


def _is_bug(words: str) -> bool:
    """True if a task raised one of Python's own errors, which no file, machine or missing module explains."""
    kind = getattr(builtins, words.partition(":")[0], None)
    return isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, OSError | ImportError)
