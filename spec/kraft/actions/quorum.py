"""The quorum of controllers: election, replication of the metadata log, its high watermark, claim and renounce.

Raft as KIP-595 has it, on logs of which only what is not committed is kept as batches. A controller that was
deposed and has not heard of it (a zombie) still decides: what it writes cannot commit. A controller learns of
a newer epoch when it votes or hears of the leader; it renounces in that step.
Leaves out: a standby's lag behind the high watermark (it decides nothing); voters that crash (a silent one is as
good as crashed, and one that leads may be elected again, with its memory lost); votes that a crash takes back from the
disk; pre-vote; changes of the quorum. Leaders that step down, epochs that nobody leads and lost batches are steps of
`candidacies`.
"""

from __future__ import annotations

from checker.lang import Map, Set, action, fresh, replace, require
from spec.kraft.decisions.log import leader_change, no_records, offsets_behind, past_snapshot, replayed
from spec.kraft.design import Design
from spec.kraft.metadata import Batch, Loaded, Log, Metadata, Stable, without_lease
from spec.kraft.processes import BrokerProcess, Deferral, Replica, at_once, is_alive
from spec.kraft.state import Cluster, Controller, committed
from spec.kraft.types import Broker, ControllerEpoch, Process, Role, TopicPartition, Voter


def is_raft_leader(controller: Controller) -> bool:
    """It was elected in its epoch, and has not heard of a newer one."""
    return controller.role != Role.STANDBY


def is_deposed(s: Cluster, voter: Voter) -> bool:
    """There is a newer epoch. Where elections are one step, a controller was elected in it."""
    return any(s.controllers[other].epoch > s.controllers[voter].epoch for other in Voter)


def is_current_controller(s: Cluster, voter: Voter) -> bool:
    """It takes itself for the active controller, and is."""
    return s.controllers[voter].role == Role.ACTIVE and not is_deposed(s, voter)


def empty_image() -> Metadata:
    nothing = no_records()
    return Metadata(nothing.registrations, nothing.topic, nothing.partitions, offset=None)


def stepped_down(controller: Controller, epoch: ControllerEpoch, stable: Metadata) -> Controller:
    """A controller that learns of an epoch. What it decided and is not committed is forgotten, its log is not.

    stable: the committed image.
    """
    last = stable if len(controller.goes_back_to) == 0 else controller.goes_back_to[0]
    reverted = last if controller.role == Role.ACTIVE else controller.image
    return Controller(
        image=reverted if controller.lags_since is None else empty_image(),
        expired_leases=frozenset(),
        checks_leases=Design.lease_check_by_timer,
        shutdowns=Map({broker: None for broker in Broker}),
        role=Role.STANDBY,
        epoch=epoch,
        lags_since=controller.lags_since,
        log=controller.log if controller.lags_since is None else (),
        goes_back_to=() if controller.role == Role.ACTIVE else controller.goes_back_to,
    )


# Replies that wait in a controller's memory.


def waits_for_one_of(deferral: Deferral, voters: Set[Voter]) -> bool:
    return any(deferral[voter] > 0 for voter in voters)


def without_replies_of(process: BrokerProcess, voters: Set[Voter]) -> BrokerProcess:
    """A process to which the replies that wait in these controllers never come."""
    dropped = waits_for_one_of(process.deferral, voters)
    return replace(
        process,
        reply=None if dropped else process.reply,
        deferral=at_once() if dropped else process.deferral,
        replicas=Map({p: without_reply_of(process.replicas[p], voters) for p in TopicPartition}),
    )


def without_reply_of(replica: Replica, voters: Set[Voter]) -> Replica:
    if replica.leadership is None or not waits_for_one_of(replica.deferral, voters):
        return replace(replica)
    return replace(replica, leadership=replace(replica.leadership, reply=None), deferral=at_once())


def process_after_commit(process: BrokerProcess, voter: Voter, has_snapshot: bool) -> BrokerProcess:
    """A process once one more batch of a controller's log is committed. has_snapshot: there is one, and it is older."""
    return replace(
        process,
        lag=min(process.lag + 1, 2) if Design.previous_images > 0 and is_alive(process) else 0,
        reach=process.reach if process.reach < 2 else 1 if has_snapshot else 0,
        deferral=one_less(process.deferral, voter),
        replicas=Map({p: replica_after_commit(process.replicas[p], voter) for p in TopicPartition}),
    )


def replica_after_commit(replica: Replica, voter: Voter) -> Replica:
    return replace(replica, deferral=one_less(replica.deferral, voter))


def one_less(deferral: Deferral, voter: Voter) -> Deferral:
    return Map({v: deferral[v] - 1 if v == voter and deferral[v] > 0 else deferral[v] for v in Voter})


# Elections.


def last_epoch(controller: Controller, stable: Stable) -> ControllerEpoch:
    """The epoch of the last batch of a controller's log, committed or not."""
    if controller.lags_since is not None:
        return controller.lags_since
    return stable.epoch if len(controller.log) == 0 else controller.log[-1].epoch


