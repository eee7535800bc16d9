"""Requests, responses and records as the JSON of Kafka's generated classes, and as those of `impl.kraft`."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import (
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
    ElectPreferredLeaderRequest,
    ElectPreferredLeaderResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    Request,
    Response,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from impl.kraft.records import (
    LEADER_UNCHANGED,
    Batch,
    BrokerRegistrationChangeRecord,
    Endpoint,
    FenceBrokerRecord,
    KeptRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RecordType,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    SupportedFeature,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

Json = Mapping[str, Any]
TOPIC_IDS = 1 << 64
"""Added to the ids of topics: Kafka keeps the lowest ones to itself."""
DIRECTORIES = 1 << 65
"""The first id of a log directory: each broker has one, and no request is about it."""
TIMEOUT_MS = 60_000


def uuid_json(id_: int) -> str:
    return urlsafe_b64encode(id_.to_bytes(16, "big")).decode().rstrip("=")


def uuid_of(text: str) -> int:
    return int.from_bytes(urlsafe_b64decode(f"{text}=="), "big")


def topic_json(id_: UUID) -> str:
    return uuid_json(id_.int + TOPIC_IDS)


def topic_of(text: str) -> UUID:
    return UUID(int=uuid_of(text) - TOPIC_IDS)


def directory_json(broker_id: int) -> str:
    return uuid_json(DIRECTORIES + broker_id)


# Requests.


def registration_json(request: BrokerRegistrationRequest) -> Json:
    return {
        "brokerId": request.broker_id,
        "clusterId": request.cluster_id,
        "incarnationId": uuid_json(request.incarnation_id.int),
        "listeners": [endpoint_json(one) for one in request.listeners],
        "features": [feature_json(one) for one in request.features],
        "rack": request.rack,
        "isMigratingZkBroker": False,
        "logDirs": [directory_json(request.broker_id)],
        "previousBrokerEpoch": -1,
    }


def endpoint_json(one: Endpoint) -> Json:
    return {"name": one.name, "host": one.host, "port": one.port, "securityProtocol": one.security_protocol}


def feature_json(one: SupportedFeature) -> Json:
    return {
        "name": one.name,
        "minSupportedVersion": one.min_supported_version,
        "maxSupportedVersion": one.max_supported_version,
    }


def heartbeat_json(request: BrokerHeartbeatRequest) -> Json:
    return {
        "brokerId": request.broker_id,
        "brokerEpoch": request.broker_epoch,
        "currentMetadataOffset": request.current_metadata_offset,
        "wantFence": request.want_fence,
        "wantShutDown": request.want_shut_down,
    }


def alter_partition_json(request: AlterPartitionRequest) -> Json:
    partition = {
        "partitionIndex": request.partition_id,
        "leaderEpoch": request.leader_epoch,
        "newIsrWithEpochs": [{"brokerId": m.broker_id, "brokerEpoch": m.broker_epoch} for m in request.new_isr],
        "leaderRecoveryState": 0,
        "partitionEpoch": request.partition_epoch,
    }
    topic = {"topicId": topic_json(request.topic_id), "partitions": [partition]}
    return {"brokerId": request.broker_id, "brokerEpoch": request.broker_epoch, "topics": [topic]}


def reassignment_json(request: AlterPartitionReassignmentRequest) -> Json:
    replicas = None if request.replicas is None else list(request.replicas)
    partition = {"partitionIndex": request.partition_id, "replicas": replicas}
    return {"timeoutMs": TIMEOUT_MS, "topics": [{"name": request.topic, "partitions": [partition]}]}


def list_json(request: ListPartitionReassignmentsRequest) -> Json:
    if request.partitions is None:
        return {"timeoutMs": TIMEOUT_MS, "topics": None}
    topics = [{"name": topic, "partitionIndexes": [partition]} for topic, partition in request.partitions]
    return {"timeoutMs": TIMEOUT_MS, "topics": topics}


def election_json(request: ElectPreferredLeaderRequest) -> Json:
    topic = {"topic": request.topic, "partitions": [request.partition_id]}
    return {"electionType": 0, "topicPartitions": [topic], "timeoutMs": TIMEOUT_MS}


def create_json(request: CreateTopicRequest) -> Json:
    assigned = enumerate(request.assignments or ())
    topic = {
        "name": request.name,
        "numPartitions": -1 if request.assignments else request.num_partitions,
        "replicationFactor": -1 if request.assignments else request.replication_factor,
        "assignments": [{"partitionIndex": number, "brokerIds": list(replicas)} for number, replicas in assigned],
        "configs": [{"name": name, "value": value} for name, value in request.configs],
    }
    return {"topics": [topic], "timeoutMs": TIMEOUT_MS, "validateOnly": False}


# Responses. A call that failed as a whole has an error code at the top.


def code(json: Json) -> ErrorCode:
    return ErrorCode(json.get("errorCode", 0))


def alter_partition_response(json: Json) -> Response:
    if code(json) != ErrorCode.NONE:
        return AlterPartitionResponse(code(json))
    partition = json["topics"][0]["partitions"][0]
    if code(partition) != ErrorCode.NONE:
        return AlterPartitionResponse(code(partition))
    epochs = partition["leaderEpoch"], tuple(partition["isr"]), partition["partitionEpoch"]
    return AlterPartitionResponse(ErrorCode.NONE, partition["leaderId"], *epochs)


def heartbeat_response(json: Json) -> Response:
    if code(json) != ErrorCode.NONE:
        return BrokerHeartbeatResponse(code(json))
    return BrokerHeartbeatResponse(ErrorCode.NONE, json["isCaughtUp"], json["isFenced"], json["shouldShutDown"])


def reassignment_response(json: Json) -> Response:
    found = json if code(json) != ErrorCode.NONE else json["responses"][0]["partitions"][0]
    return AlterPartitionReassignmentResponse(code(found), found.get("errorMessage") or "")


def list_response(json: Json) -> Response:
    ongoing = tuple(
        OngoingReassignment(
            topic["name"], one["partitionIndex"], tuple(one["replicas"]),
            as_placed(one["addingReplicas"], one["replicas"]), tuple(one["removingReplicas"]),
        )
        for topic in json.get("topics", ())
        for one in topic["partitions"]
    )  # fmt: skip
    return ListPartitionReassignmentsResponse(code(json), ongoing)


def election_response(json: Json) -> Response:
    found = json if code(json) != ErrorCode.NONE else json["replicaElectionResults"][0]["partitionResult"][0]
    return ElectPreferredLeaderResponse(code(found))


def create_response(json: Json) -> Response:
    found = json if code(json) != ErrorCode.NONE else json["topics"][0]
    return CreateTopicResponse(code(found), None, found.get("errorMessage") or "")


KINDS: Mapping[type, tuple[str, Callable[[Any], Json], Callable[[Json], Response]]] = {
    BrokerRegistrationRequest: (
        "BrokerRegistration", registration_json,
        lambda json: BrokerRegistrationResponse(code(json), json.get("brokerEpoch", -1)),
    ),
    BrokerHeartbeatRequest: ("BrokerHeartbeat", heartbeat_json, heartbeat_response),
    UnregisterBrokerRequest: (
        "UnregisterBroker", lambda request: {"brokerId": request.broker_id},
        lambda json: UnregisterBrokerResponse(code(json)),
    ),
    AlterPartitionRequest: ("AlterPartition", alter_partition_json, alter_partition_response),
    AlterPartitionReassignmentRequest: ("AlterPartitionReassignments", reassignment_json, reassignment_response),
    ListPartitionReassignmentsRequest: ("ListPartitionReassignments", list_json, list_response),
    ElectPreferredLeaderRequest: ("ElectLeaders", election_json, election_response),
    CreateTopicRequest: ("CreateTopics", create_json, create_response),
    DeleteTopicRequest: (
        "DeleteTopics", lambda request: {"topicId": topic_json(request.topic_id)},
        lambda json: DeleteTopicResponse(code(json)),
    ),
}  # fmt: skip
"""What each request is called, how it is written, and how its response is read."""


def command_of(call: int, request: Request) -> Json:
    kind, write, _ = KINDS[type(request)]
    topic = {"topicId": topic_json(request.topic_id)} if isinstance(request, CreateTopicRequest) else {}
    return {"kind": "call", "call": call, "request": kind, "data": write(request), **topic}


# Records.


def record_json(record: Record) -> Json:
    assert not isinstance(record, KeptRecord), "no request that is compared is about such a record"
    version, data = data_json(record)
    return {"type": int(record.type), "version": version, "data": data}


def data_json(record: Record) -> tuple[int, Json]:
    """The version of a record, and its fields."""
    match record:
        case RegisterBrokerRecord():
            return 3, {
                "brokerId": record.broker_id,
                "isMigratingZkBroker": False,
                "incarnationId": uuid_json(record.incarnation_id.int),
                "brokerEpoch": record.broker_epoch,
                "endPoints": [endpoint_json(one) for one in record.endpoints],
                "features": [feature_json(one) for one in record.features],
                "rack": record.rack,
                "fenced": record.fenced,
                "inControlledShutdown": record.in_controlled_shutdown,
                "logDirs": [directory_json(record.broker_id)],
            }
        case UnregisterBrokerRecord():
            return 0, {"brokerId": record.broker_id, "brokerEpoch": record.broker_epoch}
        case TopicRecord():
            return 0, {"name": record.name, "topicId": topic_json(record.topic_id)}
        case RemoveTopicRecord():
            return 0, {"topicId": topic_json(record.topic_id)}
        case PartitionRecord():
            return 1, {
                "partitionId": record.partition_id,
                "topicId": topic_json(record.topic_id),
                "replicas": list(record.replicas),
                "isr": list(record.isr),
                "removingReplicas": list(record.removing_replicas),
                "addingReplicas": list(record.adding_replicas),
                "leader": record.leader,
                "leaderEpoch": record.leader_epoch,
                "partitionEpoch": record.partition_epoch,
                "directories": [directory_json(replica) for replica in record.replicas],
            }
        case PartitionChangeRecord():
            return 1, {
                "partitionId": record.partition_id,
                "topicId": topic_json(record.topic_id),
                **changes_json(record),
            }
        case FenceBrokerRecord() | UnfenceBrokerRecord():
            return 0, {"id": record.broker_id, "epoch": record.broker_epoch}
        case BrokerRegistrationChangeRecord():
            change = {"inControlledShutdown": 1} if record.in_controlled_shutdown else {}
            return 2, {"brokerId": record.broker_id, "brokerEpoch": record.broker_epoch, **change}
        case NoOpRecord():
            return 0, {}
    raise AssertionError(f"{record} is in no log of a cluster under test")


LISTS = {
    "isr": "isr", "replicas": "replicas", "removingReplicas": "removing_replicas", "addingReplicas": "adding_replicas",
}  # fmt: skip


def as_placed(some: Sequence[int], replicas: Sequence[int]) -> tuple[int, ...]:
    """Some of the replicas in the order of all: Kafka sorts those that a reassignment adds, and reads them as a set."""
    return tuple(replica for replica in replicas if replica in some)


def changes_json(record: PartitionChangeRecord) -> Json:
    named = {name: getattr(record, field) for name, field in LISTS.items()}
    lists = {name: list(value) for name, value in named.items() if value is not None}
    lists.get("addingReplicas", []).sort()
    directories = (
        {} if record.replicas is None else {"directories": [directory_json(replica) for replica in record.replicas]}
    )
    leader = {} if record.leader == LEADER_UNCHANGED else {"leader": record.leader}
    return {**lists, **directories, **leader}


def record_of(type_: int, data: Json) -> Record:
    """A record, without what `impl.kraft` has not: directories, recovery states."""
    match RecordType(type_):
        case RecordType.REGISTER_BROKER:
            return RegisterBrokerRecord(
                broker_id=data["brokerId"],
                incarnation_id=UUID(int=uuid_of(data["incarnationId"])),
                broker_epoch=data["brokerEpoch"],
                endpoints=tuple(
                    Endpoint(one["name"], one["host"], one["port"], one["securityProtocol"])
                    for one in data["endPoints"]
                ),
                features=tuple(
                    SupportedFeature(one["name"], one["minSupportedVersion"], one["maxSupportedVersion"])
                    for one in data["features"]
                ),
                rack=data["rack"],
                fenced=data["fenced"],
                in_controlled_shutdown=data.get("inControlledShutdown", False),
            )
        case RecordType.UNREGISTER_BROKER:
            return UnregisterBrokerRecord(data["brokerId"], data["brokerEpoch"])
        case RecordType.TOPIC:
            return TopicRecord(data["name"], topic_of(data["topicId"]))
        case RecordType.REMOVE_TOPIC:
            return RemoveTopicRecord(topic_of(data["topicId"]))
        case RecordType.PARTITION:
            return PartitionRecord(
                partition_id=data["partitionId"],
                topic_id=topic_of(data["topicId"]),
                replicas=tuple(data["replicas"]),
                isr=tuple(data["isr"]),
                removing_replicas=tuple(data["removingReplicas"]),
                adding_replicas=tuple(data["addingReplicas"]),
                leader=data["leader"],
                leader_epoch=data["leaderEpoch"],
                partition_epoch=data["partitionEpoch"],
            )
        case RecordType.PARTITION_CHANGE:
            lists: dict[str, Any] = {
                field: tuple(data[name]) for name, field in LISTS.items() if data.get(name) is not None
            }
            if "replicas" in lists and "adding_replicas" in lists:
                lists["adding_replicas"] = as_placed(lists["adding_replicas"], lists["replicas"])
            leader = data.get("leader", LEADER_UNCHANGED)
            return PartitionChangeRecord(data["partitionId"], topic_of(data["topicId"]), leader=leader, **lists)
        case RecordType.FENCE_BROKER:
            return FenceBrokerRecord(data["id"], data["epoch"])
        case RecordType.UNFENCE_BROKER:
            return UnfenceBrokerRecord(data["id"], data["epoch"])
        case RecordType.BROKER_REGISTRATION_CHANGE:
            return registration_change(data)
        case RecordType.NO_OP:
            return NoOpRecord()
    raise AssertionError(f"no record of type {type_} is expected: {data}")


def registration_change(data: Json) -> Record:
    """Kafka writes changes of fencing as this record, too, where KIP-631 has one of their own."""
    broker = data["brokerId"], data["brokerEpoch"]
    fenced, shuts_down = data.get("fenced", 0), data.get("inControlledShutdown", 0)
    assert (fenced == 0) != (shuts_down == 0), data
    if fenced:
        return FenceBrokerRecord(*broker) if fenced == 1 else UnfenceBrokerRecord(*broker)
    return BrokerRegistrationChangeRecord(*broker, in_controlled_shutdown=shuts_down == 1)


def batch_json(batch: Batch, *, begins_epoch: bool) -> Json:
    """A batch. What begins an epoch is Raft's own, and no controller replays it."""
    records = [] if begins_epoch else [record_json(one) for one in batch.records]
    return {"baseOffset": batch.base_offset, "epoch": batch.epoch, "records": records}


def batch_of(json: Json) -> Batch:
    """A batch. One without records begins an epoch."""
    records = tuple(record_of(one["type"], one["data"]) for one in json["records"])
    return Batch(json["baseOffset"], json["epoch"], records or (NoOpRecord(),))
