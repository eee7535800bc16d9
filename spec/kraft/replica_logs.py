"""The logs of a partition's replicas, record by record, each with the leader epoch in which it was written.

What a follower cuts off when its leader changes: KIP-101, KIP-279 and KIP-320. A replica leads or follows at the leader
epoch that it has heard of; a follower reconciles its log with its leader's before it fetches. A record is known by its
offset and its epoch, for in one epoch one leader writes. The other models have one record and no epochs in a log, so
that a follower takes its leader's log over in one step; see docs/decisions/0012.
Leaves out: registrations, leases and requests about the ISR (the controller learns of a crash and changes the ISR in
one step; `replica` and `controller` are about these); lost disks; a high watermark on disk that is older than the one
in memory; several records in a fetch.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    AtMost,
    History,
    Map,
    Nat,
    Option,
    Seq,
    Set,
    action,
    fresh,
    init,
    record,
    require,
    require_some,
    state,
)
from spec.kraft.design import Design
from spec.kraft.types import Broker, LeaderEpoch

RecordEpochs = Annotated[Seq[LeaderEpoch], AtMost(lambda: Design.records)]
Offset = Annotated[int, Nat(lambda: Design.records)]
LogCrashes = Annotated[int, Nat(lambda: Design.max_crashes)]


@record
class LogReplica:
    """A replica: its log, and what it remembers while it leads or follows."""

    alive: bool
    leader_epoch: Option[LeaderEpoch]  # at which it leads or follows
    leader: Option[Broker]  # of that epoch; itself, where it leads
    is_reconciled: bool  # a follower: its log has nothing that its leader's does not have
    log: RecordEpochs  # the epoch of each record
    high_watermark: Offset
    isr: Set[Broker]  # a leader: as far as it knows
    log_ends: Map[Broker, Offset]  # a leader: of the others, at their last fetch in its epoch
    epoch_start: Offset  # a leader: the end of its log when it began


@state
class ReplicatedLog:
    """A partition: what the controller has decided, and its replicas."""

    leader: Option[Broker]
    leader_epoch: LeaderEpoch
    isr: Set[Broker]
    replicas: Map[Broker, LogReplica]
    acknowledged: Annotated[RecordEpochs, History]  # the longest log that was below any leader's high watermark
    crashes: LogCrashes


def nobody_fetched() -> Map[Broker, Offset]:
    return Map({broker: 0 for broker in Broker})


def resting(alive: bool, log: RecordEpochs, high_watermark: int) -> LogReplica:
    """A replica that neither leads nor follows, with what is on its disk."""
    return LogReplica(
        alive=alive,
        leader_epoch=None,
        leader=None,
        is_reconciled=False,
        log=log,
        high_watermark=high_watermark,
        isr=frozenset(),
        log_ends=nobody_fetched(),
        epoch_start=0,
    )


@init
def empty_logs() -> ReplicatedLog:
    """All replicas are in the ISR, none has a record, and none has heard yet that broker 0 leads."""
    return ReplicatedLog(
        leader=Broker(0),
        leader_epoch=LeaderEpoch(0),
        isr=frozenset(Broker),
        replicas=Map(dict.fromkeys(Broker, resting(True, (), 0))),
        acknowledged=(),
        crashes=0,
    )


def is_leading(replica: LogReplica, broker: Broker) -> bool:
    return replica.leader == broker


def knows_newest(s: ReplicatedLog, broker: Broker) -> bool:
    """The replica is at the leader epoch that the controller has decided last."""
    return s.replicas[broker].leader_epoch == s.leader_epoch


# The controller.


@action(
    who="controller",
    source="KIP-631, PartitionChangeRecord; KIP-279 (fast leader fail over)",
    kafka="ReplicationControlManager.electLeader",
    deviates="of the members of the ISR any may be elected, at any time",
)
def move_lead(s: ReplicatedLog, broker: Broker) -> None:
    """The controller elects another leader of the ISR: the one before failed, is to stop, or was not preferred."""
    require(broker in s.isr and s.replicas[broker].alive and s.leader != broker)
    s.leader = broker
    s.leader_epoch = fresh(s, LeaderEpoch)


@action(who="broker {broker}", source="KIP-631, Broker Leases", deviates="crash and fencing in one step")
def lose_broker(s: ReplicatedLog, broker: Broker) -> None:
    """A broker dies, and leaves the ISR unless it is the last member there. Its log stays."""
    replica = s.replicas[broker]
    require(replica.alive and s.crashes < Design.max_crashes)
    s.replicas[broker] = resting(False, replica.log, replica.high_watermark)
    s.isr = s.isr - {broker} if s.isr != {broker} else s.isr
    s.leader = None if s.leader == broker else s.leader
    s.crashes += 1


@action(who="broker {broker}", source="KIP-631, Broker Registration", deviates="start to unfencing in one step")
def bring_back(s: ReplicatedLog, broker: Broker) -> None:
    """A broker is there again, and has yet to hear who leads."""
    require(not s.replicas[broker].alive)
    s.replicas[broker].alive = True


@action(
    who="broker {broker}",
    source="KIP-101; KIP-497",
    kafka="ReplicaManager.applyDelta, Partition.makeLeader, Partition.makeFollower",
    deviates="a broker that hears of a leader epoch late has not heard of those between",
)
def hear_of_epoch(s: ReplicatedLog, broker: Broker) -> None:
    """A broker hears of the newest leader epoch. Without KIP-101, a follower cuts its log at its high watermark."""
    replica = s.replicas[broker]
    leader = require_some(s.leader)
    require(replica.alive and not knows_newest(s, broker))
    leads = leader == broker
    cuts = not leads and not Design.kip_101
    log = replica.log[: replica.high_watermark] if cuts else replica.log
    s.replicas[broker] = LogReplica(
        alive=True,
        leader_epoch=s.leader_epoch,
        leader=leader,
        is_reconciled=leads or not Design.kip_101 or len(log) == 0,
        log=log,
        high_watermark=replica.high_watermark,
        isr=s.isr if leads else frozenset(),
        log_ends=nobody_fetched(),
        epoch_start=len(log) if leads else 0,
    )


# Leaders and followers.


def may_be_served(s: ReplicatedLog, follower: Broker, leader: Broker) -> bool:
    """A follower's request is taken by who leads, since KIP-320 only where both are at one leader epoch."""
    fetching, serving = s.replicas[follower], s.replicas[leader]
    if not (fetching.alive and serving.alive and follower != leader and fetching.leader == leader):
        return False
    return is_leading(serving, leader) and (not Design.kip_320 or fetching.leader_epoch == serving.leader_epoch)


