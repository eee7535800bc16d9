"""A broker of Apache Kafka under controllers of ours: it registers, lives through a failover, and stops in order."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from impl.kraft.tools.dump_log import main as dump_log
from impl.kraft.tools.storage import main as storage
from tests.cluster.kafka import java, until
from tests.cluster.processes import ManagedProcess, free_ports
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.controllers import CLUSTER, VOTERS, Controllers, controllers

TERMINATED = 143
BROKER = 11


class Broker:
    """Formatted by ours, and started."""

    def __init__(self, folder: Path, cluster: Controllers) -> None:
        (port,) = free_ports(1)
        properties = folder / "broker.properties"
        properties.write_text(
            f"process.roles=broker\nnode.id={BROKER}\ncontroller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters={cluster.voters}\nlisteners=PLAINTEXT://127.0.0.1:{port}\n"
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
            f"log.dirs={folder}/broker\n"
        )
        assert storage(["format", "-c", str(properties), "-t", CLUSTER]) == 0
        self.process = ManagedProcess([*java(VERSION), "kafka.Kafka", str(properties)], folder / "broker.log")


def records(cluster: Controllers, node: int) -> str:
    """What the log of a controller has, as our tool prints it."""
    out = io.StringIO()
    with redirect_stdout(out):
        dump_log(["--cluster-metadata-decoder", "--files", str(cluster.directory(node) / f"{0:020}.log")])
    return out.getvalue()


@pytest.mark.long("a JVM and three processes")
@released
def test_a_broker_registers_lives_through_a_failover_and_stops_in_order(tmp_path: Path) -> None:
    with controllers(tmp_path) as cluster:
        first = cluster.await_leader()
        broker = Broker(tmp_path, cluster)
        try:
            until(lambda: "Kafka Server started" in broker.process.output(), "the broker is unfenced")
            assert '"REGISTER_BROKER_RECORD"' in records(cluster, first)
            cluster.processes[first].kill()
            left = tuple(node for node in VOTERS if node != first)
            second = cluster.await_leader(left)
            assert broker.process.terminate(60) == TERMINATED
            until(lambda: '"inControlledShutdown":1' in records(cluster, second), "the new controller hears of it")
        finally:
            broker.process.kill()
