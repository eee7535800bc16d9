"""States that a model must be able to reach; where it cannot, its properties hold vacuously.

Those of controlled shutdown are in `shutdown_properties`, those of the controllers' logs in `quorum_witnesses`,
those of reassignments and topics with their properties.
"""

from __future__ import annotations

from checker.lang import Option, witness
from spec.kraft.actions.shutdown import leads_partition
from spec.kraft.messages import HeartbeatReply, LifecycleReply, RegisterReply
from spec.kraft.state import (
    Cluster,
    Metadata,
    Partition,
    Replica,
    another_is_alive,
    committed,
    is_active,
    is_alive,
    maximal_isr,
    newest_registration,
)
from spec.kraft.types import Broker, BrokerState, Error, Process, RecordStatus, TopicPartition


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
def whole_isr_follows_broker_1(s: Cluster) -> bool:
    """Broker 1 leads, and all brokers are unfenced and in the ISR."""
    return any(follows_broker_1(committed(s), committed(s).partitions[p]) for p in TopicPartition)


def follows_broker_1(image: Metadata, partition: Option[Partition]) -> bool:
    if partition is None or partition.leader != Broker(1):
        return False
    return all(is_active(image, broker) and broker in partition.isr for broker in Broker)


@witness
def elected_after_fencing(s: Cluster) -> bool:
    """Broker 0 is fenced, and broker 1 leads in its place."""
    return not is_active(committed(s), Broker(0)) and any(leads_broker_1(s, p) for p in TopicPartition)


def leads_broker_1(s: Cluster, p: TopicPartition) -> bool:
    return leads_partition(committed(s), Broker(1), p)


@witness
def leaderless_partition(s: Cluster) -> bool:
    """The partition has no leader although a broker is active."""
    return any(is_leaderless(committed(s).partitions[p]) for p in TopicPartition) and any(
        is_active(committed(s), broker) for broker in Broker
    )


def is_leaderless(partition: Option[Partition]) -> bool:
    return partition is not None and partition.leader is None


@witness
def fenced_last_isr_member(s: Cluster) -> bool:
    """The last member of the ISR is registered and fenced, and stays."""
    return any(has_fenced_last_member(s, committed(s).partitions[p]) for p in TopicPartition)


def has_fenced_last_member(s: Cluster, partition: Option[Partition]) -> bool:
    if partition is None or len(partition.isr) != 1:
        return False
    return any(is_fenced(s, member) for member in partition.isr)


def is_fenced(s: Cluster, broker: Broker) -> bool:
    registration = committed(s).registrations[broker]
    return registration is not None and registration.fenced


@witness
def stale_heartbeat_refused(s: Cluster) -> bool:
    """A heartbeat with an old broker epoch gets STALE_BROKER_EPOCH."""
    return any(is_stale(s.processes[process].reply) for process in Process)


def is_stale(reply: Option[LifecycleReply]) -> bool:
    return isinstance(reply, HeartbeatReply) and reply.error == Error.STALE_BROKER_EPOCH


@witness
def duplicate_registration_refused(s: Cluster) -> bool:
    """A registration over a valid session gets DUPLICATE_BROKER_REGISTRATION."""
    return any(is_duplicate(s.processes[process].reply) for process in Process)


def is_duplicate(reply: Option[LifecycleReply]) -> bool:
    return isinstance(reply, RegisterReply) and reply.error == Error.DUPLICATE_BROKER_REGISTRATION


def alter_isr_answered(s: Cluster, error: Error) -> bool:
    return any(answered(s.processes[process].replicas[p], error) for process in Process for p in TopicPartition)


def answered(replica: Replica, error: Error) -> bool:
    leadership = replica.leadership
    return leadership is not None and leadership.reply is not None and leadership.reply.error == error


@witness
def isr_changed_by_leader(s: Cluster) -> bool:
    """A leader's change of the ISR is committed."""
    return alter_isr_answered(s, Error.NONE)


@witness
def deposed_leader_refused(s: Cluster) -> bool:
    """A leader of an older leader epoch gets FENCED_LEADER_EPOCH."""
    return alter_isr_answered(s, Error.FENCED_LEADER_EPOCH)


@witness
def late_change_refused(s: Cluster) -> bool:
    """A change of an older partition gets INVALID_UPDATE_VERSION."""
    return alter_isr_answered(s, Error.INVALID_UPDATE_VERSION)


@witness
def ineligible_replica_refused(s: Cluster) -> bool:
    """A change that adds a fenced replica, or one that registered again, gets INELIGIBLE_REPLICA."""
    return alter_isr_answered(s, Error.INELIGIBLE_REPLICA)


@witness
def superseded_leader_refused(s: Cluster) -> bool:
    """A leader whose id was registered by another process since gets STALE_BROKER_EPOCH for its AlterIsr."""
    return alter_isr_answered(s, Error.STALE_BROKER_EPOCH)


@witness
def two_processes_of_one_id(s: Cluster) -> bool:
    """Two processes of one broker id are alive at once."""
    return any(is_alive(s.processes[process]) and another_is_alive(s, process) for process in Process)


@witness
def maximal_isr_beyond_committed(s: Cluster) -> bool:
    """A leader waits for a follower that the committed ISR does not have yet."""
    return any(
        waits_beyond(committed(s).partitions[p], s.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


def waits_beyond(partition: Option[Partition], replica: Replica) -> bool:
    if partition is None or replica.leadership is None:
        return False
    return not maximal_isr(replica.leadership) <= partition.isr


@witness
def record_acknowledged(s: Cluster) -> bool:
    """The record is acknowledged."""
    return any(s.produced[p] == RecordStatus.ACKNOWLEDGED for p in TopicPartition)


@witness
def record_outlives_its_leader(s: Cluster) -> bool:
    """The record is acknowledged, and a broker other than 0 leads."""
    return any(s.produced[p] == RecordStatus.ACKNOWLEDGED and leads_broker_1(s, p) for p in TopicPartition)


@witness
def record_forfeited(s: Cluster) -> bool:
    """The last replica standing came back from an empty disk: the failure that is not allowed."""
    return any(s.produced[p] == RecordStatus.FORFEITED for p in TopicPartition)


@witness
def late_alter_isr(s: Cluster) -> bool:
    """An AlterIsr request is under way on a connection that its leader has given up."""
    return any(m.late for m in s.alterations)


@witness
def next_change_overtakes_late_one(s: Cluster) -> bool:
    """A leader asks for its next change; the request for the one before is on a connection that it has given up."""
    return any(
        late.late
        and any(
            not m.late
            and m.sender == late.sender
            and m.leader_epoch == late.leader_epoch
            and late.partition_epoch < m.partition_epoch
            for m in s.alterations
        )
        for late in s.alterations
    )


@witness
def leader_lost_its_disk(s: Cluster) -> bool:
    """The only leader so far has crashed and lost the record that it had written."""
    is_first_fault = s.faults.crashes == 1 and s.faults.disk_losses == 1 and s.faults.early_expiries == 0
    leader = s.processes[Process(0)]
    return is_first_fault and any(
        s.produced[p] != RecordStatus.UNWRITTEN
        and leads_partition(committed(s), Broker(0), p)
        and not is_alive(leader)
        and not leader.replicas[p].has_record
        for p in TopicPartition
    )
