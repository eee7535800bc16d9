"""Requests of operators to the controller: reassign a partition, cancel that, list it, elect its preferred leader.

Request and decision are one step, and the operator waits for no reply; a request that is refused changes
nothing, so only what is accepted is a step. The decisions themselves are in `partition`.
Leaves out: several partitions in one request; the replicas in a listing (whether the partition is in it stands for
them).
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Arrangement, Seq, action, replace, require, require_some
from spec.kraft.decisions.log import appended, can_decide
from spec.kraft.decisions.partition import (
    build_change,
    cancelled,
    is_reassigned,
    original_replicas,
    reassigned,
    replica_set,
)
from spec.kraft.design import Design
from spec.kraft.metadata import Partition, active_brokers
from spec.kraft.state import Cluster, ReassignmentListing, committed
from spec.kraft.types import Broker, Role, TopicPartition, Voter

Target = Annotated[Seq[Broker], Arrangement]


@action(
    who="controller {voter}",
    source="KIP-455; KIP-631, Partition Reassignment",
    kafka="ReplicationControlManager.changePartitionReassignment",
    deviates="replicas to be removed keep their order; no target has fewer replicas than min.insync.replicas",
    api="AlterPartitionReassignments v0",
)
def reassign(s: Cluster, voter: Voter, p: TopicPartition, target: Target) -> None:
    """An operator asks for other replicas, in preferred order. The last wish replaces one that is under way."""
    controller = s.controllers[voter]
    image = controller.image
    partition = require_some(image.partitions[p])
    require(can_decide(controller))
    require(len(replica_set(target)) == len(target) and len(target) >= Design.min_insync_replicas)
    require(all(image.registrations[broker] is not None for broker in target))
    require(s.faults.reassignments < Design.max_reassignments)
    before = replace(image)
    image.partitions[p] = build_change(s, partition, reassigned(partition, target), active_brokers(image))
    controller.log = appended(controller, before)
    s.last_target[p] = target
    s.faults.reassignments += 1


@action(
    who="controller {voter}",
    source="KIP-455",
    kafka="ReplicationControlManager.cancelPartitionReassignment",
    api="AlterPartitionReassignments v0",
)
def cancel_reassignment(s: Cluster, voter: Voter, p: TopicPartition) -> None:
    """An operator takes a reassignment back, unless that would leave nobody to lead, or too small an ISR."""
    controller = s.controllers[voter]
    image = controller.image
    partition = require_some(image.partitions[p])
    require(can_decide(controller))
    require(is_reassigned(partition) and may_be_cancelled(partition))
    before = replace(image)
    image.partitions[p] = build_change(s, partition, cancelled(partition), active_brokers(image))
    controller.log = appended(controller, before)
    s.last_target[p] = ()


@action(
    who="controller {voter}",
    source="KIP-455, ListPartitionReassignments",
    kafka="QuorumController.listPartitionReassignments, ReplicationControlManager.getOngoingPartitionReassignment",
    deviates="only an active controller answers that has all that is committed; Kafka's answer from what they have",
    api="ListPartitionReassignments v0",
)
def list_reassignment(s: Cluster, voter: Voter, p: TopicPartition) -> None:
    """An operator asks whether the partition is being reassigned, and has the answer at once."""
    controller = s.controllers[voter]
    require(controller.role == Role.ACTIVE and controller.lags_since is None)
    image = committed(s) if Design.listing_is_committed else controller.image
    partition = require_some(image.partitions[p])
    s.last_listing = (ReassignmentListing(p, is_reassigned(partition), partition.partition_epoch),)


@action(
    who="controller {voter}",
    source="KIP-183; KIP-631, PartitionChangeRecord",
    kafka="ReplicationControlManager.electLeader, maybeBalancePartitionLeaders",
    api="ElectLeaders v2",
)
def elect_preferred(s: Cluster, voter: Voter, p: TopicPartition) -> None:
    """An operator, or the controller's balancer, gives the lead to the first replica, where this may lead."""
    controller = s.controllers[voter]
    image = controller.image
    partition = require_some(image.partitions[p])
    require(can_decide(controller))
    before = replace(image)
    preferred = partition.replicas[0]
    require(partition.leader != preferred and preferred in partition.isr & active_brokers(image))
    image.partitions[p] = build_change(s, partition, replace(partition, leader=preferred), active_brokers(image))
    controller.log = appended(controller, before)


def may_be_cancelled(partition: Partition) -> bool:
    """True when a cancel is accepted."""
    rest = partition.isr & original_replicas(partition)
    falls_below = len(rest) < Design.min_insync_replicas <= len(partition.isr)
    return len(rest) > 0 and not (Design.cancel_keeps_min_isr and falls_below)
