"""A broker of Apache Kafka under controllers of ours: it registers, lives through a failover, and stops in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.kafka import until
from tests.impl.kraft.released import released
from tests.impl.kraft.server.brokers import TERMINATED, Broker, records
from tests.impl.kraft.server.controllers import VOTERS, controllers


@pytest.mark.long("a JVM and three processes")
@released
def test_a_broker_registers_lives_through_a_failover_and_stops_in_order(tmp_path: Path) -> None:
    with controllers(tmp_path) as cluster:
        first = cluster.await_leader()
        broker = Broker(tmp_path, cluster)
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
