"""`fencepost cluster up`: one command starts a quorum, says who leads, and stops all of it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.cluster.kafka import until
from tests.cluster.processes import ManagedProcess, free_ports

pytestmark = pytest.mark.long("three processes")


def up(folder: Path, *more: str) -> ManagedProcess:
    command = [sys.executable, "-m", "checker", "cluster", "up", "--in", str(folder), *more]
    return ManagedProcess(command, folder.with_suffix(f".{len(more)}.log"))


def run_until_led(folder: Path, port: int) -> None:
    cluster = up(folder, "--port", str(port))
    before = cluster.output().count("is active")
    until(lambda: cluster.output().count("is active") > before, "a leader is told")
    os.kill(cluster.pid, signal.SIGINT)
    until(lambda: cluster.exit_code is not None, "all of it stops")
    assert cluster.exit_code == 0 and cluster.output().endswith("stopped\n")


def test_a_quorum_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    run_until_led(tmp_path / "here", port)
    run_until_led(tmp_path / "here", port)
    logs = [(tmp_path / "here" / f"controller{node}" / "controller.log").read_text() for node in (1, 2, 3)]
    assert all(log.count('"event": "started"') == log.count('"event": "stopped"') for log in logs)
    other = up(tmp_path / "here", "--port", str(port), "--controllers", "5")
    until(lambda: other.exit_code is not None, "it is refused")
    assert other.exit_code == 2 and "has 3 controllers" in other.output() and "Traceback" not in other.output()
