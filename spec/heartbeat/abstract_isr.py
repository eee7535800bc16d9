"""KIP-343 implements the abstract ISR: what the partition state in ZooKeeper and the processes are on that page."""

from __future__ import annotations

from typing import Any

from checker.lang import instance, refines
from spec.heartbeat.design import Design
from spec.heartbeat.properties.records import lacks_record
from spec.heartbeat.state import Cluster
from spec.heartbeat.types import Broker, LeaderEpoch, RecordStatus

page = instance(
    "spec.replication.abstract_isr",
    brokers=lambda: Design.brokers,
    shrinking_raises_epoch=True,
    Broker=Broker,
    LeaderEpoch=LeaderEpoch,
)


@refines(page, source=page.SOURCE)
def as_partition(s: Cluster) -> Any:
    """The partition as ZooKeeper has it, and the record as the processes have it that the controller goes by."""
    return page.ReplicatedPartition(
        leader=s.partition.leader,
        leader_epoch=s.partition.leader_epoch,
        isr=s.partition.isr,
        replicas_with_record=s.partition.isr - lacks_record(s) if Design.records > 0 else frozenset(),
        committed=s.record == RecordStatus.ACKNOWLEDGED,
    )
