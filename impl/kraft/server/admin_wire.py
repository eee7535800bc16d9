"""Requests about several topics or partitions, by kio's schemas: the core's, one by one, and what answers all of them.

Leaders ask for ISRs (AlterPartition); what operators ask for comes in envelopes of brokers, or straight. Every part is
decided by itself. What the core has not is refused in the response, for what asks for it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

from kio.schema.alter_client_quotas.v1 import request as quotas_request
from kio.schema.alter_configs.v2 import request as replacing_request
from kio.schema.alter_partition.v3 import request as isr_request
from kio.schema.alter_partition.v3 import response as isr_response
from kio.schema.alter_partition_reassignments.v0 import request as moves_request
from kio.schema.alter_partition_reassignments.v0 import response as moves_response
from kio.schema.create_partitions.v3 import request as partitions_request
from kio.schema.create_topics.v7 import request as create_request
from kio.schema.delete_topics.v6 import request as delete_request
from kio.schema.elect_leaders.v2 import request as elect_request
from kio.schema.elect_leaders.v2 import response as elect_response
from kio.schema.incremental_alter_configs.v1 import request as config_request
from kio.schema.list_partition_reassignments.v0 import request as list_request
from kio.schema.list_partition_reassignments.v0 import response as list_response
from kio.schema.types import BrokerId, TopicName
from kio.schema.update_features.v1 import request as features_request
from kio.static.primitive import i8, i32

from impl.kraft.controller.controller import RESPONSES
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    ElectPreferredLeaderRequest,
    ElectUncleanLeaderRequest,
    IsrMember,
    ListPartitionReassignmentsRequest,
)
from impl.kraft.records import NO_LEADER
from impl.kraft.server import configs_wire, features_wire, quotas_wire, topics_wire
from impl.kraft.server.authorization import EVERYTHING, Rights
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.parts import Parts
from impl.runtime.entities import read_entity

ALTER_PARTITION = 56
VERSIONS: Mapping[int, int] = {
    19: 7, 20: 6, 33: 2, 37: 3, 43: 2, 44: 1, 45: 0, 46: 0, 49: 1, ALTER_PARTITION: 3, 57: 1,
}  # fmt: skip
"""By key, the version that is served: of CreateTopics, DeleteTopics, AlterConfigs, CreatePartitions, ElectLeaders,
IncrementalAlterConfigs, AlterPartitionReassignments, ListPartitionReassignments, AlterClientQuotas, AlterPartition,
UpdateFeatures."""

_NO_ID = UUID(int=0)
_DELETE_TOPICS, _ELECT_LEADERS = 20, 43
_OF_ALL = frozenset((ErrorCode.NOT_CONTROLLER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
_PREFERRED, _UNCLEAN = 0, 1


def read_parts(key: int, body: bytes, image: Image, rights: Rights = EVERYTHING) -> Parts:
    """image: what is committed. rights: of who asks, of each topic that is named. Raises WireError."""
    if key == _ELECT_LEADERS:
        return _elect(read_entity(elect_request.ElectLeadersRequest, body), image)
    if key == _DELETE_TOPICS:
        return topics_wire.delete_topics(read_entity(delete_request.DeleteTopicsRequest, body), image, rights)
    if key in _READ_WITH_RIGHTS:
        kind, parts_with_rights = _READ_WITH_RIGHTS[key]
        return parts_with_rights(read_entity(kind, body), rights)
    kind, parts_of = _READ[key]
    return parts_of(read_entity(kind, body))


def refused(parts: Parts, error: ErrorCode) -> bytes:
    """The body of the response where nothing of a request is looked at."""
    return parts.response_bytes([RESPONSES[type(request)](error) for request in parts.requests])


def _alter_partitions(entity: Any) -> Parts:
    requests = tuple(
        AlterPartitionRequest(
            int(entity.broker_id), int(entity.broker_epoch), topic.topic_id or _NO_ID, int(one.partition_index),
            int(one.leader_epoch), int(one.partition_epoch),
            tuple(IsrMember(int(member.broker_id), int(member.broker_epoch)) for member in one.new_isr_with_epochs),
            int(one.leader_recovery_state),
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
        leader_recovery_state=i8(response.leader_recovery_state),
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


def _elect(entity: Any, image: Image) -> Parts:
    """Elections of preferred leaders, or unclean ones: of partitions that are named, or of all.

    Of all, Kafka does not tell which need none (ReplicationControlManager.electLeaders). That nothing is left to elect
    is told by the active controller alone, which is asked for something else with it.
    """
    if entity.election_type not in (_PREFERRED, _UNCLEAN):
        return Parts((), lambda _: _elected(ErrorCode.INVALID_REQUEST, ()))
    of_all, is_unclean = entity.topic_partitions is None, entity.election_type == _UNCLEAN
    named = to_elect(image, is_unclean=is_unclean) if of_all else (
        (topic.topic, int(index)) for topic in entity.topic_partitions for index in topic.partitions
    )  # fmt: skip
    kind = ElectUncleanLeaderRequest if is_unclean else ElectPreferredLeaderRequest
    elections = tuple(kind(topic, index) for topic, index in named)

    def elected(responses: Sequence[Any]) -> Any:
        answered = [
            (request.topic, elect_response.PartitionResult(
                partition_id=i32(request.partition_id), error_code=wire_code(response.error), error_message=None
            ))
            for request, response in zip(elections, responses, strict=False)
            if not of_all or response.error is not ErrorCode.ELECTION_NOT_NEEDED
        ]  # fmt: skip
        return _elected(_of_all(responses), answered)

    return Parts((*elections, ListPartitionReassignmentsRequest(())) if of_all else elections, elected)


def to_elect(image: Image, *, is_unclean: bool) -> Iterator[tuple[str, int]]:
    """The partitions without a leader, or whose preferred leader does not lead them, by name and number."""
    for name, topic_id in sorted(image.topic_ids.items()):
        for (_, index), partition in image.of_topic(topic_id):
            if partition.leader == NO_LEADER if is_unclean else partition.leader != partition.replicas[0]:
                yield name, index


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
    """The error of the whole response: who asks a standby asks another controller; who may not ask is told so."""
    errors = {response.error for response in responses}
    return errors.pop() if len(errors) == 1 and errors <= _OF_ALL else ErrorCode.NONE


_READ_WITH_RIGHTS: Mapping[int, tuple[type, Callable[[Any, Rights], Parts]]] = {
    19: (create_request.CreateTopicsRequest, topics_wire.create_topics),
    33: (replacing_request.AlterConfigsRequest, configs_wire.replace_configs),
    37: (partitions_request.CreatePartitionsRequest, topics_wire.create_partitions),
    44: (config_request.IncrementalAlterConfigsRequest, configs_wire.alter_configs),
}
_READ: Mapping[int, tuple[type, Callable[[Any], Parts]]] = {
    45: (moves_request.AlterPartitionReassignmentsRequest, _reassign),
    46: (list_request.ListPartitionReassignmentsRequest, _list_reassignments),
    49: (quotas_request.AlterClientQuotasRequest, quotas_wire.alter_quotas),
    ALTER_PARTITION: (isr_request.AlterPartitionRequest, _alter_partitions),
    57: (features_request.UpdateFeaturesRequest, features_wire.update_features),
}
