"""Topics: create, delete, more partitions.

KIP-631, TopicRecord, RemoveTopicRecord, The Three Cluster Membership States; KIP-195.
"""

from __future__ import annotations

from uuid import UUID

from impl.kraft.controller.configs import invalid
from impl.kraft.controller.decision import Decision
from impl.kraft.controller.limits import too_many
from impl.kraft.controller.placement import place
from impl.kraft.controller.reassignment import assignment_problem
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import shown
from impl.kraft.image import Image
from impl.kraft.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
)
from impl.kraft.records import (
    TOPIC_RESOURCE,
    ConfigRecord,
    PartitionRecord,
    Record,
    RemoveTopicRecord,
    TopicRecord,
)
from impl.runtime.topics import LEGAL_NAME

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


def create_partitions(image: Image, request: CreatePartitionsRequest) -> Decision:
    """Gives a topic more partitions, with as many replicas as its first one is to have.

    Those that the controller places go on where those that the topic began with would.
    """
    topic_id = image.topic_ids.get(request.topic)
    if topic_id is None:
        return no_partitions(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {shown(request.topic)}")
    first = image.partition_counts[topic_id]
    if first == 0:
        return no_partitions(ErrorCode.UNKNOWN_SERVER_ERROR, f"{request.topic} has no partition yet")
    of_first = image.partitions[topic_id, 0]
    factor = len(of_first.replicas) - len(of_first.removing_replicas)
    error, message = increase_error(image, request, first, factor)
    if error is not ErrorCode.NONE:
        return no_partitions(error, message)
    assignments = request.assignments
    if assignments is None:
        assignments = place(image, request.count - first, factor, topic_id.int + first)
    records = (new_partition(image, topic_id, number, one) for number, one in enumerate(assignments, first))
    return Decision(CreatePartitionsResponse(ErrorCode.NONE), tuple(records))


def no_partitions(error: ErrorCode, message: str) -> Decision:
    return Decision(CreatePartitionsResponse(error, message))


def increase_error(image: Image, request: CreatePartitionsRequest, first: int, factor: int) -> tuple[ErrorCode, str]:
    """What is wrong with more partitions of a topic that has `first`. factor: the replicas of each."""
    added = request.count - first
    if added <= 0:
        return ErrorCode.INVALID_PARTITIONS, f"{request.topic} has {first} partitions: {request.count} are no more"
    if request.assignments is not None and len(request.assignments) != added:
        message = f"{added} partitions are added, and {len(request.assignments)} have replicas"
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, message
    if problem := too_many(f"{added} partitions more", added):
        return ErrorCode.POLICY_VIOLATION, problem
    if request.assignments is not None:
        return assignments_error(image, request.assignments, first, factor)
    return replication_error(image, factor)


def new_partition(image: Image, topic_id: UUID, partition_id: int, replicas: tuple[int, ...]) -> PartitionRecord:
    """A partition whose ISR are the replicas that are active."""
    isr = tuple(replica for replica in replicas if image.is_active(replica))
    directories = tuple(map(image.default_directory, replicas)) if image.knows_directories else ()
    return PartitionRecord(partition_id, topic_id, replicas, isr, leader=isr[0], directories=directories)


def error_of(image: Image, request: CreateTopicRequest) -> tuple[ErrorCode, str]:
    """The first thing that is wrong with a request to create a topic."""
    if not LEGAL_NAME.match(request.name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION, f"{shown(request.name)} is not a valid name for a topic"
    if request.name in image.topic_ids:
        return ErrorCode.TOPIC_ALREADY_EXISTS, f"there is a topic {request.name!r}"
    if request.topic_id in image.topics:
        return ErrorCode.INVALID_REQUEST, f"the topic id {request.topic_id} is taken"
    partitions = request.num_partitions if request.assignments is None else len(request.assignments)
    what = f"a topic of {partitions} partitions with {len(request.configs)} configs"
    if problem := too_many(what, 1 + len(request.configs) + max(0, partitions)):
        return ErrorCode.POLICY_VIOLATION, problem
    for name, value in request.configs:
        if problem := invalid(name, value):
            return ErrorCode.INVALID_CONFIG, problem
    if request.assignments is not None:
        if not request.assignments:
            return ErrorCode.INVALID_PARTITIONS, "a topic cannot have 0 partitions"
        return assignments_error(image, request.assignments, 0, len(request.assignments[0]))
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


def assignments_error(image: Image, assignments: Assignments, first: int, factor: int) -> tuple[ErrorCode, str]:
    """first: the partition that the assignments begin with. factor: the replicas of each."""
    for partition_id, replicas in enumerate(assignments, first):
        problem = assignment_problem(image, replicas)
        if not problem and len(replicas) != factor:
            problem = f"{len(replicas)} replicas, but {factor} of partition 0"
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
