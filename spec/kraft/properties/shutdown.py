"""Controlled shutdown (S8, S8', L3): who is let go, when, and what becomes of its registration."""

from __future__ import annotations

from checker.lang import invariant, leads_to, transition_invariant, witness
from spec.kraft.actions.shutdown import leads_a_partition
from spec.kraft.messages import Heartbeat, HeartbeatReply, Register
from spec.kraft.metadata import active_brokers, is_unfenced
from spec.kraft.processes import BrokerProcess, is_deferred
from spec.kraft.properties.registration import is_handled, is_in_flight, is_registered
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, BrokerState, Process, TopicPartition, Voter, node_id


def is_granted_shutdown(process: BrokerProcess) -> bool:
    """A reply with `should_shut_down` is under way to the process."""
    reply = process.reply
    return isinstance(reply, HeartbeatReply) and reply.should_shut_down and not is_deferred(process.deferral)


def is_exiting(s: Cluster, process: Process) -> bool:
    """A process knows, or is about to hear, that it may shut down. It does not run again: it will be gone."""
    return s.processes[process].state == BrokerState.SHUTTING_DOWN or is_granted_shutdown(s.processes[process])


@invariant(source="KIP-631, Controlled Shutdown (S8)")
def exiting_broker_leads_nothing(s: Cluster) -> bool:
    """A broker that was told to shut down leads nothing in committed state."""
    return all(
        not is_exiting(s, process)
        or not is_registered(s, process)
        or not leads_a_partition(committed(s), node_id(process))
        for process in Process
    )


@invariant(source="KIP-631, Controlled Shutdown; Kafka, BrokerControlState.SHUTDOWN_NOW")
def exiting_broker_stays_fenced(s: Cluster) -> bool:
    """A broker that was told to shut down is fenced, so that nobody is sent to it and it is elected nowhere."""
    return all(
        not is_exiting(s, process) or not is_registered(s, process) or not is_unfenced(committed(s), node_id(process))
        for process in Process
    )


@transition_invariant(source="KIP-631, Controlled Shutdown; Kafka, BrokerHeartbeatResponseHandler")
def shutdown_ends_when_told(before: Cluster, after: Cluster) -> bool:
    """A process in controlled shutdown ends once it is told to, or by a second SIGTERM."""
    return before.faults.shutdowns < after.faults.shutdowns or all(
        before.processes[process].state != BrokerState.PENDING_CONTROLLED_SHUTDOWN
        or after.processes[process].state != BrokerState.SHUTTING_DOWN
        or is_granted_shutdown(before.processes[process])
        for process in Process
    )


@invariant(source="KIP-631, UnregisterBroker; Kafka, BrokerHeartbeatManager.remove")
def shutdown_is_of_a_registered_broker(s: Cluster) -> bool:
    """No controller remembers the shutdown of a broker that is not registered."""
    return all(
        s.controllers[voter].shutdowns[broker] is None or s.controllers[voter].image.registrations[broker] is not None
        for voter in Voter
        for broker in Broker
    )


@transition_invariant(source="KIP-631, Controlled Shutdown; Kafka, BrokerHeartbeatManager.lowestActiveOffset (S8')")
def shutdown_waits_for_images(before: Cluster, after: Cluster) -> bool:
    """When a broker is told to shut down, the image of no active broker still says that it leads.

    This is about the moment when it is told. A broker that is fenced then may be unfenced later with an older image: to
    be unfenced it needs to have applied its own registration only (KAFKA-13959).
    """
    return all(
        is_granted_shutdown(before.processes[process])
        or not is_granted_shutdown(after.processes[process])
        or not is_seen_leading(after, node_id(process))
        for process in Process
    )


@transition_invariant(source="KIP-631, Controlled Shutdown; Kafka, BrokerRegistration.inControlledShutdown")
def shutdown_ends_with_registration(before: Cluster, after: Cluster) -> bool:
    """A broker that shuts down leaves that state only by registering again.

    At its own request it is fenced only when it may shut down.
    """
    return all(
        stays_in_shutdown(before, after, node_id(process))
        and (not is_fenced_by_wish(before, after, process) or is_granted_shutdown(after.processes[process]))
        for process in Process
    )


def stays_in_shutdown(before: Cluster, after: Cluster, broker: Broker) -> bool:
    old, new = committed(before).registrations[broker], committed(after).registrations[broker]
    if old is None or new is None or old.broker_epoch != new.broker_epoch:
        return True
    return new.in_controlled_shutdown or not old.in_controlled_shutdown


