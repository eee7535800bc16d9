"""Properties of registrations, heartbeats and their replies, and of the states that a process reaches by them.

A reply is judged by the states before and after the step that gave it, whatever code wrote it: by what the controller
that answered knew, and by what it knows from then on. `properties_leadership` does so for AlterIsr.
Leaves out: that a reply comes at all, where nothing shows that the request was not lost.
"""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant, witness
from spec.kraft.messages import Heartbeat, HeartbeatReply, LifecycleReply, LifecycleRequest, Register, RegisterReply
from spec.kraft.state import BrokerProcess, Cluster, Controller, is_silent, is_unfenced
from spec.kraft.types import Broker, BrokerState, Error, Process, Role, Voter, node_id

# One request at a time.


def is_awaited(broker: BrokerProcess, request: LifecycleRequest) -> bool:
    """The process that sent the request still waits for its reply."""
    if request.late:
        return False
    if isinstance(request, Register):
        return broker.incarnation == request.incarnation
    return isinstance(request, Heartbeat) and broker.broker_epoch == request.broker_epoch


@invariant(source="Kafka, BrokerLifecycleManager (one request in flight)")
def one_request_at_a_time(s: Cluster) -> bool:
    """A process waits for the reply to one registration or heartbeat at a time."""
    return all(exchanges(s, process) <= 1 for process in Process)


def exchanges(s: Cluster, process: Process) -> int:
    broker = s.processes[process]
    requests = sum(1 for m in s.lifecycle if m.sender == process and is_awaited(broker, m))
    return requests + (0 if broker.reply is None else 1)


# Replies to registrations and heartbeats.


def is_taken(before: Cluster, after: Cluster, request: LifecycleRequest) -> bool:
    """The step took the request off the network."""
    return after.lifecycle.count(request) < before.lifecycle.count(request)


@transition_invariant(source="KIP-631, Broker Registration; Handling Broker ID Conflicts")
def registration_reply_is_true(before: Cluster, after: Cluster) -> bool:
    """A registration is answered to the process that waits, and once: with the epoch at which it is registered now, or
    as a duplicate of an incarnation with a valid session, which keeps the id.
    """
    return all(
        before.processes[process].reply is not None
        or not isinstance(after.processes[process].reply, RegisterReply)
        or any(
            isinstance(m, Register)
            and m.sender == process
            and is_taken(before, after, m)
            and is_awaited(before.processes[process], m)
            and answers_registration(
                before.controllers[m.to], after.controllers[m.to], m, after.processes[process].reply
            )
            for m in before.lifecycle
        )
        for process in Process
    )


def answers_registration(
    before: Controller, after: Controller, request: Register, reply: Option[LifecycleReply]
) -> bool:
    if not isinstance(reply, RegisterReply):
        return False
    broker = node_id(request.sender)
    old, new = before.image.registrations[broker], after.image.registrations[broker]
    if reply.error == Error.NONE:
        return new is not None and new.incarnation == request.incarnation and new.broker_epoch == reply.broker_epoch
    has_session = is_unfenced(before.image, broker) and broker not in before.lapsed
    is_another = old is not None and old.incarnation != request.incarnation
    refused = reply.error == Error.DUPLICATE_BROKER_REGISTRATION and reply.broker_epoch is None
    return refused and has_session and is_another and old == new


@transition_invariant(source="KIP-631, Broker Registration")
def registered_process_gets_reply(before: Cluster, after: Cluster) -> bool:
    """A process that is registered by the request that it waits for gets a reply."""
    return all(
        not isinstance(m, Register)
        or not is_taken(before, after, m)
        or not is_awaited(before.processes[m.sender], m)
        or before.controllers[m.to].image.registrations == after.controllers[m.to].image.registrations
        or after.processes[m.sender].reply is not None
        for m in before.lifecycle
    )


@transition_invariant(source="KIP-631, Broker Leases")
def heartbeat_reply_is_true(before: Cluster, after: Cluster) -> bool:
    """A heartbeat is answered to the process that waits, and once: as stale where its broker epoch is not that of the
    registration, else with what the registration says now. Who may shut down has asked to, is fenced, and is not
    waited for any more.
    """
    return all(
        before.processes[process].reply is not None
        or not isinstance(after.processes[process].reply, HeartbeatReply)
        or any(
            isinstance(m, Heartbeat)
            and m.sender == process
            and is_taken(before, after, m)
            and is_awaited(before.processes[process], m)
            and answers_heartbeat(after.controllers[m.to], m, after.processes[process].reply)
            for m in before.lifecycle
        )
        for process in Process
    )


def answers_heartbeat(controller: Controller, request: Heartbeat, reply: Option[LifecycleReply]) -> bool:
    if not isinstance(reply, HeartbeatReply):
        return False
    registration = controller.image.registrations[node_id(request.sender)]
    if registration is None or registration.broker_epoch != request.broker_epoch:
        return reply.error == Error.STALE_BROKER_EPOCH and reply.is_fenced and not reply.should_shut_down
    if reply.error != Error.NONE or reply.is_fenced != registration.fenced:
        return False
    is_forgotten = controller.shutdowns[node_id(request.sender)] is None
    return not reply.should_shut_down or (request.want_shut_down and registration.fenced and is_forgotten)


