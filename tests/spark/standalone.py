"""A real Spark cluster on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from checker.spark.java import java_home

START_LIMIT_S = 120
CONF = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m",
        "spark.ui.enabled": "false", "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1"}  # fmt: skip


@dataclass
class Standalone:
    """master: its URL. workers: their processes, one core each."""

    master: str
    workers: list[subprocess.Popen[bytes]]

    def executors(self) -> list[int]:
        """The process ids of the executors that the workers have started."""
        return [pid for worker in self.workers for pid in _children(worker.pid) if _is_executor(pid)]


@contextmanager
def standalone(workers: int, logs: Path) -> Iterator[Standalone]:
    """A cluster that is ready; it is stopped in the end, with all its executors."""
    port, web = _free_port(), _free_port()
    started = []
    try:
        started.append(_start("master.Master", logs / "master", "--port", str(port), "--webui-port", str(web)))
        master = f"spark://127.0.0.1:{port}"
        for number in range(workers):
            folder = logs / f"worker-{number}"
            arguments = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder), master)
            started.append(_start("worker.Worker", folder, *arguments))
        _await_workers(web, workers)
        yield Standalone(master, started[1:])
    finally:
        for process in reversed(started):
            for pid in _children(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.kill()
            process.wait()


def _start(role: str, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "JAVA_HOME": java_home(), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
                   "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1", "SPARK_DAEMON_MEMORY": "256m"}  # fmt: skip
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--host", "127.0.0.1", *arguments]
    with log.with_suffix(".log").open("wb") as output:
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output)


def _await_workers(web: int, workers: int) -> None:
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{web}/json/", timeout=5) as answer:
            if answer.read().count(b'"ALIVE"') == workers + 1:  # the master is alive, too
                return
        time.sleep(0.1)
    raise TimeoutError(f"the cluster was not ready in {START_LIMIT_S} s")


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        threads = Path(f"/proc/{pid}/task").iterdir()
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    return []


def _is_executor(pid: int) -> bool:
    with suppress(OSError):
        return b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
