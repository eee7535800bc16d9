"""The metadata log: batches of records, and the image that their replay gives.

A batch has the new value of what it changes, not its records. What a model does not use has no width.
Leaves out: what of the log is committed, but for its replay.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, Map, Nat, Option, Seq, Set, record, replace
from spec.kraft.design import Design
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    MetadataOffset,
    PartitionEpoch,
    TopicId,
    TopicPartition,
)

# Of the last record in which the same incarnation was registered again, where somebody has to apply that.
Amended = Annotated[Seq[MetadataOffset], AtMost(lambda: 0 if Design.repeated_registration_is_known else 1)]
Replicas = Annotated[Seq[Broker], AtMost(lambda: Design.brokers)]
Moving = Annotated[Seq[Broker], AtMost(lambda: Design.brokers if Design.max_reassignments > 0 else 0)]


@record
class Registration:
    """The entry of a broker id in the metadata log."""

    incarnation: Incarnation
    broker_epoch: BrokerEpoch
    fenced: bool
    in_controlled_shutdown: bool
    amended: Amended


@record
class Partition:
    """A partition as the metadata log has it. `replicas` are in preferred order."""

    replicas: Replicas
    isr: Set[Broker]
    leader: Option[Broker]
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    adding: Moving  # replicas that a reassignment adds; some may be removing, too: added by one that was replaced
    removing: Moving  # replicas that go once it is complete


Registrations = Map[Broker, Option[Registration]]
Partitions = Map[TopicPartition, Option[Partition]]


@record
class Metadata:
    """The image that a replay of the metadata log gives."""

    registrations: Registrations
    topic: Option[TopicId]  # the one topic of its name
    partitions: Partitions
    offset: Option[MetadataOffset]  # how far the log reaches; it moves where somebody compares it


def offset_moves() -> bool:
    return Design.controllers > 1 and (Design.max_shutdowns > 0 or not Design.repeated_registration_is_known)


# How far the log reaches, if that moves where somebody compares it. No room where nobody is shut down over the quorum,
# or has to apply that it was registered again.
NewOffset = Annotated[Seq[MetadataOffset], AtMost(lambda: 1 if offset_moves() else 0)]


@record
class Removed:
    """The removals of a batch: the topic with all its partitions, registrations."""

    topic: bool
    registrations: Set[Broker]


Removals = Annotated[Seq[Removed], AtMost(lambda: Design.removals)]


@record
class Delta:
    """The effect of a batch: its removals, then the new value of each part; None: the batch does not change it."""

    removals: Removals  # none, where the batch removes nothing
    registrations: Registrations
    topic: Option[TopicId]
    partitions: Partitions
    offset: NewOffset


@record
class Batch:
    """A batch of the metadata log, written by the controller of an epoch: it survives or is lost as a whole."""

    epoch: ControllerEpoch
    delta: Delta


Log = Annotated[Seq[Batch], AtMost(lambda: Design.pending_batches)]
PreviousImages = Annotated[Seq[Metadata], AtMost(lambda: Design.previous_images)]


@record
class Stable:
    """The metadata log up to the high watermark: its replay, and the epoch of its last batch."""

    image: Metadata
    epoch: ControllerEpoch


# With one controller there is none beside its image.
StableLog = Annotated[Seq[Stable], AtMost(lambda: min(1, Design.controllers - 1))]


def may_go_back() -> bool:
    """One that was elected may be deposed, and goes back to the snapshot that it has loaded."""
    return not Design.keeps_record_behind_snapshot and Design.max_failovers > 1


# What a controller goes back to, where that is not what it knows to be committed: see `Controller.goes_back_to`.
Loaded = Annotated[Seq[Metadata], AtMost(lambda: Design.snapshots if may_go_back() else 0)]
# Up to 2, which stands for any more.
OffsetsBehind = Annotated[int, Nat(lambda: 2 if Design.snapshots > 0 and may_go_back() else 0)]


@record
class Snapshot:
    """The newest snapshot of the metadata log, and what the records leave that were committed after it."""

    image: Metadata
    since: Delta
    offsets_behind: OffsetsBehind  # with a record that a controller replays; counted where somebody may go back


Snapshots = Annotated[Seq[Snapshot], AtMost(lambda: Design.snapshots)]


def active_brokers(image: Metadata) -> Set[Broker]:
    """The brokers that are registered, unfenced and not shutting down: these may lead, and may join an ISR."""
    return frozenset(broker for broker in Broker if is_active(image, broker))


def without_lease(image: Metadata) -> Set[Broker]:
    """The brokers that a controller which becomes active has not heard of: as if their leases had run out."""
    if Design.fenced_holder_yields or Design.failover_starts_leases:
        return frozenset()
    return frozenset(broker for broker in Broker if is_fenced(image, broker))


def is_active(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and not registration.fenced and not registration.in_controlled_shutdown


def is_unfenced(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and not registration.fenced


def is_fenced(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and registration.fenced


def broker_epoch_of(image: Metadata, broker: Broker) -> Option[BrokerEpoch]:
    """The broker epoch at which an id is registered."""
    registration = image.registrations[broker]
    return None if registration is None else registration.broker_epoch


def with_partition(image: Metadata, p: TopicPartition, partition: Option[Partition]) -> Metadata:
    return replace(image, partitions=Map({q: partition if q == p else image.partitions[q] for q in TopicPartition}))


def newest_registration(image: Metadata) -> Option[BrokerEpoch]:
    """The offset of the last registration record."""
    return max((r.broker_epoch for r in image.registrations.values() if r is not None), default=None)
