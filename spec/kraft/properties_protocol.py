"""What requests and replies mean, and what a process may make of them.

A reply is judged by the states before and after the step that gave it, whatever code wrote it: by what the controller
that answered knew, and by what it knows from then on. The rest are the postconditions of Kafka's broker side: the
state machine of KIP-631, and what a leader remembers within its leader epoch.
Leaves out: that a reply comes at all, where nothing shows that the request was not lost.
"""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant, witness
from spec.kraft.messages import (
    AlterIsr,
    AlterIsrReply,
    Heartbeat,
    HeartbeatReply,
    LifecycleReply,
    LifecycleRequest,
    Register,
    RegisterReply,
)
from spec.kraft.partition import everyone
from spec.kraft.properties import is_at_epoch
from spec.kraft.state import (
    BrokerProcess,
    Cluster,
    Controller,
    Leadership,
    Partition,
    Replica,
    active_brokers,
    committed,
    is_active,
    is_answered,
    is_deferred,
    is_silent,
    is_unfenced,
)
from spec.kraft.types import Broker, BrokerState, Error, Process, RecordStatus, Role, TopicPartition, Voter, node_id

# One request at a time.


def is_awaited(broker: BrokerProcess, request: LifecycleRequest) -> bool:
    """The process that sent the request still waits for its reply."""
    if request.late:
        return False
    if isinstance(request, Register):
        return broker.incarnation == request.incarnation
    return isinstance(request, Heartbeat) and broker.broker_epoch == request.broker_epoch


@invariant(source="Kafka, BrokerLifecycleManager; AlterPartitionManager (one request in flight)")
def one_request_at_a_time(s: Cluster) -> bool:
    """A process waits for one registration or heartbeat at a time, and a leader for one AlterIsr of a partition."""
    return all(
        exchanges(s, process) <= 1 and all(alter_exchanges(s, process, p) <= 1 for p in TopicPartition)
        for process in Process
    )


def exchanges(s: Cluster, process: Process) -> int:
    broker = s.processes[process]
    requests = sum(1 for m in s.lifecycle if m.sender == process and is_awaited(broker, m))
    return requests + (0 if broker.reply is None else 1)


def alter_exchanges(s: Cluster, process: Process, p: TopicPartition) -> int:
    replica = s.processes[process].replicas[p]
    requests = sum(1 for m in s.alterations if m.sender == process and m.partition == p and asks(replica, m))
    return requests + (1 if is_answered(replica) else 0)


def asks(replica: Replica, request: AlterIsr) -> bool:
    """The leader that sent the request still leads at its epoch."""
    return not request.late and replica.leadership is not None and replica.leader_epoch == request.leader_epoch


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
def registered_process_is_told(before: Cluster, after: Cluster) -> bool:
    """Who is registered by the request that it waits for gets a reply."""
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
    """What changes in the image of an active controller is what it decides."""
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
    it has recovered and is registered. Beyond RECOVERY it has applied its own registration.
    """
    return all(fits_state(s.processes[process]) for process in Process)


def fits_state(broker: BrokerProcess) -> bool:
    is_registered, asks_for_epoch = broker.broker_epoch is not None, broker.incarnation is not None
    if broker.state == BrokerState.NOT_RUNNING:
        return not (is_registered or asks_for_epoch or broker.wants_fence or broker.reply is not None)
    if is_registered == asks_for_epoch or (broker.caught_up and not is_registered):
        return False
    if is_registered and isinstance(broker.reply, RegisterReply):
        return False
    if broker.state == BrokerState.STARTING:
        return broker.wants_fence and not broker.caught_up
    if broker.state == BrokerState.RECOVERY:
        return broker.wants_fence or is_registered
    return is_registered and broker.caught_up and not broker.wants_fence


@transition_invariant(source="KIP-631, The Broker State Machine")
def process_moves_as_told(before: Cluster, after: Cluster) -> bool:
    """States follow one another as KIP-631 has it, to RUNNING and SHUTTING_DOWN by a reply, which is gone then. A process
    ends after SHUTTING_DOWN, by a crash, or by a SIGTERM before it runs.
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


# AlterIsr.


@transition_invariant(source="KIP-497; KIP-841; KIP-903; Kafka, Errors")
def alter_isr_reply_is_true(before: Cluster, after: Cluster) -> bool:
    """An AlterIsr is answered once, to the leader that sent it and leads on: with the ISR as it is now, or with an error
    that is the case.
    """
    return all(
        not gets_reply(before.processes[process].replicas[p], after.processes[process].replicas[p])
        or any(
            m.sender == process
            and m.partition == p
            and after.alterations.count(m) < before.alterations.count(m)
            and asks(before.processes[process].replicas[p], m)
            and answers_alter_isr(
                before.controllers[m.to], after.controllers[m.to], m, after.processes[process].replicas[p].leadership
            )
            for m in before.alterations
        )
        for process in Process
        for p in TopicPartition
    )


