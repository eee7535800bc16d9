"""Decisions of the active controller: registrations, heartbeats, leases, fencing, and changes of the ISR.

A decision is one step: it takes one request off the network, changes the image, writes the records to the log and
gives the reply, which may have to wait for them (see `log`; with one controller they commit at once). The checks
stand in the order in which Kafka makes them.
Leaves out: the cluster id and feature levels of a registration (nothing here could refuse them).
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Map, MemberOf, Option, action, fresh, replace, require, require_some
from spec.kraft.actions.shutdown import (
    BrokerControlState,
    next_broker_state,
    reaches_registration,
    with_reports,
    with_shutdown,
)
from spec.kraft.decisions.log import appended, can_decide, deferred, with_empty_batch
from spec.kraft.decisions.membership import (
    both_replayed,
    broker_fenced,
    broker_fenced_again,
    broker_in_controlled_shutdown,
    broker_unfenced,
    partitions_without_broker,
    with_registration,
)
from spec.kraft.decisions.partition import (
    build_change,
    replica_set,
)
from spec.kraft.design import Design
from spec.kraft.messages import (
    AlterIsr,
    AlterIsrReply,
    Heartbeat,
    HeartbeatReply,
    LifecycleReply,
    Register,
    RegisterReply,
)
from spec.kraft.metadata import (
    Log,
    Metadata,
    Partition,
    Registration,
    active_brokers,
    broker_epoch_of,
    is_unfenced,
    with_partition,
)
from spec.kraft.processes import BrokerProcess, Replica, proposed_isr
from spec.kraft.state import Cluster, Controller, Shutdown, is_silent
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    BrokerState,
    Error,
    Incarnation,
    MetadataOffset,
    PartitionEpoch,
    RecordStatus,
    Role,
    TopicPartition,
    Voter,
    node_id,
)

SentRegister = Annotated[Register, MemberOf("lifecycle")]
SentHeartbeat = Annotated[Heartbeat, MemberOf("lifecycle")]
SentAlterIsr = Annotated[AlterIsr, MemberOf("alterations")]


# Registration.


def has_valid_session(controller: Controller, broker: Broker) -> bool:
    """The id is held by a broker whose lease has not run out. A fenced holder has no session, or one like any other."""
    registration = controller.image.registrations[broker]
    if registration is None or (registration.fenced and Design.fenced_holder_yields):
        return False
    return broker not in controller.expired_leases


@action(
    who="controller {voter}",
    source="KIP-631, Broker Registration; Handling Broker ID Conflicts",
    kafka="ClusterControlManager.registerBroker",
    api="BrokerRegistration v0",
)
def handle_registration(s: Cluster, voter: Voter, request: SentRegister) -> None:
    """The controller registers an incarnation under its broker id, fenced and with a new broker epoch, or refuses."""
    require(isinstance(request, Register))
    controller = s.controllers[voter]
    require(request.to == voter and can_decide(controller))
    broker = node_id(request.sender)
    sender = s.processes[request.sender]
    awaits_reply = sender.incarnation == request.incarnation and not request.late
    after = after_registration(s, controller, request)
    if broker_epoch_of(controller.image, broker) != broker_epoch_of(after.image, broker):
        s.produced = Map({p: record_status_after_registration(s, controller.image, p, request) for p in TopicPartition})
    if awaits_reply:
        sender.reply = registration_reply(after.image, broker, request)
        sender.deferral = deferred(after, voter, sender.reply.error)
    s.controllers[voter] = after
    s.lifecycle = s.lifecycle.remove(request)


def after_registration(s: Cluster, controller: Controller, request: Register) -> Controller:
    """The controller once it has decided on a registration."""
    broker = node_id(request.sender)
    existing = controller.image.registrations[broker]
    repeated = existing is not None and existing.incarnation == request.incarnation
    if not repeated and has_valid_session(controller, broker):
        return replace(controller)
    if repeated and existing is not None and Design.kafka_16952:
        after = with_registration_again(s, controller, broker, existing)
    else:
        after = with_new_registration(s, controller, broker, request.incarnation)
    return replace(after, checks_leases=True, log=appended(after, controller.image))


def with_registration_again(s: Cluster, controller: Controller, broker: Broker, existing: Registration) -> Controller:
    """The controller once it has registered an incarnation that is registered already."""
    leases, shutdowns, image = controller.expired_leases, controller.shutdowns, controller.image
    kept = shutdowns if Design.repeated_registration_keeps_shutdown else with_shutdown(shutdowns, broker, None)
    return replace(
        controller,
        image=image if Design.repeated_registration_is_known else with_amended(s, image, broker, existing),
        expired_leases=leases - {broker} if Design.repeated_registration_renews else leases,
        shutdowns=kept if Design.registration_keeps_report else with_reports(kept, broker, None),
    )


def with_amended(s: Cluster, image: Metadata, broker: Broker, existing: Registration) -> Metadata:
    """The image once a registration is written again."""
    offset = fresh(s, MetadataOffset)
    amended = replace(existing, amended=(offset,))
    return replace(image, registrations=with_registration(image, broker, amended), offset=offset)


def with_new_registration(s: Cluster, controller: Controller, broker: Broker, incarnation: Incarnation) -> Controller:
    """The controller once it has registered an incarnation, fenced, in the place of whoever held the id."""
    leases, image = controller.expired_leases, controller.image
    starts_lease = Design.fenced_holder_yields or Design.registration_starts_lease
    others = active_brokers(image) - {broker}
    leaves = is_unfenced(image, broker) and Design.expired_session
    registration = Registration(incarnation, fresh(s, BrokerEpoch), True, False, ())
    return replace(
        controller,
        image=replace(
            image,
            registrations=with_registration(image, broker, registration),
            partitions=partitions_without_broker(s, image, broker, others) if leaves else image.partitions,
        ),
        expired_leases=leases - {broker} if starts_lease else leases | {broker},
        shutdowns=with_shutdown(controller.shutdowns, broker, None),
    )


def registration_reply(image: Metadata, broker: Broker, request: Register) -> RegisterReply:
    """The reply to a registration, by the image after the decision: who holds the id."""
    held = image.registrations[broker]
    if held is None or held.incarnation != request.incarnation:
        return RegisterReply(Error.DUPLICATE_BROKER_REGISTRATION, None)
    return RegisterReply(Error.NONE, held.broker_epoch)


def record_status_after_registration(
    s: Cluster, before: Metadata, p: TopicPartition, request: Register
) -> RecordStatus:
    """The debt of the cluster to the producer. This is where acknowledged_record_survives states its exception.

    When the last member of the ISR, as the controller has it, comes back from a disk without the record, no other
    replica may lead and the record is lost by design, until ELR (KIP-966).
    """
    partition = before.partitions[p]
    last = partition is not None and partition.isr == {node_id(request.sender)}
    if last and not s.processes[request.sender].replicas[p].has_record and s.produced[p] != RecordStatus.UNWRITTEN:
        return RecordStatus.FORFEITED
    return s.produced[p]


# Heartbeats and leases.


@action(
    who="controller {voter}",
    source="KIP-631, Broker Leases",
    kafka="ReplicationControlManager.processBrokerHeartbeat, BrokerHeartbeatManager.calculateNextBrokerState",
    deviates="of the replies without an error only those are sent that move a broker: to RUNNING, for it is unfenced, "
    "or to SHUTTING_DOWN",
    api="BrokerHeartbeat v0",
)
def handle_heartbeat(s: Cluster, voter: Voter, request: SentHeartbeat) -> None:
    """The controller renews a lease, and fences, unfences or shuts down the broker as it wishes and may."""
    require(isinstance(request, Heartbeat))
    controller = s.controllers[voter]
    require(request.to == voter and can_decide(controller))
    broker = node_id(request.sender)
    sender = s.processes[request.sender]
    awaits_reply = sender.broker_epoch == request.broker_epoch and not request.late
    registration = controller.image.registrations[broker]
    after = after_heartbeat(s, controller, request)
    if awaits_reply and broker_epoch_of(controller.image, broker) != request.broker_epoch:
        sender.reply = HeartbeatReply(Error.STALE_BROKER_EPOCH, is_fenced=True, should_shut_down=False)
    elif awaits_reply and registration is not None:
        next_state = next_broker_state(controller, registration, broker, request)
        is_caught_up = reaches_registration(registration, request)
        sender.reply = heartbeat_reply(sender, next_state, not is_unfenced(after.image, broker), is_caught_up)
    if awaits_reply and sender.reply is not None:
        sender.deferral = deferred(after, voter, sender.reply.error)
    s.controllers[voter] = after
    s.lifecycle = s.lifecycle.remove(request)


def after_heartbeat(s: Cluster, controller: Controller, request: Heartbeat) -> Controller:
    """The controller once it has decided on a heartbeat."""
    broker = node_id(request.sender)
    registration = controller.image.registrations[broker]
    if registration is None or registration.broker_epoch != request.broker_epoch:
        return replace(controller)
    heard = replace(
        controller,
        expired_leases=controller.expired_leases - {broker},
        checks_leases=True,
        shutdowns=with_reports(controller.shutdowns, broker, request.applied),
    )
    after = with_broker_in(s, heard, broker, next_broker_state(controller, registration, broker, request))
    return replace(after, log=appended(after, controller.image))


def with_broker_in(s: Cluster, controller: Controller, broker: Broker, state: BrokerControlState) -> Controller:
    """The controller once it has moved a broker to a state."""
    image, shutdowns = controller.image, controller.shutdowns
    if state == BrokerControlState.UNFENCED:
        forgets = not (Design.registration_keeps_report or is_unfenced(image, broker))
        reports = with_reports(shutdowns, broker, None) if forgets else shutdowns
        after = broker_unfenced(s, image, broker)
        return replace(controller, image=after, shutdowns=with_shutdown(reports, broker, None))
    if state == BrokerControlState.CONTROLLED_SHUTDOWN:
        if shutdowns[broker] is not None and Design.kafka_14292:
            return replace(controller)
        return with_shutdown_begun(s, controller, broker)
    is_now = state == BrokerControlState.SHUTDOWN_NOW
    fenced = broker_fenced_again(s, image, broker) if is_now else broker_fenced(s, image, broker)
    is_empty = is_now and not Design.fences_once and fenced == image
    log = with_empty_batch(controller) if is_empty else controller.log
    return replace(controller, image=fenced, shutdowns=with_shutdown(shutdowns, broker, None), log=log)


def with_shutdown_begun(s: Cluster, controller: Controller, broker: Broker) -> Controller:
    """The controller once a broker's controlled shutdown has begun."""
    offset = fresh(s, MetadataOffset)
    return replace(
        controller,
        image=broker_in_controlled_shutdown(s, controller.image, broker, offset),
        shutdowns=with_shutdown(controller.shutdowns, broker, Shutdown(offset, lagging=frozenset(Broker))),
    )


