"""Topics and configs: which ones may be created, altered and deleted, and what is written of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import UUID

from impl.adapters.kraft.cluster import TOPIC
from impl.adapters.kraft.unmodelled.asking import Asking
from impl.adapters.kraft.unmodelled.membership import NEW_ID
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterConfigsRequest,
    ConfigChange,
    ConfigOperation,
    CreatePartitionsRequest,
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
)
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
SET, DELETE, APPEND, SUBTRACT = ConfigOperation
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
        asking.wants(replace(request, validate_only=True), ErrorCode.NONE)
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


def more_partitions(make: Make) -> None:
    """A topic gets more partitions, with as many replicas as its first is to have, and as a new topic has them."""
    image = make().image
    asking, everyone = make(), tuple(sorted(image.registrations))
    asking.wants(CreatePartitionsRequest(OTHER, 2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    for name, topic_id in image.topic_ids.items():
        held, first = image.partition_counts[topic_id], image.partitions[topic_id, 0]
        factor = len(first.replicas) - len(first.removing_replicas)
        for count in (held, held - 1, -1):
            asking.wants(CreatePartitionsRequest(name, count), ErrorCode.INVALID_PARTITIONS)
        asking.wants(CreatePartitionsRequest(name, held + 10_001), ErrorCode.POLICY_VIOLATION)
        for assignments in wrong_assignments(image, factor):
            request = CreatePartitionsRequest(name, held + 1, assignments)
            asking.wants(request, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        orders = everyone[::-1][:factor], everyone[-1:] + everyone[: factor - 1]
        isrs = [tuple(broker_id for broker_id in order if image.is_active(broker_id)) for order in orders]
        if all(isrs) and len(everyone) >= factor:
            given = CreatePartitionsRequest(name, held + 2, orders)
            records = tuple(
                PartitionRecord(number, topic_id, orders[number - held], isr, leader=isr[0])
                for number, isr in enumerate(isrs, held)
            )
            asking.wants(replace(given, validate_only=True), ErrorCode.NONE)
            asking.wants(given, ErrorCode.NONE, records)
        placed_partitions(make(), CreatePartitionsRequest(name, held + 2), factor)


def wrong_assignments(image: Image, factor: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Of one partition, which has as many replicas."""
    everyone = tuple(sorted(image.registrations))
    others = everyone[: factor - 1]
    yield from ((), (everyone[:factor],) * 2, ((),), ((*others, NEW_ID),), (others,), ((*others, *others[:1]),))
    idle = tuple(broker_id for broker_id in everyone if not image.is_active(broker_id))[:factor]
    if len(idle) == factor:
        yield (idle,)


def placed_partitions(asking: Asking, request: CreatePartitionsRequest, factor: int) -> None:
    """Those that the controller places, for which all brokers count, and one must be active."""
    active = [asking.image.is_active(broker_id) for broker_id in asking.image.registrations]
    if factor > len(active) or not any(active):
        asking.wants(request, ErrorCode.INVALID_REPLICATION_FACTOR)
        return
    asking.wants(request, ErrorCode.NONE, None)
    sizes = [len(record.replicas) for record in asking.records if isinstance(record, PartitionRecord)]
    asking.require(sizes == [factor] * 2, f"{request} makes partitions with {sizes} replicas")


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
            asking.wants(AlterConfigsRequest.of_one(kind, name, MIN_INSYNC, value), invalid)
        asking.wants(AlterConfigsRequest.of_one(kind, name, "", "1"), invalid)
        for number in ("2", "3", None):
            change = AlterConfigsRequest.of_one(kind, name, MIN_INSYNC, number)
            asking.wants(change, ErrorCode.NONE, (ConfigRecord(kind, name, MIN_INSYNC, number),))
            asking.wants(change, ErrorCode.NONE)
        several_configs(make(), kind, name)
    for kind, name, error in (
        (TOPIC_RESOURCE, OTHER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER_RESOURCE, "x", request),
        (BROKER_RESOURCE, f"{NEW_ID}", ErrorCode.BROKER_ID_NOT_REGISTERED),
        (3, TOPIC, request),
    ):
        asking.wants(AlterConfigsRequest.of_one(kind, name, MIN_INSYNC, "0"), error)


def several_configs(asking: Asking, kind: int, name: str) -> None:
    """Of one resource all are changed, or none; members of a list come and go (KIP-339)."""
    policy, other = ("cleanup.policy" if kind == TOPIC_RESOURCE else "log.cleanup.policy"), "another"

    def alter(*changes: tuple[str, ConfigOperation, str | None], validate_only: bool = False) -> AlterConfigsRequest:
        return AlterConfigsRequest(kind, name, tuple(ConfigChange(*change) for change in changes), validate_only)

    wrong: tuple[tuple[ErrorCode, tuple[str, ConfigOperation, str | None]], ...] = (
        (ErrorCode.INVALID_CONFIG, (MIN_INSYNC, SET, "0")),
        (ErrorCode.INVALID_CONFIG, (MIN_INSYNC, APPEND, "1")),
        (ErrorCode.INVALID_CONFIG, (policy, APPEND, "x" * 32_767)),
        (ErrorCode.INVALID_REQUEST, (policy, APPEND, None)),
        (ErrorCode.INVALID_REQUEST, (other, SET, None)),
        (ErrorCode.INVALID_REQUEST, (other, SET, "2")),
    )
    for error, second in wrong:
        asking.wants(alter((other, SET, "1"), second), error)
    for operation, given, after in (
        (APPEND, "compact,,compact", "delete,compact"),
        (APPEND, "delete", None),
        (SUBTRACT, "delete,other", "compact"),
        (SUBTRACT, "compact", ""),
        (APPEND, "compact", "compact"),
    ):
        records = () if after is None else (ConfigRecord(kind, name, policy, after),)
        asking.wants(alter((policy, operation, given), validate_only=True), ErrorCode.NONE)
        asking.wants(alter((policy, operation, given)), ErrorCode.NONE, records)
    two = ConfigRecord(kind, name, other, "1"), ConfigRecord(kind, name, policy, None)
    asking.wants(alter((other, SET, "1"), (policy, DELETE, "ignored")), ErrorCode.NONE, two)
    asking.wants(alter(), ErrorCode.NONE)
    asking.ask(alter((policy, SET, "compact"), (MIN_INSYNC, SET, "1")))
    gone = tuple(ConfigRecord(kind, name, one, None) for one in (policy, MIN_INSYNC))
    everything = replace(alter((other, SET, "2")), replaces=True)
    asking.wants(everything, ErrorCode.NONE, (ConfigRecord(kind, name, other, "2"), *gone))
    asking.wants(everything, ErrorCode.NONE)
