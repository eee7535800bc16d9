"""Brokers of ours and one of Apache Kafka have replicas of the same partitions, lead them in turn, and lose nothing."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from tests.cluster.kafka import until
from tests.impl.kraft.released import released
from tests.impl.kraft.server.brokers import TERMINATED, Broker
from tests.impl.kraft.server.clients import Producing, read_all
from tests.impl.kraft.server.own_brokers import OwnBrokers, own_cluster
from tests.impl.kraft.server.own_topic import OwnTopic

OURS, KAFKAS = (11, 13), 12
PARTITIONS = 3


class MixedBrokers:
    """As `OwnTopic` takes them."""

    def __init__(self, ours: OwnBrokers, kafkas: Broker) -> None:
        self.ours, self.kafkas = ours, kafkas
        self.nodes = (*OURS, KAFKAS)
        self.addresses = f"{ours.addresses},{kafkas.address}"

    def log_file(self, node: int, topic: str, partition: int) -> Path:
        return self.ours.log_file(node, topic, partition)  # Kafka's has the same name in a folder of its own


@pytest.mark.large("a JVM and six processes, of which some are killed and started again")
@released
def test_replicas_of_ours_and_of_kafka_are_alike_whoever_leads(tmp_path: Path) -> None:
    with own_cluster(tmp_path, {"replica.lag.time.max.ms": 3_000}, nodes=OURS, held=False) as ours:
        kafkas = Broker(tmp_path, ours.controllers, KAFKAS)
        try:
            until(kafkas.has_started, "Kafka's broker is unfenced")
            brokers = MixedBrokers(ours, kafkas)
            topic = OwnTopic(brokers)
            topic.create(PARTITIONS)
            assert {topic.leader(number) for number in range(PARTITIONS)} == set(brokers.nodes)
            producing = Producing(brokers.addresses)
            producing.await_more()
            topic.await_partitions(lambda one: len(one["isr_nodes"]) == PARTITIONS, "all are in sync")

            ours.kill(OURS[0])
            producing.await_more()
            ours.start(OURS[0])
            topic.await_partitions(
                lambda one: len(one["isr_nodes"]) == PARTITIONS, "who was killed is in the ISRs again"
            )

            assert kafkas.terminate() == TERMINATED
            producing.await_more()
            topic.await_partitions(lambda one: one["leader_id"] in OURS, "ours lead all")
            kafkas.start()
            until(lambda: kafkas.has_started(2), "Kafka's broker is back")
            topic.await_partitions(lambda one: len(one["isr_nodes"]) == PARTITIONS, "so is Kafka's")

            assert ours.terminate(OURS[1]) == 0
            kafkas.kill()
            ours.start(OURS[1])
            topic.await_partitions(lambda one: one["leader_id"] in OURS, "ours lead all again")
            kafkas.start()
            until(lambda: kafkas.has_started(3), "Kafka's broker is back")
            topic.await_partitions(lambda one: len(one["isr_nodes"]) == PARTITIONS, "all are in sync again")

            acknowledged = producing.stop()
            found = list(chain(*read_all(brokers.addresses, PARTITIONS)))
            assert set(acknowledged) <= set(found) and len(found) == len(set(found))  # none lost, none twice
            until(topic.is_alike, "replicas are alike")
        finally:
            kafkas.process.kill()
