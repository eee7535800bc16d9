"""The metadata log: records of decisions, their replay, and replies that wait for a commit.

Only what is not committed yet is kept as batches. What is committed is kept as its replay (`state.committed`),
so that the log may grow without end. With one controller what is decided is committed at once, and nothing waits.
A batch is kept as what its records leave, key by key; a leader change is a batch of no records.
Leaves out: offsets. Kafka issues offsets and epochs that were truncated once more, the
spec never does: nobody can see it while replies wait, for nothing has left the controller that wrote them.
"""

from __future__ import annotations

from checker.lang import Map, Option, replace
from spec.kraft.design import Design
from spec.kraft.metadata import (
    Batch,
    Delta,
    Log,
    Metadata,
    NewOffset,
    OffsetsBehind,
    Partition,
    Registration,
    Removals,
    Removed,
    Snapshot,
    may_go_back,
)
from spec.kraft.processes import Deferral
from spec.kraft.state import Controller
from spec.kraft.types import Broker, ControllerEpoch, Error, MetadataOffset, Role, TopicId, TopicPartition, Voter

# What is written.


def can_decide(controller: Controller) -> bool:
    """The controller takes itself for the active one, and its log has room for a decision."""
    room = Design.pending_batches - len(controller.log)
    return controller.role == Role.ACTIVE and (Design.controllers == 1 or room >= (1 if Design.atomic_batches else 2))


def registration_delta(before: Option[Registration], after: Option[Registration]) -> Option[Registration]:
    return None if before == after else after


def partition_delta(before: Option[Partition], after: Option[Partition]) -> Option[Partition]:
    return None if before == after else after


def topic_delta(before: Option[TopicId], after: Option[TopicId]) -> Option[TopicId]:
    return None if before == after else after


def offset_delta(before: Option[MetadataOffset], after: Option[MetadataOffset]) -> NewOffset:
    return () if after is None or after == before else (after,)


def removals_between(before: Metadata, after: Metadata) -> Removals:
    """The parts of one image that the other no longer has."""
    if Design.removals == 0:
        return ()
    topic = before.topic is not None and after.topic is None
    brokers = frozenset(b for b in Broker if before.registrations[b] is not None and after.registrations[b] is None)
    return (Removed(topic, brokers),) if topic or len(brokers) > 0 else ()


def delta_between(before: Metadata, after: Metadata) -> Delta:
    """The records that lead from one image to another."""
    return Delta(
        removals=removals_between(before, after),
        registrations=Map({b: registration_delta(before.registrations[b], after.registrations[b]) for b in Broker}),
        topic=topic_delta(before.topic, after.topic),
        partitions=Map({p: partition_delta(before.partitions[p], after.partitions[p]) for p in TopicPartition}),
        offset=offset_delta(before.offset, after.offset),
    )


def no_records() -> Delta:
    return Delta(
        removals=(),
        registrations=Map({b: None for b in Broker}),
        topic=None,
        partitions=Map({p: None for p in TopicPartition}),
        offset=(),
    )


def leader_change(epoch: ControllerEpoch) -> Batch:
    """The first batch of an elected controller, so that something of its own epoch can commit."""
    return Batch(epoch, no_records())


def appended(controller: Controller, before: Metadata) -> Log:
    """The log of a controller once it has written the decision that led from the image `before` to the one it has."""
    if Design.controllers == 1:
        return controller.log
    delta = delta_between(before, controller.image)
    if delta == no_records():
        return controller.log
    if Design.atomic_batches:
        return controller.log + (Batch(controller.epoch, delta),)
    return split(controller.log, controller.epoch, delta)


def with_empty_batch(controller: Controller) -> Log:
    """The log of a controller once it has written a record that changes nothing."""
    return controller.log if Design.controllers == 1 else controller.log + (Batch(controller.epoch, no_records()),)


def split(log: Log, epoch: ControllerEpoch, delta: Delta) -> Log:
    """The log with a decision in two batches, in Kafka's order.

    A broker is unfenced before its partitions change, and fenced, registered or unregistered after. A topic comes
    before its partitions.
    """
    of_brokers = Batch(epoch, replace(delta, partitions=no_records().partitions))
    of_partitions = Batch(epoch, replace(no_records(), partitions=delta.partitions))
    if of_partitions.delta == no_records():
        return log + (of_brokers,)
    if of_brokers.delta == no_records():
        return log + (of_partitions,)
    comes_first = delta.topic is not None or any(is_unfenced_registration(delta.registrations[b]) for b in Broker)
    return log + (of_brokers, of_partitions) if comes_first else log + (of_partitions, of_brokers)