def is_fenced_by_wish(before: Cluster, after: Cluster, process: Process) -> bool:
    """A heartbeat of the process that waits for the reply gets it fenced, and asks for a shutdown."""
    if not is_unfenced(committed(before), node_id(process)) or is_unfenced(committed(after), node_id(process)):
        return False
    return any(
        isinstance(m, Heartbeat)
        and m.sender == process
        and m.want_shut_down
        and is_handled(before, after, m)
        and is_in_flight(before.processes[process], m)
        for m in before.lifecycle
    )


def is_seen_leading(s: Cluster, broker: Broker) -> bool:
    return any(sees_leading(s, process, broker) for process in Process)


def sees_leading(s: Cluster, process: Process, broker: Broker) -> bool:
    """True when a process, the active one of another broker, has an image in which `broker` leads."""
    other = node_id(process)
    if other == broker or other not in active_brokers(committed(s)) or not is_registered(s, process):
        return False
    return any(s.processes[process].replicas[p].image_leader == broker for p in TopicPartition)


@invariant(source="KIP-631, Controlled Shutdown; Kafka, BrokerLifecycleManager.beginControlledShutdown")
def shutdown_ends_heartbeats(s: Cluster) -> bool:
    """A process that was told to shut down sends no more heartbeats."""
    return not any(
        isinstance(m, Heartbeat)
        and is_in_flight(s.processes[m.sender], m)
        and s.processes[m.sender].state == BrokerState.SHUTTING_DOWN
        for m in s.lifecycle
    )


@leads_to(source="KIP-631, Controlled Shutdown; KAFKA-14292 (L3)")
def controlled_shutdown_ends(s: Cluster, process: Process) -> tuple[bool, bool]:
    """A process that asked to shut down is told to, and stops."""
    state = s.processes[process].state
    return state == BrokerState.PENDING_CONTROLLED_SHUTDOWN, state == BrokerState.NOT_RUNNING


# Witnesses.


@witness
def broker_pending_controlled_shutdown(s: Cluster) -> bool:
    """A process is in PENDING_CONTROLLED_SHUTDOWN."""
    return any(s.processes[process].state == BrokerState.PENDING_CONTROLLED_SHUTDOWN for process in Process)


@witness
def broker_shutting_down(s: Cluster) -> bool:
    """A process is SHUTTING_DOWN."""
    return any(s.processes[process].state == BrokerState.SHUTTING_DOWN for process in Process)


@witness
def shutdown_waits_for_an_image(s: Cluster) -> bool:
    """A broker in controlled shutdown leads nothing, and waits for an active broker that still sees it lead."""
    return any(
        s.processes[process].state == BrokerState.PENDING_CONTROLLED_SHUTDOWN
        and not leads_a_partition(committed(s), node_id(process))
        and is_seen_leading(s, node_id(process))
        for process in Process
    )


@witness
def last_isr_member_shuts_down(s: Cluster) -> bool:
    """A process shuts down that is the last member of the ISR: the partition is without a leader until it is back."""
    return any(
        s.processes[process].state == BrokerState.SHUTTING_DOWN and is_last_member(s, node_id(process))
        for process in Process
    )


def is_last_member(s: Cluster, broker: Broker) -> bool:
    return any(has_only(s, broker, p) for p in TopicPartition)


def has_only(s: Cluster, broker: Broker, p: TopicPartition) -> bool:
    partition = committed(s).partitions[p]
    return partition is not None and partition.isr == {broker} and partition.leader is None


@witness
def whole_cluster_back_after_shutdown(s: Cluster) -> bool:
    """After a shutdown every broker is active and in the ISR again."""
    return s.faults.shutdowns > 0 and all(
        active_brokers(committed(s)) == frozenset(Broker) and has_whole_isr(s, p) for p in TopicPartition
    )


def has_whole_isr(s: Cluster, p: TopicPartition) -> bool:
    partition = committed(s).partitions[p]
    return partition is not None and partition.isr == frozenset(Broker)


@witness
def registers_again_while_stopping(s: Cluster) -> bool:
    """A broker registers a second time while the controller lets its shutdown wait for others."""
    return any(
        isinstance(m, Register)
        and s.processes[m.sender].state == BrokerState.PENDING_CONTROLLED_SHUTDOWN
        and s.controllers[m.to].shutdowns[node_id(m.sender)] is not None
        for m in s.lifecycle
    )
