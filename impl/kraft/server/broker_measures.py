"""A broker's metrics: Kafka's, and MetadataLag of KIP-631 (New Metrics). Each has its full name in its help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from impl.kraft.broker import Broker, PartitionLeader
from impl.kraft.node import BrokerNode, HostedBroker

_SERVER, _REPLICAS = "kafka.server:type=KafkaServer,name=", "kafka.server:type=ReplicaManager,name="
_LAG = "kafka.controller:type=KafkaServer,name=MetadataLag"
"""As the draft writes it."""
_METADATA, _RAFT = "kafka.server:type=broker-metadata-metrics, ", "kafka.server:type=raft-metrics, "
NOBODY = -1

Gauge = tuple[str, str, int]
"""The name, the help and the value."""


class BrokerMeasures(Collector):
    """seen: what is asked for by `collect`, on another thread than the broker's."""

    def __init__(self, registry: CollectorRegistry, seen: Callable[[], list[Gauge]]) -> None:
        self._seen = seen
        registry.register(self)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, text, value in self._seen():
            yield GaugeMetricFamily(name, text, value)


def gauges(node: BrokerNode | HostedBroker) -> list[Gauge]:
    """What is so, now. What is of the quorum, a controller in the same process says."""
    broker, voter = node.broker, node.raft.voter
    lag = max(0, voter.high_watermark - 1 - broker.applied_offset)
    of_quorum = {} if isinstance(node, HostedBroker) else {
        "current-leader": NOBODY if node.leader is None else node.leader, "current-epoch": voter.epoch,
        "high-watermark": voter.high_watermark, "log-end-offset": voter.log.end_offset,
        "log-end-epoch": voter.log.last_epoch,
    }  # fmt: skip
    return [
        ("kafka_server_BrokerState", f"{_SERVER}BrokerState", int(broker.state)),
        ("kafka_server_MetadataLag", _LAG, lag),
        ("kafka_server_last_applied_record_offset", f"{_METADATA}last-applied-record-offset", broker.applied_offset),
        *((f"kafka_server_{name}", f"{_REPLICAS}{name}", value) for name, value in of_replicas(broker).items()),
        *((f"kafka_raft_{name.replace('-', '_')}", f"{_RAFT}{name}", value) for name, value in of_quorum.items()),
    ]


def of_replicas(broker: Broker) -> Mapping[str, int]:
    """Counts of what this broker has, and of what it leads (Partition.isUnderReplicated, isUnderMinIsr, isAtMinIsr)."""
    leaders = [(one, _least(broker, one)) for one in broker.leaders.values()]
    return {
        "LeaderCount": len(leaders),
        "PartitionCount": len(leaders) + len(broker.followers),
        "UnderReplicatedPartitions": sum(len(one.isr) < _replication_factor(broker, one) for one, _ in leaders),
        "UnderMinIsrPartitionCount": sum(len(one.isr) < least for one, least in leaders),
        "AtMinIsrPartitionCount": sum(len(one.isr) == least for one, least in leaders),
        "ReassigningPartitions": sum(broker.image.partitions[one.key].is_reassigning for one, _ in leaders),
    }


def _least(broker: Broker, leader: PartitionLeader) -> int:
    """How many in the ISR are enough; no more than there are replicas."""
    return min(broker.min_insync_replicas(leader.key[0]), len(leader.replicas))


def _replication_factor(broker: Broker, leader: PartitionLeader) -> int:
    """Without those that are only being added."""
    return len(set(leader.replicas) - set(broker.image.partitions[leader.key].adding_replicas))
