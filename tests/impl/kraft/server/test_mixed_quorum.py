"""A voter of Apache Kafka among two of ours: each leads the others, and all have one log."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.apache.release import missing
from tests.cluster.kafka import tool, until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.controllers import VOTERS, Controllers

KAFKA = 3
OLDER = ("3.9.1", "4.0.0")
SLOW = {"controller.quorum.election.timeout.ms": 30_000}
"""Who has not heard of a leader yet lets others stand first."""


@pytest.mark.long("a JVM and two processes")
@released
def test_kafka_leads_ours_and_ours_lead_kafka(tmp_path: Path) -> None:
    lead_each_other(tmp_path, VERSION)


@pytest.mark.large("a JVM and two processes, twice")
@pytest.mark.parametrize("version", OLDER)
def test_so_do_older_controllers(tmp_path: Path, version: str) -> None:
    """They speak older versions of Vote and Fetch, of which 3.9 knows no pre-vote."""
    if why := missing(version, ("java",)):
        pytest.skip(why)
    lead_each_other(tmp_path, version)


def lead_each_other(folder: Path, version: str) -> None:
    cluster = Controllers(folder)
    try:
        let_kafka_lead(cluster, version)
        cluster.await_growth(1)
        assert is_prefix(cluster.data(1), cluster.data(KAFKA))

        cluster.start(2)
        cluster.await_growth(2)
        cluster.processes[KAFKA].kill()
        leader = cluster.await_leader((1, 2))
        cluster.start_kafka(KAFKA, version)
        before = len(cluster.data(leader))
        until(lambda: len(cluster.data(KAFKA)) > before, "Kafka follows")
        assert cluster.quorum_of(leader)["is_active"]
        parts = {node: "Leader" if node == leader else "Follower" for node in VOTERS}
        assert quorum_by_kafka(cluster, leader) == parts
        assert "UPDATE_RAFT_VOTER" not in cluster.processes[KAFKA].output()  # not served, it would ask again and again

        cluster.processes[KAFKA].kill()
        cluster.start(KAFKA)  # on what Kafka has written: the other half of interop goal 4
        assert cluster.await_leader() == leader
        cluster.await_growth(KAFKA)
        for node in VOTERS:
            cluster.processes[node].pause()
        logs = sorted((cluster.data(node) for node in VOTERS), key=len)
        assert all(log.startswith(logs[0]) for log in logs)
    finally:
        cluster.kill()


def let_kafka_lead(cluster: Controllers, version: str) -> None:
    """It, and voter 1, are started."""
    cluster.start_kafka(KAFKA, version)
    until(cluster.directory(KAFKA).exists, "Kafka starts")
    cluster.configure(1, SLOW)
    cluster.start(1)
    until(lambda: cluster.quorum_of(1).get("leader") == KAFKA, "Kafka leads")


def quorum_by_kafka(cluster: Controllers, leader: int) -> dict[int, str]:
    """Who is what, by Kafka's own kafka-metadata-quorum."""
    name, address = "org.apache.kafka.tools.MetadataQuorumCommand", f"127.0.0.1:{cluster.ports[leader]}"
    told = tool(VERSION, name, "--bootstrap-controller", address, "describe", "--replication")
    rows = [line.split() for line in told.splitlines()[1:] if line]
    return {int(row[0]): row[-1] for row in rows}


def is_prefix(one: bytes, other: bytes) -> bool:
    """Of one that is read while it grows."""
    return other.startswith(one) or one.startswith(other)
