"""Requests of operators about partitions: other replicas (KIP-455: alter, cancel, list), or another leader."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.partitions import cancelled, change, in_order, least_isr, original_replicas, reassigned
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import shown
from impl.kraft.image import Image, Partition, PartitionKey
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    ElectPreferredLeaderRequest,
    ElectPreferredLeaderResponse,
    ElectUncleanLeaderRequest,
    ElectUncleanLeaderResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
)
from impl.kraft.records import NO_LEADER


def find(image: Image, topic: str, partition_id: int) -> PartitionKey | None:
    """The key of a partition; None where there is no such partition."""
    topic_id = image.topic_ids.get(topic)
    if topic_id is None or (topic_id, partition_id) not in image.partitions:
        return None
    return topic_id, partition_id


def alter_reassignment(
    image: Image, settings: ControllerSettings, request: AlterPartitionReassignmentRequest
) -> Decision:
    """Begins a reassignment, in place of one under way, or cancels the one under way."""
    key = find(image, request.topic, request.partition_id)
    if key is None:
        return refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no partition {request.partition_id} of {shown(request.topic)}"
        )
    partition = image.partitions[key]
    if request.replicas is None:
        if not partition.is_reassigning:
            return refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "there is nothing to cancel")
        wanted, problem = cancelled(partition), cancel_problem(partition, least_isr(image, settings, key))
    else:
        wanted = reassigned(partition, request.replicas)
        min_isr = image.min_insync_replicas(key[0], settings.min_insync_replicas)
        problem = target_problem(image, partition, request.replicas, min_isr)
    if problem:
        return refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
    records = change(image, settings, key, wanted, image.is_active)
    return Decision(AlterPartitionReassignmentResponse(ErrorCode.NONE), records)


def refused(error: ErrorCode, message: str) -> Decision:
    return Decision(AlterPartitionReassignmentResponse(error, message))


def cancel_problem(partition: Partition, least: int) -> str:
    """The reason why a reassignment cannot be cancelled; empty where it can."""
    rest = cancelled(partition).isr
    return f"the ISR would be left with {rest}, and needs {least} members" if len(rest) < least else ""


def target_problem(image: Image, partition: Partition, target: tuple[int, ...], min_isr: int) -> str:
    """The reason why a partition cannot be given these replicas; empty where it can."""
    if problem := assignment_problem(image, target):
        return problem
    if len(target) < min_isr <= len(original_replicas(partition)):
        return f"there would be fewer replicas than min.insync.replicas, {min_isr}"
    return ""


def assignment_problem(image: Image, replicas: Collection[int]) -> str:
    """The reason why these cannot be the replicas of a partition; empty where they can. Fenced brokers can."""
    if not replicas:
        return "a partition needs a replica"
    if len(set(replicas)) < len(replicas):
        return f"a broker is named twice in {shown(tuple(replicas))}"
    for broker_id in replicas:
        if broker_id not in image.registrations:
            return f"broker {broker_id} is not registered"
    return ""


def list_reassignments(image: Image, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    """The reassignments under way, of the partitions that are asked for and exist."""
    if request.partitions is None:
        keys = in_order(image.reassigning)
    else:
        found = (find(image, topic, partition_id) for topic, partition_id in request.partitions)
        keys = [key for key in found if key is not None and key in image.reassigning]
    return ListPartitionReassignmentsResponse(ErrorCode.NONE, tuple(ongoing(image, key) for key in keys))


def ongoing(image: Image, key: PartitionKey) -> OngoingReassignment:
    partition = image.partitions[key]
    return OngoingReassignment(
        topic=image.topics[key[0]],
        partition_id=key[1],
        replicas=partition.replicas,
        adding_replicas=partition.adding_replicas,
        removing_replicas=partition.removing_replicas,
    )


def elect_preferred(image: Image, settings: ControllerSettings, request: ElectPreferredLeaderRequest) -> Decision:
    """Gives the lead to the first replica (KIP-183)."""
    key = find(image, request.topic, request.partition_id)
    if key is None:
        return Decision(ElectPreferredLeaderResponse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    partition = image.partitions[key]
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        return Decision(ElectPreferredLeaderResponse(ErrorCode.ELECTION_NOT_NEEDED))
    if preferred not in partition.isr or not image.may_lead(preferred, partition):
        return Decision(ElectPreferredLeaderResponse(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE))
    records = change(image, settings, key, replace(partition, leader=preferred), image.is_active)
    return Decision(ElectPreferredLeaderResponse(ErrorCode.NONE), records)


def elect_unclean_leader(image: Image, settings: ControllerSettings, request: ElectUncleanLeaderRequest) -> Decision:
    """Gives a partition without a leader one, of the ISR if it can, else any replica that may lead (KIP-460)."""
    key = find(image, request.topic, request.partition_id)
    if key is None:
        return Decision(ElectUncleanLeaderResponse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    partition = image.partitions[key]
    if partition.leader != NO_LEADER:
        return Decision(ElectUncleanLeaderResponse(ErrorCode.ELECTION_NOT_NEEDED))
    records = change(image, settings, key, partition, image.is_active, is_unclean=True)
    error = ErrorCode.NONE if records else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    return Decision(ElectUncleanLeaderResponse(error), records)
