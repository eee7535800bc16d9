"""Brokers of ours under controllers of ours: whatever is killed, paused or moved, nothing acknowledged is lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from impl.kraft.storage.batches import OF_PRODUCERS, Header, header_at
from tests.cluster.kafka import until
from tests.impl.kraft.server.brokers import records
from tests.impl.kraft.server.clients import TOPIC, Producing, read_all
from tests.impl.kraft.server.controllers import VOTERS
from tests.impl.kraft.server.own_brokers import BROKERS, OwnBrokers, own_cluster

PARTITIONS = 2


class Operator:
    """An admin client, and what it says of the topic."""

    def __init__(self, brokers: OwnBrokers) -> None:
        from kafka.admin import KafkaAdminClient

        self.client: Any = KafkaAdminClient(bootstrap_servers=brokers.addresses)

    def create(self) -> None:
        from kafka.admin import NewTopic

        configs = {"min.insync.replicas": "2"}
        self.client.create_topics([NewTopic(TOPIC, PARTITIONS, len(BROKERS), topic_configs=configs)])
        until(lambda: bool(self.partitions()), "brokers know the topic")

    def partitions(self) -> list[dict[str, Any]]:
        (topic,) = self.client.describe_topics([TOPIC])
        return sorted(topic["partitions"], key=lambda one: int(one["partition_index"]))

    def leader(self) -> int:
        """Of partition 0."""
        return int(self.partitions()[0]["leader_id"])

    def await_partition(self, holds: Callable[[dict[str, Any]], bool], what: str) -> None:
        until(lambda: all(holds(one) for one in self.partitions()), what)

    def reassign(self, replicas: list[int]) -> None:
        """Of partition 0."""
        from kafka import TopicPartition

        self.client.alter_partition_reassignments({TopicPartition(TOPIC, 0): replicas})


@pytest.mark.large("six processes, of which some are killed and started again")
def test_nothing_acknowledged_is_lost_whatever_is_killed_paused_moved_or_stopped(tmp_path: Path) -> None:
    with own_cluster(tmp_path, {"replica.lag.time.max.ms": 3_000}) as brokers:
        operator = Operator(brokers)
        operator.create()
        producing = Producing(brokers.addresses)
        producing.await_more()

        controller = brokers.controllers.await_leader()
        brokers.controllers.processes[controller].kill()
        producing.await_more()
        controller = brokers.controllers.await_leader(tuple(node for node in VOTERS if node != controller))

        killed = operator.leader()
        brokers.kill(killed)
        producing.await_more()
        operator.await_partition(lambda one: killed not in one["isr_nodes"], "the killed one is not in the ISR")
        brokers.start(killed)
        operator.await_partition(lambda one: len(one["isr_nodes"]) == len(BROKERS), "it is in the ISR again")
        producing.await_more()

        stopped = operator.leader()
        assert brokers.terminate(stopped) == 0
        producing.await_more()
        brokers.start(stopped)
        operator.await_partition(lambda one: len(one["isr_nodes"]) == len(BROKERS), "so is who was stopped")

        paused = operator.leader()
        brokers.processes[paused].pause()
        until(lambda: is_fenced(brokers, controller, paused), "who is silent is fenced")
        producing.await_more()
        brokers.processes[paused].resume()
        operator.await_partition(lambda one: len(one["isr_nodes"]) == len(BROKERS), "and so is who was paused")

        left = [node for node in BROKERS if node != operator.leader()]
        Operator(brokers).reassign(left)  # a client of now: the first may keep to a controller that is gone
        until(lambda: sorted(operator.partitions()[0]["replica_nodes"]) == left, "partition 0 has moved")
        producing.await_more()

        acknowledged = producing.stop()
        found = read_all(brokers.addresses, PARTITIONS)
        assert set(acknowledged) <= set(found) and len(found) == len(set(found))  # none is lost, none is there twice
        until(lambda: same_logs(brokers, 1, list(BROKERS)) and same_logs(brokers, 0, left), "replicas are alike")


def is_fenced(brokers: OwnBrokers, controller: int, node: int) -> bool:
    """By the last record about it in the log of a controller."""
    about = [line for line in records(brokers.controllers, controller).splitlines() if f'"data":{{"id":{node},' in line]
    return '"FENCE_BROKER_RECORD"' in about[-1]


def same_logs(brokers: OwnBrokers, partition: int, nodes: list[int]) -> bool:
    """Byte for byte, and without a gap."""
    logs = [brokers.log_of(node, TOPIC, partition).read_bytes() for node in nodes]
    batches = list(headers_of(logs[0]))
    assert all(one.end_offset == following.base_offset for one, following in pairwise(batches))
    return len(set(logs)) == 1


def headers_of(data: bytes) -> list[Header]:
    found, at = list[Header](), 0
    while at < len(data):
        found.append(header_at(data, at, OF_PRODUCERS))
        at += found[-1].size_bytes
    return found