def gets_reply(old: Replica, new: Replica) -> bool:
    return is_answered(new) and not is_answered(old)


def answers_alter_isr(
    before: Controller, after: Controller, request: AlterIsr, leadership: Option[Leadership]
) -> bool:
    """What each error says, as far as one request can get it: no leader sends one that is malformed."""
    if leadership is None or leadership.reply is None:
        return False
    reply, sender = leadership.reply, node_id(request.sender)
    registration = before.image.registrations[sender]
    if reply.error == Error.STALE_BROKER_EPOCH:
        return registration is None or registration.broker_epoch != request.broker_epoch
    old, new = before.image.partitions[request.partition], after.image.partitions[request.partition]
    if reply.error == Error.UNKNOWN_TOPIC_ID:
        return old is None or before.image.topic != request.topic
    if old is None or new is None or registration is None or registration.broker_epoch != request.broker_epoch:
        return False
    return says_as_decided(before, request, reply, old, new)


def says_as_decided(
    before: Controller, request: AlterIsr, reply: AlterIsrReply, old: Partition, new: Partition
) -> bool:
    if reply.error == Error.NOT_CONTROLLER:
        return request.leader_epoch > old.leader_epoch or request.partition_epoch > old.partition_epoch
    if reply.error == Error.FENCED_LEADER_EPOCH:
        return request.leader_epoch < old.leader_epoch
    if reply.error == Error.INVALID_UPDATE_VERSION:
        return request.partition_epoch < old.partition_epoch
    is_current = request.leader_epoch == old.leader_epoch and request.partition_epoch == old.partition_epoch
    if reply.error == Error.INELIGIBLE_REPLICA:
        return is_current and old.isr == new.isr and any(is_unfit(before, request, member) for member in request.isr)
    is_done = is_current and new.isr <= request.isr and reply.isr == new.isr
    if not is_done or reply.partition_epoch != new.partition_epoch:
        return False
    leads_on = new.leader == node_id(request.sender)
    return leads_on if reply.error == Error.NONE else reply.error == Error.NEW_LEADER_ELECTED and not leads_on


def is_unfit(before: Controller, request: AlterIsr, member: Broker) -> bool:
    """A member that is not active, or that has registered anew since the leader saw it."""
    registration = before.image.registrations[member]
    if registration is None or not is_active(before.image, member):
        return True
    return request.added_epoch is not None and registration.broker_epoch != request.added_epoch


@transition_invariant(source="KIP-497; KIP-631, FenceBrokerRecord")
def isr_gains_who_is_asked_for(before: Cluster, after: Cluster) -> bool:
    """An ISR gains a member only by a request for it from the leader of the partition as it is."""
    return all(
        not is_active_throughout(before, after, voter)
        or not gains(before.controllers[voter].image.partitions[p], after.controllers[voter].image.partitions[p])
        or any(
            after.alterations.count(m) < before.alterations.count(m)
            and is_granted(
                before.controllers[voter].image.partitions[p], after.controllers[voter].image.partitions[p], m
            )
            for m in before.alterations
        )
        for voter in Voter
        for p in TopicPartition
    )


def gains(old: Option[Partition], new: Option[Partition]) -> bool:
    return old is not None and new is not None and not new.isr <= old.isr


def is_granted(old: Option[Partition], new: Option[Partition], request: AlterIsr) -> bool:
    if old is None or new is None:
        return False
    return (
        old.leader == node_id(request.sender)
        and old.leader_epoch == request.leader_epoch
        and old.partition_epoch == request.partition_epoch
        and new.isr <= request.isr
    )


# Leaders and followers.


@invariant(source="Kafka, Partition.makeLeader, Partition.makeFollower")
def leads_as_elected(s: Cluster) -> bool:
    """At the leader epoch of the metadata a process leads if its id is the leader there, and knows the ISR of its
    partition epoch. Who is at no leader epoch, or follows, remembers nothing of a leader.
    """
    return all(leads_rightly(s, process, p) for process in Process for p in TopicPartition)