def heartbeat_reply(
    sender: BrokerProcess, state: BrokerControlState, is_fenced: bool, is_caught_up: bool
) -> Option[LifecycleReply]:
    """The reply to a heartbeat of which the sender awaits one. One that moves no broker is not sent."""
    should_shut_down = state == BrokerControlState.SHUTDOWN_NOW
    ends_start = sender.state == BrokerState.STARTING and is_caught_up and not Design.own_image_ends_start
    if should_shut_down or ends_start or (sender.state == BrokerState.RECOVERY and not is_fenced):
        return HeartbeatReply(Error.NONE, is_fenced, should_shut_down)
    return sender.reply


@action(
    who="controller {voter}",
    source="Kafka, REQUEST_TIMED_OUT",
    kafka="QuorumController.processBrokerHeartbeat, ReplicationControlManager.processExpiredBrokerHeartbeat",
    api="BrokerHeartbeat v0",
)
def expire_heartbeat(s: Cluster, voter: Voter, request: SentHeartbeat) -> None:
    """A heartbeat has waited too long to be answered: it counts as contact and as a report, and decides nothing."""
    require(isinstance(request, Heartbeat))
    controller = s.controllers[voter]
    require(request.to == voter and controller.role == Role.ACTIVE)
    broker = node_id(request.sender)
    registration = require_some(controller.image.registrations[broker])
    require(registration.broker_epoch == request.broker_epoch)
    controller.expired_leases -= {broker}
    controller.shutdowns = with_reports(controller.shutdowns, broker, request.applied)
    s.lifecycle = s.lifecycle.remove(request)


