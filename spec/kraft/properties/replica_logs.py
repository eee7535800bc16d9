"""Properties of the replicas' logs with leader epochs (S13), and states that its models must be able to reach."""

from __future__ import annotations

from checker.lang import invariant, leads_to, transition_invariant, witness
from spec.kraft.design import Design
from spec.kraft.replica_logs import LogReplica, RecordEpochs, ReplicatedLog, is_leading, knows_newest
from spec.kraft.types import Broker


@invariant(source="KIP-101, Motivation; KIP-279 (S13)")
def acknowledged_records_survive(s: ReplicatedLog) -> bool:
    """Whatever was acknowledged is in the log of the newest leader, and of every member of the ISR that follows it.

    No failure is excepted: disks keep what they have here.
    """
    return all(
        not knows_newest(s, broker)
        or not has_to_have_all(s, broker)
        or s.replicas[broker].log[: len(s.acknowledged)] == s.acknowledged
        for broker in Broker
    )


def has_to_have_all(s: ReplicatedLog, broker: Broker) -> bool:
    return is_leading(s.replicas[broker], broker) or (broker in s.isr and s.replicas[broker].is_reconciled)


@invariant(source="KIP-101, Motivation: log divergence; KIP-279")
def consumers_read_the_same(s: ReplicatedLog) -> bool:
    """Up to the high watermark of both, the logs of two replicas are the same."""
    return all(agree_below(s.replicas[one], s.replicas[other]) for one in Broker for other in Broker)


def agree_below(one: LogReplica, other: LogReplica) -> bool:
    visible = min(one.high_watermark, other.high_watermark)
    return one.log[:visible] == other.log[:visible]


@invariant(source="KIP-101; KIP-320")
def follower_extends_no_other_log(s: ReplicatedLog) -> bool:
    """A follower that fetches at its leader's epoch has a prefix of the leader's log, as far as that goes."""
    return all(has_prefix(s, s.replicas[broker]) for broker in Broker)


def has_prefix(s: ReplicatedLog, follower: LogReplica) -> bool:
    leader = follower.leader
    if leader is None or not follower.is_reconciled:
        return True
    serving = s.replicas[leader]
    if serving.leader_epoch != follower.leader_epoch:
        return True
    return follower.log == serving.log[: len(follower.log)]


@invariant(source="KIP-101")
def log_reaches_its_high_watermark(s: ReplicatedLog) -> bool:
    """The high watermark of a replica is not past the end of its log, nor past what a leader has acknowledged."""
    return all(
        s.replicas[broker].high_watermark <= len(s.replicas[broker].log)
        and s.replicas[broker].high_watermark <= len(s.acknowledged)
        for broker in Broker
    )


@invariant(source="KIP-631, Leaders and ISRs (S3, S4)")
def leader_is_in_its_isr(s: ReplicatedLog) -> bool:
    """The leader, where there is one, is in the ISR, which has a member; one that is down only if it is the last."""
    return (
        len(s.isr) > 0
        and (s.leader is None or s.leader in s.isr)
        and all(s.replicas[member].alive or s.isr == {member} for member in s.isr)
    )


@transition_invariant(source="KIP-497; Kafka, Partition.getOutOfSyncReplicas")
def only_slow_members_leave(before: ReplicatedLog, after: ReplicatedLog) -> bool:
    """Whoever leaves the ISR has died, or the leader, which knows of it, has not seen it to have all of its log."""
    return all(
        broker not in before.isr or broker in after.isr or leaves_for_cause(before, after, broker) for broker in Broker
    )


def leaves_for_cause(before: ReplicatedLog, after: ReplicatedLog, member: Broker) -> bool:
    leader = before.leader
    if leader is None or not after.replicas[member].alive:
        return not after.replicas[member].alive
    is_slow = before.replicas[leader].log_ends[member] < len(before.replicas[leader].log)
    return is_slow and member not in after.replicas[leader].isr


@transition_invariant(source="KIP-497; Kafka, Partition.isFollowerInSync")
def only_caught_up_replicas_join(before: ReplicatedLog, after: ReplicatedLog) -> bool:
    """Whoever joins the ISR has fetched up to the leader's high watermark, and up to the start of its epoch."""
    return all(broker in before.isr or broker not in after.isr or is_caught_up(before, broker) for broker in Broker)


