"""Requests about several topics or partitions, by kio's schemas: the core's, one by one, and what answers all of them.

Leaders ask for ISRs (AlterPartition); what operators ask for comes in envelopes of brokers, or straight. Every part is
decided by itself. What the core has not is refused in the response, for what asks for it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID, uuid4

from kio.schema.alter_partition.v3 import request as isr_request
from kio.schema.alter_partition.v3 import response as isr_response
from kio.schema.alter_partition_reassignments.v0 import request as moves_request
from kio.schema.alter_partition_reassignments.v0 import response as moves_response
from kio.schema.create_topics.v7 import request as create_request
from kio.schema.create_topics.v7 import response as create_response
from kio.schema.delete_topics.v6 import request as delete_request
from kio.schema.delete_topics.v6 import response as delete_response
from kio.schema.elect_leaders.v2 import request as elect_request
from kio.schema.elect_leaders.v2 import response as elect_response
from kio.schema.incremental_alter_configs.v1 import request as config_request
from kio.schema.incremental_alter_configs.v1 import response as config_response
from kio.schema.list_partition_reassignments.v0 import request as list_request
from kio.schema.list_partition_reassignments.v0 import response as list_response
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i16, i32

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterConfigRequest,
    AlterConfigResponse,
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    ElectPreferredLeaderResponse,
    IsrMember,
    ListPartitionReassignmentsRequest,
    Request,
)
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.flexible import read_flexible
from impl.runtime.entities import entity_bytes

VERSIONS: Mapping[int, int] = {19: 7, 20: 6, 43: 2, 44: 1, 45: 0, 46: 0, 56: 3}
"""By key, the version that is served: of CreateTopics, DeleteTopics, ElectLeaders, IncrementalAlterConfigs,
AlterPartitionReassignments, ListPartitionReassignments, AlterPartition."""

_NO_ID = UUID(int=0)
_DEFAULT = -1
"""For a number of partitions or replicas: that of the cluster, which is 1."""
_PREFERRED = 0
_SET, _DELETE = 0, 1


@dataclass(frozen=True)
class Parts:
    """The core's requests that a request is, and how the body of its response is made of theirs, in their order."""

    requests: tuple[Request, ...]
    entity: Callable[[Sequence[Any]], Any]

    def response_bytes(self, responses: Sequence[Any]) -> bytes:
        return entity_bytes(self.entity(responses))


def read_parts(key: int, body: bytes) -> Parts:
    """Raises WireError."""
    kind, parts_of = _READ[key]
    return parts_of(read_flexible(kind, body))


# Topics.


def _create_topics(entity: Any) -> Parts:
    problems = {topic.name: _not_served(topic, entity.validate_only) for topic in entity.topics}
    served = [topic for topic in entity.topics if problems[topic.name].error is ErrorCode.NONE]

    def made(responses: Sequence[Any]) -> Any:
        given = iter(responses)
        results = (
            _created(topic, next(given) if problems[topic.name].error is ErrorCode.NONE else problems[topic.name])
            for topic in entity.topics
        )
        return create_response.CreateTopicsResponse(throttle_time=NO_TIME, topics=tuple(results))

    return Parts(tuple(map(_create_topic, served)), made)


def _not_served(topic: Any, validate_only: bool) -> CreateTopicResponse:
    """The refusal of a topic that no request of the core can be made of; NONE where one can."""
    if validate_only:
        return CreateTopicResponse(ErrorCode.INVALID_REQUEST, message="validateOnly is not served")
    places = sorted(one.partition_index for one in topic.assignments)
    if places != list(range(len(places))):
        message = f"partitions 0 to {len(places) - 1} need replicas, not {places}"
        return CreateTopicResponse(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message=message)
    if any(config.value is None for config in topic.configs):
        return CreateTopicResponse(ErrorCode.INVALID_CONFIG, message="a config has no value")
    return CreateTopicResponse(ErrorCode.NONE)


def _create_topic(topic: Any) -> CreateTopicRequest:
    given = sorted(topic.assignments, key=lambda one: int(one.partition_index))
    return CreateTopicRequest(
        topic.name, uuid4(),
        1 if topic.num_partitions == _DEFAULT else int(topic.num_partitions),
        1 if topic.replication_factor == _DEFAULT else int(topic.replication_factor),
        tuple(tuple(map(int, one.broker_ids)) for one in given) or None,
        tuple((config.name, config.value) for config in topic.configs),
    )  # fmt: skip