@action(
    who="controller {voter}",
    source="KIP-631, Broker Leases",
    kafka="BrokerHeartbeatManager.hasValidSession",
)
def expire_lease(s: Cluster, voter: Voter, broker: Broker) -> None:
    """The lease of a broker runs out that no longer sends heartbeats."""
    controller = s.controllers[voter]
    require(controller.role == Role.ACTIVE)
    require(lease_may_end(controller, broker))
    require(is_silent(s, voter, broker))
    controller.log = log_once_lease_ends(controller, broker)
    controller.expired_leases |= {broker}


def is_fenced_again(controller: Controller, broker: Broker) -> bool:
    """The broker is fenced, and will be once more when its lease ends: at once here, for that changes nothing."""
    return not (Design.fences_once or is_unfenced(controller.image, broker))


def lease_may_end(controller: Controller, broker: Broker) -> bool:
    """The broker has a lease, and the log has room for what is written when that ends."""
    return has_valid_session(controller, broker) and (can_decide(controller) or not is_fenced_again(controller, broker))


def log_once_lease_ends(controller: Controller, broker: Broker) -> Log:
    return with_empty_batch(controller) if is_fenced_again(controller, broker) else controller.log


@action(
    who="controller {voter}",
    source="KIP-631, Broker Leases",
    kafka="ReplicationControlManager.maybeFenceOneStaleBroker",
)
def fence_expired(s: Cluster, voter: Voter, broker: Broker) -> None:
    """The controller fences a broker whose lease ran out."""
    controller = s.controllers[voter]
    require(broker in controller.expired_leases and controller.checks_leases)
    require(can_decide(controller))
    before = replace(controller.image)
    controller.image = broker_fenced(s, before, broker)
    controller.shutdowns[broker] = None
    if Design.fenced_holder_yields:
        controller.expired_leases -= {broker}
    controller.log = appended(controller, before)


