"""A broker of Apache Kafka under controllers of ours: it registers, lives through a failover, and stops in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.apache.release import missing
from tests.cluster.kafka import until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.brokers import TERMINATED, Broker, records
from tests.impl.kraft.server.controllers import VOTERS, controllers


@pytest.mark.long("a JVM and three processes")
@released
def test_a_broker_registers_lives_through_a_failover_and_stops_in_order(tmp_path: Path) -> None:
    register_live_and_stop(tmp_path, VERSION)


@pytest.mark.large("a JVM and three processes, twice")
@pytest.mark.parametrize("version", ["3.9.1", "4.0.0"])
def test_so_does_one_of_an_older_release(tmp_path: Path, version: str) -> None:
    """It follows the log by Fetch 17."""
    if why := missing(version, ("java",)):
        pytest.skip(why)
    register_live_and_stop(tmp_path, version)


def register_live_and_stop(folder: Path, version: str) -> None:
    with controllers(folder) as cluster:
        first = cluster.await_leader()
        broker = Broker(folder, cluster, version=version)
        try:
            until(broker.has_started, "the broker is unfenced")
            assert '"REGISTER_BROKER_RECORD"' in records(cluster, first)
            cluster.processes[first].kill()
            left = tuple(node for node in VOTERS if node != first)
            second = cluster.await_leader(left)
            assert broker.terminate() == TERMINATED
            until(lambda: '"inControlledShutdown":1' in records(cluster, second), "the new controller hears of it")
        finally:
            broker.process.kill()
