"""Simulated clusters whose brokers, all or every second one, are Kafka's, but for their metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from impl.apache.jvm import Jvm
from impl.apache.replicas import KafkaBroker
from impl.kraft.broker import Broker
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.simulation.cluster import SESSION_MS, Cluster, broker_settings
from impl.kraft.simulation.replicas import Replicas
from impl.kraft.simulation.swarm import Plan
from impl.kraft.storage.batches import Record, RecordBatch, encode

FETCH_BYTES = 2_000
"""What a follower is sent at once of a partition. A record that is a batch of Kafka's takes ten times ours."""
_IN_MEMORY = Path("/dev/shm")


class OursAmongKafkas(Broker):
    """A broker of ours that writes as Kafka's do: each record is a batch of its own, and an entry of the log."""

    def append(self, key: PartitionKey, *values: bytes, acks_of_all: bool = True) -> tuple[ErrorCode, int]:
        if (leader := self.leaders.get(key)) is not None:
            ends = enumerate(values, leader.log.end_offset)
            values = tuple(encode(RecordBatch(end, leader.leader_epoch, 0, (Record(value),))) for end, value in ends)
        return super().append(key, *values, acks_of_all=acks_of_all)


class KafkaReplicas(Replicas):
    """What Kafka's brokers promise: S12, but of a leader that has dropped what it asked for (docs/findings/kip-631.md).

    dropped: how many did.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dropped: set[tuple[int, PartitionKey, int]] = set()

    def reckons_with(self, broker: Broker, key: PartitionKey, isr: tuple[int, ...]) -> None:
        epoch = broker.leaders[key].partition_epoch
        if isinstance(broker, KafkaBroker) and broker.forgetful.get(key) == epoch:
            self.dropped.add((broker.broker_id, key, epoch))
        else:
            super().reckons_with(broker, key, isr)


class KafkaBrokers(Cluster):
    """A run of a plan with released brokers, whose logs are in a folder as long as it lasts. mixed: some are ours."""

    def __init__(
        self, jvm: Jvm, plan: Plan, watch: Callable[[str], None] | None = None, *, mixed: bool = False
    ) -> None:
        self._jvm, self._mixed = jvm, mixed
        self._folder = TemporaryDirectory(prefix="fencepost-", dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None)
        super().__init__(plan, watch)
        self.replicas = self.of_kafka = KafkaReplicas()

    def made_broker(self, number: int) -> Broker:
        self.numbers += 1
        settings = replace(broker_settings(number), replica_fetch_max_bytes=FETCH_BYTES)
        incarnation_id = UUID(int=self.numbers)
        if self._mixed and number % 2:
            return OursAmongKafkas(settings, incarnation_id, self.left_logs(number))
        folder = Path(self._folder.name, str(number))
        return KafkaBroker(self._jvm, settings, incarnation_id, folder, lambda: self.clock_ms(number), SESSION_MS)