@action(
    who="controller {voter}",
    source="KIP-631, Broker Leases",
    kafka="ReplicationControlManager.maybeFenceOneStaleBroker",
    deviates="since KAFKA-13173 Kafka fences one broker in a decision; as a design, several in one decision must do",
)
def fence_two_expired(s: Cluster, voter: Voter, first: Broker, second: Broker) -> None:
    """The controller fences two brokers whose leases ran out, in one decision: `first`, then `second`."""
    require(first != second)
    controller = s.controllers[voter]
    require(first in controller.expired_leases and second in controller.expired_leases and controller.checks_leases)
    require(can_decide(controller))
    before = replace(controller.image)
    once = broker_fenced(s, before, first)
    if Design.kafka_13173:
        controller.image = broker_fenced(s, once, second)
    else:
        controller.image = both_replayed(before, once, broker_fenced(s, before, second))
    controller.shutdowns[first] = None
    controller.shutdowns[second] = None
    if Design.fenced_holder_yields:
        controller.expired_leases -= {first, second}
    controller.log = appended(controller, before)


# Changes of the ISR.


def alter_isr_error(image: Metadata, request: AlterIsr) -> Error:
    """The first check of an AlterIsr request that fails, in Kafka's order; NONE where all pass.

    Leaders send no request that is malformed: INVALID_REQUEST holds its place. Only a controller that was deposed
    can see one that is ahead of it.
    """
    sender = node_id(request.sender)
    registration = image.registrations[sender]
    if registration is None or registration.broker_epoch != request.broker_epoch:
        return Error.STALE_BROKER_EPOCH
    partition = image.partitions[request.partition]
    if partition is None or (Design.kip_516 and image.topic != request.topic):
        return Error.UNKNOWN_TOPIC_ID
    is_ahead = request.leader_epoch > partition.leader_epoch or request.partition_epoch > partition.partition_epoch
    if Design.kafka_14154 and is_ahead:
        return Error.NOT_CONTROLLER
    if request.leader_epoch != partition.leader_epoch:
        return Error.FENCED_LEADER_EPOCH
    if partition.leader != sender:
        return Error.INVALID_REQUEST
    if request.partition_epoch != partition.partition_epoch:
        return Error.INVALID_UPDATE_VERSION
    if sender not in request.isr or not request.isr <= replica_set(partition.replicas):
        return Error.INVALID_REQUEST
    if not all(is_eligible(image, partition, request, member) for member in request.isr):
        return Error.INELIGIBLE_REPLICA
    return Error.NONE


