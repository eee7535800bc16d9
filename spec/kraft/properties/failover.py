"""Failover of the active controller (S7, S11): what its image is, which replies wait, and what is never truncated.

The other properties speak of what is committed, and hold across failovers just as they stand. A reply is given with a
deferral: how many batches of which controller are to be committed before it leaves.
Leaves out: offsets; images of a broker older than the last batch but one.
"""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant, witness
from spec.kraft.actions.quorum import is_current_controller, is_raft_leader
from spec.kraft.decisions.log import no_records, replay, replayed
from spec.kraft.decisions.partition import is_reassigned
from spec.kraft.design import Design
from spec.kraft.messages import LifecycleReply, RegisterReply
from spec.kraft.metadata import Metadata, Partition, Registration, active_brokers
from spec.kraft.processes import BrokerProcess, Deferral, Leadership, Replica, is_alive, is_answered, is_deferred
from spec.kraft.properties.leader_election import is_led_if_possible
from spec.kraft.properties.raft import has_removal, has_topic, moves
from spec.kraft.properties.registration import is_active_throughout, is_handled
from spec.kraft.properties.topics import has_all_partitions, leads_current
from spec.kraft.state import Cluster, Controller, ReassignmentListing, RequestedRemoval, committed
from spec.kraft.types import Broker, BrokerEpoch, Error, Process, Role, TopicPartition, Voter, node_id


@invariant(source="KIP-631, Metadata Records; KIP-595 (S11)")
def image_is_replay_of_log(s: Cluster) -> bool:
    """An active controller decides from the replay of its whole log, a standby has replayed what is committed.

    Of a controller that lacks something committed nothing is said: what it writes cannot commit.
    """
    return all(has_replayed(s.controllers[voter], committed(s)) for voter in Voter)


def has_replayed(controller: Controller, stable: Metadata) -> bool:
    if controller.lags_since is not None:
        return True
    return controller.image == (replay(stable, controller.log) if controller.role == Role.ACTIVE else stable)


@transition_invariant(source="KIP-631, Controller Failover; KIP-595, High watermark (S14, S6)")
def broker_image_is_committed(before: Cluster, after: Cluster) -> bool:
    """What a broker takes over of the metadata is what is committed, or was before the last batch; nothing else is."""
    return all(
        keeps_its_image(before.processes[process], after.processes[process])
        or shows(committed(after), after.processes[process], node_id(process))
        or any(shows(image, after.processes[process], node_id(process)) for image in after.previous)
        for process in Process
    )


def keeps_its_image(old: BrokerProcess, new: BrokerProcess) -> bool:
    return old.listing == new.listing and all(
        old.replicas[p].leader_epoch == new.replicas[p].leader_epoch for p in TopicPartition
    )


def shows(image: Metadata, process: BrokerProcess, broker: Broker) -> bool:
    """A broker lists the brokers of this image, and leads or follows, where it does, as it says."""
    lists = all(
        (broker in listing.registered) == (registration is not None)
        and (broker in listing.fenced) == (registration is not None and registration.fenced)
        for listing in process.listing
        for broker, registration in image.registrations.items()
    )
    return lists and all(has_role(image.partitions[p], process.replicas[p], broker) for p in TopicPartition)


def has_role(partition: Option[Partition], replica: Replica, broker: Broker) -> bool:
    if replica.leader_epoch is None:
        return True
    if partition is None or partition.leader_epoch != replica.leader_epoch:
        return False
    return (replica.leadership is not None) == (partition.leader == broker)


@transition_invariant(source="KIP-500, metadata fetch")
def lag_counts_batches(before: Cluster, after: Cluster) -> bool:
    """A process lacks one batch more with each commit, and none, or the last one, once it has applied others."""
    return all(lag_is_counted(before, after, process) for process in Process)


def lag_is_counted(before: Cluster, after: Cluster, process: Process) -> bool:
    old, new = before.processes[process], after.processes[process]
    if before.stable != after.stable:
        return not is_alive(new) or new.lag == min(old.lag + 1, 2)
    if keeps_its_image(old, new):
        return new.lag <= old.lag
    return new.lag == 0 or (old.lag > 1 and new.lag == 1)


