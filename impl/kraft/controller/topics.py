"""Topics: create and delete. KIP-631, TopicRecord, RemoveTopicRecord, The Three Cluster Membership States."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from uuid import UUID

from impl.kraft.controller.configs import invalid
from impl.kraft.controller.decision import Decision
from impl.kraft.controller.placement import place
from impl.kraft.controller.reassignment import assignment_problem
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import shown
from impl.kraft.image import Image
from impl.kraft.messages import CreateTopicRequest, CreateTopicResponse, DeleteTopicRequest, DeleteTopicResponse
from impl.kraft.records import (
    TOPIC_RESOURCE,
    ConfigRecord,
    PartitionRecord,
    Record,
    RemoveTopicRecord,
    TopicRecord,
)

LEGAL_NAME = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}\Z")
MOST_RECORDS = 10_000
"""As many a request of an operator may ask for, as in Kafka (QuorumController.MAX_RECORDS_PER_USER_OP)."""
MOST_BYTES = 8 << 20
"""As large the batch of a decision may be, as in Kafka (KafkaRaftClient.MAX_BATCH_SIZE_BYTES)."""
Assignments = tuple[tuple[int, ...], ...]


def create_topic(image: Image, request: CreateTopicRequest) -> Decision:
    """Creates a topic with all of its partitions in one batch.

    Where the controller places the replicas, the topic's id, which is random, says with which broker it begins.
    """
    error, message = error_of(image, request)
    if error is not ErrorCode.NONE:
        return Decision(CreateTopicResponse(error, message=message))
    assignments = request.assignments
    if assignments is None:
        assignments = place(image, request.num_partitions, request.replication_factor, request.topic_id.int)
    topic_id = request.topic_id
    records: tuple[Record, ...] = (
        TopicRecord(name=request.name, topic_id=topic_id),
        *(ConfigRecord(TOPIC_RESOURCE, request.name, name, value) for name, value in request.configs),
        *(new_partition(image, topic_id, number, replicas) for number, replicas in enumerate(assignments)),
    )
    return Decision(CreateTopicResponse(ErrorCode.NONE, topic_id), records)


def in_one_batch(decision: Decision, batch_bytes: Callable[[Sequence[Record]], int] | None) -> Decision:
    """The decision, or a refusal where its batch would be too large; batches are not split (KAFKA-12376)."""
    if batch_bytes is None or not decision.records or (size_bytes := batch_bytes(decision.records)) <= MOST_BYTES:
        return decision
    message = f"the topic takes a batch of {size_bytes} bytes: one request may ask for {MOST_BYTES}"
    return Decision(CreateTopicResponse(ErrorCode.POLICY_VIOLATION, message=message))


def new_partition(image: Image, topic_id: UUID, partition_id: int, replicas: tuple[int, ...]) -> PartitionRecord:
    """A partition whose ISR are the replicas that are active."""
    isr = tuple(replica for replica in replicas if image.is_active(replica))
    return PartitionRecord(partition_id=partition_id, topic_id=topic_id, replicas=replicas, isr=isr, leader=isr[0])


def error_of(image: Image, request: CreateTopicRequest) -> tuple[ErrorCode, str]:
    """The first thing that is wrong with a request to create a topic."""
    if not LEGAL_NAME.match(request.name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION, f"{shown(request.name)} is not a valid name for a topic"
    if request.name in image.topic_ids:
        return ErrorCode.TOPIC_ALREADY_EXISTS, f"there is a topic {request.name!r}"
    if request.topic_id in image.topics:
        return ErrorCode.INVALID_REQUEST, f"the topic id {request.topic_id} is taken"
    partitions = request.num_partitions if request.assignments is None else len(request.assignments)
    if (records := 1 + len(request.configs) + max(0, partitions)) > MOST_RECORDS:
        message = f"a topic of {partitions} partitions with {len(request.configs)} configs takes {records} records"
        return ErrorCode.POLICY_VIOLATION, f"{message}: one request may ask for {MOST_RECORDS}"
    for name, value in request.configs:
        if problem := invalid(name, value):
            return ErrorCode.INVALID_CONFIG, problem
    if request.assignments is not None:
        return assignments_error(image, request.assignments)
    if request.num_partitions < 1:
        return ErrorCode.INVALID_PARTITIONS, f"a topic cannot have {request.num_partitions} partitions"
    return replication_error(image, request.replication_factor)


def replication_error(image: Image, replication_factor: int) -> tuple[ErrorCode, str]:
    registered = len(image.registrations)
    if not 1 <= replication_factor <= registered:
        message = f"a partition cannot have {replication_factor} replicas: {registered} brokers are registered"
        return ErrorCode.INVALID_REPLICATION_FACTOR, message
    if not any(registration.is_active for registration in image.registrations.values()):
        return ErrorCode.INVALID_REPLICATION_FACTOR, "every broker is fenced or shutting down"
    return ErrorCode.NONE, ""


def assignments_error(image: Image, assignments: Assignments) -> tuple[ErrorCode, str]:
    if not assignments:
        return ErrorCode.INVALID_PARTITIONS, "a topic cannot have 0 partitions"
    for partition_id, replicas in enumerate(assignments):
        problem = assignment_problem(image, replicas)
        if not problem and len(replicas) != len(assignments[0]):
            problem = f"{len(replicas)} replicas, but {len(assignments[0])} of partition 0"
        if not problem and not any(image.is_active(replica) for replica in replicas):
            problem = "every replica is fenced or shutting down"
        if problem:
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {partition_id}: {problem}"
    return ErrorCode.NONE, ""


def delete_topic(image: Image, request: DeleteTopicRequest) -> Decision:
    """Deletes a topic with all of its partitions, whatever reassignments they are in."""
    if (request.topic_id is None) == (request.name is None):
        return Decision(DeleteTopicResponse(ErrorCode.INVALID_REQUEST))
    topic_id = request.topic_id if request.name is None else image.topic_ids.get(request.name)
    if topic_id is None:
        return Decision(DeleteTopicResponse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    if topic_id not in image.topics:
        return Decision(DeleteTopicResponse(ErrorCode.UNKNOWN_TOPIC_ID))
    return Decision(DeleteTopicResponse(ErrorCode.NONE), (RemoveTopicRecord(topic_id=topic_id),))
