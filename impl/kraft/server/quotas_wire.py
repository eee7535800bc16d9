"""Quotas of clients, by kio's schemas: AlterClientQuotas as requests of the core; what DescribeClientQuotas finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from kio.schema.alter_client_quotas.v1 import response as alter_response

from impl.kraft.controller.quotas import IP
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, Quota, entity_of, quota_of
from impl.kraft.messages import AlterClientQuotasRequest, AlterClientQuotasResponse, QuotaChange
from impl.kraft.records import QuotaEntity
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.parts import Each, Parts

EXACT, DEFAULT, ANY = range(3)
"""How a filter's component matches: one that is called so, the default, whichever there is."""


def alter_quotas(entity: Any) -> Parts:
    each = Each(
        key=lambda entry: quota_of(_entity(entry), ""),
        begun=lambda entry: AlterClientQuotasRequest(
            _entity(entry),
            tuple(QuotaChange(one.key, None if one.remove else float(one.value)) for one in entry.ops),
            entity.validate_only,
        ),
        twice=AlterClientQuotasResponse(ErrorCode.INVALID_REQUEST, "the entity is named twice"),
        ended=lambda entry, response: alter_response.EntryData(
            error_code=wire_code(response.error), error_message=response.message or None,
            entity=tuple(
                alter_response.EntityData(entity_type=one.entity_type, entity_name=one.entity_name)
                for one in entry.entity
            ),
        ),
    )  # fmt: skip
    return each.parts(
        entity.entries,
        lambda results: alter_response.AlterClientQuotasResponse(throttle_time=NO_TIME, entries=results),
    )


def _entity(entry: Any) -> tuple[QuotaEntity, ...]:
    return tuple(QuotaEntity(one.entity_type, one.entity_name) for one in entry.entity)


# Descriptions, which brokers give of their images (ClientQuotasImage.describe).


def describe_quotas(request: Any, image: Image, refusal: ErrorCode = ErrorCode.NONE) -> dict[str, Any]:
    """The response, by field. request: of any version. refusal: of all of it."""
    problem = "" if refusal is not ErrorCode.NONE else problem_of_filter(request.components)
    error = ErrorCode.INVALID_REQUEST if problem else refusal
    found = sorted((quota, value) for quota, value in image.quotas.items() if is_meant(quota, request))
    return {
        "throttle_time": NO_TIME,
        "error_code": wire_code(error),
        "error_message": problem or None,
        "entries": None if error is not ErrorCode.NONE else list(map(_described, _by_entity(found))),
    }


def _described(quotas: Sequence[tuple[Quota, float]]) -> dict[str, Any]:
    """Those of one entity."""
    entity = entity_of(quotas[0][0])
    return {
        "entity": [{"entity_type": one.entity_type, "entity_name": one.entity_name} for one in entity],
        "values": [{"key": key, "value": value} for (_, key), value in quotas],
    }


def _by_entity(found: Sequence[tuple[Quota, float]]) -> Iterator[list[tuple[Quota, float]]]:
    for _, quotas in groupby(found, key=lambda one: one[0][0]):
        yield list(quotas)


def problem_of_filter(components: Sequence[Any]) -> str:
    """The reason why nothing can be meant so; empty where something can."""
    types = [one.entity_type for one in components]
    if "" in types:
        return "a type is empty"
    if len(set(types)) < len(types):
        return "a type is named twice"
    if IP in types and len(types) > 1:
        return "what is for an address is for nothing else"
    for one in components:
        if one.match_type not in (EXACT, DEFAULT, ANY):
            return f"there is no match of type {one.match_type}"
        if (one.match_type == EXACT) != (one.match is not None):
            return "a name is matched exactly, and nothing else has one"
    return ""


def is_meant(quota: Quota, request: Any) -> bool:
    names = {kind: name if is_named else None for kind, name, is_named in quota[0]}
    for one in request.components:
        if one.entity_type not in names:
            return False
        if one.match_type != ANY and names[one.entity_type] != one.match:
            return False
    return not request.strict or len(names) == len(request.components)
