"""Reassignments, elections, AlterPartition: error codes, smaller targets, min.insync.replicas of topic and cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from impl.adapters.kraft.unmodelled.asking import Asking
from impl.adapters.kraft.unmodelled.membership import NEW_ID
from impl.adapters.kraft.unmodelled.topics import MIN_INSYNC, OTHER, OTHER_ID
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Partition, PartitionKey
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    ElectPreferredLeaderRequest,
    IsrMember,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    UpdateFeatureRequest,
)
from impl.kraft.records import BROKER_RESOURCE, TOPIC_RESOURCE, PartitionChangeRecord

Make = Callable[[], Asking]


def each(asking: Asking) -> Iterator[tuple[str, PartitionKey, Partition]]:
    for key, partition in sorted(asking.image.partitions.items(), key=lambda pair: (pair[0][0].int, pair[0][1])):
        yield asking.image.topics[key[0]], key, partition


def elections(make: Make) -> None:
    """Preferred elections: refused where they are not needed, or the first replica may not lead (KIP-183, KIP-460)."""
    asking = make()
    asking.wants(ElectPreferredLeaderRequest(OTHER, 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    for topic, key, partition in each(asking):
        asking.wants(ElectPreferredLeaderRequest(topic, 99), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        asking.wants(ElectPreferredLeaderRequest(topic, -1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        first = partition.replicas[0]
        may_lead = first in partition.isr and asking.image.is_active(first)
        if partition.leader == first:
            make().wants(ElectPreferredLeaderRequest(topic, key[1]), ErrorCode.ELECTION_NOT_NEEDED)
        elif not may_lead:
            make().wants(ElectPreferredLeaderRequest(topic, key[1]), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
        elif not partition.is_reassigning:
            change = PartitionChangeRecord(key[1], key[0], leader=first)
            make().wants(ElectPreferredLeaderRequest(topic, key[1]), ErrorCode.NONE, (change,))


def reassignments(make: Make) -> None:
    asking = make()
    unknown, refused = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REPLICA_ASSIGNMENT
    asking.wants(AlterPartitionReassignmentRequest(OTHER, 0, (0,)), unknown)
    for topic, (_, p), partition in each(asking):
        asking.wants(AlterPartitionReassignmentRequest(topic, 99, None), unknown)
        first = partition.replicas[0]
        for target in ((), (first, first), (first, NEW_ID), (-1,)):
            asking.wants(AlterPartitionReassignmentRequest(topic, p, target), refused)
        if not partition.is_reassigning:
            cancel = AlterPartitionReassignmentRequest(topic, p, None)
            asking.wants(cancel, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    listing(make)


def listing(make: Make) -> None:
    """Those that are asked for, of those under way; each with what it adds and removes."""
    asking = make()
    ongoing = [
        OngoingReassignment(topic, p, one.replicas, one.adding_replicas, one.removing_replicas)
        for topic, (_, p), one in each(asking)
        if one.is_reassigning
    ]
    asking.core.on_commit(asking.image.offset + 1, asking.now_ms)
    every = [(topic, key[1]) for topic, key, _ in each(asking)]
    for partitions in (None, tuple(every), ((OTHER, 0), *every, *[(topic, 99) for topic, _ in every])):
        response = asking.wants(ListPartitionReassignmentsRequest(partitions), ErrorCode.NONE)
        asking.require(response == ListPartitionReassignmentsResponse(ErrorCode.NONE, tuple(ongoing)),
                       f"of {partitions} {response} is listed, not {ongoing}")  # fmt: skip
    nothing = asking.wants(ListPartitionReassignmentsRequest(()), ErrorCode.NONE)
    asking.require(nothing == ListPartitionReassignmentsResponse(ErrorCode.NONE), "nothing is listed unasked")


def least_in_sync(make: Make) -> None:
    """min.insync.replicas of the topic counts before that of all brokers: for targets, completion and cancels."""
    for of_cluster, of_topic in ((2, None), (1, 2), (2, 1), (3, 2), (9, None)):
        for topic, key, partition in each(make()):
            is_there = partition.replicas[-1] in make().image.registrations
            if partition.is_reassigning or len(partition.replicas) < 2 or not is_there:
                continue
            asking = make()
            asking.ask(AlterConfigsRequest.of_one(BROKER_RESOURCE, "", MIN_INSYNC, str(of_cluster)))
            if of_topic is not None:
                asking.ask(AlterConfigsRequest.of_one(TOPIC_RESOURCE, topic, MIN_INSYNC, str(of_topic)))
            shrunk_to(asking, topic, key, partition, of_topic or of_cluster)


def shrunk_to(asking: Asking, topic: str, key: PartitionKey, partition: Partition, least: int) -> None:
    """A target of one replica: refused where it is too small, complete where the replica is in sync (KAFKA-15665)."""
    target = partition.replicas[-1:]
    request = AlterPartitionReassignmentRequest(topic, key[1], target)
    if len(target) < least <= len(partition.replicas):
        asking.wants(request, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        return
    keeps = len(target) >= least or len(partition.isr) < least
    asking.wants(request, ErrorCode.NONE, None)
    after = asking.image.partitions[key]
    is_complete = target[0] in partition.isr and keeps
    asking.require(after.replicas == target if is_complete else after.is_reassigning,
                   f"{request} leaves {after}: complete where its target is in sync, and not before")  # fmt: skip
    if not is_complete:
        cancel = replace(request, replicas=None)
        asking.wants(cancel, ErrorCode.NONE, None)
        asking.require(set(asking.image.partitions[key].isr) == set(partition.isr), "a cancel keeps the ISR")
        asking.wants(cancel, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)


def cancels(make: Make) -> None:
    """A cancel is refused that would leave fewer in sync than min.insync.replicas, where there are as many now."""
    for topic, key, partition in each(make()):
        original = [replica for replica in partition.replicas if replica not in partition.adding_replicas]
        rest = [member for member in partition.isr if member in original]
        cancel = AlterPartitionReassignmentRequest(topic, key[1], None)
        for least in range(1, len(partition.isr) + 2) if partition.is_reassigning else ():
            asking = make()
            asking.ask(AlterConfigsRequest.of_one(TOPIC_RESOURCE, topic, MIN_INSYNC, str(least)))
            is_small = len(rest) < (least if len(partition.isr) >= least else 1)
            asking.wants(cancel, ErrorCode.INVALID_REPLICA_ASSIGNMENT if is_small else ErrorCode.NONE,
                         () if is_small else None)  # fmt: skip


def alterations(make: Make) -> None:
    """What no leader of the spec sends: of a topic that is not there, with members twice or at other epochs."""
    for _, key, partition in each(make()):
        image = make().image
        leader = image.registrations.get(partition.leader)
        if leader is None or partition.is_reassigning:
            continue  # what a reassignment makes of the answer, the spec says
        members = tuple(IsrMember(id_, image.registrations[id_].broker_epoch) for id_ in partition.isr)
        right = AlterPartitionRequest(
            partition.leader, leader.broker_epoch, *key, partition.leader_epoch, partition.partition_epoch, members
        )
        raised = (PartitionChangeRecord(key[1], key[0]),)
        make().wants(right, ErrorCode.NONE)  # it asks for the ISR that is there
        make().wants(replace(right, topic_id=OTHER_ID), ErrorCode.UNKNOWN_TOPIC_ID)
        make().wants(replace(right, partition_id=99), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        make().wants(replace(right, topic_id=OTHER_ID, broker_epoch=-1), ErrorCode.STALE_BROKER_EPOCH)
        make().wants(replace(right, broker_id=NEW_ID), ErrorCode.STALE_BROKER_EPOCH)
        make().wants(replace(right, new_isr=members * 2), ErrorCode.INVALID_REQUEST)
        make().wants(replace(right, new_isr=(*members, IsrMember(NEW_ID))), ErrorCode.INVALID_REQUEST)
        without_leader = replace(right, new_isr=tuple(m for m in members if m.broker_id != partition.leader))
        make().wants(without_leader, ErrorCode.INVALID_REQUEST)
        late = replace(without_leader, partition_epoch=partition.partition_epoch - 1)
        make().wants(late, ErrorCode.INVALID_UPDATE_VERSION)  # how old it is counts before what it asks for
        other = tuple(replace(member, broker_epoch=member.broker_epoch + 1) for member in members)
        make().wants(replace(right, new_isr=other), ErrorCode.INELIGIBLE_REPLICA, raised)
        unknown_epochs(make, right, partition)


def unknown_epochs(make: Make, right: AlterPartitionRequest, partition: Partition) -> None:
    """Below metadata.version 3.5 no epoch of a member is known, and none is asked for (KIP-903)."""
    image = make().image
    out = [id_ for id_ in partition.replicas if id_ not in partition.isr and image.is_active(id_)]
    members = tuple(IsrMember(id_, -1) for id_ in (*partition.isr, *out[:1]))
    for level, error in ((None, ErrorCode.INELIGIBLE_REPLICA), (9, ErrorCode.NONE), (10, ErrorCode.INELIGIBLE_REPLICA)):
        asking = make()
        if level is not None:
            asking.ask(UpdateFeatureRequest("metadata.version", level))
        asking.wants(replace(right, new_isr=members), error if out else ErrorCode.NONE, None)
