"""Safety properties of the controllers' logs and memories, and of replies: S7, S11 and S14.

The properties of `properties` speak of what is committed, and hold across failovers just as they stand.
Leaves out: offsets; what brokers see between batches (they fetch to the high watermark in one step).
"""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant
from spec.kraft.actions.quorum import is_current_controller, is_deposed, leads
from spec.kraft.decisions.log import replay, replayed
from spec.kraft.decisions.partition import is_reassigned
from spec.kraft.design import Design
from spec.kraft.messages import LifecycleReply, RegisterReply
from spec.kraft.properties.core import is_led_if_possible
from spec.kraft.properties.topics import has_all_partitions
from spec.kraft.state import (
    BrokerProcess,
    Cluster,
    Controller,
    Metadata,
    Partition,
    ReassignmentListing,
    RemovalAsked,
    committed,
    is_deferred,
)
from spec.kraft.types import Broker, BrokerEpoch, Process, Role, TopicPartition, Voter, node_id


@invariant(source="KIP-595, Leader Completeness (S14)")
def newest_leader_has_what_is_committed(s: Cluster) -> bool:
    """The controller that was elected last, and has not been deposed, has all that is committed."""
    return all(
        not leads(s.controllers[voter]) or s.controllers[voter].behind is None or is_deposed(s, voter)
        for voter in Voter
    )


@invariant(source="KIP-595, Log Matching (S14)")
def logs_match(s: Cluster) -> bool:
    """Where two logs have a batch of the same epoch at the same place, they are the same up to there."""
    return all(agree(s.controllers[voter], s.controllers[other]) for voter in Voter for other in Voter)


def agree(one: Controller, another: Controller) -> bool:
    if one.behind is not None or another.behind is not None:
        return True
    log, other = one.log, another.log
    return all(
        i >= len(log) or i >= len(other) or log[i].epoch != other[i].epoch or log[: i + 1] == other[: i + 1]
        for i in range(Design.pending_batches)
    )


@transition_invariant(source="KIP-595, Vote; LeaderChangeMessage")
def controller_leads_its_epoch(before: Cluster, after: Cluster) -> bool:
    """An elected controller begins with a batch of its own epoch, and leads until it hears of a newer one.

    It becomes active only if it has all that is committed.
    """
    return all(leads_its_epoch(before.controllers[voter], after.controllers[voter]) for voter in Voter)


def leads_its_epoch(old: Controller, new: Controller) -> bool:
    if old.epoch == new.epoch:
        return leads(old) == leads(new) and (old.role == new.role or new.behind is None)
    return old.epoch < new.epoch and (not leads(new) or (len(new.log) > 0 and new.log[-1].epoch == new.epoch))


@invariant(source="KIP-631, Metadata Records; KIP-595 (S11)")
def image_is_replay_of_log(s: Cluster) -> bool:
    """An active controller decides from the replay of its whole log, a standby has replayed what is committed.

    Of a controller that lacks something committed nothing is said: what it writes cannot commit.
    """
    return all(has_replayed(s.controllers[voter], committed(s)) for voter in Voter)


def has_replayed(controller: Controller, stable: Metadata) -> bool:
    if controller.behind is not None:
        return True
    return controller.image == (replay(stable, controller.log) if controller.role == Role.ACTIVE else stable)


@invariant(source="KIP-630 (S11)")
def snapshot_stands_for_log(s: Cluster) -> bool:
    """A snapshot and the records after it give what the replay of the whole log gives."""
    return all(replayed(snapshot.image, snapshot.since) == committed(s) for snapshot in s.snapshots)


@invariant(source="KIP-631, Broker Registration; KIP-595 (S7)")
def registration_is_never_truncated(s: Cluster) -> bool:
    """Of a registration that was replied, there is always a log that has it or a newer one, unless it was removed."""
    return all(is_kept(s, process, epoch_told(s.processes[process])) for process in Process)


def epoch_told(process: BrokerProcess) -> Option[BrokerEpoch]:
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
        s.controllers[voter].behind is None
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


def is_carried_out(s: Cluster, removal: RemovalAsked) -> bool:
    return is_gone(committed(s), removal) or any(
        s.controllers[voter].behind is None and is_gone(replay(committed(s), s.controllers[voter].log), removal)
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


def is_gone(image: Metadata, removal: RemovalAsked) -> bool:
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
        s.controllers[voter].behind is None
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
    if controller.role != Role.ACTIVE or controller.behind is not None:
        return False
    return is_shown(committed(s), listing) or is_shown(controller.image, listing)


def is_shown(image: Metadata, listing: ReassignmentListing) -> bool:
    partition = image.partitions[listing.partition]
    if partition is None or partition.partition_epoch != listing.partition_epoch:
        return False
    return is_reassigned(partition) == listing.under_way


@invariant(source="KAFKA-12376; Kafka, ReplicationControlManager.handleBrokerUnfenced")
def no_decision_stays_half_done(s: Cluster) -> bool:
    """Once an active controller has nothing to commit, no decision is half there.

    A topic has all its partitions, and a partition is without a leader only for want of candidates.
    """
    image = committed(s)
    return not any(is_settled(s, voter) for voter in Voter) or (
        has_all_partitions(image) and all(is_led_if_possible(image, image.partitions[p]) for p in TopicPartition)
    )


def is_settled(s: Cluster, voter: Voter) -> bool:
    return is_current_controller(s, voter) and len(s.controllers[voter].log) == 0
