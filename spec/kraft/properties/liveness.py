"""Liveness properties (L1-L4, L6, L7, registration), each where the engine can hold the graph of all states.

Fairness is given in the models, to what heals: requests are sent, handled and answered, leases run
out, metadata is applied. Crashes, failovers and early expiries never have to happen.
"""

from __future__ import annotations

from checker.lang import leads_to, witness
from spec.kraft.actions.quorum import is_current_controller
from spec.kraft.properties.core import is_registered
from spec.kraft.state import Cluster, committed, is_alive, is_silent, is_unfenced
from spec.kraft.types import Broker, BrokerState, Process, TopicPartition, Voter, node_id


@leads_to(source="KIP-631, Controlled Shutdown; KAFKA-14292 (L3)")
def controlled_shutdown_ends(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that asked to shut down is told to, and stops."""
    state = s.processes[process].state
    return state == BrokerState.PENDING_CONTROLLED_SHUTDOWN, state == BrokerState.NOT_RUNNING


@leads_to(source="KIP-631, Broker Leases (L1)")
def silent_broker_is_fenced(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """A broker that is unfenced, and of which no process sends any more, is fenced."""
    unfenced = is_unfenced(committed(s), broker)
    return unfenced and all(is_silent(s, voter, broker) for voter in Voter), not unfenced


@leads_to(source="KIP-631, Broker Registration")
def starting_process_is_registered(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that starts gets a broker epoch, although replies are lost and its id may have to be given up first."""
    broker = s.processes[process]
    return is_alive(broker), not is_alive(broker) or broker.broker_epoch is not None


def is_ready(s: Cluster, process: Process) -> bool:
    """A process has recovered, and its id is registered to it: nothing but the controller keeps it from serving."""
    broker = s.processes[process]
    return is_alive(broker) and not broker.wants_fence and is_registered(s, process)


@leads_to(source="KIP-631, Broker Leases; KAFKA-13959 (L2)")
def ready_broker_is_unfenced(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that is ready and keeps its registration is unfenced, although the log keeps growing."""
    ready = is_ready(s, process)
    return ready, not ready or is_unfenced(committed(s), node_id(process))


@leads_to(source="KIP-631, Three Cluster Membership States (L7)")
def leaderless_partition_gets_leader(s: Cluster, p: TopicPartition) -> tuple[bool, bool]:
    """A partition without a leader, of which a member of the ISR is ready, gets a leader."""
    partition = committed(s).partitions[p]
    if partition is None or partition.leader is not None:
        return False, True
    waits = any(is_ready(s, process) and node_id(process) in partition.isr for process in Process)
    return waits, not waits


@leads_to(source="KIP-497 (L4)")
def pending_change_is_settled(s: Cluster, process: Process, p: TopicPartition) -> tuple[bool, bool]:
    """A leader that asks for a change of the ISR learns what became of it, or leads no more."""
    leadership = s.processes[process].replicas[p].leadership
    pending = leadership is not None and leadership.asked is not None
    return pending, not pending


@leads_to(source="KIP-631, Controller Failover; KIP-595 (L6)")
def some_controller_is_active(s: Cluster) -> tuple[bool, bool]:
    """Where the newest epoch has no active controller, it gets one, or a newer epoch does."""
    active = any(is_current_controller(s, voter) for voter in Voter)
    return not active, active


@witness
def log_has_grown(s: Cluster) -> bool:
    """The log has grown by records that change nothing: what is compared with its end runs after it."""
    return committed(s).offset is not None