def is_eligible(image: Metadata, partition: Partition, request: AlterIsr, member: Broker) -> bool:
    """True when a broker may be in the ISR that the request asks for."""
    registration = image.registrations[member]
    if registration is None:
        return False
    if Design.kip_841 and (registration.fenced or registration.in_controlled_shutdown):
        return False
    is_added = member not in partition.isr
    return not (Design.kip_903 and is_added and registration.broker_epoch != request.added_epoch)


@action(
    who="controller {voter}",
    source="KIP-631, Partition Reassignment (AlterIsr); KIP-497; KIP-841; KIP-903",
    kafka="ReplicationControlManager.alterPartition",
    deviates="of the broker epochs in the request only the added member's is checked: with `expired_session` a "
    "member of the ISR at the same partition epoch has not registered again since; see docs/decisions/0014",
    api="AlterPartition v3",
)
def handle_alter_isr(s: Cluster, voter: Voter, request: SentAlterIsr) -> None:
    """The controller checks a change of the ISR that a leader asks for, and makes it or refuses."""
    require(isinstance(request, AlterIsr))
    controller = s.controllers[voter]
    require(request.to == voter and can_decide(controller))
    partition = controller.image.partitions[request.partition]
    error = alter_isr_error(controller.image, request)
    sender = s.processes[request.sender].replicas[request.partition]
    awaits_reply = sender.leader_epoch == request.leader_epoch and not request.late and has_pending(sender, request)
    after = after_alter_isr(s, controller, request)
    if awaits_reply and sender.leadership is not None:
        sender.leadership.reply = alter_isr_reply(partition, after.image.partitions[request.partition], request, error)
        sender.deferral = deferred(after, voter, error)
    s.controllers[voter] = after
    s.alterations = s.alterations.remove(request)


def after_alter_isr(s: Cluster, controller: Controller, request: AlterIsr) -> Controller:
    """The controller once it has decided on a change of an ISR."""
    image = controller.image
    partition, error = image.partitions[request.partition], alter_isr_error(image, request)
    changed = partition_after_alter_isr(s, image, partition, request, error)
    after = replace(controller, image=with_partition(image, request.partition, changed))
    return replace(after, log=appended(after, image))


def partition_after_alter_isr(
    s: Cluster, image: Metadata, partition: Option[Partition], request: AlterIsr, error: Error
) -> Option[Partition]:
    """The partition once the request is answered. The change may complete a reassignment, and so take more out.

    A request for the ISR that is there changes nothing (Kafka: PartitionChangeBuilder.build makes no record).
    """
    if partition is None:
        return None
    if error == Error.NONE:
        return build_change(s, partition, replace(partition, isr=request.isr), active_brokers(image))
    if error == Error.INELIGIBLE_REPLICA and Design.refusal_raises_epoch:
        return replace(partition, partition_epoch=fresh(s, PartitionEpoch))
    return replace(partition)


def alter_isr_reply(
    before: Option[Partition], after: Option[Partition], request: AlterIsr, error: Error
) -> AlterIsrReply:
    """The reply: whose change took it out of the lead has to wait for the metadata, although the change is made."""
    if before is None or after is None:
        return AlterIsrReply(error, False, request.partition_epoch, request.isr)
    if error == Error.NONE and after.leader != node_id(request.sender):
        return AlterIsrReply(Error.NEW_LEADER_ELECTED, False, after.partition_epoch, after.isr)
    at_new_leader_epoch = error == Error.NONE and after.leader_epoch != before.leader_epoch
    return AlterIsrReply(error, at_new_leader_epoch, after.partition_epoch, after.isr)


def has_pending(sender: Replica, request: AlterIsr) -> bool:
    """The leader still asks for this very change."""
    leadership = sender.leadership
    return (
        leadership is not None
        and leadership.pending_change is not None
        and sender.topic == request.topic
        and leadership.partition_epoch == request.partition_epoch
        and proposed_isr(leadership) == request.isr
    )


@action(
    who="controller {voter}",
    source="KIP-835 (NoOpRecord); KAFKA-13959",
    kafka="QuorumController.maybeScheduleNextWriteNoOpRecord",
)
def grow_log(s: Cluster, voter: Voter) -> None:
    """The log grows by a record that changes nothing here."""
    s.controllers[voter].image.offset = fresh(s, MetadataOffset)
