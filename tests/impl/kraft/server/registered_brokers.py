"""A controller that is a quorum by itself, ours or Kafka's, with brokers as a test says: what it answers and writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.alter_configs.v2.response import AlterConfigsResponse
from kio.schema.alter_partition.v3.response import AlterPartitionResponse
from kio.schema.alter_partition_reassignments.v0.response import AlterPartitionReassignmentsResponse
from kio.schema.assign_replicas_to_dirs.v0.response import AssignReplicasToDirsResponse
from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse
from kio.schema.broker_registration.v4 import request as registration
from kio.schema.broker_registration.v4.response import BrokerRegistrationResponse
from kio.schema.controller_registration.v0.response import ControllerRegistrationResponse
from kio.schema.create_partitions.v3.response import CreatePartitionsResponse
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.elect_leaders.v2.response import ElectLeadersResponse
from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse
from kio.schema.types import BrokerId
from kio.schema.update_features.v1.response import UpdateFeaturesResponse
from kio.static.primitive import i16, i64, u16

from tests.cluster.kafka import until
from tests.impl.kraft.server.alone import Alone
from tests.impl.kraft.server.controllers import CLUSTER

BROKERS = (11, 12, 13)
FENCED = 13
RESPONSES: dict[int, Any] = {
    19: CreateTopicsResponse, 33: AlterConfigsResponse, 37: CreatePartitionsResponse, 43: ElectLeadersResponse,
    44: IncrementalAlterConfigsResponse, 45: AlterPartitionReassignmentsResponse, 49: AlterClientQuotasResponse,
    56: AlterPartitionResponse, 57: UpdateFeaturesResponse, 62: BrokerRegistrationResponse, 63: BrokerHeartbeatResponse,
    70: ControllerRegistrationResponse, 73: AssignReplicasToDirsResponse,
}  # fmt: skip
UNWRITTEN = frozenset(("topicId", "brokerEpoch"))
OF_OPERATORS = frozenset((
    "TOPIC_RECORD", "PARTITION_RECORD", "PARTITION_CHANGE_RECORD", "CONFIG_RECORD", "CLIENT_QUOTA_RECORD",
))  # fmt: skip
"""What no two clusters have in common."""


class WithBrokers(Alone):
    """Brokers register with it, as a test says. log_dirs: of brokers, by id."""

    log_dirs: Mapping[int, Sequence[UUID]] = {}

    def answer(self, request: Any) -> Any:
        return self.asked(request, RESPONSES[int(request.__api_key__)])

    def registered(self, broker_id: int, *log_dirs: UUID, incarnation: int = 0) -> Any:
        """The answer to a registration. incarnation: another one than its first."""
        listener = registration.Listener(name="PLAINTEXT", host="127.0.0.1", port=u16(9), security_protocol=i16(0))
        feature = registration.Feature(
            name="metadata.version", min_supported_version=i16(7), max_supported_version=i16(20)
        )
        return self.answer(registration.BrokerRegistrationRequest(
            broker_id=BrokerId(broker_id), cluster_id=CLUSTER, incarnation_id=UUID(int=broker_id + incarnation),
            listeners=(listener,), features=(feature,), rack=None, log_dirs=log_dirs,
        ))  # fmt: skip

    def register(self, broker_id: int) -> int:
        """Its epoch. Raises OSError, AssertionError where nobody is active yet."""
        response = self.registered(broker_id, *self.log_dirs.get(broker_id, ()))
        assert int(response.error_code) == 0
        return int(response.broker_epoch)

    def beat(self, broker_id: int, epoch: int, *offline: UUID, wants_fence: bool = False) -> Any:
        """The answer to a heartbeat."""
        return self.answer(BrokerHeartbeatRequest(
            broker_id=BrokerId(broker_id), broker_epoch=i64(epoch), current_metadata_offset=i64(1 << 40),
            want_fence=wants_fence, want_shut_down=False, offline_log_dirs=offline,
        ))  # fmt: skip

    def unfence(self, broker_id: int, epoch: int) -> None:
        response = self.beat(broker_id, epoch)
        assert int(response.error_code) == 0 and not response.is_fenced

    def written(self) -> list[tuple[str, dict[str, Any]]]:
        """The records that requests of operators have written; in order those about one thing, as Kafka hashes."""
        kept = [
            (kind, {name: value for name, value in data.items() if name not in UNWRITTEN})
            for kind, data in self.records()
            if kind in OF_OPERATORS
        ]
        return sorted(
            kept, key=lambda one: (one[0], one[1].get("resourceName", ""), one[1].get("name", one[1].get("key", "")))
        )

    def levels(self) -> list[int]:
        """Of metadata.version, one after the other: Kafka writes one again that it has."""
        found = [int(data["featureLevel"]) for kind, data in self.records() if kind == "FEATURE_LEVEL_RECORD"]
        return [level for level, _ in groupby(found)]

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        payloads = [line.split("payload: ", 1)[1] for line in self.printed().splitlines() if "payload: " in line]
        return [(one["type"], one["data"]) for one in map(json.loads, payloads)]


@contextmanager
def with_brokers(
    folder: Path, command: list[str], more: Mapping[str, object] | None = None, options: Sequence[str] = (),
    log_dirs: Mapping[int, Sequence[UUID]] | None = None,
) -> Iterator[WithBrokers]:  # fmt: skip
    """Three brokers are registered, of which one is fenced. options: of `kafka-storage format`."""
    found = WithBrokers(folder, {"broker.session.timeout.ms": 600_000, **(more or {})}, options)
    found.log_dirs = log_dirs or {}
    found.start(command)

    def has_registered() -> bool:
        try:
            return found.register(BROKERS[0]) >= 0
        except (OSError, AssertionError):
            return False

    try:
        until(has_registered, "a broker is registered", 60)
        for broker_id in BROKERS:
            epoch = found.register(broker_id)
            if broker_id != FENCED:
                found.unfence(broker_id, epoch)
        yield found
    finally:
        found.process.kill()