def is_unfenced_registration(registration: Option[Registration]) -> bool:
    return registration is not None and not registration.fenced


# What a replay gives.


def removes_something(delta: Delta) -> bool:
    return len(delta.removals) > 0


def removes_topic(delta: Delta) -> bool:
    return any(one.topic for one in delta.removals)


def removes_registration(delta: Delta, broker: Broker) -> bool:
    return any(broker in one.registrations for one in delta.removals)


def replayed_registration(image: Metadata, delta: Delta, broker: Broker) -> Option[Registration]:
    kept = None if removes_registration(delta, broker) else image.registrations[broker]
    changed = delta.registrations[broker]
    return kept if changed is None else changed


def replayed_partition(image: Metadata, delta: Delta, p: TopicPartition) -> Option[Partition]:
    kept = None if removes_topic(delta) else image.partitions[p]
    changed = delta.partitions[p]
    return kept if changed is None else changed


def replayed_topic(image: Metadata, delta: Delta) -> Option[TopicId]:
    kept = None if removes_topic(delta) else image.topic
    return kept if delta.topic is None else delta.topic


def replayed(image: Metadata, delta: Delta) -> Metadata:
    """The image once the records of a batch are replayed on it."""
    return Metadata(
        registrations=Map({b: replayed_registration(image, delta, b) for b in Broker}),
        topic=replayed_topic(image, delta),
        partitions=Map({p: replayed_partition(image, delta, p) for p in TopicPartition}),
        offset=image.offset if len(delta.offset) == 0 else delta.offset[0],
    )


def composed(first: Delta, second: Delta) -> Delta:
    """The joint effect of two batches."""
    both = replayed(Metadata(first.registrations, first.topic, first.partitions, offset=None), second)
    return Delta(
        removals=removed_by_either(first.removals, second.removals),
        registrations=both.registrations,
        topic=both.topic,
        partitions=both.partitions,
        offset=first.offset if len(second.offset) == 0 else second.offset,
    )


def removed_by_either(first: Removals, second: Removals) -> Removals:
    if len(first) == 0 or len(second) == 0:
        return second if len(first) == 0 else first
    return (Removed(first[0].topic or second[0].topic, first[0].registrations | second[0].registrations),)


def past_snapshot(snapshot: Snapshot, delta: Delta) -> Snapshot:
    """A snapshot once one more batch is committed."""
    return Snapshot(
        image=snapshot.image,
        since=composed(snapshot.since, delta),
        offsets_behind=offsets_behind(snapshot.offsets_behind, delta),
    )


def offsets_behind(before: OffsetsBehind, delta: Delta) -> OffsetsBehind:
    """The offsets behind a snapshot with a record that a controller replays, once one more batch is committed.

    A leader change has no such record. Where it is first, the next record's offset is above the snapshot's end.
    """
    if not may_go_back():
        return 0
    records = records_in(delta)
    if before == 0:
        return 1 if records == 1 else 2
    return before if records == 0 else 2


def records_in(delta: Delta) -> int:
    """The records of a batch. A topic is deleted, and a broker unregistered, by one."""
    removed = sum(1 for one in delta.removals if one.topic) + sum(1 for b in Broker if removes_registration(delta, b))
    brokers = sum(1 for b in Broker if delta.registrations[b] is not None)
    partitions = sum(1 for p in TopicPartition if delta.partitions[p] is not None)
    return removed + brokers + partitions + (0 if delta.topic is None else 1)


def replay(image: Metadata, log: Log) -> Metadata:
    """The image once all batches of a log are replayed on it."""
    for batch in log:
        image = replayed(image, batch.delta)
    return image


# Which replies wait.


def deferred(controller: Controller, by: Voter, error: Error) -> Deferral:
    """The condition for a reply of now to leave its controller: all that it has written is committed.

    NEW_LEADER_ELECTED is the reply to a change that is made.
    """
    if error == Error.NONE or error == Error.NEW_LEADER_ELECTED:
        waits = Design.successes_wait
    elif error == Error.STALE_BROKER_EPOCH or error == Error.DUPLICATE_BROKER_REGISTRATION:
        waits = Design.thrown_errors_wait
    else:
        waits = Design.refusals_wait
    return Map({voter: len(controller.log) if waits and voter == by else 0 for voter in Voter})