def records_up_to(log: RecordEpochs, epoch: LeaderEpoch) -> int:
    """The number of records of this epoch and older ones: the end offset of the epoch."""
    return sum(1 for i in range(Design.records) if i < len(log) and log[i] <= epoch)


def last_epoch_up_to(log: RecordEpochs, epoch: LeaderEpoch) -> Option[LeaderEpoch]:
    """The newest epoch in a log that is no newer than this."""
    return max((one for one in log if one <= epoch), default=None)


@action(
    who="broker {follower}",
    source="KIP-101; KIP-279; KIP-320",
    kafka="AbstractFetcherThread.maybeTruncateToEpochEndOffsets, LeaderEpochFileCache.endOffsetFor",
    deviates="request and reply in one step; Kafka since 2.7 sends the last fetched epoch with the fetch",
    api="OffsetForLeaderEpoch v4",
)
def truncate_to_epoch(s: ReplicatedLog, follower: Broker, leader: Broker) -> None:
    """A follower asks where its newest epoch ends in its leader's log, and cuts off what it has beyond.

    With KIP-279 the leader also says which of its epochs this is, and where the follower has another one it cuts that
    off, too, and asks again.
    """
    replica, serving = s.replicas[follower], s.replicas[leader]
    require(may_be_served(s, follower, leader) and not replica.is_reconciled)
    asked = replica.log[-1]
    known = last_epoch_up_to(serving.log, asked)
    shared = len(replica.log)
    if Design.kip_279:
        shared = 0 if known is None else records_up_to(replica.log, known)
    replica.log = replica.log[: min(shared, records_up_to(serving.log, asked))]
    replica.is_reconciled = not Design.kip_279 or known == asked or len(replica.log) == 0


