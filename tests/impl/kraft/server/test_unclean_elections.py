"""Unclean elections of our cluster, by Kafka's tool or a config: who is alive leads, and who comes back joins it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.kafka import tool, until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.clients import TOPIC
from tests.impl.kraft.server.own_brokers import own_cluster
from tests.impl.kraft.server.own_topic import OwnTopic


@pytest.mark.long("a JVM and five processes")
@released
def test_kafka_leader_election_gives_the_lead_to_who_is_alive(tmp_path: Path) -> None:
    """The spec has no such elections, so that no trace of this is validated."""
    with own_cluster(tmp_path, {"replica.lag.time.max.ms": 3_000}, nodes=(11, 12), validated=False) as brokers:
        topic = OwnTopic(brokers)
        topic.create(1, {})
        brokers.kill(11)
        topic.await_partitions(lambda one: list(one["isr_nodes"]) == [12], "who was killed is out of the ISR")
        brokers.kill(12)
        brokers.start(11)
        brokers.await_running(11)
        topic.await_partitions(lambda one: one["leader_id"] == -1, "nobody leads")
        address = f"127.0.0.1:{brokers.ports[11]}"
        tool(
            VERSION, "org.apache.kafka.tools.LeaderElectionCommand", "--bootstrap-server", address,
            "--election-type", "unclean", "--topic", TOPIC, "--partition", "0",
        )  # fmt: skip
        until(lambda: topic.leader(0) == 11, "who is alive leads")
        brokers.start(12)
        topic.await_partitions(lambda one: sorted(one["isr_nodes"]) == [11, 12], "who comes back joins it")
        until(topic.is_alike, "replicas are alike")


@pytest.mark.long("five processes")
def test_a_topic_that_allows_it_gets_who_comes_back_first(tmp_path: Path) -> None:
    with own_cluster(tmp_path, {"replica.lag.time.max.ms": 3_000}, nodes=(11, 12), validated=False) as brokers:
        topic = OwnTopic(brokers)
        topic.create(1, {"unclean.leader.election.enable": "true"})
        brokers.kill(11)
        topic.await_partitions(lambda one: list(one["isr_nodes"]) == [12], "who was killed is out of the ISR")
        brokers.kill(12)
        brokers.start(11)
        brokers.await_running(11)
        until(lambda: topic.leader(0) == 11, "who is alive leads")
        brokers.start(12)
        topic.await_partitions(lambda one: sorted(one["isr_nodes"]) == [11, 12], "who comes back joins it")
        until(topic.is_alike, "replicas are alike")
