"""Changes of a partition: its leader, its ISR, the completion of its reassignment.

KIP-631, Partition Reassignment; KIP-455. Every change of a partition goes through `change`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from uuid import UUID

from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.image import Image, Partition, PartitionKey
from impl.kraft.records import (
    LEADER_UNCHANGED,
    NO_LEADER,
    RECOVERING,
    RECOVERY_UNCHANGED,
    PartitionChangeRecord,
    Record,
)

MayLead = Callable[[int], bool]


def elect(partition: Partition, may_lead: MayLead) -> int:
    """The present leader while it may lead, else the first replica that may, else NO_LEADER. Only the ISR may lead."""
    if partition.leader in partition.isr and may_lead(partition.leader):
        return partition.leader
    for replica in partition.replicas:
        if replica in partition.isr and may_lead(replica):
            return replica
    return NO_LEADER


def elect_unclean(partition: Partition, may_lead: MayLead) -> Partition:
    """The partition with the first replica that may lead as all of its ISR: records may be lost (KIP-704)."""
    for replica in partition.replicas:
        if may_lead(replica):
            return replace(partition, isr=(replica,), leader_recovery_state=RECOVERING)
    return partition


def change(
    image: Image, settings: ControllerSettings, key: PartitionKey, wanted: Partition, may_lead: MayLead,
    *, is_unclean: bool = False,
) -> tuple[PartitionChangeRecord, ...]:  # fmt: skip
    """The record by which a partition becomes as it is wanted, completed where it can be, with a leader.

    Empty where that changes nothing. Of `wanted`, the epochs do not count, and directories are of the replicas that are
    there. A leader that stays is named where a replica goes, so that its leader epoch rises, and those that were
    fetching from the replica look again. may_lead: whether the broker may, wherever its replica is. is_unclean: where
    nobody in the ISR may lead, any replica may; so it is, too, where unclean.leader.election.enable says so.
    """
    before = image.partitions[key]

    def may(candidate: int) -> bool:
        return may_lead(candidate) and image.is_online(candidate, before)

    after = completed(wanted, least_isr(image, settings, key)) if wanted.is_reassigning else wanted
    leader = elect(after, may)
    if leader == NO_LEADER and (is_unclean or image.allows_unclean_election(key[0], settings.unclean_election)):
        after = elect_unclean(after, may)
        leader = elect(after, may)
    leads_anew = leader != before.leader or not set(before.replicas) <= set(after.replicas)
    record = PartitionChangeRecord(
        partition_id=key[1],
        topic_id=key[0],
        isr=after.isr if after.isr != before.isr else None,
        leader=leader if leads_anew else LEADER_UNCHANGED,
        replicas=after.replicas if after.replicas != before.replicas else None,
        removing_replicas=after.removing_replicas if after.removing_replicas != before.removing_replicas else None,
        adding_replicas=after.adding_replicas if after.adding_replicas != before.adding_replicas else None,
        leader_recovery_state=(
            after.leader_recovery_state
            if after.leader_recovery_state != before.leader_recovery_state
            else RECOVERY_UNCHANGED
        ),
        directories=changed_directories(image, before, after) if image.knows_directories else None,
    )
    return (record,) if record.names_anything else ()


def changed_directories(image: Image, before: Partition, after: Partition) -> tuple[UUID, ...] | None:
    """Those of the replicas after a change; None where they are as before. A replica that is new gets its broker's."""
    wanted = replace(before, directories=after.directories)
    held = dict(zip(wanted.replicas, wanted.known_directories, strict=True))
    found = tuple(held[one] if one in held else image.default_directory(one) for one in after.replicas)
    return found if found != before.known_directories else None


def raised_epoch(key: PartitionKey) -> PartitionChangeRecord:
    """The record that changes nothing of a partition but its partition epoch."""
    return PartitionChangeRecord(partition_id=key[1], topic_id=key[0])


