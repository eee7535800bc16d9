"""IncrementalAlterConfigs and AlterConfigs, by kio's schemas: of each resource a request of the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kio.schema.alter_configs.v2 import response as replacing_response
from kio.schema.incremental_alter_configs.v1 import response as incremental_response

from impl.kraft.errors import ErrorCode
from impl.kraft.messages import AlterConfigsRequest, AlterConfigsResponse, ConfigChange, ConfigOperation
from impl.kraft.records import TOPIC_RESOURCE
from impl.kraft.security.acls import Operation
from impl.kraft.server.authorization import Rights
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.parts import Each, Parts

_OPERATIONS = frozenset(ConfigOperation)


def alter_configs(entity: Any, rights: Rights) -> Parts:
    return _parts(entity, rights, incremental_response, incremental_response.IncrementalAlterConfigsResponse, _changes)


def replace_configs(entity: Any, rights: Rights) -> Parts:
    """AlterConfigs: a resource has what is said, and nothing else."""
    return _parts(entity, rights, replacing_response, replacing_response.AlterConfigsResponse, _replacement)


def _parts(
    entity: Any, rights: Rights, schema: Any, response: Any,
    begun: Callable[[Any, bool], AlterConfigsRequest | AlterConfigsResponse],
) -> Parts:  # fmt: skip
    """schema: of the response, which is `response`. begun: what a resource is to have, or why not."""
    each = Each(
        key=lambda resource: (int(resource.resource_type), resource.resource_name),
        begun=lambda resource: _refusal(resource, rights) or begun(resource, entity.validate_only),
        twice=AlterConfigsResponse(ErrorCode.INVALID_REQUEST, "the resource is named twice"),
        ended=lambda resource, answer: schema.AlterConfigsResourceResponse(
            error_code=wire_code(answer.error), error_message=answer.message or None,
            resource_type=resource.resource_type, resource_name=resource.resource_name,
        ),
    )  # fmt: skip
    return each.parts(entity.resources, lambda results: response(throttle_time=NO_TIME, responses=results))


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


def _replacement(resource: Any, validate_only: bool) -> AlterConfigsRequest:
    """A config without a value is deleted, as those that are not named (ConfigurationControlManager)."""
    given = (config for config in resource.configs if config.value is not None)
    changes = tuple(ConfigChange(config.name, ConfigOperation.SET, config.value) for config in given)
    return AlterConfigsRequest(
        int(resource.resource_type), resource.resource_name, changes, validate_only, replaces=True
    )
