"""An ensemble without a quorum for longer than a session: nobody is elected, leases run out, and all come back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cluster.zookeeper import zookeeper
from tests.impl.heartbeat.cluster import CONFIG, REPLICAS, Cluster, Producer
from tests.impl.heartbeat.schedules import SCHEDULES, run_with

pytestmark = pytest.mark.xdist_group("zookeeper")
LIMIT_S = 60.0
SESSION_S = int(CONFIG["zookeeper.session.timeout.ms"]) / 1_000


@pytest.mark.long("real time: half a minute of wall clock")
def test_who_served_is_fenced_without_a_quorum_and_serves_again_with_one(tmp_path: Path) -> None:
    """And the run is a behaviour of the spec, in which nothing that was acknowledged is lost."""
    with zookeeper(3) as ensemble:

        def lose_the_quorum(cluster: Cluster, producer: Producer) -> None:
            assert cluster.wait_for(lambda: len(producer.acknowledged) > 5, LIMIT_S)
            served = [one for one in (cluster.current[broker] for broker in REPLICAS) if one is not None]
            for server in ensemble.servers[:2]:
                server.kill()
            assert cluster.wait_for(lambda: all(one.has_recorded("fenced") for one in served), LIMIT_S)
            before = len(producer.acknowledged)
            time.sleep(1.5 * SESSION_S)
            assert len(producer.acknowledged) == before
            ensemble.start()
            assert cluster.wait_for(lambda: len(producer.acknowledged) > before + 5 and cluster.is_quiet(), LIMIT_S)

        ended = run_with(ensemble, 0, tmp_path / "run", lose_the_quorum)
        run = ended.put_together(ensemble.transactions())
    assert run.figures is not None and run.figures["self_fenced"] >= len(REPLICAS)
    assert SCHEDULES.validate([run], tmp_path / "traces").reasons == {}
