"""The topic of tests on a cluster of ours: created, moved, and looked at by clients and on disks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from impl.kraft.storage.batches import OF_PRODUCERS, Header, header_at
from tests.cluster.kafka import until
from tests.impl.kraft.server.clients import TOPIC

TWO_IN_SYNC = {"min.insync.replicas": "2"}


class Brokers(Protocol):
    """addresses: as clients take them."""

    @property
    def nodes(self) -> Sequence[int]: ...

    @property
    def addresses(self) -> str: ...

    def log_file(self, node: int, topic: str, partition: int) -> Path:
        """With the records that a broker has of a partition."""


class OwnTopic:
    """By an admin client for each thing: one may keep to a broker that is gone."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers

    def _admin(self) -> Any:
        from kafka.admin import KafkaAdminClient

        return closing(KafkaAdminClient(bootstrap_servers=self.brokers.addresses))

    def create(self, partitions: int, configs: Mapping[str, str] = TWO_IN_SYNC) -> None:
        """With a replica on each broker."""
        from kafka.admin import NewTopic

        with self._admin() as client:
            client.create_topics([NewTopic(TOPIC, partitions, len(self.brokers.nodes), topic_configs=dict(configs))])
        until(lambda: bool(self.partitions()), "brokers know the topic")

    def partitions(self) -> list[dict[str, Any]]:
        """As one of the brokers tells of them."""
        from kafka.errors import KafkaError

        found: list[dict[str, Any]] = []

        def is_told() -> bool:
            with suppress(KafkaError), self._admin() as client:
                (topic,) = client.describe_topics([TOPIC])
                found.extend(topic["partitions"])
                return True
            return False

        until(is_told, "a broker tells of the topic")
        return sorted(found, key=lambda one: int(one["partition_index"]))

    def leader(self, partition: int) -> int:
        return int(self.partitions()[partition]["leader_id"])

    def await_partitions(self, holds: Callable[[dict[str, Any]], bool], what: str) -> None:
        until(lambda: all(holds(one) for one in self.partitions()), what)

    def reassign(self, partition: int, replicas: Sequence[int]) -> None:
        from kafka import TopicPartition

        with self._admin() as client:
            client.alter_partition_reassignments({TopicPartition(TOPIC, partition): list(replicas)})

    def is_alike(self) -> bool:
        """The logs of all replicas of each partition are, byte for byte, and without a gap."""
        return all(self._same(int(one["partition_index"]), one["replica_nodes"]) for one in self.partitions())

    def _same(self, partition: int, nodes: Sequence[int]) -> bool:
        try:
            logs = [self.brokers.log_file(node, TOPIC, partition).read_bytes() for node in nodes]
        except FileNotFoundError:  # of a replica that begins
            return False
        batches = list(headers_of(logs[0]))
        assert all(one.end_offset == following.base_offset for one, following in pairwise(batches))
        return len(set(logs)) == 1


def headers_of(data: bytes) -> list[Header]:
    found, at = list[Header](), 0
    while at < len(data):
        found.append(header_at(data, at, OF_PRODUCERS))
        at += found[-1].size_bytes
    return found
