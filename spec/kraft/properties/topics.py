"""Topics that are created and deleted (S15, S16)."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant, witness
from spec.kraft.messages import AlterIsr
from spec.kraft.metadata import Metadata
from spec.kraft.processes import Replica
from spec.kraft.properties.replication import has_current_record
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Error, Process, RecordStatus, TopicPartition


@invariant(source="KIP-631, TopicRecord; KAFKA-12376 (S16)")
def topics_are_complete(s: Cluster) -> bool:
    """A topic has all its partitions, and without a topic there is none."""
    return has_all_partitions(committed(s))


def has_all_partitions(image: Metadata) -> bool:
    return all((image.partitions[p] is None) == (image.topic is None) for p in TopicPartition)


@transition_invariant(source="KIP-516; KIP-631, Topic Identifiers (S15)")
def deleted_topic_changes_nothing(before: Cluster, after: Cluster) -> bool:
    """The AlterIsr of a topic that was deleted changes nothing for who decides it, though one of its name be there."""
    return all(
        is_about_topic(before.controllers[m.to].image, m)
        or before.controllers[m.to].image == after.controllers[m.to].image
        for m in before.alterations
        if after.alterations.count(m) < before.alterations.count(m)
    )


def is_about_topic(image: Metadata, request: AlterIsr) -> bool:
    """The request is about the topic that there is."""
    return request.topic == image.topic


@invariant(source="KIP-631, Topic Identifiers; KAFKA-14616 (S15)")
def deleted_log_stays_deleted(s: Cluster) -> bool:
    """Nobody takes the log of a deleted topic for that of the topic of its name that there is now."""
    return all(
        s.produced[p] != RecordStatus.UNWRITTEN or not has_current_record(s, s.processes[process].replicas[p])
        for process in Process
        for p in TopicPartition
    )


@invariant(source="KIP-631, RemoveTopicRecord")
def deleted_topic_has_no_record(s: Cluster) -> bool:
    """Where there is no topic, no producer waits for its record, or has it acknowledged."""
    return committed(s).topic is not None or all(s.produced[p] == RecordStatus.UNWRITTEN for p in TopicPartition)


# Witnesses.


@witness
def topic_created_again(s: Cluster) -> bool:
    """The topic was deleted and created again, and somebody leads in it."""
    return s.faults.topics > 0 and any(
        leads_current(s, s.processes[process].replicas[p]) for process in Process for p in TopicPartition
    )


def leads_current(s: Cluster, replica: Replica) -> bool:
    return replica.leadership is not None and replica.topic == committed(s).topic


@witness
def acknowledged_after_recreation(s: Cluster) -> bool:
    """A producer's record is acknowledged in a topic that was deleted and created again."""
    return s.faults.topics > 0 and any(s.produced[p] == RecordStatus.ACKNOWLEDGED for p in TopicPartition)


@witness
def unknown_topic_refused(s: Cluster) -> bool:
    """A leader of a deleted topic gets UNKNOWN_TOPIC_ID."""
    return any(gets_unknown_topic_id(s.processes[process].replicas[p]) for process in Process for p in TopicPartition)


def gets_unknown_topic_id(replica: Replica) -> bool:
    leadership = replica.leadership
    return leadership is not None and leadership.reply is not None and leadership.reply.error == Error.UNKNOWN_TOPIC_ID


@witness
def log_outlives_its_topic(s: Cluster) -> bool:
    """There is a topic again, and on a disk the record of the one before."""
    image = committed(s)
    return any(is_stray(image, s.processes[process].replicas[p]) for process in Process for p in TopicPartition)


def is_stray(image: Metadata, replica: Replica) -> bool:
    return replica.has_record and image.topic is not None and replica.topic != image.topic


@witness
def change_outlives_topic(s: Cluster) -> bool:
    """There is no topic any more, while a leader still asks for a change of its ISR."""
    return committed(s).topic is None and any(
        asks_for_change(s.processes[process].replicas[p]) for process in Process for p in TopicPartition
    )


def asks_for_change(replica: Replica) -> bool:
    leadership = replica.leadership
    return leadership is not None and leadership.pending_change is not None
