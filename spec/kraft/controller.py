"""What the active controller decides: registrations, heartbeats, leases, fencing, and changes of the ISR.

A decision is one step: it takes one request off the network, changes the state and sends the reply. Its
records commit at once, so a reply never waits. The checks stand in the order in which Kafka makes them.
Leaves out: failover and what is speculative until committed; controlled shutdown; unregistering; the cluster
id and feature levels of a registration (nothing here could refuse them).
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import MemberOf, action, fresh, require, require_some
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, AlterIsrReply, Heartbeat, HeartbeatReply, Register, RegisterReply
from spec.kraft.partition import replayed, with_unfenced, without
from spec.kraft.state import (
    BrokerProcess,
    Cluster,
    Controller,
    Registration,
    active_brokers,
    is_active,
    is_silent,
    proposed_isr,
)
from spec.kraft.types import Broker, BrokerEpoch, BrokerState, Error, PartitionEpoch, RecordStatus, node_id

SentRegister = Annotated[Register, MemberOf("lifecycle")]
SentHeartbeat = Annotated[Heartbeat, MemberOf("lifecycle")]
SentAlterIsr = Annotated[AlterIsr, MemberOf("alterations")]


# Registration.


def has_valid_session(controller: Controller, broker: Broker) -> bool:
    """The id is held by a broker whose lease has not run out. A fenced holder has no session."""
    return is_active(controller, broker) and broker not in controller.lapsed


@action(
    who="active controller",
    source="KIP-631, Broker Registration; Handling Broker ID Conflicts",
    kafka="ClusterControlManager.registerBroker",
    deviates="a fenced holder does not block the id, as in Kafka; the draft counts any contact, 'even if fenced'",
    api="BrokerRegistration v0",
)
def handle_registration(s: Cluster, request: SentRegister) -> None:
    """The controller registers an incarnation under its broker id, fenced and with a new broker epoch, or refuses."""
    require(isinstance(request, Register))
    broker = node_id(request.sender)
    sender = s.processes[request.sender]
    waits = sender.incarnation == request.incarnation and not request.late
    existing = s.controller.registrations[broker]
    repeated = existing is not None and existing.incarnation == request.incarnation
    if not repeated and has_valid_session(s.controller, broker):
        if waits:
            sender.reply = RegisterReply(Error.DUPLICATE_BROKER_REGISTRATION, None)
    elif repeated and existing is not None and Design.kafka_16952:
        s.controller.lapsed -= {broker}
        if waits:
            sender.reply = RegisterReply(Error.NONE, existing.broker_epoch)
    else:
        epoch = fresh(s, BrokerEpoch)
        s.record = owed_after_registration(s, request)
        if is_active(s.controller, broker) and Design.lapsed_session:
            others = active_brokers(s.controller) - {broker}
            s.controller.partition = without(s, s.controller.partition, broker, others)
        s.controller.registrations[broker] = Registration(request.incarnation, epoch, fenced=True)
        s.controller.lapsed -= {broker}
        if waits:
            sender.reply = RegisterReply(Error.NONE, epoch)
    s.lifecycle = s.lifecycle.remove(request)


def owed_after_registration(s: Cluster, request: Register) -> RecordStatus:
    """What the cluster still owes the producer. This is where acknowledged_record_survives states its exception.

    When the last member of the ISR comes back from a disk without the record, no other replica may lead and
    the record is lost by design, until ELR (KIP-966).
    """
    last = s.controller.partition.isr == {node_id(request.sender)}
    if last and not s.processes[request.sender].has_record and s.record != RecordStatus.UNWRITTEN:
        return RecordStatus.FORFEITED
    return s.record


# Heartbeats and leases.


@action(
    who="active controller",
    source="KIP-631, Broker Leases",
    kafka="ReplicationControlManager.processBrokerHeartbeat, BrokerHeartbeatManager.calculateNextBrokerState",
    deviates="of the replies without an error only those are sent that move a broker: to RUNNING, for it is unfenced",
    api="BrokerHeartbeat v0",
)
def handle_heartbeat(s: Cluster, request: SentHeartbeat) -> None:
    """The controller renews a lease, and fences or unfences the broker as it wishes and as its image allows."""
    require(isinstance(request, Heartbeat))
    broker = node_id(request.sender)
    sender = s.processes[request.sender]
    waits = sender.broker_epoch == request.broker_epoch and not request.late
    registration = s.controller.registrations[broker]
    if registration is None or registration.broker_epoch != request.broker_epoch:
        if waits:
            sender.reply = HeartbeatReply(Error.STALE_BROKER_EPOCH, is_fenced=True)
    else:
        fenced = request.want_fence or (registration.fenced and not request.caught_up)
        if registration.fenced and not fenced:
            s.controller.partition = with_unfenced(s, broker)
        if not registration.fenced and fenced:
            others = active_brokers(s.controller) - {broker}
            s.controller.partition = without(s, s.controller.partition, broker, others)
        registration.fenced = fenced
        s.controller.lapsed -= {broker}
        if waits and sender.state == BrokerState.RECOVERY and not fenced:
            sender.reply = HeartbeatReply(Error.NONE, is_fenced=False)
    s.lifecycle = s.lifecycle.remove(request)


@action(
    who="active controller",
    source="KIP-631, Broker Leases",
    kafka="BrokerHeartbeatManager.hasValidSession",
)
def expire_lease(s: Cluster, broker: Broker) -> None:
    """The lease of a broker runs out that no longer sends heartbeats."""
    require(has_valid_session(s.controller, broker))
    require(is_silent(s, broker))
    s.controller.lapsed |= {broker}


@action(
    who="active controller",
    source="KIP-631, Broker Leases",
    kafka="ReplicationControlManager.maybeFenceReplicas",
)
def fence_lapsed(s: Cluster, broker: Broker) -> None:
    """The controller fences a broker whose lease ran out."""
    registration = require_some(s.controller.registrations[broker])
    require(broker in s.controller.lapsed)
    others = active_brokers(s.controller) - {broker}
    s.controller.partition = without(s, s.controller.partition, broker, others)
    registration.fenced = True
    s.controller.lapsed -= {broker}


@action(
    who="active controller",
    source="KIP-631, Broker Leases",
    kafka="ReplicationControlManager.maybeFenceReplicas",
    deviates="since KAFKA-13173 Kafka fences one broker in a decision; as a design, several in one decision must do",
)
def fence_two_lapsed(s: Cluster, first: Broker, second: Broker) -> None:
    """The controller fences two brokers whose leases ran out, in one decision: `first`, then `second`."""
    require(first != second)
    first_registration = require_some(s.controller.registrations[first])
    second_registration = require_some(s.controller.registrations[second])
    require(first in s.controller.lapsed and second in s.controller.lapsed)
    active = active_brokers(s.controller)
    once = without(s, s.controller.partition, first, active - {first})
    if Design.kafka_13173:
        s.controller.partition = without(s, once, second, active - {first, second})
    else:
        again = without(s, s.controller.partition, second, active - {second})
        s.controller.partition = replayed(s.controller.partition, once, again)
    first_registration.fenced = True
    second_registration.fenced = True
    s.controller.lapsed -= {first, second}


# Changes of the ISR.


def alter_isr_error(s: Cluster, request: AlterIsr) -> Error:
    """The first check of an AlterIsr request that fails, in Kafka's order; NONE where all pass.

    With one controller no request is ahead of it, and leaders send none that is malformed: NOT_CONTROLLER
    and INVALID_REQUEST hold their places for the failover to come.
    """
    sender = node_id(request.sender)
    registration = s.controller.registrations[sender]
    partition = s.controller.partition
    if registration is None or registration.broker_epoch != request.broker_epoch:
        return Error.STALE_BROKER_EPOCH
    if request.leader_epoch > partition.leader_epoch or request.partition_epoch > partition.partition_epoch:
        return Error.NOT_CONTROLLER
    if request.leader_epoch < partition.leader_epoch:
        return Error.FENCED_LEADER_EPOCH
    if partition.leader != sender or sender not in request.isr:
        return Error.INVALID_REQUEST
    if request.partition_epoch < partition.partition_epoch:
        return Error.INVALID_UPDATE_VERSION
    if not all(is_eligible(s, request, member) for member in request.isr):
        return Error.INELIGIBLE_REPLICA
    return Error.NONE


def is_eligible(s: Cluster, request: AlterIsr, member: Broker) -> bool:
    """Whether a broker may be in the ISR that the request asks for."""
    registration = s.controller.registrations[member]
    if registration is None:
        return False
    if Design.kip_841 and registration.fenced:
        return False
    is_added = member not in s.controller.partition.isr
    return not (Design.kip_903 and is_added and registration.broker_epoch != request.added_epoch)


@action(
    who="active controller",
    source="KIP-631, Partition Reassignment (AlterIsr); KIP-497; KIP-841; KIP-903",
    kafka="ReplicationControlManager.alterPartition",
    deviates="of the broker epochs in the request only the added member's is checked: members of the ISR at the same "
    "partition epoch have not registered anew since, for registering takes them out",
    api="AlterPartition v3",
)
def handle_alter_isr(s: Cluster, request: SentAlterIsr) -> None:
    """The controller checks a change of the ISR that a leader asks for, and makes it or refuses."""
    require(isinstance(request, AlterIsr))
    error = alter_isr_error(s, request)
    partition = s.controller.partition
    sender = s.processes[request.sender]
    waits = sender.leader_epoch == request.leader_epoch and not request.late and asks_for(sender, request)
    if error == Error.NONE:
        partition.isr = request.isr
        partition.partition_epoch = fresh(s, PartitionEpoch)
    elif error == Error.INELIGIBLE_REPLICA and Design.refusal_raises_epoch:
        partition.partition_epoch = fresh(s, PartitionEpoch)
    if waits and sender.leadership is not None:
        sender.leadership.reply = AlterIsrReply(error, partition.partition_epoch, partition.isr)
    s.alterations = s.alterations.remove(request)


def asks_for(sender: BrokerProcess, request: AlterIsr) -> bool:
    """The leader still asks for this very change."""
    leadership = sender.leadership
    return (
        leadership is not None
        and leadership.asked is not None
        and leadership.partition_epoch == request.partition_epoch
        and proposed_isr(leadership) == request.isr
    )