def is_up_to_date(candidate: Controller, voter: Controller, stable: Stable) -> bool:
    """True when a candidate's log ends in a newer epoch than the voter's, or in the same and is not shorter.

    Of two logs that end in the same epoch, one that lacks something committed is the shorter.
    """
    last, wanted = last_epoch(candidate, stable), last_epoch(voter, stable)
    if last != wanted:
        return wanted < last
    if candidate.lags_since is None and voter.lags_since is None:
        return len(voter.log) <= len(candidate.log)
    return voter.lags_since is not None


@action(
    who="controller {candidate}",
    source="KIP-595, Vote; KIP-631, Controller Failover",
    kafka="KafkaRaftClient.handleVoteRequest, KafkaRaftClient.onBecomeLeader",
    deviates="requests, votes and the leader's first batch in one step; the epoch is newer than any in the cluster",
    api="Vote v0",
)
def elect(s: Cluster, candidate: Voter, voters: Set[Voter]) -> None:
    """A majority votes for a controller whose log is as good as theirs. They renounce what they did in older epochs."""
    elected = s.controllers[candidate]
    require(s.faults.failovers < Design.max_failovers)
    require(candidate in voters and 2 * len(voters) > Design.controllers)
    stable = s.stable[0]
    require(all(is_up_to_date(elected, s.controllers[voter], stable) for voter in voters))
    require(len(elected.log) < Design.pending_batches)
    epoch = fresh(s, ControllerEpoch)
    for process in Process:
        s.processes[process] = without_replies_of(s.processes[process], voters)
    for voter in voters:
        s.controllers[voter] = stepped_down(s.controllers[voter], epoch, stable.image)
    s.controllers[candidate].role = Role.ELECTED
    s.controllers[candidate].log = s.controllers[candidate].log + (leader_change(epoch),)
    s.faults.failovers += 1


@action(
    who="controller {voter}",
    source="KIP-595, BeginQuorumEpoch; KIP-631, Controller Failover",
    kafka="KafkaRaftClient.handleBeginQuorumEpochRequest, QuorumController.renounce",
    api="BeginQuorumEpoch v0",
)
def hear_of_leader(s: Cluster, voter: Voter, leader: Voter) -> None:
    """A controller hears of the leader of a newer epoch. If it was active it renounces: its memory reverts."""
    controller, source = s.controllers[voter], s.controllers[leader]
    require(is_raft_leader(source) and controller.epoch < source.epoch)
    for process in Process:
        s.processes[process] = without_replies_of(s.processes[process], frozenset({voter}))
    s.controllers[voter] = stepped_down(controller, source.epoch, committed(s))


@action(
    who="broker {process}",
    source="KIP-631, Controller Failover; KIP-595",
    kafka="NodeToControllerRequestThread.doWork, RaftManager.leaderAndEpoch",
    deviates="one connection for all requests; it never turns to a leader of an older epoch than its controller knows",
)
def find_controller(s: Cluster, process: Process, voter: Voter) -> None:
    """A broker process turns to a newer controller. What it sent to the one before may still be handled there."""
    broker = s.processes[process]
    known, found = s.controllers[broker.controller], s.controllers[voter]
    require(is_alive(broker) and voter != broker.controller)
    require(is_raft_leader(found) and known.epoch <= found.epoch)
    broker.controller = voter


# The log.


def same_batches(log: Log, other: Log) -> int:
    """The number of batches that two logs have in common, from the oldest on."""
    return sum(1 for i in range(Design.pending_batches) if i < len(log) and i < len(other) and log[i] == other[i])


@action(
    who="controller {voter}",
    source="KIP-595, Fetch; Truncation",
    kafka="KafkaRaftClient.handleFetchRequest, KafkaRaftClient.handleFetchResponse",
    deviates="request and reply in one step, one batch in each",
    api="Fetch v15 (__cluster_metadata)",
)
def fetch_batch(s: Cluster, voter: Voter, leader: Voter) -> None:
    """A standby cuts off what its leader's log does not have, else it appends the leader's next batch to its own."""
    controller, source = s.controllers[voter], s.controllers[leader]
    require(controller.role == Role.STANDBY and is_raft_leader(source) and controller.epoch == source.epoch)
    require(controller.lags_since is None and source.lags_since is None and controller.log != source.log)
    same = same_batches(controller.log, source.log)
    if same < len(controller.log):
        controller.log = controller.log[:same]
    else:
        controller.log = controller.log + source.log[same : same + 1]


@action(
    who="controller {voter}",
    source="KIP-595, Fetch; KIP-630",
    kafka="KafkaRaftClient.handleFetchResponse, KafkaRaftClient.handleFetchSnapshotResponse",
    deviates="a standby that lacks something committed gets all of it in one step",
    api="Fetch v15 (__cluster_metadata)",
)
def catch_up(s: Cluster, voter: Voter, leader: Voter) -> None:
    """A standby that lacks something committed fetches it from the leader."""
    controller, source = s.controllers[voter], s.controllers[leader]
    require(controller.role == Role.STANDBY and is_raft_leader(source) and controller.epoch == source.epoch)
    require(controller.lags_since is not None and source.lags_since is None)
    controller.lags_since = None
    controller.image = committed(s)


