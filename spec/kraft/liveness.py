"""What must eventually happen (L1-L4, L7), each stated where the engine can hold the graph of all states.

Fairness is given in the models (`models.fairly`), to what heals: requests are sent, handled and answered, leases run
out, metadata is applied. Crashes, failovers and early expiries never have to happen.
"""

from __future__ import annotations

from checker.lang import leads_to
from spec.kraft.state import Cluster, committed, is_silent, is_unfenced
from spec.kraft.types import Broker, BrokerState, Process


@leads_to(source="KIP-631, Controlled Shutdown; KAFKA-14292 (L3)")
def controlled_shutdown_ends(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that asked to shut down is told to, and stops."""
    state = s.processes[process].state
    return state == BrokerState.PENDING_CONTROLLED_SHUTDOWN, state == BrokerState.NOT_RUNNING


@leads_to(source="KIP-631, Broker Leases (L1)")
def silent_broker_is_fenced(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """A broker that is unfenced, and of which no process sends any more, is fenced."""
    unfenced = is_unfenced(committed(s), broker)
    return unfenced and is_silent(s, broker), not unfenced
