"""Safety properties, numbered as in `STATEMENTS`: S1-S5, S9, S12 and S13 as far as this slice can state them.

Where a property speaks of an incarnation it means the broker epoch that its registration got: S2 makes the
two one. S6, S7, S8, S10, S11 and S14-S16 stand with what they are about: `clients`, `quorum_properties`,
`shutdown_properties`, `properties_administration`, `properties_topics`; what must eventually happen is in `liveness`.
"""

from __future__ import annotations

from checker.lang import Option, Set, invariant, transition_invariant
from spec.kraft.design import Design
from spec.kraft.messages import Heartbeat, HeartbeatReply, LifecycleReply
from spec.kraft.state import (
    Cluster,
    Metadata,
    Partition,
    Replica,
    Replicas,
    active_brokers,
    committed,
    is_active,
    is_unfenced,
    maximal_isr,
)
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    Error,
    Process,
    RecordStatus,
    Role,
    TopicPartition,
    Voter,
    node_id,
)

# Membership.


def holds_id(image: Metadata, sender: Process, epoch: BrokerEpoch) -> bool:
    registration = image.registrations[node_id(sender)]
    return registration is not None and registration.broker_epoch == epoch


@transition_invariant(source="KIP-631, Broker Registration (S1)")
def superseded_incarnation_changes_nothing(before: Cluster, after: Cluster) -> bool:
    """The heartbeat or AlterIsr of an incarnation that the controller knows to be superseded changes nothing there.

    Registrations are not part of this: a UUID does not show which of two incarnations is the older, so the
    late registration of a dead process takes the id from a live one that is still fenced.
    """
    return all(
        not isinstance(m, Heartbeat)
        or after.lifecycle.count(m) == before.lifecycle.count(m)
        or changes_nothing(before, after, m.to, m.sender, m.broker_epoch)
        for m in before.lifecycle
    ) and all(
        after.alterations.count(m) == before.alterations.count(m)
        or changes_nothing(before, after, m.to, m.sender, m.broker_epoch)
        for m in before.alterations
    )


def changes_nothing(before: Cluster, after: Cluster, voter: Voter, sender: Process, epoch: BrokerEpoch) -> bool:
    """The controller has the sender registered at this broker epoch, or decides what it had decided before."""
    image = before.controllers[voter].image
    return holds_id(image, sender, epoch) or after.controllers[voter].image == image


@invariant(source="KIP-631, Broker Registration (S1)")
def leader_epoch_has_one_incarnation(s: Cluster) -> bool:
    """One leader epoch is never served by two incarnations, at once or one after the other."""
    return all(serves_alone(s, process, p) for process in Process for p in TopicPartition)


def serves_alone(s: Cluster, process: Process, p: TopicPartition) -> bool:
    served, replica = s.last_service[p], s.processes[process].replicas[p]
    if served is None or replica.leadership is None or replica.leader_epoch != served.leader_epoch:
        return True
    return s.processes[process].broker_epoch == served.broker_epoch


@transition_invariant(source="KIP-631, Broker Registration (S2)")
def broker_epochs_rise(before: Cluster, after: Cluster) -> bool:
    """From one incarnation of a broker id to the next the broker epoch rises, and an incarnation keeps its own.

    Without an operator that unregisters it, a broker stays registered.
    """
    return all(epoch_rises(before, after, broker) for broker in Broker)


def epoch_rises(before: Cluster, after: Cluster, broker: Broker) -> bool:
    old, new = committed(before).registrations[broker], committed(after).registrations[broker]
    if old is None:
        return True
    if new is None:
        return Design.max_unregistrations > 0
    if old.incarnation == new.incarnation:
        return old.broker_epoch == new.broker_epoch
    return old.broker_epoch < new.broker_epoch


@transition_invariant(source="KIP-631, Handling Broker ID Conflicts")
def valid_session_keeps_its_id(before: Cluster, after: Cluster) -> bool:
    """While its lease has not run out, the id of a broker that is unfenced goes to no other incarnation."""
    return all(session_keeps_id(before, after, voter, broker) for voter in Voter for broker in Broker)


def session_keeps_id(before: Cluster, after: Cluster, voter: Voter, broker: Broker) -> bool:
    old, new = before.controllers[voter], after.controllers[voter]
    if old.role != Role.ACTIVE or new.role != Role.ACTIVE or old.epoch != new.epoch:
        return True  # what it has is another's decision
    if not is_unfenced(old.image, broker) or broker in old.lapsed:
        return True
    held, holds = old.image.registrations[broker], new.image.registrations[broker]
    return held is None or holds is None or held.incarnation == holds.incarnation


@transition_invariant(source="KIP-631, Broker Leases (S9)")
def fenced_for_cause(before: Cluster, after: Cluster) -> bool:
    """A broker is fenced because its lease ran out, on its own wish, or by a new incarnation that takes its id."""
    return all(stays_or_has_cause(before, after, broker) for broker in Broker)


