"""Invariants that nobody asks for on their own account: what the proofs of S1 to S5 assume of the state before a step.

Each says how far a process may be behind the controller, so that a proof need not start from states that are never
reached. They are proved together with what they help to prove.
"""

from __future__ import annotations

from checker.lang import invariant
from spec.kraft.messages import RegisterReply
from spec.kraft.state import BrokerProcess, Cluster, committed, disk, is_alive, stopped
from spec.kraft.types import Process, TopicPartition


@invariant(source="KIP-631, The Broker State Machine")
def registers_before_it_leads(s: Cluster) -> bool:
    """A process that is yet to learn its broker epoch leads nothing, and only such a process waits for one.

    One that does not run has nothing in memory.
    """
    return all(is_in_order(s.processes[process]) for process in Process)


def is_in_order(process: BrokerProcess) -> bool:
    if not is_alive(process):
        return process == stopped(disk(process))
    if process.incarnation is None:
        return not isinstance(process.reply, RegisterReply)
    return process.broker_epoch is None and not any(
        process.replicas[p].leadership is not None for p in TopicPartition
    )


@invariant(source="KIP-631, PartitionRecord, LeaderEpoch (S1)")
def service_is_remembered(s: Cluster) -> bool:
    """No leader is ahead of the newest leader epoch that was served, and that is not ahead of the controller's."""
    return all(served_is_committed(s, p) for p in TopicPartition) and all(
        is_remembered(s, process, p) for process in Process for p in TopicPartition
    )


def served_is_committed(s: Cluster, p: TopicPartition) -> bool:
    served, partition = s.last_service[p], committed(s).partitions[p]
    return served is None or (partition is not None and served.leader_epoch <= partition.leader_epoch)


def is_remembered(s: Cluster, process: Process, p: TopicPartition) -> bool:
    served, replica = s.last_service[p], s.processes[process].replicas[p]
    if replica.leadership is None:
        return True
    return served is not None and replica.leader_epoch is not None and replica.leader_epoch <= served.leader_epoch


@invariant(source="KIP-631, PartitionRecord, LeaderEpoch (S1)")
def current_service_is_the_leaders(s: Cluster) -> bool:
    """Whoever served the current leader epoch is the leader, as it is registered now."""
    return all(is_served_by_leader(s, p) for p in TopicPartition)


def is_served_by_leader(s: Cluster, p: TopicPartition) -> bool:
    served, partition = s.last_service[p], committed(s).partitions[p]
    if served is None or partition is None or served.leader_epoch != partition.leader_epoch:
        return True
    if partition.leader is None:
        return False
    registration = committed(s).registrations[partition.leader]
    return registration is not None and registration.broker_epoch == served.broker_epoch


LEMMAS = (registers_before_it_leads, service_is_remembered, current_service_is_the_leaders)