def is_caught_up(s: ReplicatedLog, follower: Broker) -> bool:
    leader = s.leader
    if leader is None:
        return False
    end = s.replicas[leader].log_ends[follower]
    return end >= s.replicas[leader].high_watermark and end >= s.replicas[leader].epoch_start


@transition_invariant(source="KIP-101; Kafka, UnifiedLog.append")
def epochs_of_a_log_rise(before: ReplicatedLog, after: ReplicatedLog) -> bool:
    """Records stand in the order of their epochs, and a replica that leads on loses none."""
    return all(
        is_ordered(after.replicas[broker].log)
        and keeps_its_records(before.replicas[broker], after.replicas[broker], broker)
        for broker in Broker
    )


def is_ordered(log: RecordEpochs) -> bool:
    return all(i + 1 >= len(log) or log[i] <= log[i + 1] for i in range(Design.records))


def keeps_its_records(old: LogReplica, new: LogReplica, broker: Broker) -> bool:
    if not is_leading(old, broker) or old.leader_epoch != new.leader_epoch:
        return True
    return new.log[: len(old.log)] == old.log


@leads_to(source="KIP-101; KIP-279")
def follower_is_reconciled(s: ReplicatedLog, follower: Broker) -> tuple[bool, bool]:
    """A follower of a leader that is there comes to have nothing that its leader lacks, unless the lead moves."""
    replica = s.replicas[follower]
    leader = replica.leader
    waits = (
        leader is not None
        and not replica.is_reconciled
        and is_leading(s.replicas[leader], leader)
        and s.replicas[leader].leader_epoch == replica.leader_epoch
    )
    return waits, not waits


# Witnesses.


@witness
def two_epochs_in_a_log(s: ReplicatedLog) -> bool:
    """A log has acknowledged records of two leaders."""
    return len(s.acknowledged) > 1 and s.acknowledged[0] != s.acknowledged[1]


@witness
def follower_has_what_no_leader_has(s: ReplicatedLog) -> bool:
    """A follower has to cut off a record: at the same offset its leader has one of an older epoch."""
    return any(has_newer_record(s, s.replicas[broker]) for broker in Broker)


def has_newer_record(s: ReplicatedLog, follower: LogReplica) -> bool:
    leader = follower.leader
    if leader is None or follower.is_reconciled or follower.leader_epoch != s.replicas[leader].leader_epoch:
        return False
    log, other = follower.log, s.replicas[leader].log
    return any(i < len(log) and i < len(other) and other[i] < log[i] for i in range(Design.records))


@witness
def deposed_leader_leads_on(s: ReplicatedLog) -> bool:
    """Two replicas take themselves for the leader, each with a record of its own."""
    return any(one != other and is_deposed_beside(s, one, other) for one in Broker for other in Broker)


def is_deposed_beside(s: ReplicatedLog, one: Broker, other: Broker) -> bool:
    deposed, newest = s.replicas[one], s.replicas[other]
    if not is_leading(deposed, one) or not is_leading(newest, other) or not knows_newest(s, other):
        return False
    return len(deposed.log) > 0 and len(newest.log) > 0 and deposed.log[-1] != newest.log[-1]


@witness
def slow_follower_has_left(s: ReplicatedLog) -> bool:
    """The ISR is smaller though nobody has died."""
    return s.crashes == 0 and any(broker not in s.isr for broker in Broker)


@witness
def follower_has_joined(s: ReplicatedLog) -> bool:
    """All replicas are in the ISR after a crash: the one that died has caught up."""
    return s.crashes > 0 and all(broker in s.isr for broker in Broker)


@witness
def acknowledged_by_one(s: ReplicatedLog) -> bool:
    """A replica that is alone in the ISR acknowledges a record, and others are alive that do not have it."""
    return any(is_alone_with_it(s, broker) for broker in Broker)


def is_alone_with_it(s: ReplicatedLog, broker: Broker) -> bool:
    replica = s.replicas[broker]
    return is_leading(replica, broker) and s.isr == {broker} and replica.high_watermark > 0 and lacks_it(s, broker)


def lacks_it(s: ReplicatedLog, leader: Broker) -> bool:
    return any(other != leader and s.replicas[other].alive and len(s.replicas[other].log) == 0 for other in Broker)
