"""Configs of topics and brokers. Values are opaque here, but for those that the controller itself goes by."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.lists import LISTS
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import MOST_STRING_BYTES, shown
from impl.kraft.image import ALL_BROKERS, MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION, Image
from impl.kraft.messages import AlterConfigsRequest, AlterConfigsResponse, ConfigChange, ConfigOperation
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


def is_boolean(value: str) -> bool:
    return value.lower() in ("true", "false")


VALIDATORS: Mapping[str, Callable[[str], bool]] = {MIN_INSYNC_REPLICAS: is_positive, UNCLEAN_ELECTION: is_boolean}


def invalid(name: str, value: str | None) -> str:
    """The reason why a config cannot have a value; empty where it can."""
    if not name:
        return "a config has no name"
    if value is not None and name in VALIDATORS and not VALIDATORS[name](value):
        return f"{name} cannot be {shown(value)}"
    if value is not None and len(value.encode()) > MOST_STRING_BYTES:
        return f"{name} cannot have more than {MOST_STRING_BYTES:,} bytes"
    return ""


def alter_configs(image: Image, request: AlterConfigsRequest) -> Decision:
    """Changes configs of a topic, of a broker, or of all brokers: all that are asked for, or none."""
    error, message = error_of(image, request)
    if error is not ErrorCode.NONE:
        return Decision(AlterConfigsResponse(error, message))
    held = image.configs_of(request.resource_type, request.resource_name)
    records: list[ConfigRecord] = []
    for change in (*request.changes, *left_out(request, held)):
        value = changed(request.resource_type, change, held.get(change.name))
        if problem := invalid(change.name, value):
            return Decision(AlterConfigsResponse(ErrorCode.INVALID_CONFIG, problem))
        if value != held.get(change.name):
            records.append(ConfigRecord(request.resource_type, request.resource_name, change.name, value))
    return Decision(AlterConfigsResponse(ErrorCode.NONE), tuple(records))


def left_out(request: AlterConfigsRequest, held: Mapping[str, str]) -> list[ConfigChange]:
    """What a request that replaces all configs deletes."""
    named = {change.name for change in request.changes}
    return [
        ConfigChange(name, ConfigOperation.DELETE, None)
        for name in sorted(held)
        if request.replaces and name not in named
    ]


def error_of(image: Image, request: AlterConfigsRequest) -> tuple[ErrorCode, str]:
    error, message = resource_error(image, request.resource_type, request.resource_name)
    if error is not ErrorCode.NONE:
        return error, message
    named: set[str] = set()
    for change in request.changes:
        if change.name in named:
            return ErrorCode.INVALID_REQUEST, f"{shown(change.name)} is changed twice"
        named.add(change.name)
        if change.value is None and change.operation is not ConfigOperation.DELETE:
            return ErrorCode.INVALID_REQUEST, f"{shown(change.name)} needs a value"
        edits = change.operation in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT)
        if edits and change.name not in LISTS[request.resource_type]:
            return ErrorCode.INVALID_CONFIG, f"{shown(change.name)} is no list"
    return ErrorCode.NONE, ""


def resource_error(image: Image, resource_type: int, name: str) -> tuple[ErrorCode, str]:
    """The reason why something has no configs."""
    if resource_type == TOPIC_RESOURCE:
        if name not in image.topic_ids:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {shown(name)}"
    elif resource_type == BROKER_RESOURCE:
        if name != ALL_BROKERS and not is_number(name):
            return ErrorCode.INVALID_REQUEST, f"{shown(name)} is not a broker id"
        if name != ALL_BROKERS and int(name) not in image.registrations:
            return ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {name} is not registered"
    else:
        return ErrorCode.INVALID_REQUEST, f"resources of type {resource_type} have no configs"
    return ErrorCode.NONE, ""


def changed(resource_type: int, change: ConfigChange, held: str | None) -> str | None:
    """The value of a config after a change. Where a list was not set, it has its default before."""
    match change.operation:
        case ConfigOperation.SET:
            return change.value
        case ConfigOperation.DELETE:
            return None
    members = split(LISTS[resource_type][change.name] if held is None else held)
    given = split(change.value)
    if change.operation is ConfigOperation.APPEND:
        members += [one for one in dict.fromkeys(given) if one not in members]
    else:
        members = [one for one in members if one not in given]
    return ",".join(members)


def split(value: str | None) -> list[str]:
    return [one for one in (value or "").split(",") if one]