def stays_or_has_cause(before: Cluster, after: Cluster, broker: Broker) -> bool:
    old, new = committed(before).registrations[broker], committed(after).registrations[broker]
    if old is None or new is None or old.fenced or not new.fenced:
        return True
    if has_lapsed(before, broker) or old.incarnation != new.incarnation:
        return True
    return old.in_controlled_shutdown or any(
        isinstance(m, Heartbeat) and (m.want_fence or m.want_shut_down) and m.broker_epoch == old.broker_epoch
        for m in before.lifecycle
    )


def has_lapsed(s: Cluster, broker: Broker) -> bool:
    return any(broker in s.controllers[voter].lapsed for voter in Voter)


@invariant(source="KIP-631, Broker Leases")
def unfenced_broker_is_ready(s: Cluster) -> bool:
    """A live broker that is unfenced has recovered its log, and its metadata reaches its own registration."""
    return all(is_ready(s, process) for process in Process)


def is_ready(s: Cluster, process: Process) -> bool:
    broker = s.processes[process]
    registration = committed(s).registrations[node_id(process)]
    if registration is None or registration.fenced or broker.broker_epoch != registration.broker_epoch:
        return True
    return not broker.wants_fence and broker.caught_up


@invariant(source="Kafka, BrokerHeartbeatManager: sessions are of unfenced brokers")
def lapsed_broker_is_unfenced(s: Cluster) -> bool:
    """The controller waits to fence only brokers that are unfenced."""
    return all(
        is_unfenced(s.controllers[voter].image, broker) for voter in Voter for broker in s.controllers[voter].lapsed
    )


@invariant(source="KIP-631, Broker Leases (L1)")
def leases_are_looked_after(s: Cluster) -> bool:
    """An active controller looks for leases that ran out, whatever it has heard or not heard last."""
    return not Design.lease_check_by_timer or all(
        s.controllers[voter].role != Role.ACTIVE or s.controllers[voter].checks_leases for voter in Voter
    )


@transition_invariant(source="KIP-631, Broker Leases")
def heartbeat_renews_lease(before: Cluster, after: Cluster) -> bool:
    """When a heartbeat is answered without an error, the lease of its broker holds."""
    return all(
        not has_lapsed(after, node_id(process))
        or is_success(before.processes[process].reply)
        or not is_success(after.processes[process].reply)
        for process in Process
    )


def is_success(reply: Option[LifecycleReply]) -> bool:
    return isinstance(reply, HeartbeatReply) and reply.error == Error.NONE


# The partition.


@invariant(source="KIP-631, Three Cluster Membership States (S3)")
def leader_may_lead(s: Cluster) -> bool:
    """A leader, where there is one, is in the ISR, registered, unfenced and not shutting down."""
    image = committed(s)
    return all(has_fit_leader(image, image.partitions[p]) for p in TopicPartition)


def has_fit_leader(image: Metadata, partition: Option[Partition]) -> bool:
    if partition is None or partition.leader is None:
        return True
    return partition.leader in partition.isr and is_active(image, partition.leader)


@invariant(source="KIP-631, Three Cluster Membership States; Kafka, ReplicationControlManager.handleBrokerUnfenced")
def leaderless_for_want_of_candidates(s: Cluster) -> bool:
    """A partition is without a leader only while no member of its ISR is active."""
    image = committed(s)
    return all(is_led_if_possible(image, image.partitions[p]) for p in TopicPartition)


def is_led_if_possible(image: Metadata, partition: Option[Partition]) -> bool:
    if partition is None or partition.leader is not None:
        return True
    return not any(is_active(image, member) for member in partition.isr)


@transition_invariant(source="Kafka, PartitionChangeBuilder.electLeader")
def leader_changes_in_replica_order(before: Cluster, after: Cluster) -> bool:
    """A leader is replaced only when it may no longer lead, and then by the first member in replica order that may."""
    return all(changes_leader_in_order(before, after, p) for p in TopicPartition)


def changes_leader_in_order(before: Cluster, after: Cluster, p: TopicPartition) -> bool:
    old, new = committed(before).partitions[p], committed(after).partitions[p]
    if old is None or new is None or new.leader is None or old.leader == new.leader:
        return True
    candidates = new.isr & active_brokers(committed(after))
    return old.leader not in candidates and comes_first(new.replicas, candidates, new.leader)


def comes_first(replicas: Replicas, candidates: Set[Broker], leader: Broker) -> bool:
    for replica in replicas:
        if replica == leader:
            return True
        if replica in candidates:
            return False
    return False


@invariant(source="KIP-631, FenceBrokerRecord; KIP-841 (S4)")
def isr_is_never_empty(s: Cluster) -> bool:
    """The ISR has a member, so that somebody may lead again."""
    return all(has_isr(committed(s).partitions[p]) for p in TopicPartition)


def has_isr(partition: Option[Partition]) -> bool:
    return partition is None or len(partition.isr) > 0


