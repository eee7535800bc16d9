"""Configs of topics and brokers. Values are opaque here, but for those that the controller itself goes by."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from impl.kraft.controller.decision import Decision
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import shown
from impl.kraft.image import ALL_BROKERS, MIN_INSYNC_REPLICAS, Image
from impl.kraft.messages import AlterConfigRequest, AlterConfigResponse
from impl.kraft.records import BROKER_RESOURCE, TOPIC_RESOURCE, ConfigRecord

MOST_DIGITS = len(str(1 << 31))


def is_number(text: str) -> bool:
    """A number from 0 to 2^31 - 1, written in one way only."""
    return (
        len(text) <= MOST_DIGITS
        and text.isascii()
        and text.isdecimal()
        and str(number := int(text)) == text
        and (number < 1 << 31)
    )


def is_positive(value: str) -> bool:
    return is_number(value) and value != "0"


VALIDATORS: Mapping[str, Callable[[str], bool]] = {MIN_INSYNC_REPLICAS: is_positive}


def invalid(name: str, value: str | None) -> str:
    """The reason why a config cannot have a value; empty where it can."""
    if not name:
        return "a config has no name"
    if value is not None and name in VALIDATORS and not VALIDATORS[name](value):
        return f"{name} cannot be {shown(value)}"
    return ""


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
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {shown(name)}"
    elif request.resource_type == BROKER_RESOURCE:
        if name != ALL_BROKERS and not is_number(name):
            return ErrorCode.INVALID_REQUEST, f"{shown(name)} is not a broker id"
        if name != ALL_BROKERS and int(name) not in image.registrations:
            return ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {name} is not registered"
    else:
        return ErrorCode.INVALID_REQUEST, f"resources of type {request.resource_type} have no configs"
    if problem := invalid(request.name, request.value):
        return ErrorCode.INVALID_CONFIG, problem
    return ErrorCode.NONE, ""