@transition_invariant(source="KIP-631, Broker Registration; Broker Leases")
def decision_takes_its_request(before: Cluster, after: Cluster) -> bool:
    """A request is decided about once: an id is registered, and a broker unfenced, with a request of it gone."""
    return all(is_decided_once(before, after, voter, broker) for voter in Voter for broker in Broker)


def is_decided_once(before: Cluster, after: Cluster, voter: Voter, broker: Broker) -> bool:
    old = before.controllers[voter].image.registrations[broker]
    new = after.controllers[voter].image.registrations[broker]
    if not is_active_throughout(before, after, voter) or new is None or old == new:
        return True
    if old is not None and old.broker_epoch == new.broker_epoch and new.fenced:
        return True
    return any(node_id(m.sender) == broker and is_taken(before, after, m) for m in before.lifecycle)


def is_active_throughout(before: Cluster, after: Cluster, voter: Voter) -> bool:
    """A change in the image of an active controller is a decision of its own."""
    return before.controllers[voter].role == Role.ACTIVE and after.controllers[voter].role == Role.ACTIVE


@transition_invariant(source="KIP-631, Broker Leases (S9)")
def lease_runs_out_for_silence(before: Cluster, after: Cluster) -> bool:
    """The lease of a broker runs out because nobody sends heartbeats as this broker, or by a fault."""
    return after.faults.early_expiries > before.faults.early_expiries or all(
        is_silent(before, voter, broker)
        for voter in Voter
        for broker in after.controllers[voter].lapsed - before.controllers[voter].lapsed
    )


# What a process makes of it.


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
        return broker.wants_fence and not broker.caught_up
    if broker.state == BrokerState.RECOVERY:
        return broker.wants_fence or is_registered
    return is_registered and broker.caught_up and not broker.wants_fence


@invariant(source="KIP-631, Controlled Shutdown; Kafka, BrokerLifecycleManager.beginControlledShutdown")
def shutdown_ends_heartbeats(s: Cluster) -> bool:
    """A process that was told to shut down sends no more heartbeats."""
    return not any(
        isinstance(m, Heartbeat)
        and is_awaited(s.processes[m.sender], m)
        and s.processes[m.sender].state == BrokerState.SHUTTING_DOWN
        for m in s.lifecycle
    )


@transition_invariant(source="KIP-631, The Broker State Machine")
def process_moves_as_told(before: Cluster, after: Cluster) -> bool:
    """States follow one another as KIP-631 has it, to RUNNING and SHUTTING_DOWN by a reply, which is gone then.

    A process ends after SHUTTING_DOWN, by a crash, or by a SIGTERM before it runs.
    """
    return all(
        after.processes[process].state == BrokerState.NOT_RUNNING
        or moves_as_told(before.processes[process], after.processes[process])
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


def moves_as_told(old: BrokerProcess, new: BrokerProcess) -> bool:
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


@transition_invariant(source="KIP-631, Broker Leases; Controlled Shutdown (soft state)")
def failover_loses_soft_state(before: Cluster, after: Cluster) -> bool:
    """A new active controller knows of no lease that ran out, and of no shutdown under way."""
    return before.faults.failovers == after.faults.failovers or all(
        len(after.controllers[voter].lapsed) == 0
        and all(after.controllers[voter].shutdowns[broker] is None for broker in Broker)
        for voter in Voter
    )


@witness
def heartbeats_overlap(s: Cluster) -> bool:
    """Two brokers wait for the reply to a heartbeat at once."""
    return sum(1 for m in s.lifecycle if isinstance(m, Heartbeat) and not m.late) > 1


@witness
def recovering_before_registered(s: Cluster) -> bool:
    """A process replays the metadata and recovers its log before it is registered."""
    return any(
        s.processes[process].state == BrokerState.RECOVERY and s.processes[process].broker_epoch is None
        for process in Process
    )


@witness
def late_registration(s: Cluster) -> bool:
    """A registration is under way on a connection that its sender has given up."""
    return any(isinstance(m, Register) and m.late for m in s.lifecycle)


@witness
def newer_heartbeat_overtakes_late_one(s: Cluster) -> bool:
    """Of two heartbeats under way, the one on a connection that was given up does not know yet what the other knows."""
    return any(is_overtaken(s, m) for m in s.lifecycle)


def is_overtaken(s: Cluster, late: LifecycleRequest) -> bool:
    return late.late and any(
        isinstance(late, Heartbeat)
        and isinstance(m, Heartbeat)
        and m.broker_epoch == late.broker_epoch
        and m.caught_up
        and not late.caught_up
        for m in s.lifecycle
    )