def is_on_majority(s: Cluster, batch: Batch, place: int, epoch: ControllerEpoch) -> bool:
    """True when most voters have this batch at this place of their logs (and so, all that is before it).

    Only voters at the leader's epoch count: a leader counts those that fetch from it. One that has the batch from a
    leader of a newer epoch may yet be outvoted by voters that lack it.
    """
    voters_with_it = sum(
        1 for voter in Voter if s.controllers[voter].epoch == epoch and has_batch(s.controllers[voter], batch, place)
    )
    return 2 * voters_with_it > Design.controllers


def has_batch(controller: Controller, batch: Batch, place: int) -> bool:
    return controller.lags_since is None and place < len(controller.log) and controller.log[place] == batch


def may_commit(s: Cluster, leader: Voter) -> bool:
    """True when a batch of the leader's own epoch is on a majority: then it is committed, and all that is before it."""
    controller = s.controllers[leader]
    return any(
        place < len(controller.log)
        and controller.log[place].epoch == controller.epoch
        and is_on_majority(s, controller.log[place], place, controller.epoch)
        for place in range(Design.pending_batches)
    )


def controller_after_commit(controller: Controller, batch: Batch, epoch: ControllerEpoch, stable: Stable) -> Controller:
    """A controller once the leader of `epoch` has committed `batch`; stable: the log up to there.

    One that has the batch learns of the commit. A leader of an older epoch does not: no leader fetches from another.
    """
    is_deposed_leader = is_raft_leader(controller) and controller.epoch < epoch
    if has_batch(controller, batch, 0) and not is_deposed_leader:
        return past_batch(controller, batch)
    return lacking_committed(controller, last_epoch(controller, stable))


def past_batch(controller: Controller, batch: Batch) -> Controller:
    """A controller whose high watermark passes a batch of its log. An active one has replayed it, others do so now."""
    log, goes_back_to = controller.log[1:], still_loaded(controller, batch)
    if controller.role == Role.ACTIVE:
        return replace(controller, log=log, goes_back_to=goes_back_to)
    return replace(controller, image=replayed(controller.image, batch.delta), log=log, goes_back_to=goes_back_to)


def still_loaded(controller: Controller, batch: Batch) -> Loaded:
    """The snapshot that a controller goes back to when it renounces, once one more batch is committed."""
    kept = any(
        offsets_behind(0 if loaded == controller.image else 1, batch.delta) == 1 for loaded in controller.goes_back_to
    )
    return controller.goes_back_to if kept else ()


def lacking_committed(controller: Controller, last: ControllerEpoch) -> Controller:
    """A controller that lacks something committed; last: the epoch of the last batch that it has.

    One that leads decides on, in vain, or may yet become active. Of any other nothing is kept: it has to catch up.
    """
    if is_raft_leader(controller):
        return replace(controller, lags_since=last)
    return replace(controller, lags_since=last, image=empty_image(), log=(), goes_back_to=())


@action(
    who="controller {leader}",
    source="KIP-595, High watermark",
    kafka="LeaderState.maybeUpdateHighWatermark, QuorumController.handleCommit",
    deviates="one batch in each step; standbys learn of it at once",
)
def commit_batch(s: Cluster, leader: Voter) -> None:
    """The high watermark passes the oldest batch that is not committed, and the replies leave that waited for it."""
    controller = s.controllers[leader]
    require(is_raft_leader(controller) and controller.lags_since is None and may_commit(s, leader))
    batch, epoch, stable = controller.log[0], controller.epoch, s.stable[0]
    if Design.previous_images > 0:
        s.previous = (stable.image,)
    s.stable = (Stable(replayed(stable.image, batch.delta), batch.epoch),)
    if len(s.snapshots) > 0:
        s.snapshots = (past_snapshot(s.snapshots[0], batch.delta),)
    for process in Process:
        s.processes[process] = process_after_commit(s.processes[process], leader, len(s.snapshots) > 0)
    for voter in Voter:
        s.controllers[voter] = controller_after_commit(s.controllers[voter], batch, epoch, stable)


@action(
    who="controller {voter}",
    source="KIP-631, Controller Failover; KAFKA-17333",
    kafka="KafkaRaftClient.maybeFireLeaderChange, QuorumController.claim",
)
def claim(s: Cluster, voter: Voter) -> None:
    """An elected controller becomes active once all that its log has is committed and replayed. Leases start again.

    One that was deposed, and has not heard of it, may lack what its successor has committed since.
    """
    controller = s.controllers[voter]
    require(controller.role == Role.ELECTED)
    if Design.kafka_17333:
        require(len(controller.log) == 0)
    controller.role = Role.ACTIVE
    controller.expired_leases = without_lease(controller.image)
