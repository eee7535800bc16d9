"""Heartbeats and leases (S9, L1, L2): who is fenced and unfenced, when, and what is replied.

A reply is judged as in `registration`: by the states before and after the step that gave it.
"""

from __future__ import annotations

from checker.lang import Option, invariant, leads_to, transition_invariant, witness
from spec.kraft.design import Design
from spec.kraft.messages import Heartbeat, HeartbeatReply, LifecycleReply, LifecycleRequest
from spec.kraft.metadata import active_brokers, is_unfenced
from spec.kraft.processes import is_alive
from spec.kraft.properties.registration import holds_id, is_handled, is_in_flight, is_registered
from spec.kraft.state import Cluster, Controller, committed, is_silent
from spec.kraft.types import Broker, Error, Process, Role, Voter, node_id


@transition_invariant(source="KIP-631, Broker Leases (S9)")
def fenced_for_cause(before: Cluster, after: Cluster) -> bool:
    """A broker is fenced because its lease ran out, as it must have for a new incarnation to take its id, or by a
    heartbeat of its own, which wants the fence or ends a controlled shutdown.
    """
    return all(is_fenced_for_cause(before, after, broker) for broker in Broker)


def is_fenced_for_cause(before: Cluster, after: Cluster, broker: Broker) -> bool:
    old, new = committed(before).registrations[broker], committed(after).registrations[broker]
    if old is None or new is None or old.fenced or not new.fenced:
        return True
    return has_expired_lease(before, broker) or any(
        isinstance(m, Heartbeat)
        and m.broker_epoch == old.broker_epoch
        and is_handled(before, after, m)
        and (m.want_fence or m.want_shut_down or old.in_controlled_shutdown)
        for m in before.lifecycle
    )


def has_expired_lease(s: Cluster, broker: Broker) -> bool:
    return any(broker in s.controllers[voter].expired_leases for voter in Voter)


@invariant(source="KIP-631, Broker Leases")
def unfenced_broker_is_ready(s: Cluster) -> bool:
    """A live broker that is unfenced has recovered its log, and its metadata reaches its own registration."""
    return all(is_ready_if_unfenced(s, process) for process in Process)


def is_ready_if_unfenced(s: Cluster, process: Process) -> bool:
    broker = s.processes[process]
    registration = committed(s).registrations[node_id(process)]
    if registration is None or registration.fenced or broker.broker_epoch != registration.broker_epoch:
        return True
    return not broker.wants_fence and broker.caught_up


@invariant(source="Kafka, BrokerHeartbeatManager: sessions are of unfenced brokers")
def expired_lease_is_of_an_unfenced_broker(s: Cluster) -> bool:
    """The controller waits to fence only brokers that are unfenced. Others have no session, or one that was over."""
    return all(
        is_unfenced(s.controllers[voter].image, broker) or not Design.fenced_holder_yields
        for voter in Voter
        for broker in s.controllers[voter].expired_leases
    )


@transition_invariant(source="KIP-631, Broker Leases (L1)")
def active_controller_checks_leases(before: Cluster, after: Cluster) -> bool:
    """A controller that looks for leases that ran out goes on with it until a failover, and each heartbeat of a
    registered incarnation that changes what it has makes it do so.
    """
    return before.faults.failovers < after.faults.failovers or all(
        after.controllers[voter].checks_leases
        or not (before.controllers[voter].checks_leases or renews_a_lease(before, after, voter))
        for voter in Voter
        if after.controllers[voter].role == Role.ACTIVE
    )


def renews_a_lease(before: Cluster, after: Cluster, voter: Voter) -> bool:
    """The heartbeat of an incarnation that is registered changes what the controller has; one that is lost does not."""
    return before.controllers[voter] != after.controllers[voter] and any(
        isinstance(m, Heartbeat)
        and m.to == voter
        and is_handled(before, after, m)
        and holds_id(before.controllers[voter].image, m.sender, m.broker_epoch)
        for m in before.lifecycle
    )


