"""Invariants that nobody asks for on their own account: what the proofs of S1 to S5 assume of the state before a step.

Each says how far a process may be behind the controller, so that a proof need not start from states that are never
reached. They are proved together with what they help to prove.
"""

from __future__ import annotations

from checker.lang import invariant
from spec.kraft.messages import RegisterReply
from spec.kraft.state import BrokerProcess, Cluster, is_alive, stopped
from spec.kraft.types import Process


@invariant(source="KIP-631, The Broker State Machine")
def registers_before_it_leads(s: Cluster) -> bool:
    """A process that is yet to learn its broker epoch leads nothing, and only such a process waits for one.

    One that does not run has nothing in memory.
    """
    return all(is_in_order(s.processes[process]) for process in Process)


def is_in_order(process: BrokerProcess) -> bool:
    if not is_alive(process):
        return process == stopped(process.has_record)
    if process.incarnation is None:
        return not isinstance(process.reply, RegisterReply)
    return process.broker_epoch is None and process.leadership is None


@invariant(source="KIP-631, PartitionRecord, LeaderEpoch (S1)")
def service_is_remembered(s: Cluster) -> bool:
    """No leader is ahead of the newest leader epoch that was served, and that is not ahead of the controller's."""
    served = s.last_service
    if served is None:
        return all(s.processes[process].leadership is None for process in Process)
    return served.leader_epoch <= s.controller.partition.leader_epoch and all(
        leads_up_to(s, process) for process in Process
    )


def leads_up_to(s: Cluster, process: Process) -> bool:
    broker = s.processes[process]
    if broker.leadership is None:
        return True
    return (
        broker.leader_epoch is not None
        and s.last_service is not None
        and broker.leader_epoch <= s.last_service.leader_epoch
    )


@invariant(source="KIP-631, PartitionRecord, LeaderEpoch (S1)")
def current_service_is_the_leaders(s: Cluster) -> bool:
    """Whoever served the current leader epoch is the leader, as it is registered now."""
    served, partition = s.last_service, s.controller.partition
    if served is None or served.leader_epoch != partition.leader_epoch:
        return True
    if partition.leader is None:
        return False
    registration = s.controller.registrations[partition.leader]
    return registration is not None and registration.broker_epoch == served.broker_epoch


LEMMAS = (registers_before_it_leads, service_is_remembered, current_service_is_the_leaders)