def _created(topic: Any, response: CreateTopicResponse) -> Any:
    found: dict[str, Any] = {}
    if response.error is ErrorCode.NONE:
        asked = _create_topic(topic)
        found["num_partitions"] = i32(asked.num_partitions if asked.assignments is None else len(asked.assignments))
        factor = asked.replication_factor if asked.assignments is None else len(asked.assignments[0])
        found["replication_factor"] = i16(factor)
    return create_response.CreatableTopicResult(
        name=topic.name, topic_id=response.topic_id, error_code=wire_code(response.error),
        error_message=response.message or None, configs=(), **found,
    )  # fmt: skip


def _delete_topics(entity: Any) -> Parts:
    def deleted(responses: Sequence[Any]) -> Any:
        results = tuple(
            delete_response.DeletableTopicResult(
                name=topic.name, topic_id=topic.topic_id, error_code=wire_code(response.error)
            )
            for topic, response in zip(entity.topics, responses, strict=True)
        )
        return delete_response.DeleteTopicsResponse(throttle_time=NO_TIME, responses=results)

    return Parts(tuple(DeleteTopicRequest(topic.topic_id, topic.name) for topic in entity.topics), deleted)


# Configs.


def _alter_configs(entity: Any) -> Parts:
    """Of each resource one config: the core changes one at a time, and a resource is changed whole or not at all."""
    problems = [_config_problem(resource, entity.validate_only) for resource in entity.resources]
    served = tuple(
        AlterConfigRequest(
            int(resource.resource_type), resource.resource_name, config.name,
            config.value if config.config_operation == _SET else None,
        )
        for resource, problem in zip(entity.resources, problems, strict=True)
        for config in (() if problem else resource.configs)
    )  # fmt: skip

    def altered(responses: Sequence[AlterConfigResponse]) -> Any:
        given = iter(responses)
        results = (
            _altered_config(one, AlterConfigResponse(ErrorCode.INVALID_REQUEST, problem) if problem else next(given))
            for one, problem in zip(entity.resources, problems, strict=True)
        )
        return config_response.IncrementalAlterConfigsResponse(throttle_time=NO_TIME, responses=tuple(results))

    return Parts(served, altered)


def _config_problem(resource: Any, validate_only: bool) -> str:
    """The reason why no request of the core can be made of what is asked for a resource; empty where one can."""
    if validate_only:
        return "validateOnly is not served"
    if len(resource.configs) != 1:
        return f"one config of a resource is changed at a time, not {len(resource.configs)}"
    (config,) = resource.configs
    if config.config_operation not in (_SET, _DELETE):
        return "a config is set or deleted: nothing is appended to it or subtracted from it"
    if config.config_operation == _SET and config.value is None:
        return f"{config.name} is to be set, and has no value"
    return ""


def _altered_config(resource: Any, response: AlterConfigResponse) -> Any:
    return config_response.AlterConfigsResourceResponse(
        error_code=wire_code(response.error), error_message=response.message or None,
        resource_type=resource.resource_type, resource_name=resource.resource_name,
    )  # fmt: skip


# Partitions.


def _alter_partitions(entity: Any) -> Parts:
    requests = tuple(
        AlterPartitionRequest(
            int(entity.broker_id), int(entity.broker_epoch), topic.topic_id or _NO_ID, int(one.partition_index),
            int(one.leader_epoch), int(one.partition_epoch),
            tuple(IsrMember(int(member.broker_id), int(member.broker_epoch)) for member in one.new_isr_with_epochs),
        )
        for topic in entity.topics
        for one in topic.partitions
    )  # fmt: skip

    def altered(responses: Sequence[AlterPartitionResponse]) -> Any:
        stale = any(response.error is ErrorCode.STALE_BROKER_EPOCH for response in responses)
        error = ErrorCode.STALE_BROKER_EPOCH if stale else _of_all(responses)
        given = iter(responses)
        topics = tuple(
            isr_response.TopicData(
                topic_id=topic.topic_id,
                partitions=tuple(_altered(int(one.partition_index), next(given)) for one in topic.partitions),
            )
            for topic in entity.topics
        )
        return isr_response.AlterPartitionResponse(
            throttle_time=NO_TIME, error_code=wire_code(error), topics=topics if error is ErrorCode.NONE else ()
        )

    return Parts(requests, altered)


def _altered(partition_id: int, response: AlterPartitionResponse) -> Any:
    return isr_response.PartitionData(
        partition_index=i32(partition_id), error_code=wire_code(response.error),
        leader_id=BrokerId(response.leader), leader_epoch=i32(response.leader_epoch),
        isr=tuple(map(BrokerId, response.isr)), partition_epoch=i32(response.partition_epoch),
    )  # fmt: skip


