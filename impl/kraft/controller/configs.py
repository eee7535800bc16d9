"""Configs of topics and brokers. Values are opaque here, but for those that the controller itself goes by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import AlterConfigRequest, AlterConfigResponse
from impl.kraft.records import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigRecord

MIN_INSYNC_REPLICAS = "min.insync.replicas"
ALL_BROKERS = ""
"""The broker resource whose configs are every broker's default."""


def is_positive(value: str) -> bool:
    return value.isdecimal() and int(value) > 0


VALIDATORS: Mapping[str, Callable[[str], bool]] = {MIN_INSYNC_REPLICAS: is_positive}


def invalid(name: str, value: str | None) -> str:
    """The reason why a config cannot have a value; empty where it can."""
    if not name:
        return "a config has no name"
    if value is not None and name in VALIDATORS and not VALIDATORS[name](value):
        return f"{name} cannot be {value!r}"
    return ""


def min_insync_replicas(image: Image, settings: ControllerSettings, topic_id: UUID) -> int:
    """min.insync.replicas of a topic: its own, else that of all brokers, else the controller's."""
    for resource in ((TOPIC_RESOURCE, image.topics[topic_id]), (BROKER_RESOURCE, ALL_BROKERS)):
        if (value := image.configs.get(resource, {}).get(MIN_INSYNC_REPLICAS)) is not None:
            return int(value)
    return settings.min_insync_replicas


def alter_config(image: Image, request: AlterConfigRequest) -> Decision:
    """Sets or deletes one config of a topic, of a broker, or of all brokers."""
    error, message = error_of(image, request)
    if error is not ErrorCode.NONE:
        return Decision(AlterConfigResponse(error, message))
    current = image.configs.get((request.resource_type, request.resource_name), {}).get(request.name)
    if current == request.value:
        return Decision(AlterConfigResponse(ErrorCode.NONE))
    record = ConfigRecord(request.resource_type, request.resource_name, request.name, request.value)
    return Decision(AlterConfigResponse(ErrorCode.NONE), (record,))


def error_of(image: Image, request: AlterConfigRequest) -> tuple[ErrorCode, str]:
    name = request.resource_name
    if request.resource_type == TOPIC_RESOURCE:
        if name not in image.topic_ids:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}"
    elif request.resource_type == BROKER_RESOURCE:
        if name != ALL_BROKERS and not name.isdecimal():
            return ErrorCode.INVALID_REQUEST, f"{name!r} is not a broker id"
        if name != ALL_BROKERS and int(name) not in image.registrations:
            return ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {name} is not registered"
    else:
        return ErrorCode.INVALID_REQUEST, f"resources of type {request.resource_type} have no configs"
    if problem := invalid(request.name, request.value):
        return ErrorCode.INVALID_CONFIG, problem
    return ErrorCode.NONE, ""
