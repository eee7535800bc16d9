"""Requests and responses in each of several versions, by kio's schemas: fields are given and read by their names.

A version of a response has those fields of what is given that it knows; what is not given has its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial._introspect import EntityField, EntityTupleField, classify_field

from impl.kraft.server.entities import NO_TAGS, NO_TIME, without_tags
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError

API_VERSIONS = 18
Served = Mapping[int, tuple[int, int]]
"""By key, the lowest and the highest version of each API."""
_NEWEST_API_VERSIONS = 4


@cache
def request_kind(key: int, version: int) -> Any:
    return load_request_schema(key, version)


@cache
def response_kind(key: int, version: int) -> Any:
    return load_response_schema(key, version)


def read_body(key: int, version: int, body: bytes) -> Any:
    """The request that stands behind a header of version 1, tags and all. Raises WireError.

    What stands behind it is ignored, as in Kafka: librdkafka 2.16 has a byte there (AlterUserScramCredentials).
    """
    kind = request_kind(key, version)
    return read_entity(kind, without_tags(body) if kind.__flexible__ else body, ignores_rest=True)


def answer_bytes(key: int, version: int, given: object) -> bytes:
    """The body of a response, behind the tags of its header where its version has some."""
    kind = response_kind(key, version)
    has_tags = kind.__flexible__ and key != API_VERSIONS  # whose answers any client must be able to read (KIP-511)
    return (NO_TAGS if has_tags else b"") + entity_bytes(made(kind, given))


def made(kind: Any, given: object) -> Any:
    """An entity. given: a mapping or an object, with fields by their names; so are the entities within."""
    found = {}
    for name, nested in _plan(kind):
        value = given.get(name, _plan) if isinstance(given, Mapping) else getattr(given, name, _plan)
        if value is not _plan:
            found[name] = nested(value)
    return kind(**found)


@cache
def _plan(kind: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """The fields of a kind, and what is to be made of a value that is given for each."""
    return tuple((field.name, _nested(classify_field(field))) for field in fields(kind))


def _nested(of: Any) -> Callable[[Any], Any]:
    if isinstance(of, EntityTupleField):
        return lambda values: None if values is None else tuple(made(of.type_, value) for value in values)
    if isinstance(of, EntityField):
        return lambda value: None if value is None else made(of.type_, value)
    return lambda value: tuple(value) if isinstance(value, list) else value


def check_served(served: Served, key: int, version: int) -> None:
    """Raises WireError for what is not served, as its sender knows from ApiVersions."""
    if key not in served:
        raise WireError(f"API {key} is not served")
    least, most = served[key]
    if not least <= version <= most:
        raise WireError(f"API {key}: version {version} is not served")


def api_versions(version: int, served: Served, features: Mapping[str, Any]) -> bytes:
    """What is served; an unknown version is answered in the first one, with the error (KIP-511).

    features: further fields, see `features_wire.features_told`.
    """
    known = version <= _NEWEST_API_VERSIONS
    all_served = {API_VERSIONS: (0, _NEWEST_API_VERSIONS), **served}
    given = {
        "error_code": ErrorCode.none if known else ErrorCode.unsupported_version,
        "throttle_time": NO_TIME,
        "api_keys": [
            {"api_key": key, "min_version": least, "max_version": most}
            for key, (least, most) in sorted(all_served.items())
        ],
        **features,
    }
    return answer_bytes(API_VERSIONS, version if known else 0, given)
