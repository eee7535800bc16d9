"""The record of a partition (S13): copies, high watermark, acknowledgement."""

from __future__ import annotations

from checker.lang import Option, Set, invariant, transition_invariant, witness
from spec.kraft.actions.shutdown import leads_partition
from spec.kraft.design import Design
from spec.kraft.metadata import Metadata, Partition
from spec.kraft.processes import Leadership, Replica, is_alive
from spec.kraft.properties.isr import is_at_epoch
from spec.kraft.properties.leader_election import leads_broker_1
from spec.kraft.properties.registration import is_registered
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, Process, RecordStatus, TopicPartition, node_id


@transition_invariant(source="Kafka, Partition.maybeIncrementLeaderHW (shouldWaitForReplicaToJoinIsr)")
def high_watermark_waits_for_the_caught_up(before: Cluster, after: Cluster) -> bool:
    """A leader's high watermark passes a record once all that are caught up, and may be in the ISR, have it."""
    return all(
        before.processes[process].replicas[p].high_watermark
        or not after.processes[process].replicas[p].high_watermark
        or is_with_the_caught_up(before.processes[process].replicas[p].leadership, node_id(process))
        for process in Process
        for p in TopicPartition
    )


@transition_invariant(source="Kafka, replica.lag.time.max.ms: ReplicaState.isCaughtUp, Partition.getOutOfSyncReplicas")
def only_laggards_are_slow(before: Cluster, after: Cluster) -> bool:
    """Who falls behind lacks what its leader has, and only who has fallen behind is to leave the ISR."""
    return all(
        falls_behind_for_cause(before.processes[process].replicas[p], after.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


def falls_behind_for_cause(old: Replica, new: Replica) -> bool:
    was, now = old.leadership, new.leadership
    if was is None or now is None or old.leader_epoch != new.leader_epoch:
        return True
    change = now.pending_change
    if was.pending_change is None and change is not None and change.epoch is None:
        return not any(change.member in one.followers for one in now.caught_up)
    return all(
        is_cause(old, was.replicas_with_record, one.followers - other.followers)
        for one in was.caught_up
        for other in now.caught_up
    )


def is_cause(leader: Replica, have_it: Set[Broker], fell_behind: Set[Broker]) -> bool:
    return len(fell_behind) == 0 or (leader.has_record and len(fell_behind & have_it) == 0)


def is_with_the_caught_up(leadership: Option[Leadership], leader: Broker) -> bool:
    return leadership is None or all(
        one.followers & leadership.candidates <= leadership.replicas_with_record | {leader}
        for one in leadership.caught_up
    )


@invariant(source="Kafka, replica.lag.time.max.ms: ReplicaState.isCaughtUp")
def who_has_all_is_caught_up(s: Cluster) -> bool:
    """A follower that its leader has seen at the end of its log counts as caught up, also after it fell behind."""
    return all(counts_as_caught_up(s.processes[process].replicas[p]) for process in Process for p in TopicPartition)


def counts_as_caught_up(leader: Replica) -> bool:
    leadership = leader.leadership
    return leadership is None or all(leadership.replicas_with_record <= one.followers for one in leadership.caught_up)


@invariant(source="KIP-903, Motivation; Kafka, acks=all (S13)")
def acknowledged_record_survives(s: Cluster) -> bool:
    """A record acknowledged by an ISR of at least min.insync.replicas is in the log of every later leader.

    Allowed failures: any number of clean crashes, early lease expiries, lost and copied messages, and lost
    disks, but for one: the last member of the ISR registers again from a disk without the record (the last
    replica standing lost its disk; `controller.record_status_after_registration` ends the claim there).
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


@transition_invariant(source="Kafka, acks=all (S13)")
def record_status_moves_forward(before: Cluster, after: Cluster) -> bool:
    """A record is written, acknowledged, and forfeited, in this order, and one that was acknowledged only if a disk was
    lost.
    """
    return all(
        before.produced[p] == after.produced[p]
        or (before.produced[p] == RecordStatus.UNWRITTEN and after.produced[p] == RecordStatus.WRITTEN)
        or (before.produced[p] == RecordStatus.WRITTEN and after.produced[p] != RecordStatus.UNWRITTEN)
        or (
            before.produced[p] == RecordStatus.ACKNOWLEDGED
            and after.produced[p] == RecordStatus.FORFEITED
            and after.faults.disk_losses > 0
        )
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


@transition_invariant(source="KIP-320; KIP-101")
def record_comes_from_its_leader(before: Cluster, after: Cluster) -> bool:
    """Within a leader epoch, a follower's log and high watermark become those of a leader of this epoch."""
    return all(
        keeps_its_log(before.processes[process].replicas[p], after.processes[process].replicas[p])
        or any(
            is_copy_of(after.processes[process].replicas[p], before.processes[leader].replicas[p]) for leader in Process
        )
        for process in Process
        for p in TopicPartition
    )


def keeps_its_log(old: Replica, new: Replica) -> bool:
    """The replica does not follow at the same leader epoch throughout, or it has the same log."""
    follows = old.leadership is None and new.leadership is None and old.leader_epoch is not None
    if not follows or old.leader_epoch != new.leader_epoch or old.topic != new.topic:
        return True
    return old.has_record == new.has_record and old.high_watermark == new.high_watermark


def is_copy_of(copy: Replica, leader: Replica) -> bool:
    if leader.leadership is None or leader.topic != copy.topic or leader.leader_epoch != copy.leader_epoch:
        return False
    return copy.has_record == leader.has_record and copy.high_watermark == leader.high_watermark


@transition_invariant(source="Kafka, Partition.updateFollowerFetchState")
def replicas_with_record_were_seen(before: Cluster, after: Cluster) -> bool:
    """A leader takes a follower to have the record when both have it, and the follower is at its leader epoch."""
    return all(
        any(is_seen(before.processes[q].replicas[p], before.processes[process].replicas[p])
            for q in Process if node_id(q) == member)
        for process in Process
        for p in TopicPartition
        for member in replicas_with_record_of(after, process, p) - replicas_with_record_of(before, process, p)
    )  # fmt: skip


def replicas_with_record_of(s: Cluster, process: Process, p: TopicPartition) -> Set[Broker]:
    leadership = s.processes[process].replicas[p].leadership
    nobody: Set[Broker] = frozenset()
    return nobody if leadership is None else leadership.replicas_with_record


def is_seen(follower: Replica, leader: Replica) -> bool:
    has_it = follower.has_record and leader.has_record
    return has_it and follower.topic == leader.topic and follower.leader_epoch == leader.leader_epoch


# Witnesses.


@witness
def slow_member_has_left(s: Cluster) -> bool:
    """The ISR is smaller though nobody has died, and no lease has run out."""
    return (
        s.faults.crashes == 0
        and s.faults.early_expiries == 0
        and any(has_left(committed(s).partitions[p]) for p in TopicPartition)
    )


def has_left(partition: Option[Partition]) -> bool:
    return partition is not None and any(broker not in partition.isr for broker in Broker)


@witness
def record_acknowledged(s: Cluster) -> bool:
    """The record is acknowledged."""
    return any(s.produced[p] == RecordStatus.ACKNOWLEDGED for p in TopicPartition)


@witness
def acknowledged_by_the_whole_isr(s: Cluster) -> bool:
    """The record is acknowledged before anything goes wrong: all replicas are in the ISR, and have it."""
    return record_acknowledged_without_failure(s) and s.faults.lags == 0


@witness
def acknowledged_without_the_slow(s: Cluster) -> bool:
    """A leader has acknowledged its record without a follower that may join the ISR: it has fallen behind."""
    return record_acknowledged_without_failure(s) and any(
        commits_without(s.processes[process].replicas[p], node_id(process), caught_up=False)
        for process in Process
        for p in TopicPartition
    )


@witness
def acknowledged_without_the_fenced(s: Cluster) -> bool:
    """A leader has acknowledged its record without a follower that has not fallen behind: it may not join the ISR."""
    return s.faults.crashes == 0 and any(
        commits_without(s.processes[process].replicas[p], node_id(process), caught_up=True)
        for process in Process
        for p in TopicPartition
    )


def record_acknowledged_without_failure(s: Cluster) -> bool:
    nothing_failed = s.faults.crashes == 0 and s.faults.early_expiries == 0
    return nothing_failed and any(s.produced[p] == RecordStatus.ACKNOWLEDGED for p in TopicPartition)


def commits_without(leader: Replica, broker: Broker, caught_up: bool) -> bool:
    """The record of this leader epoch is below the leader's high watermark, and a follower was not seen to have it.

    caught_up: the follower was at the end of the log in time, but is not a candidate for the ISR; else the reverse.
    """
    leadership = leader.leadership
    if leadership is None or leadership.starts_with_record or not leader.high_watermark:
        return False
    have_it = leadership.replicas_with_record | {broker}
    return any(
        len((one.followers - leadership.candidates if caught_up else leadership.candidates - one.followers) - have_it)
        > 0
        for one in leadership.caught_up
    )


@witness
def record_outlives_its_leader(s: Cluster) -> bool:
    """The record is acknowledged, and a broker other than 0 leads."""
    return any(s.produced[p] == RecordStatus.ACKNOWLEDGED and leads_broker_1(s, p) for p in TopicPartition)


@witness
def record_forfeited(s: Cluster) -> bool:
    """The last replica standing came back from an empty disk: the failure that is not allowed."""
    return any(s.produced[p] == RecordStatus.FORFEITED for p in TopicPartition)


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


@witness
def high_watermark_spreads(s: Cluster) -> bool:
    """A follower knows that the record is below the high watermark, and nobody else has ever led."""
    return (
        s.faults.crashes == 0
        and s.faults.unregistrations == 0
        and any(
            s.processes[process].replicas[p].high_watermark and s.processes[process].replicas[p].leadership is None
            for process in Process
            for p in TopicPartition
        )
    )


@witness
def follower_with_record_joins(s: Cluster) -> bool:
    """A leader whose leader epoch starts with the record asks to add a follower, which must have it, too."""
    return any(adds_with_record(s.processes[process].replicas[p]) for process in Process for p in TopicPartition)


def adds_with_record(replica: Replica) -> bool:
    leadership = replica.leadership
    if leadership is None or leadership.pending_change is None:
        return False
    return leadership.starts_with_record and leadership.pending_change.epoch is not None


@witness
def acknowledged_by_lone_successor(s: Cluster) -> bool:
    """Broker 1 leads alone with an acknowledged record, which nobody else ever had, and no other has joined it."""
    return s.faults.crashes == 0 and any(
        s.produced[p] == RecordStatus.ACKNOWLEDGED
        and leads_alone(s, process, p)
        and not any(q != process and s.processes[q].replicas[p].has_record for q in Process)
        for process in Process
        for p in TopicPartition
        if node_id(process) == Broker(1)
    )


def leads_alone(s: Cluster, process: Process, p: TopicPartition) -> bool:
    replica = s.processes[process].replicas[p]
    return replica.has_record and replica.leadership is not None and replica.leadership.isr == {node_id(process)}
