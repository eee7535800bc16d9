"""KIP-631 implements the abstract ISR: what its committed metadata and its registered processes are on that page."""

from __future__ import annotations

from typing import Any

from checker.lang import instance, refines
from spec.kraft.design import Design
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, LeaderEpoch, Process, RecordStatus, TopicPartition, node_id

page = instance("spec.replication.abstract_isr", brokers=lambda: Design.brokers, Broker=Broker, LeaderEpoch=LeaderEpoch)


def has_record(s: Cluster, member: Broker) -> bool:
    """True when the incarnation of a broker that is registered has the record.

    One that is gone cannot come back without registering again, so it counts as a holder until then.
    """
    registration = committed(s).registrations[member]
    return not any(
        node_id(process) == member
        and registration is not None
        and s.processes[process].broker_epoch == registration.broker_epoch
        and not s.processes[process].replicas[TopicPartition(0)].has_record
        for process in Process
    )


@refines(page, source=page.SOURCE)
def as_partition(s: Cluster) -> Any:
    """The partition as the committed metadata has it, and the record as the registered processes have it."""
    partition = committed(s).partitions[TopicPartition(0)]
    assert partition is not None
    return page.ReplicatedPartition(
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        replicas_with_record=frozenset(member for member in partition.isr if has_record(s, member)),
        committed=s.produced[TopicPartition(0)] == RecordStatus.ACKNOWLEDGED,
    )
