"""Quotas of clients (KIP-546): what they may be for, and which values they may have (ClientQuotaControlManager)."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from impl.kraft.controller.decision import Decision
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import shown
from impl.kraft.image import Image, entity_of, quota_of
from impl.kraft.messages import AlterClientQuotasRequest, AlterClientQuotasResponse
from impl.kraft.records import ClientQuotaRecord, QuotaEntity

USER, CLIENT_ID, IP = "user", "client-id", "ip"
OF_CLIENTS: Mapping[str, int | None] = {
    "producer_byte_rate": (1 << 63) - 1, "consumer_byte_rate": (1 << 63) - 1, "request_percentage": None,
    "controller_mutation_rate": None,
}  # fmt: skip
"""By key, the largest value of those that are whole numbers; None: any number above 0."""
OF_ADDRESSES: Mapping[str, int | None] = {"connection_creation_rate": (1 << 31) - 1}
_FRACTION = 1e-6
"""What a whole number may be off by."""


def alter_quotas(image: Image, request: AlterClientQuotasRequest) -> Decision:
    """Sets and removes quotas of one entity: all that is asked for, or nothing."""
    if problem := problem_of(request):
        return Decision(AlterClientQuotasResponse(ErrorCode.INVALID_REQUEST, problem))
    records = list[ClientQuotaRecord]()
    for change in request.changes:
        quota = quota_of(request.entity, change.key)
        held = image.quotas.get(quota)
        if change.value is None and held is not None:
            records.append(ClientQuotaRecord(entity_of(quota), change.key, 0.0, remove=True))
        elif change.value is not None and change.value != held:
            records.append(ClientQuotaRecord(entity_of(quota), change.key, change.value))
    return Decision(AlterClientQuotasResponse(ErrorCode.NONE), tuple(records))


def problem_of(request: AlterClientQuotasRequest) -> str:
    """The reason why there are no such quotas; empty where there may be."""
    if problem := problem_of_entity(request.entity):
        return problem
    keys = OF_ADDRESSES if request.entity[0].entity_type == IP else OF_CLIENTS
    if len({change.key for change in request.changes}) < len(request.changes):
        return "a quota is changed twice"
    for change in request.changes:
        if change.value is not None and (problem := problem_of_value(keys, change.key, change.value)):
            return problem
    return ""


def problem_of_entity(entity: tuple[QuotaEntity, ...]) -> str:
    types = [one.entity_type for one in entity]
    if not types:
        return "a quota is for somebody"
    if unknown := set(types) - {USER, CLIENT_ID, IP}:
        return f"there are no quotas for {shown(min(unknown))}"
    if len(set(types)) < len(types):
        return "a type is named twice"
    if IP in types and len(types) > 1:
        return "what is for an address is for nothing else"
    for one in entity:
        if one.entity_name == "" or (one.entity_type == IP and not is_address(one.entity_name)):
            return f"no {one.entity_type} is called {shown(one.entity_name)}"
    return ""


def is_address(name: str | None) -> bool:
    """Kafka looks names of hosts up, too, which a decision cannot."""
    if name is None:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def problem_of_value(keys: Mapping[str, int | None], key: str, value: float) -> str:
    if key not in keys:
        return f"there is no quota {shown(key)} for these"
    if not value > 0:  # nor is it no number at all
        return f"{key} must be above 0, not {value}"
    most = keys[key]
    if most is not None and (value > most or value % 1 > _FRACTION):
        return f"{key} must be a whole number up to {most:,}, not {value}"
    return ""
