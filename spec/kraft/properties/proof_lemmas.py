"""Invariants that only proofs ask for: what may be assumed of the state before a step.

They say how far a process, and what is under way from it, may be behind the controller, so that a proof starts from
no state that is never reached. They are proved together with what they help to prove: the lemmas of service carry S1,
those of registration `unfenced_broker_is_ready` and the states of a process, those of leadership the maximal ISR
(S12) and the replies to AlterIsr.
"""

from __future__ import annotations

from checker.lang import Option, invariant
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, Heartbeat, HeartbeatReply, RegisterReply
from spec.kraft.metadata import Metadata, Partition
from spec.kraft.processes import BrokerProcess, Leadership, disk, is_alive, proposed_isr, stopped
from spec.kraft.properties.leadership import is_remembered
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, BrokerState, Error, Process, TopicPartition, node_id

# Processes.


@invariant(source="KIP-631, The Broker State Machine")
def registers_before_it_leads(s: Cluster) -> bool:
    """A process that is yet to learn its broker epoch leads nothing, and only such a process waits for one.

    One that does not run has nothing in memory.
    """
    return all(is_in_order(s.processes[process]) for process in Process)


def is_in_order(process: BrokerProcess) -> bool:
    if not is_alive(process):
        return process == stopped(disk(process))
    if process.incarnation is None:
        return not isinstance(process.reply, RegisterReply)
    return process.broker_epoch is None and not any(process.replicas[p].leadership is not None for p in TopicPartition)


@invariant(source="KIP-631, The Broker State Machine")
def no_shutdown_without_request(s: Cluster) -> bool:
    """Where no broker is ever asked to shut down, none is shutting down, nor asks to, nor is taken to."""
    return Design.max_shutdowns > 0 or (
        all(controller.shutdowns[broker] is None for controller in s.controllers.values() for broker in Broker)
        and not any(is_shutting_down(committed(s), broker) for broker in Broker)
        and not any(isinstance(m, Heartbeat) and m.want_shut_down for m in s.lifecycle)
        and not any(is_asked_to_stop(s.processes[process]) for process in Process)
    )


@invariant(source="KIP-631, TopicRecord")
def topic_stays(s: Cluster) -> bool:
    """Where no topic is ever created or deleted, the one there is stays, and every replica is of it."""
    image = committed(s)
    return Design.max_topics > 0 or (
        image.topic is not None
        and all(image.partitions[p] is not None for p in TopicPartition)
        and all(s.processes[process].replicas[p].topic == image.topic for process in Process for p in TopicPartition)
    )


def is_asked_to_stop(process: BrokerProcess) -> bool:
    return process.state not in (
        BrokerState.NOT_RUNNING, BrokerState.STARTING, BrokerState.RECOVERY, BrokerState.RUNNING,
    )  # fmt: skip