@action(
    who="broker {follower}",
    source="KIP-101; KIP-320",
    kafka="ReplicaManager.fetchMessages, Partition.updateFollowerFetchState",
    deviates="request and reply in one step, one record in each",
    api="Fetch v15",
)
def fetch_record(s: ReplicatedLog, follower: Broker, leader: Broker, answered: bool) -> None:
    """A follower fetches from its end on and, unless the reply is lost, takes a record and the high watermark."""
    replica, serving = s.replicas[follower], s.replicas[leader]
    require(may_be_served(s, follower, leader) and replica.is_reconciled)
    end = len(replica.log)
    serving.log_ends[follower] = min(end, len(serving.log))
    if answered:
        replica.log = replica.log[: len(serving.log)] + serving.log[end : end + 1]
        replica.high_watermark = min(serving.high_watermark, len(replica.log))


@action(who="broker {leader}", source="Kafka, acks=all", kafka="Partition.appendRecordsToLeader")
def append_record(s: ReplicatedLog, leader: Broker) -> None:
    """A leader, perhaps one that was deposed and has not heard of it, appends a record that a producer sends."""
    replica = s.replicas[leader]
    epoch = require_some(replica.leader_epoch)
    require(replica.alive and is_leading(replica, leader) and len(replica.log) < Design.records)
    replica.log = replica.log + (epoch,)


@action(
    who="broker {leader}",
    source="KIP-101; Kafka, acks=all",
    kafka="Partition.maybeIncrementLeaderHW",
    deviates="one record in a step; the producer's acknowledgement is part of it",
)
def acknowledge_record(s: ReplicatedLog, leader: Broker) -> None:
    """A leader that saw the whole ISR to have its next record moves the high watermark past it."""
    replica = s.replicas[leader]
    end = replica.high_watermark
    require(replica.alive and is_leading(replica, leader) and end < len(replica.log))
    require(all(member == leader or replica.log_ends[member] > end for member in replica.isr))
    replica.high_watermark = end + 1
    if end + 1 > len(s.acknowledged):
        s.acknowledged = replica.log[: end + 1]


@action(
    who="broker {leader}",
    source="KIP-497",
    kafka="Partition.maybeShrinkIsr",
    deviates="request, decision and reply in one step",
)
def remove_slow(s: ReplicatedLog, leader: Broker, member: Broker) -> None:
    """A leader takes a follower out of the ISR that it has not seen to have all for too long."""
    replica = s.replicas[leader]
    require(replica.alive and is_leading(replica, leader) and knows_newest(s, leader))
    require(member != leader and member in replica.isr and replica.log_ends[member] < len(replica.log))
    s.isr = s.isr - {member}
    replica.isr = s.isr


@action(
    who="broker {leader}",
    source="KIP-497",
    kafka="Partition.maybeExpandIsr",
    deviates="request, decision and reply in one step",
)
def add_caught_up(s: ReplicatedLog, leader: Broker, follower: Broker) -> None:
    """A leader takes a follower into the ISR that has reached its high watermark and the start of its epoch."""
    replica = s.replicas[leader]
    require(replica.alive and is_leading(replica, leader) and knows_newest(s, leader))
    require(follower not in s.isr and s.replicas[follower].alive)
    end = replica.log_ends[follower]
    require(end >= replica.high_watermark and end >= replica.epoch_start)
    s.isr = s.isr | {follower}
    replica.isr = s.isr
