"""What operators ask of a controller, drawn at random, and by which record of the log each of it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from uuid import UUID

from impl.kraft.image import ALL_BROKERS, MIN_INSYNC_REPLICAS, Image
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterPartitionReassignmentRequest,
    ConfigChange,
    CreateTopicRequest,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    ListPartitionReassignmentsRequest,
    Request,
    UnregisterBrokerRequest,
)
from impl.kraft.records import BROKER_RESOURCE, TOPIC_RESOURCE
from impl.kraft.simulation.metadata_rules import Mark

MOST_TOPICS, MOST_PARTITIONS, MOST_REPLICAS = 4, 3, 3


def draw(rng: Random, image: Image, number: int) -> Request:
    """A request about a cluster that looks so. number: no other request has it."""
    names = sorted(image.topic_ids)
    if not names or (len(names) < MOST_TOPICS and not rng.randrange(3)):
        return creation(rng, image, number)
    return rng.choice(REQUESTS)(rng, image, number, rng.choice(names))


def creation(rng: Random, image: Image, number: int) -> Request:
    partitions, brokers = rng.randint(1, MOST_PARTITIONS), sorted(image.registrations)
    configs = ((MIN_INSYNC_REPLICAS, "2"),) if not rng.randrange(4) else ()
    name, topic_id = f"topic{rng.randrange(MOST_TOPICS)}", UUID(int=number)
    if rng.randrange(2) and brokers:
        count = rng.randint(1, min(MOST_REPLICAS, len(brokers)))
        assignments = tuple(tuple(rng.sample(brokers, count)) for _ in range(partitions))
        return CreateTopicRequest(name, topic_id, assignments=assignments, configs=configs)
    return CreateTopicRequest(name, topic_id, partitions, rng.randint(1, MOST_REPLICAS), configs=configs)


def deletion(rng: Random, image: Image, number: int, name: str) -> Request:
    return DeleteTopicRequest(topic_id=image.topic_ids[name])


def topic_config(rng: Random, image: Image, number: int, name: str) -> Request:
    return AlterConfigsRequest.of_one(TOPIC_RESOURCE, name, "retention.ms", str(number))


def broker_config(rng: Random, image: Image, number: int, name: str) -> Request:
    broker = rng.choice([ALL_BROKERS, *map(str, sorted(image.registrations))])
    return AlterConfigsRequest.of_one(BROKER_RESOURCE, broker, "num.io.threads", str(number))


def reassignment(rng: Random, image: Image, number: int, name: str) -> Request:
    """To other replicas, or to none: it is cancelled."""
    brokers, partition = sorted(image.registrations), rng.randrange(MOST_PARTITIONS)
    if not brokers or not rng.randrange(4):
        return AlterPartitionReassignmentRequest(name, partition, None)
    replicas = rng.sample(brokers, rng.randint(1, min(MOST_REPLICAS, len(brokers))))
    return AlterPartitionReassignmentRequest(name, partition, tuple(replicas))


def election(rng: Random, image: Image, number: int, name: str) -> Request:
    return ElectPreferredLeaderRequest(name, rng.randrange(MOST_PARTITIONS))


def unregistration(rng: Random, image: Image, number: int, name: str) -> Request:
    """Of a broker that may run: it ends then, and the next process registers."""
    brokers: Sequence[int] = sorted(image.registrations)
    return UnregisterBrokerRequest(rng.choice(brokers) if brokers else 0)


def listing(rng: Random, image: Image, number: int, name: str) -> Request:
    return ListPartitionReassignmentsRequest()


REQUESTS: Sequence[Callable[[Random, Image, int, str], Request]] = (
    deletion, topic_config, topic_config, broker_config, reassignment, reassignment, reassignment, reassignment,
    reassignment, election, election, unregistration, listing,
)  # fmt: skip


def mark_of(request: Request) -> Mark | None:
    """How a record says that this was done; None: by no record that is like no other."""
    match request:
        case CreateTopicRequest(topic_id=topic_id):
            return "created", topic_id.int
        case DeleteTopicRequest(topic_id=UUID(int=number)):
            return "deleted", number
        case AlterConfigsRequest(changes=(ConfigChange(name=name, value=value),)):
            return "config", name, value
        case UnregisterBrokerRequest(broker_id=broker_id):
            return "unregistered", broker_id
    return None