def is_shutting_down(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and registration.in_controlled_shutdown


# Service.


@invariant(source="KIP-631, PartitionRecord, LeaderEpoch (S1)")
def service_is_of_a_registration(s: Cluster) -> bool:
    """No leader is ahead of the newest leader epoch that was served, and that is not ahead of the controller's."""
    return all(served_is_committed(s, p) for p in TopicPartition) and all(
        is_remembered(s, process, p) for process in Process for p in TopicPartition
    )


def served_is_committed(s: Cluster, p: TopicPartition) -> bool:
    served, partition = s.last_service[p], committed(s).partitions[p]
    return served is None or (partition is not None and served.leader_epoch <= partition.leader_epoch)


# Registration.


@invariant(source="KIP-631, Broker Registration")
def incarnations_differ(s: Cluster) -> bool:
    """No two processes are the same incarnation, and no two of one id hold the registration."""
    return all(
        one == other
        or (
            (s.processes[one].incarnation is None or s.processes[one].incarnation != s.processes[other].incarnation)
            and not (holds_registration(s, one) and holds_registration(s, other) and node_id(one) == node_id(other))
        )
        for one in Process
        for other in Process
    )


def holds_registration(s: Cluster, process: Process) -> bool:
    """A process knows the broker epoch at which its id is registered."""
    registration = committed(s).registrations[node_id(process)]
    epoch = s.processes[process].broker_epoch
    return registration is not None and epoch is not None and epoch == registration.broker_epoch


@invariant(source="KIP-631, Broker Registration")
def unheard_registration_is_unused(s: Cluster) -> bool:
    """While a process has not heard of its registration, its id is fenced and nobody acts at that broker epoch."""
    return all(is_unused_if_unheard(s, process) for process in Process)


def is_unused_if_unheard(s: Cluster, process: Process) -> bool:
    registration = committed(s).registrations[node_id(process)]
    incarnation = s.processes[process].incarnation
    if registration is None or incarnation is None or registration.incarnation != incarnation:
        return True
    return (
        registration.fenced
        and not any(node_id(other) == node_id(process) and holds_registration(s, other) for other in Process)
        and not any(
            isinstance(m, Heartbeat) and node_id(m.sender) == node_id(process) and is_current(s, m) for m in s.lifecycle
        )
    )


def is_current(s: Cluster, heartbeat: Heartbeat) -> bool:
    """A heartbeat is at the broker epoch at which its sender's id is registered."""
    registration = committed(s).registrations[node_id(heartbeat.sender)]
    return registration is not None and registration.broker_epoch == heartbeat.broker_epoch


@invariant(source="KIP-631, Broker Registration")
def reply_is_to_its_incarnation(s: Cluster) -> bool:
    """A broker epoch that is under way to a process, and still in force, is that of the process's own incarnation."""
    return all(is_to_its_incarnation(s, process) for process in Process)


def is_to_its_incarnation(s: Cluster, process: Process) -> bool:
    registration = committed(s).registrations[node_id(process)]
    reply = s.processes[process].reply
    if not isinstance(reply, RegisterReply) or registration is None:
        return True
    return (
        reply.broker_epoch is None
        or reply.broker_epoch != registration.broker_epoch
        or s.processes[process].incarnation == registration.incarnation
    )


@invariant(source="KIP-631, Broker Registration")
def reply_brings_an_unused_epoch(s: Cluster) -> bool:
    """A reply that says that a process is registered has the epoch, and no heartbeat was sent at it yet."""
    return all(brings_an_unused_epoch(s, process) for process in Process)


def brings_an_unused_epoch(s: Cluster, process: Process) -> bool:
    reply = s.processes[process].reply
    if not isinstance(reply, RegisterReply) or reply.error != Error.NONE:
        return True
    return reply.broker_epoch is not None and not any(
        isinstance(m, Heartbeat) and m.sender == process and m.broker_epoch == reply.broker_epoch for m in s.lifecycle
    )


@invariant(source="KIP-631, Broker Leases")
def heartbeat_is_truthful(s: Cluster) -> bool:
    """A heartbeat at the broker epoch in force is of the process that holds it, which is as far as it says."""
    return all(is_truthful(s, process, m) for process in Process for m in s.lifecycle if isinstance(m, Heartbeat))


def is_truthful(s: Cluster, process: Process, heartbeat: Heartbeat) -> bool:
    if node_id(process) != node_id(heartbeat.sender) or not is_current(s, heartbeat):
        return True
    if not holds_registration(s, process):
        return True
    holder = s.processes[process]
    return (
        process == heartbeat.sender
        and (heartbeat.want_fence or not holder.wants_fence)
        and (holder.caught_up or not heartbeat.caught_up)
    )


@invariant(source="KIP-631, Broker Leases")
def unfenced_reply_is_to_a_ready_process(s: Cluster) -> bool:
    """A process that is about to hear that it is unfenced has recovered, and has applied its own registration."""
    return all(is_ready_if_replied_unfenced(s.processes[process]) for process in Process)


def is_ready_if_replied_unfenced(process: BrokerProcess) -> bool:
    reply = process.reply
    if not isinstance(reply, HeartbeatReply) or reply.is_fenced:
        return True
    return process.caught_up and not process.wants_fence


# The partition, and what its leader knows of it.


@invariant(source="KIP-631, PartitionRecord")
def every_broker_is_a_replica(s: Cluster) -> bool:
    """Each partition has every broker as a replica, so that whoever is in the ISR may be elected."""
    return all(has_every_broker(committed(s).partitions[p]) for p in TopicPartition)


def has_every_broker(partition: Option[Partition]) -> bool:
    return partition is None or all(broker in partition.replicas for broker in Broker)


def leads_at_current_epoch(s: Cluster, process: Process, p: TopicPartition) -> bool:
    """A process leads at the controller's leader epoch."""
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    return partition is not None and replica.leadership is not None and replica.leader_epoch == partition.leader_epoch


@invariant(source="KIP-631, PartitionRecord, LeaderEpoch")
def leader_serves_until_deposed(s: Cluster) -> bool:
    """A process that leads at the newest leader epoch is its leader, and once the epoch was served the leader leads."""
    return all(serves_until_deposed(s, process, p) for process in Process for p in TopicPartition)


def serves_until_deposed(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, served = committed(s).partitions[p], s.last_service[p]
    if partition is None:
        return True
    is_leader = partition.leader == node_id(process) and holds_registration(s, process)
    if leads_at_current_epoch(s, process, p):
        return is_leader
    return served is None or served.leader_epoch != partition.leader_epoch or not is_leader


@invariant(source="Kafka, Partition.makeLeader; KIP-497")
def leader_stays_in_its_isr(s: Cluster) -> bool:
    """A leader is in the ISR that it knows, asks for others to join or leave, and hears of a success as news."""
    return all(node_id(m.sender) in m.isr for m in s.alterations) and all(
        stays_in_its_isr(node_id(process), s.processes[process].replicas[p].leadership)
        for process in Process
        for p in TopicPartition
    )


def stays_in_its_isr(leader: Broker, leadership: Option[Leadership]) -> bool:
    if leadership is None:
        return True
    reply = leadership.reply
    is_news = (
        reply is None
        or reply.error != Error.NONE
        or (leader in reply.isr and leadership.partition_epoch < reply.partition_epoch)
    )
    return leader in leadership.isr and leader in proposed_isr(leadership) and is_news


@invariant(source="KIP-497; Kafka, Partition.makeLeader")
def pending_change_is_a_change(s: Cluster) -> bool:
    """A leader asks only for a broker outside the ISR that it knows to join, or for a member to leave.

    Where a known record settles nothing, it does not note that it is ahead of its image.
    """
    return all(
        asks_for_a_change(s.processes[process].replicas[p].leadership) for process in Process for p in TopicPartition
    )


def asks_for_a_change(leadership: Option[Leadership]) -> bool:
    if leadership is None:
        return True
    change = leadership.pending_change
    changes = change is None or (change.member in leadership.isr) == (change.epoch is None)
    return changes and not (leadership.is_ahead and Design.known_record_settles_nothing)


@invariant(source="KIP-497")
def leader_lags_by_its_pending_change(s: Cluster) -> bool:
    """Between the committed partition and what its leader knows of it stand only what it asked for, and fencing."""
    return all(lags_by_its_pending_change(s, process, p) for process in Process for p in TopicPartition)


def lags_by_its_pending_change(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, leadership = committed(s).partitions[p], s.processes[process].replicas[p].leadership
    if partition is None or leadership is None or not leads_at_current_epoch(s, process, p):
        return True
    knows_it = leadership.partition_epoch == partition.partition_epoch and leadership.isr == partition.isr
    return (knows_it or leadership.partition_epoch < partition.partition_epoch) and reply_is_true(partition, leadership)


def reply_is_true(partition: Partition, leadership: Leadership) -> bool:
    reply = leadership.reply
    if reply is None:
        return True
    if reply.error == Error.NONE:
        is_last = reply.partition_epoch == partition.partition_epoch and reply.isr == partition.isr
        return partition.isr <= reply.isr and (is_last or reply.partition_epoch < partition.partition_epoch)
    return reply.error != Error.INELIGIBLE_REPLICA or partition.isr <= leadership.isr


@invariant(source="KIP-497")
def open_request_is_for_the_pending_change(s: Cluster) -> bool:
    """An AlterIsr request that may still commit is one that its leader, if it still leads, waits for."""
    return all(
        was_sent_by_a_leader(s, m) and all(is_for_the_change_of(s, process, m) for process in Process)
        for m in s.alterations
    )


def was_sent_by_a_leader(s: Cluster, request: AlterIsr) -> bool:
    served = s.last_service[request.partition]
    return served is not None and request.leader_epoch <= served.leader_epoch


def is_for_the_change_of(s: Cluster, process: Process, request: AlterIsr) -> bool:
    partition = committed(s).partitions[request.partition]
    leadership = s.processes[process].replicas[request.partition].leadership
    if partition is None or leadership is None or not leads_at_current_epoch(s, process, request.partition):
        return True
    is_open = request.leader_epoch == partition.leader_epoch and request.partition_epoch == partition.partition_epoch
    return not is_open or (
        leadership.pending_change is not None
        and leadership.partition_epoch == request.partition_epoch
        and leadership.pending_change.epoch == request.added_epoch
        and proposed_isr(leadership) == request.isr
        and (leadership.reply is None or leadership.reply.error not in (Error.NONE, Error.INELIGIBLE_REPLICA))
    )


LEMMAS = (
    registers_before_it_leads,
    no_shutdown_without_request,
    topic_stays,
    service_is_of_a_registration,
    incarnations_differ,
    unheard_registration_is_unused,
    reply_is_to_its_incarnation,
    reply_brings_an_unused_epoch,
    heartbeat_is_truthful,
    unfenced_reply_is_to_a_ready_process,
    every_broker_is_a_replica,
    leader_serves_until_deposed,
    leader_stays_in_its_isr,
    pending_change_is_a_change,
    leader_lags_by_its_pending_change,
    open_request_is_for_the_pending_change,
)
