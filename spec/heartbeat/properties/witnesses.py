"""States that a model must be able to reach; where it cannot, its properties hold vacuously."""

from __future__ import annotations

from checker.lang import witness
from spec.heartbeat.state import Cluster, serves
from spec.heartbeat.types import Broker, BrokerState, Controller, Error, Process, RecordStatus, broker_id


@witness
def inactive(s: Cluster) -> bool:
    """A broker is INACTIVE."""
    return any(s.controllers[c].states[b] == BrokerState.INACTIVE for c in Controller for b in Broker)


@witness
def self_fenced_leader(s: Cluster) -> bool:
    """A process that believes to lead has fenced itself, and the controller goes by its leadership still."""
    return any(
        s.processes[p].up
        and s.processes[p].fenced
        and s.processes[p].leads
        and s.partition.leader_epoch == s.processes[p].leader_epoch
        for p in Process
    )


@witness
def another_serves(s: Cluster) -> bool:
    """A process other than the first leader's serves, and the record is acknowledged."""
    return s.record == RecordStatus.ACKNOWLEDGED and any(
        serves(s.processes[p]) and broker_id(p) != Broker(0) for p in Process
    )


@witness
def expanded_after_return(s: Cluster) -> bool:
    """The first leader is back in the ISR, behind another leader."""
    return s.partition.leader is not None and s.partition.leader != Broker(0) and Broker(0) in s.partition.isr


@witness
def invalid_incarnation(s: Cluster) -> bool:
    """A heartbeat was refused for its incarnation."""
    return any(is_refused(s, p) for p in Process)


def is_refused(s: Cluster, process: Process) -> bool:
    reply = s.processes[process].reply
    return reply is not None and reply.error == Error.INVALID_INCARNATION_ID


@witness
def two_of_one_id(s: Cluster) -> bool:
    """Two processes of one id run, each with an incarnation of its own."""
    return any(
        p != q
        and broker_id(p) == broker_id(q)
        and s.processes[p].up
        and s.processes[q].up
        and s.processes[p].incarnation is not None
        and s.processes[q].incarnation is not None
        for p in Process
        for q in Process
    )
