"""The record, and the ISR that it rests on (S5, S8)."""

from __future__ import annotations

from checker.lang import Option, Set, invariant
from spec.heartbeat.decisions.processes import maximal_isr
from spec.heartbeat.state import Cluster
from spec.heartbeat.types import Broker, Controller, Incarnation, Process, RecordStatus, broker_id


def lacks_record(s: Cluster) -> Set[Broker]:
    """The brokers whose process does not have the record: the one that is gone by.

    One that is gone cannot come back under its incarnation: it counts as a holder until a controller goes by the next.
    """
    return frozenset(b for b in Broker if any(is_empty(s, b, p) for p in Process))


def is_empty(s: Cluster, broker: Broker, process: Process) -> bool:
    own = s.processes[process]
    return broker_id(process) == broker and not own.has_record and is_gone_by(s, broker, own.owned)


def is_gone_by(s: Cluster, broker: Broker, incarnation: Option[Incarnation]) -> bool:
    """The partition names this incarnation, or, where it names none, the newest controller goes by it."""
    named = s.partition.incarnations[broker]
    if incarnation is None or named is not None:
        return named == incarnation and incarnation is not None
    return any(
        s.controllers[c].epoch == s.controller_epoch and s.controllers[c].known[broker] == incarnation
        for c in Controller
    )


@invariant(source="Kafka, replication: leader, in-sync replicas, acks=all (S5)")
def acknowledged_record_survives(s: Cluster) -> bool:
    """A record that was acknowledged is on the disk of every member of the ISR."""
    return s.record != RecordStatus.ACKNOWLEDGED or len(s.partition.isr & lacks_record(s)) == 0


@invariant(source="KIP-343, Initiating ISR Changes; KIP-497 (S8)")
def maximal_isr_covers_committed(s: Cluster) -> bool:
    """The ISR that the leader reckons with has every member of the committed one."""
    return all(
        not s.processes[p].leads
        or s.processes[p].leader_epoch != s.partition.leader_epoch
        or s.partition.leader != broker_id(p)
        or s.partition.isr <= maximal_isr(s.processes[p])
        for p in Process
    )
