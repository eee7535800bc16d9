"""The znodes of heartbeats: paths, and JSON as Kafka writes it. Whatever somebody else wrote there is read or refused.

The document has `/broker/id/ID`, which Kafka has always called /brokers/ids/ID. A broker that sends heartbeats
registers with version 5 of BrokerInfo, any other with 4; there are no further fields (Compatibility, Deprecation, and
Migration Plan). `incarnations` in the state of a partition is Fencepost's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from impl.heartbeat.control_requests import NO_LEADER, TopicPartition
from impl.runtime.properties import MOST_PORT
from impl.zookeeper.znodes import MOST_INT32, ZnodeError, read_id, read_int, read_json, write_json

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
LEGACY_VERSION, HEARTBEAT_VERSION = 4, 5
"""Versions of BrokerInfo."""
PERSISTENT = (("/brokers", b""), (BROKER_IDS, b""), (TOPICS, b""), (CONTROLLER_EPOCH, b"0"))
"""The znodes that are there before any broker is, parents first, and their data."""
_MOST_INT64 = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """The registration of a broker."""

    host: str
    port: int
    version: int = HEARTBEAT_VERSION

    @property
    def is_legacy(self) -> bool:
        return self.version < HEARTBEAT_VERSION


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """The state of a partition, without the version of its znode.

    incarnations: of the members, in the order of the ISR, 0 for one that is not named; empty where nobody is.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int = 0
    incarnations: tuple[int, ...] = ()

    def named(self) -> dict[int, int]:
        """The members that it names, and their incarnations."""
        return {member: one for member, one in zip(self.isr, self.incarnations, strict=False) if one}


def id_path(broker: int) -> str:
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def state_path(of: TopicPartition) -> str:
    return f"{partitions_path(of.topic)}/{of.partition}/state"


def partition_znodes(
    topic: str, replicas: Mapping[int, tuple[int, ...]], states: Mapping[int, LeaderAndIsr]
) -> list[tuple[str, bytes]]:
    """The znodes of a new topic, parents first. states: of the partitions that have one already."""
    found = [(topic_path(topic), assignment_bytes(replicas)), (partitions_path(topic), b"")]
    for partition in replicas:
        found.append((f"{partitions_path(topic)}/{partition}", b""))
        if partition in states:
            found.append((state_path(TopicPartition(topic, partition)), state_bytes(states[partition])))
    return found


def broker_bytes(info: BrokerInfo) -> bytes:
    return write_json(
        {
            "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
            "endpoints": [f"PLAINTEXT://{info.host}:{info.port}"],
            "jmx_port": -1,
            "host": info.host,
            "port": info.port,
            "version": info.version,
        }
    )


def read_broker(path: str, data: bytes) -> BrokerInfo:
    """Raises ZnodeError."""
    fields = read_json(path, data, versions=(LEGACY_VERSION, HEARTBEAT_VERSION))
    host = fields.get("host")
    if not isinstance(host, str) or not _is_utf8(host):
        raise ZnodeError(path, data, "'host' in it")
    return BrokerInfo(host, read_int(path, data, fields, "port", most=MOST_PORT), fields["version"])


def assignment_bytes(replicas: Mapping[int, tuple[int, ...]]) -> bytes:
    return write_json({"version": 1, "partitions": {str(one): list(of) for one, of in replicas.items()}})


def read_assignment(path: str, data: bytes) -> dict[int, tuple[int, ...]]:
    """The replicas of each partition of a topic, the preferred one first. Raises ZnodeError."""
    found = read_json(path, data).get("partitions")
    if not isinstance(found, dict):
        raise ZnodeError(path, data, "'partitions' in it")
    replicas = dict[int, tuple[int, ...]]()
    for name, of in found.items():
        partition = read_id(name)
        if partition is None:
            raise ZnodeError(path, data, "numbers of partitions in it")
        replicas[partition] = _ids(path, data, of)
    return replicas


def state_bytes(state: LeaderAndIsr) -> bytes:
    fields: dict[str, Any] = {
        "controller_epoch": state.controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": list(state.isr),
    }
    if any(state.incarnations):
        fields["incarnations"] = list(state.incarnations)
    return write_json(fields)


def read_state(path: str, data: bytes) -> LeaderAndIsr:
    """Raises ZnodeError."""
    fields = read_json(path, data)
    isr = _ids(path, data, fields.get("isr"))
    return LeaderAndIsr(
        read_int(path, data, fields, "leader", least=NO_LEADER),
        read_int(path, data, fields, "leader_epoch"),
        isr,
        read_int(path, data, fields, "controller_epoch"),
        _incarnations(path, data, fields["incarnations"], len(isr)) if "incarnations" in fields else (),
    )


def _is_utf8(text: str) -> bool:
    """JSON has a way to write half of a character, which no other place does."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _incarnations(path: str, data: bytes, found: Any, count: int) -> tuple[int, ...]:
    if not isinstance(found, list) or len(found) != count:
        raise ZnodeError(path, data, "as many incarnations as members of the ISR in it")
    if not all(type(one) is int and 0 <= one <= _MOST_INT64 for one in found):
        raise ZnodeError(path, data, f"incarnations in it, not {json.dumps(found)[:40]}")
    return tuple(found)


def _ids(path: str, data: bytes, found: Any) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(type(one) is int and 0 <= one <= MOST_INT32 for one in found):
        raise ZnodeError(path, data, f"broker ids in it, not {json.dumps(found)[:40]}")
    return tuple(found)
