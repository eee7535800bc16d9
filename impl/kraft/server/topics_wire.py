"""CreateTopics, CreatePartitions, DeleteTopics, by kio's schemas: of each topic a request of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from kio.schema.create_partitions.v3 import response as partitions_response
from kio.schema.create_topics.v7 import response as create_response
from kio.schema.delete_topics.v6 import response as delete_response
from kio.static.primitive import i16, i32

from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
)
from impl.kraft.security.acls import Operation
from impl.kraft.server.authorization import Rights
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.parts import Each, Parts

_DEFAULT = -1
"""For a number of partitions or replicas: that of the cluster, which is 1."""
_TWICE = ErrorCode.INVALID_REQUEST, "the topic is named twice"


def create_topics(entity: Any, rights: Rights) -> Parts:
    of_all = rights.of_cluster(Operation.CREATE)

    def begun(topic: Any) -> CreateTopicRequest | CreateTopicResponse:
        if not of_all and not rights.of_topic(Operation.CREATE, topic.name):
            return CreateTopicResponse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return _new_topic(topic, entity.validate_only)

    each = Each(
        key=_name,
        begun=begun,
        twice=CreateTopicResponse(_TWICE[0], message=_TWICE[1]),
        ended=_created,
    )
    return each.parts(
        entity.topics, lambda results: create_response.CreateTopicsResponse(throttle_time=NO_TIME, topics=results)
    )


def _name(topic: Any) -> str:
    return str(topic.name)


def _new_topic(topic: Any, validate_only: bool) -> CreateTopicRequest | CreateTopicResponse:
    """A refusal where no request of the core can be made of it."""
    places = sorted(one.partition_index for one in topic.assignments)
    if places != list(range(len(places))):
        message = f"partitions 0 to {len(places) - 1} need replicas, not {places}"
        return CreateTopicResponse(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message=message)
    if any(config.value is None for config in topic.configs):
        return CreateTopicResponse(ErrorCode.INVALID_CONFIG, message="a config has no value")
    given = sorted(topic.assignments, key=lambda one: int(one.partition_index))
    return CreateTopicRequest(
        topic.name, uuid4(),
        1 if topic.num_partitions == _DEFAULT else int(topic.num_partitions),
        1 if topic.replication_factor == _DEFAULT else int(topic.replication_factor),
        tuple(tuple(map(int, one.broker_ids)) for one in given) or None,
        tuple((config.name, config.value) for config in topic.configs),
        validate_only,
    )  # fmt: skip


def _created(topic: Any, response: CreateTopicResponse) -> Any:
    found: dict[str, Any] = {}
    if response.error is ErrorCode.NONE:
        partitions, factor = topic.num_partitions, topic.replication_factor
        if topic.assignments:
            partitions, factor = len(topic.assignments), len(topic.assignments[0].broker_ids)
        found["num_partitions"] = i32(1 if partitions == _DEFAULT else partitions)
        found["replication_factor"] = i16(1 if factor == _DEFAULT else factor)
    return create_response.CreatableTopicResult(
        name=topic.name, topic_id=response.topic_id, error_code=wire_code(response.error),
        error_message=response.message or None, configs=(), **found,
    )  # fmt: skip


def create_partitions(entity: Any, rights: Rights) -> Parts:
    def begun(topic: Any) -> CreatePartitionsRequest | CreatePartitionsResponse:
        if not rights.of_topic(Operation.ALTER, topic.name):
            return CreatePartitionsResponse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        given = topic.assignments
        assignments = None if given is None else tuple(tuple(map(int, one.broker_ids)) for one in given)
        return CreatePartitionsRequest(topic.name, int(topic.count), assignments, entity.validate_only)

    each = Each(
        key=_name,
        begun=begun,
        twice=CreatePartitionsResponse(*_TWICE),
        ended=lambda topic, response: partitions_response.CreatePartitionsTopicResult(
            name=topic.name, error_code=wire_code(response.error), error_message=response.message or None
        ),
    )  # fmt: skip
    return each.parts(
        entity.topics,
        lambda results: partitions_response.CreatePartitionsResponse(throttle_time=NO_TIME, results=results),
    )


def delete_topics(entity: Any, image: Image, rights: Rights) -> Parts:
    """What is asked for by an id is answered by it alone: nobody learns a name so."""
    of_all = rights.of_cluster(Operation.DELETE)

    def begun(topic: Any) -> DeleteTopicRequest | DeleteTopicResponse:
        name = topic.name if topic.topic_id is None else image.topics.get(topic.topic_id)
        if name is not None and not of_all and not rights.of_topic(Operation.DELETE, name):
            return DeleteTopicResponse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return DeleteTopicRequest(topic.topic_id, topic.name)

    asked = [begun(topic) for topic in entity.topics]

    def deleted(responses: Sequence[Any]) -> Any:
        given = iter(responses)
        answers = [next(given) if isinstance(one, DeleteTopicRequest) else one for one in asked]
        results = tuple(
            delete_response.DeletableTopicResult(
                name=topic.name, topic_id=topic.topic_id, error_code=wire_code(response.error)
            )
            for topic, response in zip(entity.topics, answers, strict=True)
        )
        return delete_response.DeleteTopicsResponse(throttle_time=NO_TIME, responses=results)

    return Parts(tuple(one for one in asked if isinstance(one, DeleteTopicRequest)), deleted)
