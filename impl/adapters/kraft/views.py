"""The compared view: the parts of the cluster that both a state of the spec and the implementation show.

Brokers, processes, voters and partitions are numbers. An epoch or offset is an `Ordinal`, whose value means nothing
but its place among the others of its sort; epochs of partitions are sorts of their own, for each partition and topic.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple
from uuid import UUID

from checker.conform.system import Ordinal

Bag = frozenset[tuple[tuple[object, ...], int]]


class RegistrationView(NamedTuple):
    """is_described: its listeners, features and rack are those of the broker."""

    incarnation: Ordinal
    broker_epoch: Ordinal
    fenced: bool
    in_controlled_shutdown: bool
    is_described: bool


class PartitionView(NamedTuple):
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None
    leader_epoch: Ordinal
    partition_epoch: Ordinal
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class MetadataView(NamedTuple):
    """The outcome of a replay of records. offset: the last one there that somebody waits for."""

    registrations: tuple[RegistrationView | None, ...]
    topic: Ordinal | None
    partitions: tuple[PartitionView | None, ...]
    offset: Ordinal | None


class ShutdownView(NamedTuple):
    """lagging: the active brokers whose last heartbeat did not reach the offset."""

    offset: Ordinal
    lagging: tuple[int, ...]


class RemovedView(NamedTuple):
    """The removals of a batch: the topic or not, and registrations."""

    topic: bool
    registrations: tuple[int, ...]


class DeltaView(NamedTuple):
    """The effect of a batch: its removals and the new value of each part; None: the batch does not change it."""

    removed: RemovedView | None
    registrations: tuple[RegistrationView | None, ...]
    topic: Ordinal | None
    partitions: tuple[PartitionView | None, ...]


class BatchView(NamedTuple):
    epoch: Ordinal
    delta: DeltaView


class ControllerView(NamedTuple):
    """expired_leases: unfenced brokers whose lease ran out. log: what it has beyond its high watermark.

    lags_since: where it lacks something committed, the epoch of the last batch that it has.
    """

    role: str
    epoch: Ordinal
    image: MetadataView
    expired_leases: tuple[int, ...]
    shutdowns: tuple[ShutdownView | None, ...]
    lags_since: Ordinal | None
    log: tuple[BatchView, ...]


class RegisterView(NamedTuple):
    sender: int
    incarnation: Ordinal
    late: bool
    to: int
    is_described: bool


class HeartbeatView(NamedTuple):
    """caught_up, applied: what the metadata offset in it reaches. offline_log_dirs: none has failed, in the spec.

    lacks: with 1, it is before the end of the snapshot that the controller it goes to has the registration from.

    is_own: the broker id in it is its sender's.
    """

    sender: int
    is_own: bool
    broker_epoch: Ordinal
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: tuple[UUID, ...]
    caught_up: bool
    applied: Ordinal | None
    lacks: int
    late: bool
    to: int


class AlterIsrView(NamedTuple):
    """added_epoch: at which its leader saw the broker that it adds, if it adds one."""

    sender: int
    broker_epoch: Ordinal
    topic: Ordinal
    partition: int
    leader_epoch: Ordinal
    partition_epoch: Ordinal
    isr: tuple[int, ...]
    added_epoch: Ordinal | None
    late: bool
    to: int


class RegisterReplyView(NamedTuple):
    error: str
    broker_epoch: Ordinal | None


class HeartbeatReplyView(NamedTuple):
    error: str
    is_fenced: bool
    should_shut_down: bool


class AlterIsrReplyView(NamedTuple):
    """Of an error, only its code."""

    error: str
    at_new_leader_epoch: bool
    partition_epoch: Ordinal | None
    isr: tuple[int, ...]


class LeadershipView(NamedTuple):
    """A leader's memory.

    pending_change: the ISR that it has asked for. replicas_with_record: followers that have the record, as far as it
    knows.
    """

    partition_epoch: Ordinal
    isr: tuple[int, ...]
    pending_change: tuple[int, ...] | None
    added_epoch: Ordinal | None
    replicas_with_record: tuple[int, ...]
    starts_with_record: bool


class ReplicaView(NamedTuple):
    """topic: whose replica it is, where it leads, follows or has the record."""

    topic: Ordinal | None
    leader_epoch: Ordinal | None
    leadership: LeadershipView | None
    reply: AlterIsrReplyView | None
    high_watermark: bool
    has_record: bool


class ProcessView(NamedTuple):
    """incarnation: until the process knows its broker epoch.

    reach: 2 has all that is committed, 1 all that is in the newest snapshot. lacks: by controller, with 1 something of
    the snapshot that this one has the registration from. Both are 0 where that does not count.
    """

    state: str
    incarnation: Ordinal | None
    broker_epoch: Ordinal | None
    controller: int
    reply: RegisterReplyView | HeartbeatReplyView | None
    wants_fence: bool
    caught_up: bool
    applied: Ordinal | None
    reach: int
    lacks: tuple[int, ...]
    replicas: tuple[ReplicaView, ...]


class StableView(NamedTuple):
    """The committed log: its replay, and the epoch of the last batch."""

    image: MetadataView
    epoch: Ordinal


class ClusterView(NamedTuple):
    """records: per partition, what its one producer knows of its one record. answer: to the last client that asked.

    committed: where there are several controllers; one has nothing else. snapshot: a replay of the newest. removal:
    whether the operator who asked for one knows that it is done. listing: what another was told: of which partition,
    and whether it is being reassigned.
    """

    controllers: tuple[ControllerView, ...]
    committed: StableView | None
    snapshot: MetadataView | None
    processes: tuple[ProcessView, ...]
    lifecycle: Bag
    alterations: Bag
    records: tuple[str, ...]
    answer: tuple[int, tuple[int, ...]] | None
    removal: bool | None
    listing: tuple[int, bool] | None


TOPIC_BITS = 32


@cache
def broker_epoch(value: int) -> Ordinal:
    return Ordinal("BrokerEpoch", value)


@cache
def leader_epoch(topic: int, partition: int, value: int) -> Ordinal:
    """A leader epoch of a partition. Those of a topic come after all of an older one: epochs start again with it."""
    return Ordinal(f"LeaderEpoch of partition {partition}", topic << TOPIC_BITS | value)


@cache
def partition_epoch(topic: int, partition: int, value: int) -> Ordinal:
    """A partition epoch of a partition, in the same manner."""
    return Ordinal(f"PartitionEpoch of partition {partition}", topic << TOPIC_BITS | value)


def bag(members: list[tuple[object, ...]]) -> Bag:
    """The bag of these members."""
    return frozenset((member, members.count(member)) for member in members)
