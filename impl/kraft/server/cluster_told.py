"""Metadata and DescribeCluster of a broker: what its image has of brokers and topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode as WireErrorCode

from impl.kraft.image import Partition, Registration
from impl.kraft.records import NO_LEADER, Endpoint
from impl.kraft.security.acls import Operation
from impl.kraft.server.authorization import EVERYTHING, Rights
from impl.kraft.server.entities import NO_TIME
from impl.kraft.server.steps import Steps
from impl.runtime.client import Address
from impl.runtime.topics import LEGAL_NAME

_BROKERS = 1
"""The type of endpoints of brokers, where that of controllers is 2."""
_ALL_OF_FIRST_VERSION = 0


class Named(NamedTuple):
    """A topic that is asked for. name, topic_id: None where there is none. by_id: it was asked for by its id."""

    name: str | None
    topic_id: UUID | None
    by_id: bool = False


class ClusterTold:
    """listener: by its name, the one at which who asks is, and so is told others."""

    def __init__(self, steps: Steps, cluster_id: str) -> None:
        self._steps, self._cluster_id = steps, cluster_id

    def address_of(self, broker_id: int, listener: str) -> Address | None:
        """Where a broker of the image listens."""
        registration = self._steps.node.broker.image.registrations.get(broker_id)
        endpoint = None if registration is None else endpoint_of(registration, listener)
        return None if endpoint is None else (endpoint.host, endpoint.port)

    # Metadata.

    def metadata(self, request: Any, version: int, listener: str, rights: Rights = EVERYTHING) -> dict[str, Any]:
        """The response, by field. Topics are not made by asking for them."""
        brokers = self._alive(listener)
        alive = [one["node_id"] for one in brokers]
        return {
            "throttle_time": NO_TIME, "brokers": brokers, "cluster_id": self._cluster_id,
            "controller_id": self._steps.node.broker.broker_id if alive else -1,  # forwards, as any broker does
            "topics": [self._topic(named, alive, rights) for named in self._asked(request, version, rights)],
            "error_code": WireErrorCode.none,
        }  # fmt: skip

    def _alive(self, listener: str) -> list[dict[str, Any]]:
        return [
            {"node_id": one.broker_id, "host": endpoint.host, "port": endpoint.port, "rack": one.rack}
            for one in self._steps.node.broker.alive_brokers()
            if (endpoint := endpoint_of(one, listener)) is not None
        ]

    def _asked(self, request: Any, version: int, rights: Rights) -> Iterable[Named]:
        """Of one that is not there, what was asked for. Who asks for all is told of those that they may describe."""
        image = self._steps.node.broker.image
        if request.topics is None or (version == _ALL_OF_FIRST_VERSION and not request.topics):
            return [
                Named(name, topic_id)
                for name, topic_id in sorted(image.topic_ids.items())
                if rights.of_topic(Operation.DESCRIBE, name)
            ]
        found: list[Named] = []
        for topic in request.topics:
            topic_id = getattr(topic, "topic_id", None)
            if topic_id is not None and topic_id.int:
                found.append(Named(image.topics.get(topic_id), topic_id, by_id=True))
            else:
                found.append(Named(str(topic.name), image.topic_ids.get(topic.name)))
        return found

    def _topic(self, named: Named, alive: list[int], rights: Rights) -> dict[str, Any]:
        """Who may not describe a topic is told no more than they knew, not even whether it is there."""
        name, topic_id = named.name, named.topic_id
        if name is not None and not rights.of_topic(Operation.DESCRIBE, name):
            code = WireErrorCode.topic_authorization_failed
            told = ("", topic_id) if named.by_id else (name, None)
            return {"error_code": code, "name": told[0], "topic_id": told[1], "partitions": ()}
        if name is None or topic_id is None:
            code = WireErrorCode.unknown_topic_id
            if name is not None:
                is_legal = LEGAL_NAME.match(name) is not None
                code = WireErrorCode.unknown_topic_or_partition if is_legal else WireErrorCode.invalid_topic_exception
            return {"error_code": code, "name": name or "", "topic_id": topic_id, "partitions": ()}
        partitions = self._steps.node.broker.image.of_topic(topic_id)
        return {
            "error_code": WireErrorCode.none, "name": name, "topic_id": topic_id, "is_internal": False,
            "partitions": [_partition(key[1], partition, alive) for key, partition in partitions],
        }  # fmt: skip

    # DescribeCluster.

    def describe_cluster(self, request: Any, listener: str) -> dict[str, Any]:
        """The response, by field. A broker tells of brokers; who asks for controllers asks one of these (KIP-919)."""
        wrong = int(getattr(request, "endpoint_type", _BROKERS)) != _BROKERS
        registrations = self._steps.node.broker.image.registrations
        shows_fenced = getattr(request, "include_fenced_brokers", False)
        brokers = [
            {
                "broker_id": one.broker_id, "host": endpoint.host, "port": endpoint.port, "rack": one.rack,
                "is_fenced": one.fenced,
            }
            for _, one in sorted(registrations.items())
            if (endpoint := endpoint_of(one, listener)) is not None and (shows_fenced or not one.fenced)
        ]  # fmt: skip
        return {
            "throttle_time": NO_TIME,
            "error_code": WireErrorCode.mismatched_endpoint_type if wrong else WireErrorCode.none,
            "error_message": "this is a broker" if wrong else None, "endpoint_type": _BROKERS,
            "cluster_id": self._cluster_id, "controller_id": self._steps.node.broker.broker_id,
            "brokers": [] if wrong else brokers,
        }  # fmt: skip


def endpoint_of(registration: Registration, listener: str) -> Endpoint | None:
    return next((one for one in registration.endpoints if one.name == listener), None)


def _partition(index: int, partition: Partition, alive: list[int]) -> dict[str, Any]:
    """A leader that is not alive is none, as Kafka has it: clients could not find it."""
    is_led = partition.leader in alive
    return {
        "error_code": WireErrorCode.none if is_led else WireErrorCode.leader_not_available,
        "partition_index": index, "leader_id": partition.leader if is_led else NO_LEADER,
        "leader_epoch": partition.leader_epoch, "replica_nodes": partition.replicas, "isr_nodes": partition.isr,
        "offline_replicas": tuple(one for one in partition.replicas if one not in alive),
    }  # fmt: skip
