"""`fencepost cluster up`: one command starts a cluster, says who leads and where clients connect, and stops it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from impl.runtime.ports import free_ports
from tests.cluster.kafka import until
from tests.cluster.processes import ManagedProcess

pytestmark = pytest.mark.long("four processes")


def up(folder: Path, *more: str) -> ManagedProcess:
    command = [sys.executable, "-m", "checker", "cluster", "up", "--in", str(folder), *more]
    return ManagedProcess(command, folder.with_suffix(f".{len(more)}.log"))


def run_until_ready(folder: Path, ports: list[int]) -> str:
    """What it has said until all of it was there."""
    cluster = up(folder, "--port", str(ports[0]), "--brokers", "1", "--broker-port", str(ports[1]))
    before = cluster.output().count("ready")
    until(lambda: cluster.output().count("ready") > before, "clients are told where to connect")
    assert "is active" in cluster.output()
    os.kill(cluster.pid, signal.SIGINT)
    until(lambda: cluster.exit_code is not None, "all of it stops")
    assert cluster.exit_code == 0 and cluster.output().endswith("stopped\n")
    return cluster.output()


def test_a_cluster_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    ports = [free_ports(1)[0], free_ports(1)[0]]
    assert f"clients connect to 127.0.0.1:{ports[1]} (bootstrap.servers)" in run_until_ready(tmp_path / "here", ports)
    run_until_ready(tmp_path / "here", ports)
    names = [*(f"controller{node}/controller.log" for node in (1, 2, 3)), "broker4/broker.log"]
    logs = [(tmp_path / "here" / name).read_text() for name in names]
    assert all(log.count('"event": "started"') == log.count('"event": "stopped"') == 2 for log in logs)
    other = up(tmp_path / "here", "--port", str(ports[0]), "--controllers", "5")
    until(lambda: other.exit_code is not None, "it is refused")
    assert other.exit_code == 2 and "has 3 controllers and 1 broker:" in other.output()
    assert "Traceback" not in other.output()
