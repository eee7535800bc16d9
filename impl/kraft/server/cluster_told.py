"""Metadata and DescribeCluster of a broker: what its image has of brokers and topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode as WireErrorCode

from impl.kraft.image import Partition, Registration
from impl.kraft.records import NO_LEADER, Endpoint
from impl.kraft.server.entities import NO_TIME
from impl.kraft.server.steps import Steps
from impl.runtime.client import Address
from impl.runtime.topics import LEGAL_NAME

_BROKERS = 1
"""The type of endpoints of brokers, where that of controllers is 2."""
_ALL_OF_FIRST_VERSION = 0


class ClusterTold:
    """listener: the name of the one at which clients are, and so are told others."""

    def __init__(self, steps: Steps, cluster_id: str, listener: str) -> None:
        self._steps, self._cluster_id, self._listener = steps, cluster_id, listener

    def endpoint_of(self, registration: Registration) -> Endpoint | None:
        return next((one for one in registration.endpoints if one.name == self._listener), None)

    def address_of(self, broker_id: int) -> Address | None:
        """Where a broker of the image listens."""
        registration = self._steps.node.broker.image.registrations.get(broker_id)
        endpoint = None if registration is None else self.endpoint_of(registration)
        return None if endpoint is None else (endpoint.host, endpoint.port)

    # Metadata.

    def metadata(self, request: Any, version: int) -> dict[str, Any]:
        """The response, by field. Topics are not made by asking for them."""
        alive = [one["node_id"] for one in self._alive()]
        return {
            "throttle_time": NO_TIME, "brokers": self._alive(), "cluster_id": self._cluster_id,
            "controller_id": self._steps.node.broker.broker_id if alive else -1,  # forwards, as any broker does
            "topics": [self._topic(*named, alive) for named in self._asked(request, version)],
            "error_code": WireErrorCode.none,
        }  # fmt: skip

    def _alive(self) -> list[dict[str, Any]]:
        return [
            {"node_id": one.broker_id, "host": endpoint.host, "port": endpoint.port, "rack": one.rack}
            for one in self._steps.node.broker.alive_brokers()
            if (endpoint := self.endpoint_of(one)) is not None
        ]

    def _asked(self, request: Any, version: int) -> Iterable[tuple[str | None, UUID | None]]:
        """Names and ids of topics; of one that is not there, what was asked for."""
        image = self._steps.node.broker.image
        if request.topics is None or (version == _ALL_OF_FIRST_VERSION and not request.topics):
            return [(name, topic_id) for name, topic_id in sorted(image.topic_ids.items())]
        found: list[tuple[str | None, UUID | None]] = []
        for topic in request.topics:
            topic_id = getattr(topic, "topic_id", None)
            if topic_id is not None and topic_id.int:
                found.append((image.topics.get(topic_id), topic_id))
            else:
                found.append((str(topic.name), image.topic_ids.get(topic.name)))
        return found

    def _topic(self, name: str | None, topic_id: UUID | None, alive: list[int]) -> dict[str, Any]:
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

    def describe_cluster(self, request: Any) -> dict[str, Any]:
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
            if (endpoint := self.endpoint_of(one)) is not None and (shows_fenced or not one.fenced)
        ]  # fmt: skip
        return {
            "throttle_time": NO_TIME,
            "error_code": WireErrorCode.mismatched_endpoint_type if wrong else WireErrorCode.none,
            "error_message": "this is a broker" if wrong else None, "endpoint_type": _BROKERS,
            "cluster_id": self._cluster_id, "controller_id": self._steps.node.broker.broker_id,
            "brokers": [] if wrong else brokers,
        }  # fmt: skip


def _partition(index: int, partition: Partition, alive: list[int]) -> dict[str, Any]:
    """A leader that is not alive is none, as Kafka has it: clients could not find it."""
    is_led = partition.leader in alive
    return {
        "error_code": WireErrorCode.none if is_led else WireErrorCode.leader_not_available,
        "partition_index": index, "leader_id": partition.leader if is_led else NO_LEADER,
        "leader_epoch": partition.leader_epoch, "replica_nodes": partition.replicas, "isr_nodes": partition.isr,
        "offline_replicas": tuple(one for one in partition.replicas if one not in alive),
    }  # fmt: skip
