"""Records of every type and version, by the tables."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from impl.kraft.metadata.encoding import MetadataRecord
from impl.kraft.metadata.schema import ArrayOf, Field, Kind
from impl.kraft.metadata.tables import BY_NAME, SCHEMAS

TYPES = [(schema.name, version) for schema in SCHEMAS for version in range(schema.highest_version + 1)]


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


# Java before 19 writes other doubles with more digits than they need (JDK-4511638).
BY_KIND: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOL: st.booleans(),
    Kind.INT8: signed(8),
    Kind.INT16: signed(16),
    Kind.UINT16: st.integers(0, (1 << 16) - 1),
    Kind.INT32: signed(32),
    Kind.INT64: signed(64),
    Kind.FLOAT64: st.integers(-(10**9), 10**9).map(lambda number: number / 8),
    Kind.UUID: st.uuids(),
    Kind.STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    Kind.BYTES: st.binary(max_size=8),
}


def values(kind: Kind | ArrayOf, version: int) -> st.SearchStrategy[Any]:
    if isinstance(kind, Kind):
        return BY_KIND[kind]
    element = kind.element
    each = values(element, version) if isinstance(element, Kind) else structs(element, version)
    return st.lists(each, max_size=3).map(tuple)


def structs(fields: tuple[Field, ...], version: int) -> st.SearchStrategy[dict[str, Any]]:
    def of(field: Field) -> st.SearchStrategy[Any]:
        value = values(field.kind, version)
        value = st.none() | value if field.nullable else value
        return value if field.tag is None else st.just(field.default) | value

    here = [field for field in fields if field.since <= version]
    defaults = {field.name: field.default for field in here if field.tag is not None}
    given = st.fixed_dictionaries({field.name: of(field) for field in here})
    return given.map(lambda found: {name: v for name, v in found.items() if not is_default(defaults, name, v)})


def is_default(defaults: dict[str, Any], name: str, value: Any) -> bool:
    return name in defaults and value == defaults[name]


def records_of(name: str, version: int) -> st.SearchStrategy[MetadataRecord]:
    return structs(BY_NAME[name].fields, version).map(lambda fields: MetadataRecord(name, version, fields))


RECORDS = st.sampled_from(TYPES).flatmap(lambda one: records_of(*one))
