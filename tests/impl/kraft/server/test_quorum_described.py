"""Our kafka-metadata-quorum and Kafka's print the same of a quorum of ours, with an observer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from impl.kraft.raft.messages import FetchRequest
from impl.kraft.server.quorum_wire import request_bytes
from impl.kraft.tools.metadata_quorum import main
from impl.runtime.client import ask
from tests.cluster.kafka import tool, until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.controllers import CLUSTER, VOTERS, controllers
from tests.impl.kraft.tools.running import Tool

OBSERVER = 11
TIMES = re.compile(r"\d{13}")
run = Tool(main)


@pytest.mark.long("three processes and a JVM")
@released
def test_both_tools_print_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written while they look; times are those of the last fetches, and differ."""
    with controllers(tmp_path, {"metadata.max.idle.interval.ms": 0}) as cluster:
        leader = cluster.await_leader()
        addresses = [f"127.0.0.1:{cluster.ports[node]}" for node in VOTERS]
        follower = next(node for node in VOTERS if node != leader)
        epoch = cluster.quorum_of(leader)["epoch"]
        fetch = FetchRequest(CLUSTER, OBSERVER, epoch, 0, 0, 0, 1, 1 << 20)
        ask(("127.0.0.1", cluster.ports[leader]), 1, 18, "test", b"\0" + request_bytes(fetch))

        def ours(*arguments: str, at: str = ",".join(addresses)) -> list[str]:
            code, lines, error = run(capsys, "--bootstrap-controller", at, "describe", *arguments)
            assert (code, error) == (0, "")
            return [TIMES.sub("TIME", line) for line in lines]

        def kafkas(*arguments: str) -> list[str]:
            name = "org.apache.kafka.tools.MetadataQuorumCommand"
            told = tool(VERSION, name, "--bootstrap-controller", addresses[0], "describe", *arguments)
            return [TIMES.sub("TIME", line) for line in told.splitlines()]

        until(lambda: "MaxFollowerLag:         0" in ours("--status"), "all are caught up")
        assert without_lag_ms(ours("--status")) == without_lag_ms(kafkas("--status"))
        assert ours("--status", at=addresses[VOTERS.index(follower)])[1] == f"LeaderId:               {leader}"
        assert ours("--replication") == kafkas("--replication")
        assert any(line.split("\t")[0].strip() == str(OBSERVER) for line in ours("--replication"))


def without_lag_ms(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith("MaxFollowerLagTimeMs")]