def leads_rightly(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    if replica.leadership is None and is_deferred(replica.deferral):
        return False
    if replica.leader_epoch is None:
        return replica.leadership is None and replica.image_leader is None
    if partition is None or not is_at_epoch(committed(s), partition, replica):
        return True
    if replica.leadership is None:
        return partition.leader != node_id(process)
    has_its_isr = (
        replica.leadership.partition_epoch != partition.partition_epoch or replica.leadership.isr == partition.isr
    )
    return partition.leader == node_id(process) and has_its_isr


@transition_invariant(source="Kafka, Partition.makeLeader; KIP-497")
def leader_keeps_its_word(before: Cluster, after: Cluster) -> bool:
    """A leader begins its leader epoch with the partition of the metadata, and has asked for nothing. From then on its
    partition epoch only rises, which settles what it has asked for, and its ISR changes with it.
    """
    return all(
        leads_on(before.processes[process].replicas[p], after.processes[process].replicas[p])
        or begins_afresh(after, process, p)
        for process in Process
        for p in TopicPartition
    )


def leads_on(old: Replica, new: Replica) -> bool:
    if new.leadership is None:
        return True
    if old.leadership is None or old.topic != new.topic or old.leader_epoch != new.leader_epoch:
        return False
    was, now = old.leadership, new.leadership
    if was.partition_epoch == now.partition_epoch:
        return was.isr == now.isr
    return was.partition_epoch < now.partition_epoch and now.asked is None and now.reply is None


def begins_afresh(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition, replica = committed(s).partitions[p], s.processes[process].replicas[p]
    if partition is None or replica.leadership is None or not is_at_epoch(committed(s), partition, replica):
        return False
    started = replica.leadership
    is_new = started.asked is None and started.reply is None and len(started.holders) == 0
    candidates = (active_brokers(committed(s)) & everyone(partition.replicas)) - partition.isr
    return (
        is_new
        and started.partition_epoch == partition.partition_epoch
        and started.candidates == candidates
        and started.starts_with_record == replica.has_record
    )


@transition_invariant(source="Kafka, PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded")
def leader_epoch_rises_for_cause(before: Cluster, after: Cluster) -> bool:
    """A leader epoch ends with a change of leader, or where a replica goes."""
    return all(
        is_led_on(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition
    )


def is_led_on(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None or old.leader_epoch == new.leader_epoch or old.leader != new.leader:
        return True
    return not everyone(old.replicas) <= everyone(new.replicas)


@transition_invariant(source="KIP-631, Broker Leases; Controlled Shutdown (soft state)")
def failover_loses_soft_state(before: Cluster, after: Cluster) -> bool:
    """A new active controller knows of no lease that ran out, and of no shutdown under way."""
    return before.faults.failovers == after.faults.failovers or all(
        len(after.controllers[voter].lapsed) == 0
        and all(after.controllers[voter].shutdowns[broker] is None for broker in Broker)
        for voter in Voter
    )


# What the properties themselves rely on.


@transition_invariant(source="Kafka, acks=all (S13)")
def record_is_owed_until_lost(before: Cluster, after: Cluster) -> bool:
    """A record is written, acknowledged, and forfeited, in this order, and one that was acknowledged only if a disk was
    lost.
    """
    return all(
        before.produced[p] == after.produced[p]
        or (before.produced[p] == RecordStatus.UNWRITTEN and after.produced[p] == RecordStatus.WRITTEN)
        or (before.produced[p] == RecordStatus.WRITTEN and after.produced[p] != RecordStatus.UNWRITTEN)
        or (after.produced[p] == RecordStatus.FORFEITED and after.faults.disk_losses > 0)
        for p in TopicPartition
    )


@invariant(source="KIP-631, Broker Registration (S1)")
def service_is_remembered(s: Cluster) -> bool:
    """No leader is at a newer leader epoch than the one that is remembered as the newest."""
    return all(is_remembered(s, process, p) for process in Process for p in TopicPartition)


def is_remembered(s: Cluster, process: Process, p: TopicPartition) -> bool:
    served, replica = s.last_service[p], s.processes[process].replicas[p]
    if replica.leadership is None or replica.leader_epoch is None:
        return True
    return served is not None and replica.leader_epoch <= served.leader_epoch


@witness
def heartbeats_overlap(s: Cluster) -> bool:
    """Two brokers wait for the reply to a heartbeat at once."""
    return sum(1 for m in s.lifecycle if isinstance(m, Heartbeat) and not m.late) > 1


@witness
def another_process_leads(s: Cluster) -> bool:
    """A process other than the first leads at the newest leader epoch."""
    return any(
        process != Process(0) and leads_now(s, s.processes[process].replicas[p], p)
        for process in Process
        for p in TopicPartition
    )


def leads_now(s: Cluster, replica: Replica, p: TopicPartition) -> bool:
    partition = committed(s).partitions[p]
    return partition is not None and replica.leadership is not None and is_at_epoch(committed(s), partition, replica)


@witness
def recovering_before_registered(s: Cluster) -> bool:
    """A process replays the metadata and recovers its log before it is registered."""
    return any(
        s.processes[process].state == BrokerState.RECOVERY and s.processes[process].broker_epoch is None
        for process in Process
    )