@transition_invariant(source="KIP-595, Fetch (S14)")
def broker_image_never_goes_back(before: Cluster, after: Cluster) -> bool:
    """A broker that leads or follows goes on to no older leader epoch of the same topic, and to no older partition."""
    return all(
        goes_on(before.processes[process].replicas[p], after.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


def goes_on(old: Replica, new: Replica) -> bool:
    if old.leader_epoch is None or new.leader_epoch is None or old.topic != new.topic:
        return True
    if old.leadership is None or new.leadership is None or old.leader_epoch != new.leader_epoch:
        return old.leader_epoch <= new.leader_epoch
    return old.leadership.partition_epoch <= new.leadership.partition_epoch


@witness
def image_older_than_a_reply(s: Cluster) -> bool:
    """A leader knows of a change by the reply to its request, and its image does not have it yet."""
    return any(knows_more_than_image(s, process, p) for process in Process for p in TopicPartition)


def knows_more_than_image(s: Cluster, process: Process, p: TopicPartition) -> bool:
    leadership = s.processes[process].replicas[p].leadership
    return (
        leadership is not None
        and s.processes[process].lag > 1
        and any(is_newer_than(leadership, image.partitions[p]) for image in s.previous)
    )


def is_newer_than(leadership: Leadership, partition: Option[Partition]) -> bool:
    return partition is not None and partition.partition_epoch < leadership.partition_epoch


@witness
def image_between_two_batches(s: Cluster) -> bool:
    """A broker's image stops at the last batch but one."""
    return any(s.processes[process].lag == 1 and len(s.processes[process].listing) > 0 for process in Process)


@invariant(source="KIP-630 (S11)")
def snapshot_stands_for_log(s: Cluster) -> bool:
    """A snapshot and the records after it give what the replay of the whole log gives."""
    return all(replayed(snapshot.image, snapshot.since) == committed(s) for snapshot in s.snapshots)


@transition_invariant(source="KIP-631, Metadata Records")
def what_is_written_changes_something(before: Cluster, after: Cluster) -> bool:
    """An active controller writes a batch for a decision that changes its image, and for no other."""
    return all(
        not is_active_throughout(before, after, voter)
        or len(after.controllers[voter].log) <= len(before.controllers[voter].log)
        or after.controllers[voter].image != before.controllers[voter].image
        for voter in Voter
    )


@invariant(source="KAFKA-12376; Kafka, ReplicationControlManager.handleBrokerUnfenced")
def no_decision_stays_half_done(s: Cluster) -> bool:
    """Once an active controller has nothing to commit, no decision is half there.

    A topic has all its partitions, and a partition is without a leader only for want of candidates.
    """
    image = committed(s)
    return not any(has_committed_all(s, voter) for voter in Voter) or (
        has_all_partitions(image) and all(is_led_if_possible(image, image.partitions[p]) for p in TopicPartition)
    )


def has_committed_all(s: Cluster, voter: Voter) -> bool:
    return is_current_controller(s, voter) and len(s.controllers[voter].log) == 0


@transition_invariant(source="KIP-631, Broker Leases; Controlled Shutdown (soft state)")
def failover_loses_soft_state(before: Cluster, after: Cluster) -> bool:
    """A new active controller knows of no lease that ran out, and of no shutdown under way."""
    return before.faults.failovers == after.faults.failovers or all(
        len(after.controllers[voter].expired_leases) == 0
        and all(after.controllers[voter].shutdowns[broker] is None for broker in Broker)
        for voter in Voter
    )


@invariant(source="KIP-631, Broker Leases (soft state)")
def leases_are_for_the_active_controller(s: Cluster) -> bool:
    """Only a controller that takes itself for the active one knows of leases that ran out."""
    return all(
        s.controllers[voter].role == Role.ACTIVE or len(s.controllers[voter].expired_leases) == 0 for voter in Voter
    )


# Replies wait for the log.


@invariant(source="KIP-631, Controller Failover (S7)")
def reply_waits_in_one_memory(s: Cluster) -> bool:
    """A reply waits in an active controller, for no more batches than are in its log; nothing else waits."""
    return all(
        deferral_is_valid(s, s.processes[process].deferral, s.processes[process].reply is not None)
        and all(
            deferral_is_valid(
                s, s.processes[process].replicas[p].deferral, is_answered(s.processes[process].replicas[p])
            )
            for p in TopicPartition
        )
        for process in Process
    )


def deferral_is_valid(s: Cluster, deferral: Deferral, is_given: bool) -> bool:
    keepers = sum(1 for voter in Voter if deferral[voter] > 0)
    return keepers == 0 or (
        is_given
        and keepers == 1
        and all(
            deferral[voter] == 0
            or (s.controllers[voter].role == Role.ACTIVE and deferral[voter] <= len(s.controllers[voter].log))
            for voter in Voter
        )
    )


@transition_invariant(source="KIP-631, Controller Failover (S7)")
def success_waits_for_the_log(before: Cluster, after: Cluster) -> bool:
    """A registration or heartbeat that is granted is answered once all is committed that the controller has written."""
    return not Design.successes_wait or all(
        not gets_success(before.processes[process], after.processes[process])
        or any(
            m.sender == process
            and is_handled(before, after, m)
            and all(waits_for_all(after, voter, after.processes[process].deferral, m.to) for voter in Voter)
            for m in before.lifecycle
        )
        for process in Process
    )


def waits_for_all(s: Cluster, voter: Voter, deferral: Deferral, by: Voter) -> bool:
    return deferral[voter] == (len(s.controllers[voter].log) if voter == by else 0)


def gets_success(old: BrokerProcess, new: BrokerProcess) -> bool:
    return old.reply is None and new.reply is not None and new.reply.error == Error.NONE


@invariant(source="KIP-631, Controller Failover (S7)")
def stale_process_is_superseded(s: Cluster) -> bool:
    """A process that hears STALE_BROKER_EPOCH does not hold its id by what is committed."""
    return all(
        not hears_it_is_stale(s.processes[process])
        or not holds_its_id(committed(s).registrations[node_id(process)], s.processes[process])
        for process in Process
    )


def hears_it_is_stale(process: BrokerProcess) -> bool:
    if process.reply is None or is_deferred(process.deferral):
        return False
    return process.reply.error == Error.STALE_BROKER_EPOCH


def holds_its_id(registration: Option[Registration], process: BrokerProcess) -> bool:
    return registration is not None and registration.broker_epoch == process.broker_epoch


@transition_invariant(source="KIP-631, Controller Failover (S7)")
def waiting_reply_moves_nobody(before: Cluster, after: Cluster) -> bool:
    """A process acts on a reply once that has left the controller."""
    return all(
        not is_deferred(before.processes[process].deferral)
        or not is_alive(after.processes[process])
        or is_where_it_was(before.processes[process], after.processes[process])
        for process in Process
    )


def is_where_it_was(old: BrokerProcess, new: BrokerProcess) -> bool:
    return old.broker_epoch == new.broker_epoch and (new.reply is not None or old.state == new.state)


@transition_invariant(source="KIP-631, Controller Failover; KIP-595, LeaderAndEpoch")
def broker_turns_to_a_leader(before: Cluster, after: Cluster) -> bool:
    """A process leaves its controller for one that was elected, and in no older epoch than that one knows of."""
    return all(
        turns_to_a_leader(before, before.processes[process].controller, after.processes[process].controller)
        for process in Process
        if is_alive(after.processes[process])
    )


def turns_to_a_leader(s: Cluster, known: Voter, found: Voter) -> bool:
    is_newer = s.controllers[known].epoch <= s.controllers[found].epoch
    return known == found or (is_raft_leader(s.controllers[found]) and is_newer)


# What was replied is never truncated.


@invariant(source="KIP-631, Broker Registration; KIP-595 (S7)")
def registration_is_never_truncated(s: Cluster) -> bool:
    """Of a registration that was replied, there is always a log that has it or a newer one, unless it was removed."""
    return all(is_kept(s, process, epoch_replied(s.processes[process])) for process in Process)


def epoch_replied(process: BrokerProcess) -> Option[BrokerEpoch]:
    """The broker epoch that a process has, or that a reply has which is under way to it."""
    if process.broker_epoch is None and not is_deferred(process.deferral):
        return epoch_in(process.reply)
    return process.broker_epoch


def epoch_in(reply: Option[LifecycleReply]) -> Option[BrokerEpoch]:
    return reply.broker_epoch if isinstance(reply, RegisterReply) else None


def is_kept(s: Cluster, process: Process, epoch: Option[BrokerEpoch]) -> bool:
    if epoch is None or any(removal.registration == epoch for removal in s.last_removal):
        return True
    return is_registered_since(committed(s), node_id(process), epoch) or any(
        s.controllers[voter].lags_since is None
        and is_registered_since(replay(committed(s), s.controllers[voter].log), node_id(process), epoch)
        for voter in Voter
    )


def is_registered_since(image: Metadata, broker: Broker, epoch: BrokerEpoch) -> bool:
    registration = image.registrations[broker]
    return registration is not None and registration.broker_epoch >= epoch


@invariant(source="KIP-631, RemoveTopicRecord; UnregisterBrokerRecord; KIP-595 (S7, S15)")
def removal_is_never_truncated(s: Cluster) -> bool:
    """A removal that was confirmed to an operator is always in some log. Nothing that is gone comes back."""
    return all(not removal.is_confirmed or is_carried_out(s, removal) for removal in s.last_removal)


def is_carried_out(s: Cluster, removal: RequestedRemoval) -> bool:
    return is_gone(committed(s), removal) or any(
        s.controllers[voter].lags_since is None and is_gone(replay(committed(s), s.controllers[voter].log), removal)
        for voter in Voter
    )


@transition_invariant(source="KIP-631, RemoveTopicRecord; UnregisterBrokerRecord")
def removal_is_of_what_there_is(before: Cluster, after: Cluster) -> bool:
    """An operator waits for a controller that had in its image what is to be removed, and no longer has."""
    return before.last_removal == after.last_removal or all(
        removal.is_confirmed
        or (
            not is_gone(before.controllers[removal.voter].image, removal)
            and is_gone(after.controllers[removal.voter].image, removal)
        )
        for removal in after.last_removal
    )


def is_gone(image: Metadata, removal: RequestedRemoval) -> bool:
    """The removed topic or registration is not there. Its successors are of another id or epoch."""
    if removal.topic is not None and image.topic == removal.topic:
        return False
    return not any(r is not None and r.broker_epoch == removal.registration for r in image.registrations.values())


@invariant(source="KIP-455, ListPartitionReassignments; KIP-595 (S7)")
def listing_is_never_truncated(s: Cluster) -> bool:
    """Of what a listing of reassignments has shown, there is always a log that has it or something newer."""
    return all(is_known(s, listing) for listing in s.last_listing)


def is_known(s: Cluster, listing: ReassignmentListing) -> bool:
    return is_as_new(committed(s).partitions[listing.partition], listing) or any(
        s.controllers[voter].lags_since is None
        and is_as_new(replay(committed(s), s.controllers[voter].log).partitions[listing.partition], listing)
        for voter in Voter
    )


def is_as_new(partition: Option[Partition], listing: ReassignmentListing) -> bool:
    return partition is not None and partition.partition_epoch >= listing.partition_epoch


@transition_invariant(source="KIP-455, ListPartitionReassignments")
def listing_is_true(before: Cluster, after: Cluster) -> bool:
    """A listing is what is committed of its partition, or what an active controller has decided that might answer."""
    return before.last_listing == after.last_listing or all(
        any(may_show(before, before.controllers[voter], listing) for voter in Voter) for listing in after.last_listing
    )


def may_show(s: Cluster, controller: Controller, listing: ReassignmentListing) -> bool:
    if controller.role != Role.ACTIVE or controller.lags_since is not None:
        return False
    return is_shown(committed(s), listing) or is_shown(controller.image, listing)


def is_shown(image: Metadata, listing: ReassignmentListing) -> bool:
    partition = image.partitions[listing.partition]
    if partition is None or partition.partition_epoch != listing.partition_epoch:
        return False
    return is_reassigned(partition) == listing.under_way


# Witnesses.


@witness
def reply_waits_for_commit(s: Cluster) -> bool:
    """A broker is answered, and the reply waits for what its controller has yet to commit."""
    return any(is_deferred(s.processes[process].deferral) for process in Process)


@witness
def reply_waits_in_deposed_controller(s: Cluster) -> bool:
    """A deposed controller has answered a broker, and the reply waits for what it can never commit."""
    return any(waits_in_deposed(s, s.processes[process].deferral) for process in Process)


def waits_in_deposed(s: Cluster, deferral: Deferral) -> bool:
    return any(deferral[voter] > 0 and s.controllers[voter].lags_since is not None for voter in Voter)


@witness
def another_controller_found(s: Cluster) -> bool:
    """A process has turned to another controller than the first."""
    return any(is_alive(s.processes[process]) and s.processes[process].controller != Voter(0) for process in Process)


@witness
def active_after_failover(s: Cluster) -> bool:
    """The controller of the newest epoch was elected in this behaviour, and is active."""
    return s.faults.failovers > 0 and any(is_current_controller(s, voter) for voter in Voter)


@witness
def decision_survives_failover(s: Cluster) -> bool:
    """The log of a newly elected controller has a decision of an older epoch that is not committed."""
    return any(s.controllers[voter].role == Role.ELECTED and has_older_decision(s, voter) for voter in Voter)


def has_older_decision(s: Cluster, voter: Voter) -> bool:
    controller = s.controllers[voter]
    return any(batch.epoch < controller.epoch and batch.delta != no_records() for batch in controller.log)


@witness
def creation_survives_failover(s: Cluster) -> bool:
    """The log of a newly elected controller has a topic that its predecessor created, not committed yet."""
    return any(s.controllers[voter].role == Role.ELECTED and has_topic(s.controllers[voter].log) for voter in Voter)


@witness
def removal_survives_failover(s: Cluster) -> bool:
    """The log of a newly elected controller has a removal that its predecessor decided, not committed yet."""
    return any(s.controllers[voter].role == Role.ELECTED and has_removal(s.controllers[voter].log) for voter in Voter)


@witness
def removal_confirmed_after_failover(s: Cluster) -> bool:
    """A removal is confirmed to an operator by a controller that was elected in this behaviour."""
    return (
        any(
            removal.is_confirmed
            and removal.epoch == s.controllers[removal.voter].epoch
            and is_current_controller(s, removal.voter)
            for removal in s.last_removal
        )
        and s.faults.failovers > 0
    )


@witness
def reassignment_survives_failover(s: Cluster) -> bool:
    """A controller is active that was elected after a failover, and continues a reassignment."""
    return s.faults.failovers > 0 and any(
        is_current_controller(s, voter) and moves(s.controllers[voter].image) and moves(committed(s)) for voter in Voter
    )


@witness
def listed_reassignment_is_over(s: Cluster) -> bool:
    """An operator was shown a reassignment that has ended since."""
    return any(listing.under_way for listing in s.last_listing) and not moves(committed(s))


@witness
def next_topic_is_led(s: Cluster) -> bool:
    """An operator was told that the topic is deleted; there is another of its name, and somebody leads in it."""
    return any(removal.is_confirmed and removal.topic is not None for removal in s.last_removal) and any(
        leads_current(s, s.processes[process].replicas[p]) for process in Process for p in TopicPartition
    )


@witness
def unregistered_broker_is_back(s: Cluster) -> bool:
    """An operator was told that a broker is unregistered; it has registered again since, and is unfenced."""
    return any(removal.is_confirmed and removal.registration is not None for removal in s.last_removal) and (
        len(active_brokers(committed(s))) == len(Broker)
    )
