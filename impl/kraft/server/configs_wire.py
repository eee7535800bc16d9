"""IncrementalAlterConfigs, by kio's schema: of each resource a request of the core."""

from __future__ import annotations

from typing import Any

from kio.schema.incremental_alter_configs.v1 import response as config_response

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import AlterConfigsRequest, AlterConfigsResponse, ConfigChange, ConfigOperation
from impl.kraft.records import TOPIC_RESOURCE
from impl.kraft.security.acls import Operation
from impl.kraft.server.authorization import Rights
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.parts import Each, Parts

_OPERATIONS = frozenset(ConfigOperation)


def alter_configs(entity: Any, rights: Rights) -> Parts:
    each = Each(
        key=lambda resource: (int(resource.resource_type), resource.resource_name),
        begun=lambda resource: _refusal(resource, rights) or _changes(resource, entity.validate_only),
        twice=AlterConfigsResponse(ErrorCode.INVALID_REQUEST, "the resource is named twice"),
        ended=lambda resource, response: config_response.AlterConfigsResourceResponse(
            error_code=wire_code(response.error), error_message=response.message or None,
            resource_type=resource.resource_type, resource_name=resource.resource_name,
        ),
    )  # fmt: skip
    return each.parts(
        entity.resources,
        lambda results: config_response.IncrementalAlterConfigsResponse(throttle_time=NO_TIME, responses=results),
    )


def _refusal(resource: Any, rights: Rights) -> AlterConfigsResponse | None:
    """Where who asks may not change what a resource has; resources of other types are refused later (AuthHelper)."""
    if int(resource.resource_type) == TOPIC_RESOURCE:
        if not rights.of_topic(Operation.ALTER_CONFIGS, resource.resource_name):
            return AlterConfigsResponse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    elif not rights.of_cluster(Operation.ALTER_CONFIGS):
        return AlterConfigsResponse(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return None


def _changes(resource: Any, validate_only: bool) -> AlterConfigsRequest | AlterConfigsResponse:
    unknown = {int(config.config_operation) for config in resource.configs} - _OPERATIONS
    if unknown:
        return AlterConfigsResponse(ErrorCode.INVALID_REQUEST, f"there is no operation {min(unknown)} on a config")
    return AlterConfigsRequest(
        int(resource.resource_type), resource.resource_name,
        tuple(
            ConfigChange(config.name, ConfigOperation(int(config.config_operation)), config.value)
            for config in resource.configs
        ),
        validate_only,
    )  # fmt: skip
