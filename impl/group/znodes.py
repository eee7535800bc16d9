"""The znodes of the consumer coordinator: paths and data, where Kafka 0.7 has them (Consumer Coordinator, 4).

/consumers/coordinator is ephemeral and holds a broker id. Owners and offsets of a group are where 0.7's tools read
them, and persistent. The epoch of coordinators is Fencepost's; below /consumers its name would be that of a group.
"""

from __future__ import annotations

from impl.group.protocol import BrokerAddress, TopicPartition
from impl.group.topic_count import is_topic
from impl.runtime.properties import MOST_PORT
from impl.zookeeper.office import Seat
from impl.zookeeper.znodes import ZnodeError, read_decimal

GROUPS = "/consumers"
COORDINATOR = "/consumers/coordinator"
COORDINATOR_EPOCH = "/coordinator_epoch"
SEAT = Seat(COORDINATOR, COORDINATOR_EPOCH, in_json=False)
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
PERSISTENT = (
    (GROUPS, b""),
    ("/brokers", b""),
    (BROKER_IDS, b""),
    (TOPICS, b""),
    (COORDINATOR_EPOCH, b"0"),
)
"""The znodes that are there before any broker is, parents first, and their data."""
_RESERVED = COORDINATOR.rpartition("/")[2]
_MOST_PARTITIONS = 10_000


def is_group(name: str) -> bool:
    """A name that a group may have: its znode is not the coordinator's."""
    return is_topic(name) and name != _RESERVED


def id_path(broker: int) -> str:
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def count_path(topic: str, broker: str) -> str:
    """0.7's: the number of a topic's partitions that a broker has."""
    return f"{TOPICS}/{topic}/{broker}"


def group_path(group: str) -> str:
    return f"/consumers/{group}"


def legacy_ids_path(group: str) -> str:
    """0.7's consumers of a group, which rebalance among themselves."""
    return f"{group_path(group)}/ids"


def members_path(group: str) -> str:
    """Section 2's: consumers of a group, each with its registration."""
    return f"{group_path(group)}/members"


def member_path(group: str, consumer: str) -> str:
    return f"{members_path(group)}/{consumer}"


def owners_path(group: str) -> str:
    return f"{group_path(group)}/owners"


def owner_path(group: str, of: TopicPartition) -> str:
    return f"{owners_path(group)}/{of.topic}/{of.partition}"


def offset_path(group: str, of: TopicPartition) -> str:
    return f"{group_path(group)}/offsets/{of.topic}/{of.partition}"


def parents(path: str) -> list[str]:
    """The znodes above one, from below /consumers downwards."""
    parts = path.split("/")[2:-1]
    return ["/consumers/" + "/".join(parts[: number + 1]) for number in range(len(parts))]


def broker_bytes(broker: BrokerAddress, now_ms: int) -> bytes:
    """A registration as 0.7 writes it: creator, host, port."""
    return f"{broker.host}-{now_ms}:{broker.host}:{broker.port}".encode()


def read_broker(broker: int, data: bytes) -> BrokerAddress:
    """Raises ZnodeError."""
    path = id_path(broker)
    try:
        _, host, port = data.decode("utf-8").split(":")
    except ValueError:
        raise ZnodeError(path, data, "creator:host:port") from None
    return BrokerAddress(broker, host, read_decimal(path, port.encode(), most=MOST_PORT))


def read_count(topic: str, broker: str, data: bytes) -> int:
    """The number of partitions of a topic that a broker has. Raises ZnodeError."""
    return read_decimal(count_path(topic, broker), data, most=_MOST_PARTITIONS)
