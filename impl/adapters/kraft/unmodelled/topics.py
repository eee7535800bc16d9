"""Topics and configs: which ones may be created, altered and deleted, and what is written of them."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from impl.adapters.kraft.cluster import TOPIC
from impl.adapters.kraft.unmodelled.asking import Asking
from impl.adapters.kraft.unmodelled.membership import NEW_ID
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import AlterConfigRequest, CreateTopicRequest, CreateTopicResponse, DeleteTopicRequest
from impl.kraft.records import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    ConfigRecord,
    PartitionRecord,
    Record,
    RemoveTopicRecord,
    TopicRecord,
)

OTHER, OTHER_ID = "another.topic", UUID(int=1 << 90)
MIN_INSYNC = "min.insync.replicas"
Make = Callable[[], Asking]


def refused_topics(make: Make) -> None:
    """Name, id, configs, then partitions and replicas: the first that is wrong is what is answered."""
    asking = make()
    image = asking.image
    everyone = tuple(sorted(image.registrations))
    for name in ("", ".", "..", "a b", "x" * 250):
        asking.wants(CreateTopicRequest(name, OTHER_ID), ErrorCode.INVALID_TOPIC_EXCEPTION)
    bad = ((MIN_INSYNC, "0"),)
    for name, topic_id in image.topic_ids.items():
        taken = CreateTopicRequest(name, topic_id, num_partitions=0, configs=bad)
        asking.wants(taken, ErrorCode.TOPIC_ALREADY_EXISTS)
        asking.wants(CreateTopicRequest(OTHER, topic_id, num_partitions=0, configs=bad), ErrorCode.INVALID_REQUEST)
    asking.wants(CreateTopicRequest(OTHER, OTHER_ID, num_partitions=0, configs=bad), ErrorCode.INVALID_CONFIG)
    asking.wants(CreateTopicRequest(OTHER, OTHER_ID, num_partitions=0), ErrorCode.INVALID_PARTITIONS)
    asking.wants(CreateTopicRequest(OTHER, OTHER_ID, assignments=()), ErrorCode.INVALID_PARTITIONS)
    asking.wants(CreateTopicRequest(OTHER, OTHER_ID, num_partitions=10_000), ErrorCode.POLICY_VIOLATION)
    for factor in (0, len(everyone) + 1):
        request = CreateTopicRequest(OTHER, OTHER_ID, replication_factor=factor)
        asking.wants(request, ErrorCode.INVALID_REPLICATION_FACTOR)
    for assignments in (((),), ((*everyone, NEW_ID),), (everyone[:1] * 2,), (everyone, everyone[:-1])):
        request = CreateTopicRequest(OTHER, OTHER_ID, assignments=assignments)
        asking.wants(request, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    idle = tuple(broker_id for broker_id in everyone if not image.is_active(broker_id))
    if idle:
        request = CreateTopicRequest(OTHER, OTHER_ID, assignments=(idle,))
        asking.wants(request, ErrorCode.INVALID_REPLICA_ASSIGNMENT)


def created_topics(make: Make) -> None:
    """Of a new topic the active replicas are the ISR, the first leads, and all of it is one batch."""
    image = make().image
    everyone = tuple(sorted(image.registrations))
    active = [broker_id for broker_id in everyone if image.is_active(broker_id)]
    if not active:
        make().wants(CreateTopicRequest(OTHER, OTHER_ID), ErrorCode.INVALID_REPLICATION_FACTOR)
        return
    orders = everyone, everyone[::-1]
    for configs in ((), ((MIN_INSYNC, "2"), ("retention.ms", "1"))):
        asking = make()
        isrs = [tuple(broker_id for broker_id in order if broker_id in active) for order in orders]
        records: tuple[Record, ...] = (
            TopicRecord(OTHER, OTHER_ID),
            *(ConfigRecord(TOPIC_RESOURCE, OTHER, name, value) for name, value in configs),
            *(PartitionRecord(p, OTHER_ID, orders[p], isr, leader=isr[0]) for p, isr in enumerate(isrs)),
        )
        request = CreateTopicRequest(OTHER, OTHER_ID, assignments=orders, configs=configs)
        response = asking.wants(request, ErrorCode.NONE, records)
        asking.require(response == CreateTopicResponse(ErrorCode.NONE, OTHER_ID), f"{response} names the new topic")
        asking.wants(DeleteTopicRequest(OTHER_ID), ErrorCode.NONE, (RemoveTopicRecord(OTHER_ID),))
        asking.wants(DeleteTopicRequest(OTHER_ID), ErrorCode.UNKNOWN_TOPIC_ID)
    placed_topics(make, len(everyone), len(active))


def placed_topics(make: Make, registered: int, active: int) -> None:
    """Replicas that the controller places: as many as asked for, spread over the racks, the first one active."""
    for factor in range(1, registered + 1):
        asking = make()
        partitions = 2 * registered
        request = CreateTopicRequest(OTHER, OTHER_ID, num_partitions=partitions, replication_factor=factor)
        asking.wants(request, ErrorCode.NONE, None)
        made = [record for record in asking.records if isinstance(record, PartitionRecord)]
        asking.require(len(made) == partitions, f"{request} makes {len(made)} partitions")
        for record in made:
            asking.require(len(record.replicas) == factor, f"{record} has {factor} replicas")
            asking.require(record.leader == record.replicas[0], f"{record}: its first replica leads")
            racks = [asking.image.registrations[broker_id].rack for broker_id in record.replicas[:2]]
            spread = len(set(racks)) == min(factor, 2, len({one.rack for one in asking.image.registrations.values()}))
            asking.require(spread, f"{record}: its first two replicas are in different racks, not in {racks}")
        leaders = {record.leader for record in made}
        asking.require(len(leaders) > 1 or active == 1, f"{request}: the lead goes round, not always {leaders}")


def deletions(make: Make) -> None:
    asking = make()
    asking.wants(DeleteTopicRequest(), ErrorCode.INVALID_REQUEST)
    asking.wants(DeleteTopicRequest(OTHER_ID, OTHER), ErrorCode.INVALID_REQUEST)
    asking.wants(DeleteTopicRequest(name=OTHER), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    asking.wants(DeleteTopicRequest(OTHER_ID), ErrorCode.UNKNOWN_TOPIC_ID)
    for topic_id in asking.image.topics:
        make().wants(DeleteTopicRequest(topic_id), ErrorCode.NONE, (RemoveTopicRecord(topic_id),))


def configs(make: Make) -> None:
    """A config is set, set to what it is, deleted, deleted again: a record for each change, and for nothing else."""
    asking = make()
    invalid, request = ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST
    resources = [(BROKER_RESOURCE, ""), *((BROKER_RESOURCE, str(id_)) for id_ in asking.image.registrations)]
    resources += [(TOPIC_RESOURCE, name) for name in asking.image.topic_ids]
    for kind, name in resources:
        for value in ("0", "-1", "x", "", "1.5", "01", "2147483648", "9" * 5000):
            asking.wants(AlterConfigRequest(kind, name, MIN_INSYNC, value), invalid)
        asking.wants(AlterConfigRequest(kind, name, "", "1"), invalid)
        for number in ("2", "3", None):
            change = AlterConfigRequest(kind, name, MIN_INSYNC, number)
            asking.wants(change, ErrorCode.NONE, (ConfigRecord(kind, name, MIN_INSYNC, number),))
            asking.wants(change, ErrorCode.NONE)
    asking.wants(AlterConfigRequest(TOPIC_RESOURCE, OTHER, MIN_INSYNC, "0"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    asking.wants(AlterConfigRequest(BROKER_RESOURCE, "x", MIN_INSYNC, "0"), request)
    asking.wants(AlterConfigRequest(BROKER_RESOURCE, f"{NEW_ID}", MIN_INSYNC, "0"), ErrorCode.BROKER_ID_NOT_REGISTERED)
    asking.wants(AlterConfigRequest(3, TOPIC, MIN_INSYNC, "0"), request)
