"""Liveness properties (L1 to L6). Fairness is given in the models, to what heals.

Perturbations are bounded, so that every behaviour has its last one. Nobody who was cut off has to come back, and
nobody who died.
"""

from __future__ import annotations

from checker.lang import leads_to
from spec.heartbeat.decisions.leases import is_silent
from spec.heartbeat.state import Cluster, is_counted, is_legacy, is_registered, serves
from spec.heartbeat.types import Broker, BrokerState, Process, broker_id


def is_in(s: Cluster, broker: Broker) -> bool:
    """To the controller in office a broker is ACTIVE or STOPPING."""
    return s.office is not None and is_counted(s.controllers[s.office].states[broker])


def is_unheard(s: Cluster, broker: Broker) -> bool:
    """No heartbeat of a broker reaches the controller in office."""
    return s.office is not None and is_silent(s, s.office, broker)


@leads_to(source="KIP-343, Controller-Side Heartbeat Timeout (L1)")
def silent_broker_is_inactive(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """A broker that the controller does not hear from is INACTIVE in the end, or heard of again."""
    return is_in(s, broker) and is_unheard(s, broker), not is_in(s, broker) or not is_unheard(s, broker)


@leads_to(source="KIP-343, Controller-Side Heartbeat Timeout; Controller Logic (L2)")
def registered_broker_is_active(s: Cluster, process: Process) -> tuple[bool, bool]:
    """Who is registered, and reaches the controller, is unfenced and ACTIVE by its incarnation in the end."""
    own = s.processes[process]
    waits = own.up and process not in s.cut and is_registered(s, process) and own.target == BrokerState.ACTIVE
    return waits, not waits or (not own.fenced and is_in(s, broker_id(process)) and is_gone_by(s, process))


def is_gone_by(s: Cluster, process: Process) -> bool:
    """The controller in office goes by the incarnation of a process."""
    return s.office is not None and s.controllers[s.office].known[broker_id(process)] == s.processes[process].owned


@leads_to(source="Kafka, registration (a process that runs has its znode); KAFKA-1387, KAFKA-7165 (L2)")
def process_is_registered(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that runs owns the znode of its id in the end, unless another process does."""
    waits = s.processes[process].up and not is_registered(s, process)
    taken = any(p != process and broker_id(p) == broker_id(process) and is_registered(s, p) for p in Process)
    return waits, not waits or taken


@leads_to(source="KIP-343, Broker State (stopping) (L3)")
def shutdown_ends(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that is to be shut down stops in the end."""
    waits = s.processes[process].up and s.processes[process].target == BrokerState.STOPPING
    return waits, not waits


@leads_to(source="KIP-343, Initiating ISR Changes; KAFKA-2729, KAFKA-1382 (L4)")
def isr_change_is_resolved(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A leader that has asked for an ISR learns in the end whether it was made, unless it is cut off."""
    waits = s.processes[process].up and len(s.processes[process].proposed) > 0 and process not in s.cut
    return waits, not waits


@leads_to(source="Kafka, replication: leader, in-sync replicas, acks=all; KIP-903")
def follower_catches_up(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A follower that fetches is seen at its incarnation, with what its leader has, in the end."""
    waits = any(is_behind(s, p, process) for p in Process)
    return waits, not waits


def is_behind(s: Cluster, leader: Process, follower: Process) -> bool:
    """A follower may fetch from this leader, which has not seen it so, or not with what it has by now."""
    own, other = s.processes[leader], s.processes[follower]
    broker = broker_id(follower)
    return (
        serves(own)
        and broker != broker_id(leader)
        and other.up
        and not other.leads
        and not other.fenced
        and other.leader_epoch == own.leader_epoch
        and other.incarnation is not None
        and (
            own.followers[broker] != other.incarnation
            or broker not in own.caught_up
            or other.has_record != own.has_record
        )
    )


@leads_to(source="Kafka, replication: leader, in-sync replicas, acks=all (S5)")
def request_in_hand_is_completed(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A leader that has taken a record, and serves, acknowledges it in the end."""
    waits = s.processes[process].in_hand and serves(s.processes[process])
    return waits, not waits


@leads_to(source="KIP-343, Motivation (L5)")
def cut_off_leader_is_replaced(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """A broker that is cut off from the controller leads nothing in the end, whatever ZooKeeper hears of it."""
    unreached = all(broker_id(p) != broker or p in s.cut or not s.processes[p].up for p in Process)
    waits = (
        s.partition.leader == broker
        and unreached
        and not any(broker_id(p) == broker and is_legacy(s.processes[p]) for p in Process)
    )
    return waits, not waits


@leads_to(source="KIP-343, Controller-Side Heartbeat Timeout (it can be declared active again) (L6)")
def partition_gets_a_leader(s: Cluster) -> tuple[bool, bool]:
    """A partition without a leader, and with an active member in its ISR, gets one."""
    waits = s.partition.leader is None and any(is_active(s, b) for b in s.partition.isr)
    return waits, not waits


def is_active(s: Cluster, broker: Broker) -> bool:
    return s.office is not None and s.controllers[s.office].states[broker] == BrokerState.ACTIVE