# Brokers that come and go.


def taken_out(
    image: Image, settings: ControllerSettings, broker_id: int, of: Iterable[PartitionKey] | None = None
) -> tuple[Record, ...]:
    """A broker serves no more: it leaves every ISR unless it is the last member, and leads nothing.

    Nothing is left to do for one that is fenced. of: partitions in whose ISR it is; None for all of those.
    """

    def may_lead(candidate: int) -> bool:
        return candidate != broker_id and image.is_active(candidate)

    records: list[Record] = []
    keys = image.in_isr.get(broker_id, ()) if of is None else of
    for key in in_order(keys):
        partition = image.partitions[key]
        rest = tuple(member for member in partition.isr if member != broker_id)
        records += change(image, settings, key, partition.with_isr(rest or partition.isr), may_lead)
    return tuple(records)


def led_anew(image: Image, settings: ControllerSettings, broker_id: int) -> tuple[Record, ...]:
    """A broker serves again: it joins no ISR, but partitions without a leader may get one.

    That is a member of the ISR; or this broker, with fewer records, where unclean elections are allowed.
    """

    def may_lead(candidate: int) -> bool:
        return candidate == broker_id or image.is_active(candidate)

    records: list[Record] = []
    for key in in_order(image.leaderless):
        partition = image.partitions[key]
        if broker_id in partition.replicas:
            records += change(image, settings, key, partition, may_lead)
    return tuple(records)


def in_order(keys: Iterable[PartitionKey]) -> list[PartitionKey]:
    """By topic id and partition id, so that what is decided depends on nothing but the image."""
    return sorted(keys, key=lambda key: (key[0].int, key[1]))


# Reassignment.


def original_replicas(partition: Partition) -> tuple[int, ...]:
    """The replicas that the reassignment under way started from, in the order they have now."""
    return tuple(replica for replica in partition.replicas if replica not in partition.adding_replicas)


def least_isr(image: Image, settings: ControllerSettings, key: PartitionKey) -> int:
    """The members that a reassignment must leave in the ISR: no fewer than min.insync.replicas if it has them now."""
    min_isr = image.min_insync_replicas(key[0], settings.min_insync_replicas)
    return min_isr if len(image.partitions[key].isr) >= min_isr else 1


def completed(partition: Partition, least: int) -> Partition:
    """The partition without what its reassignment removes, if the ISR allows it to end.

    Every replica that it adds must be in the ISR. Where it leaves fewer replicas than there were, every target
    must; else one that it keeps may be out of it, and may be dead for good (KAFKA-15665, KAFKA-19975).
    least: how many members the ISR must keep.
    """
    original = original_replicas(partition)
    target = tuple(replica for replica in partition.replicas if replica not in partition.removing_replicas)
    isr = tuple(member for member in partition.isr if member in target)
    shrinks = len(target) < len(original)
    awaited = set(target) if shrinks else set(target) - set(original)
    if len(isr) < least or not awaited <= set(isr):
        return partition
    return replace(partition, replicas=target, isr=isr, removing_replicas=(), adding_replicas=())


def reassigned(partition: Partition, target: tuple[int, ...]) -> Partition:
    """The partition as it waits for its target: the target's replicas first, then those that are to go.

    It replaces a reassignment under way: what that one was adding counts as added by this one.
    """
    original = original_replicas(partition)
    removing = tuple(replica for replica in partition.replicas if replica not in target)
    replicas = target + removing
    adding = tuple(replica for replica in replicas if replica not in original)
    return replace(partition, replicas=replicas, removing_replicas=removing, adding_replicas=adding)


def cancelled(partition: Partition) -> Partition:
    """The partition as it was before the reassignment under way. What that one added leaves the ISR, too."""
    original = original_replicas(partition)
    isr = tuple(member for member in partition.isr if member in original)
    return replace(partition, replicas=original, isr=isr, removing_replicas=(), adding_replicas=())