def _reassign(entity: Any) -> Parts:
    requests = tuple(
        AlterPartitionReassignmentRequest(
            topic.name, int(one.partition_index), None if one.replicas is None else tuple(map(int, one.replicas))
        )
        for topic in entity.topics
        for one in topic.partitions
    )

    def reassigned(responses: Sequence[AlterPartitionReassignmentResponse]) -> Any:
        answered = [
            (request.topic, moves_response.ReassignablePartitionResponse(
                partition_index=i32(request.partition_id), error_code=wire_code(response.error),
                error_message=response.message or None,
            ))
            for request, response in zip(requests, responses, strict=True)
        ]  # fmt: skip
        return moves_response.AlterPartitionReassignmentsResponse(
            throttle_time=NO_TIME, error_code=wire_code(_of_all(responses)), error_message=None,
            responses=tuple(
                moves_response.ReassignableTopicResponse(name=TopicName(topic), partitions=partitions)
                for topic, partitions in _by_topic(answered)
            ),
        )  # fmt: skip

    return Parts(requests, reassigned)


def _list_reassignments(entity: Any) -> Parts:
    asked = None
    if entity.topics is not None:
        asked = tuple((topic.name, int(index)) for topic in entity.topics for index in topic.partition_indexes)

    def listed(responses: Sequence[Any]) -> Any:
        (response,) = responses
        found = [
            (one.topic, list_response.OngoingPartitionReassignment(
                partition_index=i32(one.partition_id), replicas=tuple(map(BrokerId, one.replicas)),
                adding_replicas=tuple(map(BrokerId, one.adding_replicas)),
                removing_replicas=tuple(map(BrokerId, one.removing_replicas)),
            ))
            for one in response.reassignments
        ]  # fmt: skip
        return list_response.ListPartitionReassignmentsResponse(
            throttle_time=NO_TIME, error_code=wire_code(response.error), error_message=None,
            topics=tuple(
                list_response.OngoingTopicReassignment(name=TopicName(topic), partitions=partitions)
                for topic, partitions in _by_topic(found)
            ),
        )  # fmt: skip

    return Parts((ListPartitionReassignmentsRequest(asked),), listed)


def _elect(entity: Any) -> Parts:
    """Of elections, those of preferred leaders of partitions that are named."""
    if entity.election_type != _PREFERRED or entity.topic_partitions is None:
        return Parts((), lambda _: _elected(ErrorCode.INVALID_REQUEST, ()))
    requests = tuple(
        ElectPreferredLeaderRequest(topic.topic, int(index))
        for topic in entity.topic_partitions
        for index in topic.partitions
    )

    def elected(responses: Sequence[ElectPreferredLeaderResponse]) -> Any:
        answered = [
            (request.topic, elect_response.PartitionResult(
                partition_id=i32(request.partition_id), error_code=wire_code(response.error), error_message=None
            ))
            for request, response in zip(requests, responses, strict=True)
        ]  # fmt: skip
        return _elected(_of_all(responses), answered)

    return Parts(requests, elected)


def _elected(error: ErrorCode, answered: Iterable[tuple[str, Any]]) -> Any:
    results = tuple(
        elect_response.ReplicaElectionResult(topic=TopicName(topic), partition_result=partitions)
        for topic, partitions in _by_topic(answered)
    )
    return elect_response.ElectLeadersResponse(
        throttle_time=NO_TIME, error_code=wire_code(error), replica_election_results=results
    )


def _by_topic(answered: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What stands together, of each topic."""
    for topic, ones in groupby(answered, key=lambda one: one[0]):
        yield topic, tuple(one for _, one in ones)


def _of_all(responses: Sequence[Any]) -> ErrorCode:
    """The error of the whole response: who asks a standby asks another controller."""
    refused = [response.error is ErrorCode.NOT_CONTROLLER for response in responses]
    return ErrorCode.NOT_CONTROLLER if refused and all(refused) else ErrorCode.NONE


_READ: Mapping[int, tuple[type, Callable[[Any], Parts]]] = {
    19: (create_request.CreateTopicsRequest, _create_topics),
    20: (delete_request.DeleteTopicsRequest, _delete_topics),
    43: (elect_request.ElectLeadersRequest, _elect),
    44: (config_request.IncrementalAlterConfigsRequest, _alter_configs),
    45: (moves_request.AlterPartitionReassignmentsRequest, _reassign),
    46: (list_request.ListPartitionReassignmentsRequest, _list_reassignments),
    56: (isr_request.AlterPartitionRequest, _alter_partitions),
}