@transition_invariant(source="KIP-631, Broker Leases; Kafka, ReplicationControlManager.maybeFenceOneStaleBroker")
def expired_lease_ends_in_fencing(before: Cluster, after: Cluster) -> bool:
    """That a lease ran out is forgotten once its broker is fenced, is not registered, or was heard of."""
    return any(is_handled(before, after, m) for m in before.lifecycle) or all(
        broker not in before.controllers[voter].expired_leases
        or broker in after.controllers[voter].expired_leases
        or not is_unfenced(after.controllers[voter].image, broker)
        for voter in Voter
        for broker in Broker
        if after.controllers[voter].role == Role.ACTIVE
    )


@transition_invariant(source="KIP-631, Broker Leases")
def heartbeat_renews_lease(before: Cluster, after: Cluster) -> bool:
    """When a heartbeat is answered without an error, the lease of its broker holds."""
    return all(
        not has_expired_lease(after, node_id(process))
        or is_success(before.processes[process].reply)
        or not is_success(after.processes[process].reply)
        for process in Process
    )


def is_success(reply: Option[LifecycleReply]) -> bool:
    return isinstance(reply, HeartbeatReply) and reply.error == Error.NONE


@transition_invariant(source="KIP-631, Broker Leases (S9)")
def lease_runs_out_for_silence(before: Cluster, after: Cluster) -> bool:
    """The lease of a broker runs out because nobody sends heartbeats as this broker, or by a fault."""
    return after.faults.early_expiries > before.faults.early_expiries or all(
        is_silent(before, voter, broker)
        for voter in Voter
        for broker in after.controllers[voter].expired_leases - before.controllers[voter].expired_leases
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
            and is_handled(before, after, m)
            and is_in_flight(before.processes[process], m)
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


# What must eventually happen.


@leads_to(source="KIP-631, Broker Leases (L1)")
def silent_broker_is_fenced(s: Cluster, broker: Broker) -> tuple[bool, bool]:
    """A broker that is unfenced, and of which no process sends any more, is fenced."""
    unfenced = is_unfenced(committed(s), broker)
    return unfenced and all(is_silent(s, voter, broker) for voter in Voter), not unfenced


def is_ready(s: Cluster, process: Process) -> bool:
    """A process has recovered, and its id is registered to it: nothing but the controller keeps it from serving."""
    broker = s.processes[process]
    return is_alive(broker) and not broker.wants_fence and is_registered(s, process)


@leads_to(source="KIP-631, Broker Leases; KAFKA-13959 (L2)")
def ready_broker_is_unfenced(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that is ready and keeps its registration is unfenced, although the log keeps growing."""
    ready = is_ready(s, process)
    return ready, not ready or is_unfenced(committed(s), node_id(process))


# Witnesses.


@witness
def stale_heartbeat_refused(s: Cluster) -> bool:
    """A heartbeat with an old broker epoch gets STALE_BROKER_EPOCH."""
    return any(is_stale(s.processes[process].reply) for process in Process)


def is_stale(reply: Option[LifecycleReply]) -> bool:
    return isinstance(reply, HeartbeatReply) and reply.error == Error.STALE_BROKER_EPOCH


@witness
def heartbeats_overlap(s: Cluster) -> bool:
    """Two brokers wait for the reply to a heartbeat at once."""
    return sum(1 for m in s.lifecycle if isinstance(m, Heartbeat) and not m.late) > 1


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


@witness
def log_has_grown(s: Cluster) -> bool:
    """The log has grown by records that change nothing: what is compared with its end runs after it."""
    return committed(s).offset is not None


@witness
def all_unfenced_after_early_expiry(s: Cluster) -> bool:
    """A lease has run out early, nobody has crashed, and all brokers are active: who was fenced is unfenced again."""
    return s.faults.early_expiries > 0 and s.faults.crashes == 0 and active_brokers(committed(s)) == frozenset(Broker)
