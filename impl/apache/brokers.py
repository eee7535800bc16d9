"""Simulated clusters whose brokers are Kafka's, but for their metadata; the controllers are ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast
from uuid import UUID

from impl.apache.jvm import Jvm
from impl.apache.replicas import KafkaBroker, KafkaLeader
from impl.kraft.broker import Broker
from impl.kraft.image import PartitionKey
from impl.kraft.simulation.cluster import SESSION_MS, Cluster, broker_settings
from impl.kraft.simulation.replicas import Replicas
from impl.kraft.simulation.swarm import Plan

FETCH_BYTES = 2_000
"""What a follower is sent at once of a partition. A record that is a batch of Kafka's takes ten times ours."""
_IN_MEMORY = Path("/dev/shm")


class KafkaReplicas(Replicas):
    """What Kafka's brokers promise: S12, but of a leader that has dropped what it asked for (docs/findings/kip-631.md).

    dropped: how many did.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dropped: set[tuple[int, PartitionKey, int]] = set()

    def reckons_with(self, broker: Broker, key: PartitionKey, isr: tuple[int, ...]) -> None:
        assert isinstance(broker, KafkaBroker)
        epoch = cast(KafkaLeader, broker.leaders[key]).partition_epoch
        if broker.forgetful.get(key) == epoch:
            self.dropped.add((broker.broker_id, key, epoch))
        else:
            super().reckons_with(broker, key, isr)


class KafkaBrokers(Cluster):
    """A run of a plan with released brokers, whose logs are in a folder as long as it lasts."""

    def __init__(self, jvm: Jvm, plan: Plan, watch: Callable[[str], None] | None = None) -> None:
        self._jvm = jvm
        self._folder = TemporaryDirectory(prefix="fencepost-", dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None)
        super().__init__(plan, watch)
        self.replicas = self.of_kafka = KafkaReplicas()

    def made_broker(self, number: int) -> Broker:
        self.numbers += 1
        folder = Path(self._folder.name, str(number))
        settings = replace(broker_settings(number), replica_fetch_max_bytes=FETCH_BYTES)
        return KafkaBroker(
            self._jvm, settings, UUID(int=self.numbers), folder, lambda: self.clock_ms(number), SESSION_MS
        )
