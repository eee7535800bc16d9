"""Requests of operators as kio has them, in few words."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from kio.schema.alter_client_quotas.v1 import request as quotas_request
from kio.schema.alter_configs.v2 import request as replacing_request
from kio.schema.alter_partition_reassignments.v0 import request as moves_request
from kio.schema.create_partitions.v3 import request as partitions_request
from kio.schema.create_topics.v7 import request as create_request
from kio.schema.elect_leaders.v2 import request as elect_request
from kio.schema.incremental_alter_configs.v1 import request as config_request
from kio.schema.types import BrokerId, TopicName
from kio.schema.update_features.v1 import request as features_request
from kio.static.primitive import f64, i8, i16, i32, i32Timedelta

TIMEOUT = i32Timedelta.parse(datetime.timedelta(seconds=30))
SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER = 2, 4
Assignments = tuple[tuple[int, ...], ...]


def new_topic(
    name: str, *assignments: tuple[int, ...], partitions: int = -1, factor: int = -1, first: int = 0, **configs: str
) -> Any:
    """first: the number of the first partition that is assigned. configs: with `_` for each dot."""
    return create_request.CreatableTopic(
        name=TopicName(name), num_partitions=i32(partitions), replication_factor=i16(factor),
        assignments=tuple(
            create_request.CreatableReplicaAssignment(partition_index=i32(at), broker_ids=tuple(map(BrokerId, one)))
            for at, one in enumerate(assignments, first)
        ),
        configs=tuple(
            create_request.CreatableTopicConfig(name=config.replace("_", "."), value=value)
            for config, value in configs.items()
        ),
    )  # fmt: skip


def creation(*topics: Any, validate_only: bool = False) -> Any:
    return create_request.CreateTopicsRequest(topics=topics, timeout=TIMEOUT, validate_only=validate_only)


def grown(name: str, count: int, assignments: Assignments | None = None) -> Any:
    """More partitions of a topic."""
    return partitions_request.CreatePartitionsTopic(
        name=TopicName(name), count=i32(count),
        assignments=None if assignments is None else tuple(
            partitions_request.CreatePartitionsAssignment(broker_ids=tuple(map(BrokerId, one))) for one in assignments
        ),
    )  # fmt: skip


def growth(*topics: Any, validate_only: bool = False) -> Any:
    return partitions_request.CreatePartitionsRequest(topics=topics, timeout=TIMEOUT, validate_only=validate_only)


def moved(topic: str, *partitions: tuple[int, tuple[int, ...] | None]) -> Any:
    """Reassignments. partitions: their numbers, each with its replicas; None: what is under way is cancelled."""
    return moves_request.AlterPartitionReassignmentsRequest(timeout=TIMEOUT, topics=(moves_request.ReassignableTopic(
        name=TopicName(topic), partitions=tuple(
            moves_request.ReassignablePartition(
                partition_index=i32(at), replicas=None if replicas is None else tuple(map(BrokerId, replicas))
            )
            for at, replicas in partitions
        ),
    ),))  # fmt: skip


def quotas(*entries: tuple[Mapping[str, str | None], Mapping[str, float | None]], validate_only: bool = False) -> Any:
    """Each: names by type of entity, None for the default; values by key, None to remove one."""
    return quotas_request.AlterClientQuotasRequest(validate_only=validate_only, entries=tuple(
        quotas_request.EntryData(
            entity=tuple(quotas_request.EntityData(entity_type=kind, entity_name=name) for kind, name in names.items()),
            ops=tuple(
                quotas_request.OpData(key=key, value=f64(value or 0.0), remove=value is None)
                for key, value in values.items()
            ),
        )
        for names, values in entries
    ))  # fmt: skip


def levels(*updates: tuple[str, int, int], validate_only: bool = False) -> Any:
    """Of features: name, level, type of update."""
    return features_request.UpdateFeaturesRequest(timeout=TIMEOUT, validate_only=validate_only, feature_updates=tuple(
        features_request.FeatureUpdateKey(feature=name, max_version_level=i16(level), upgrade_type=i8(kind))
        for name, level, kind in updates
    ))  # fmt: skip


def election(named: Mapping[str, tuple[int, ...]] | None, *, is_unclean: bool = False) -> Any:
    """Of preferred leaders, or unclean. named: partitions by topic; None: all."""
    partitions = None if named is None else tuple(
        elect_request.TopicPartitions(topic=TopicName(topic), partitions=tuple(map(i32, ones)))
        for topic, ones in named.items()
    )  # fmt: skip
    return elect_request.ElectLeadersRequest(election_type=i8(is_unclean), topic_partitions=partitions)


def configs_of(kind: int, name: str, *changes: tuple[str, int, str | None]) -> Any:
    """Changes of a resource: of each the config, the operation and the value."""
    configs = tuple(
        config_request.AlterableConfig(name=config, config_operation=i8(operation), value=value)
        for config, operation, value in changes
    )
    return config_request.AlterConfigsResource(resource_type=i8(kind), resource_name=name, configs=configs)


def replacement(kind: int, name: str, validate_only: bool = False, **configs: str | None) -> Any:
    """All configs of a resource. configs: with `_` for each dot."""
    resource = replacing_request.AlterConfigsResource(
        resource_type=i8(kind), resource_name=name, configs=tuple(
            replacing_request.AlterableConfig(name=config.replace("_", "."), value=value)
            for config, value in configs.items()
        ),
    )  # fmt: skip
    return replacing_request.AlterConfigsRequest(resources=(resource,), validate_only=validate_only)


def alteration(*resources: Any, validate_only: bool = False) -> Any:
    return config_request.IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