@invariant(source="KIP-631, FenceBrokerRecord; KIP-841 (S4)")
def fenced_broker_is_out_of_isr(s: Cluster) -> bool:
    """A broker that is fenced or shutting down is in the ISR only as its last member, without being leader."""
    image = committed(s)
    return all(fenced_are_out(image, image.partitions[p]) for p in TopicPartition)


def fenced_are_out(image: Metadata, partition: Option[Partition]) -> bool:
    return partition is None or all(
        is_active(image, member) or (len(partition.isr) == 1 and partition.leader is None) for member in partition.isr
    )


@transition_invariant(source="KIP-631, PartitionRecord, LeaderEpoch; KIP-497 (S5)")
def epochs_never_go_back(before: Cluster, after: Cluster) -> bool:
    """Epochs never go back. Each change of leader raises the leader epoch, each change the partition epoch."""
    return all(epochs_follow(committed(before).partitions[p], committed(after).partitions[p]) for p in TopicPartition)


def epochs_follow(old: Option[Partition], new: Option[Partition]) -> bool:
    if old is None or new is None:
        return True
    leader_epoch_follows = old.leader_epoch < new.leader_epoch or (
        old.leader_epoch == new.leader_epoch and old.leader == new.leader
    )
    partition_epoch_follows = old.partition_epoch < new.partition_epoch or old == new
    return leader_epoch_follows and partition_epoch_follows


# The data.


@invariant(source="KIP-497, maximal ISR (S12)")
def maximal_isr_covers_committed(s: Cluster) -> bool:
    """A leader at the controller's leader epoch waits for every member of the committed ISR."""
    return all(
        waits_for_isr(committed(s), p, s.processes[process].replicas[p]) for process in Process for p in TopicPartition
    )


def waits_for_isr(image: Metadata, p: TopicPartition, replica: Replica) -> bool:
    partition = image.partitions[p]
    if partition is None or replica.leadership is None or not is_at_epoch(image, partition, replica):
        return True
    return partition.isr <= maximal_isr(replica.leadership)


@transition_invariant(source="Kafka, acks=all and min.insync.replicas (S13)")
def acknowledged_on_enough_disks(before: Cluster, after: Cluster) -> bool:
    """When a record is acknowledged, min.insync.replicas processes have it on disk, unless a disk was lost."""
    return after.faults.disk_losses > 0 or all(
        before.produced[p] == after.produced[p]
        or after.produced[p] != RecordStatus.ACKNOWLEDGED
        or sum(1 for process in Process if after.processes[process].replicas[p].has_record)
        >= Design.min_insync_replicas
        for p in TopicPartition
    )


@invariant(source="KIP-101 (S13)")
def high_watermark_is_in_the_log(s: Cluster) -> bool:
    """A process that knows the record to be below the high watermark has the record."""
    return all(
        s.processes[process].replicas[p].has_record or not s.processes[process].replicas[p].high_watermark
        for process in Process
        for p in TopicPartition
    )


@invariant(source="KIP-903, Motivation; Kafka, acks=all (S13)")
def acknowledged_record_survives(s: Cluster) -> bool:
    """A record acknowledged by an ISR of at least min.insync.replicas is in the log of every later leader.

    Allowed failures: any number of clean crashes, early lease expiries, lost and copied messages, and lost
    disks, but for one: the last member of the ISR registers again from a disk without the record (the last
    replica standing lost its disk; `controller.owed_after_registration` ends the claim there).
    """
    return all(
        s.produced[p] != RecordStatus.ACKNOWLEDGED
        or leads_with_record(committed(s), p, s.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


def leads_with_record(image: Metadata, p: TopicPartition, replica: Replica) -> bool:
    partition = image.partitions[p]
    if partition is None or replica.leadership is None or not is_at_epoch(image, partition, replica):
        return True
    return replica.has_record


def is_at_epoch(image: Metadata, partition: Partition, replica: Replica) -> bool:
    return replica.topic == image.topic and replica.leader_epoch == partition.leader_epoch


@invariant(source="KIP-497; Kafka, acks=all (S13)")
def isr_has_acknowledged_record(s: Cluster) -> bool:
    """A process that is registered and in the ISR has the acknowledged record: whoever is elected has it."""
    return all(
        s.produced[p] != RecordStatus.ACKNOWLEDGED
        or has_current_record(s, s.processes[process].replicas[p])
        or not is_in_isr(s, process, p)
        for process in Process
        for p in TopicPartition
    )


def has_current_record(s: Cluster, replica: Replica) -> bool:
    return replica.has_record and replica.topic == committed(s).topic


def is_in_isr(s: Cluster, process: Process, p: TopicPartition) -> bool:
    partition = committed(s).partitions[p]
    return partition is not None and node_id(process) in partition.isr and is_registered(s, process)


def is_registered(s: Cluster, process: Process) -> bool:
    epoch = s.processes[process].broker_epoch
    return epoch is not None and holds_id(committed(s), process, epoch)
