"""The broker state machine: the states of a process, how they follow one another, and what it knows in each."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant, witness
from spec.kraft.design import Design
from spec.kraft.messages import HeartbeatReply, RegisterReply
from spec.kraft.metadata import newest_registration
from spec.kraft.processes import BrokerProcess
from spec.kraft.state import Cluster, committed
from spec.kraft.types import BrokerState, Process, Voter


@invariant(source="KIP-631, The Broker State Machine")
def process_fits_its_state(s: Cluster) -> bool:
    """A process that is alive has an incarnation to register or the epoch that it got for it, and wants the fence until
    it has recovered and is registered. Beyond RECOVERY it has applied its own registration. One that is not alive has
    nothing in memory.
    """
    return all(fits_state(s.processes[process]) for process in Process)


def fits_state(broker: BrokerProcess) -> bool:
    is_registered, asks_for_epoch = broker.broker_epoch is not None, broker.incarnation is not None
    if broker.state == BrokerState.NOT_RUNNING:
        knows = broker.caught_up or broker.applied is not None or len(broker.listing) > 0
        knows = knows or broker.controller != Voter(0)
        return not (is_registered or asks_for_epoch or broker.wants_fence or broker.reply is not None or knows)
    if is_registered == asks_for_epoch or (broker.caught_up and not is_registered):
        return False
    if is_registered and isinstance(broker.reply, RegisterReply):
        return False
    if broker.state == BrokerState.STARTING:
        return broker.wants_fence and not (broker.caught_up and Design.own_image_ends_start)
    if broker.state == BrokerState.RECOVERY:
        return broker.wants_fence or is_registered
    return is_registered and broker.caught_up and not broker.wants_fence


@transition_invariant(source="KIP-631, The Broker State Machine")
def process_follows_the_state_machine(before: Cluster, after: Cluster) -> bool:
    """States follow one another as KIP-631 has it, to RUNNING and SHUTTING_DOWN by a reply, which is gone then.

    A process ends after SHUTTING_DOWN, by a crash, or by a SIGTERM before it runs.
    """
    return all(
        after.processes[process].state == BrokerState.NOT_RUNNING
        or follows_the_state_machine(before.processes[process], after.processes[process])
        for process in Process
    ) and all(
        after.processes[process].state != BrokerState.NOT_RUNNING
        or may_end(before, after, before.processes[process].state)
        for process in Process
    )


def may_end(before: Cluster, after: Cluster, state: BrokerState) -> bool:
    if state in (BrokerState.NOT_RUNNING, BrokerState.SHUTTING_DOWN) or before.faults.crashes < after.faults.crashes:
        return True
    return state in (BrokerState.STARTING, BrokerState.RECOVERY) and before.faults.shutdowns < after.faults.shutdowns


def follows_the_state_machine(old: BrokerProcess, new: BrokerProcess) -> bool:
    if old.state == new.state:
        return True
    if new.state == BrokerState.STARTING:
        return old.state == BrokerState.NOT_RUNNING
    if new.state == BrokerState.RECOVERY:
        return old.state == BrokerState.STARTING
    if new.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN:
        return old.state == BrokerState.RUNNING
    reply = old.reply
    if not isinstance(reply, HeartbeatReply) or new.reply is not None:
        return False
    if new.state == BrokerState.RUNNING:
        return old.state == BrokerState.RECOVERY and not reply.is_fenced
    return old.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN and reply.should_shut_down


# Witnesses.


@witness
def broker_not_running(s: Cluster) -> bool:
    """A process does not run."""
    return any(s.processes[process].state == BrokerState.NOT_RUNNING for process in Process)


@witness
def broker_starting(s: Cluster) -> bool:
    """A process is STARTING."""
    return any(s.processes[process].state == BrokerState.STARTING for process in Process)


@witness
def broker_in_recovery(s: Cluster) -> bool:
    """A process is in RECOVERY."""
    return any(s.processes[process].state == BrokerState.RECOVERY for process in Process)


@witness
def broker_runs_again(s: Cluster) -> bool:
    """After a crash, process 0 is RUNNING and was the last to register."""
    return (
        s.faults.crashes > 0
        and s.processes[Process(0)].state == BrokerState.RUNNING
        and s.processes[Process(0)].broker_epoch == newest_registration(committed(s))
    )


@witness
def recovering_before_registered(s: Cluster) -> bool:
    """A process replays the metadata and recovers its log before it is registered."""
    return any(
        s.processes[process].state == BrokerState.RECOVERY and s.processes[process].broker_epoch is None
        for process in Process
    )
