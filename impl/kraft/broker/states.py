"""The broker state machine, as a table (KIP-631, The Broker State Machine).

Whatever is not in the table changes nothing. A crash is not in it: it leaves no broker that could be in a state.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class BrokerState(IntEnum):
    """The states, with the numbers that the metrics API shows."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class Event(Enum):
    """An event that moves a broker from state to state."""

    STARTED = "the process has started"
    CAUGHT_UP = "the image has reached what was committed"
    UNFENCED = "the controller says that the broker is unfenced"
    SIGTERM = "the process is asked to stop"
    RELEASED = "the controller says that the broker should shut down"
    OUT_OF_TIME = "the first registration, or the controlled shutdown, takes too long"
    LOST_ID = "the controller says that the broker epoch is stale, and the broker is to end then"
    LOGS_CLOSED = "the logs are closed"


NEXT_STATE = {
    (BrokerState.NOT_RUNNING, Event.STARTED): BrokerState.STARTING,
    (BrokerState.STARTING, Event.CAUGHT_UP): BrokerState.RECOVERY,
    (BrokerState.RECOVERY, Event.UNFENCED): BrokerState.RUNNING,
    (BrokerState.RUNNING, Event.SIGTERM): BrokerState.PENDING_CONTROLLED_SHUTDOWN,
    (BrokerState.PENDING_CONTROLLED_SHUTDOWN, Event.RELEASED): BrokerState.SHUTTING_DOWN,
    (BrokerState.PENDING_CONTROLLED_SHUTDOWN, Event.OUT_OF_TIME): BrokerState.SHUTTING_DOWN,
    # A broker that does not run yet leads nothing that would have to move: it asks nobody.
    (BrokerState.STARTING, Event.SIGTERM): BrokerState.SHUTTING_DOWN,
    (BrokerState.RECOVERY, Event.SIGTERM): BrokerState.SHUTTING_DOWN,
    (BrokerState.STARTING, Event.OUT_OF_TIME): BrokerState.SHUTTING_DOWN,
    (BrokerState.RECOVERY, Event.OUT_OF_TIME): BrokerState.SHUTTING_DOWN,
    # Another process has the id, or nobody: there is nothing to wait for.
    (BrokerState.STARTING, Event.LOST_ID): BrokerState.SHUTTING_DOWN,
    (BrokerState.RECOVERY, Event.LOST_ID): BrokerState.SHUTTING_DOWN,
    (BrokerState.RUNNING, Event.LOST_ID): BrokerState.SHUTTING_DOWN,
    (BrokerState.PENDING_CONTROLLED_SHUTDOWN, Event.LOST_ID): BrokerState.SHUTTING_DOWN,
    (BrokerState.SHUTTING_DOWN, Event.LOGS_CLOSED): BrokerState.NOT_RUNNING,
}


def next_state(state: BrokerState, event: Event) -> BrokerState:
    """The state after an event; the same one where the event means nothing."""
    return NEXT_STATE.get((state, event), state)
