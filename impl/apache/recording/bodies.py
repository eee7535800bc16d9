"""Requests of brokers and their answers as JSON, by kio's schemas."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from kio.index import UnknownEntity, load_request_schema, load_response_schema

from impl.apache.recording.requests import KEYS, Exchange
from impl.kraft.server.entities import without_tags
from impl.runtime.entities import read_entity
from impl.runtime.wire import WireError


def line(exchange: Exchange) -> dict[str, Any] | None:
    """As a file has it; None where kio does not know the version, or cannot read it."""
    api, version = exchange.request.api, exchange.request.version
    try:
        request = read_entity(load_request_schema(api, version), without_tags(exchange.request.body))
        response = read_entity(load_response_schema(api, version), without_tags(exchange.response))
    except (UnknownEntity, WireError):
        return None
    return {
        "sent_ms": exchange.request.sent_ms,
        "answered_ms": exchange.answered_ms,
        "broker": exchange.broker,
        "controller": exchange.controller,
        "api": KEYS[api],
        "request": _plain(request),
        "response": _plain(response),
    }


def _plain(value: Any) -> Any:
    """An entity of kio's as JSON has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, timedelta):
        return round(value.total_seconds() * 1000)
    return str(value) if isinstance(value, UUID) else value
