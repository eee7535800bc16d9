"""The lengths in a flexible message, looked at before kio reads it: one that is too large ends the process there.

kio makes room for as many elements as an array says to have, and where there is no such room, its native code aborts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any

from kio.serial._introspect import EntityField, EntityTupleField, classify_field, get_field_tag, get_schema_field_type

from impl.kraft.storage.batches import Reader
from impl.runtime.entities import read_entity
from impl.runtime.wire import WireError

_BYTES = {
    "bool": 1, "int8": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4, "timedelta_i32": 4,
    "int64": 8, "uint64": 8, "float64": 8, "timedelta_i64": 8, "datetime_i64": 8, "uuid": 16,
}  # fmt: skip
"""Of the types that have a size; the others begin with a length."""

Skip = Callable[[Reader], None]


def read_flexible(kind: type, body: bytes) -> Any:
    """An entity of kio's that is flexible, as all are that are spoken here. Raises WireError."""
    try:
        _entity(kind)(Reader(memoryview(body)))
    except IndexError as error:
        raise WireError(f"{kind.__name__} cannot be read: {error}") from None
    return read_entity(kind, body)


@cache
def _entity(kind: Any) -> Skip:
    if not kind.__flexible__:
        raise TypeError(f"{kind.__name__} is not flexible")
    placed = [_field(one) for one in fields(kind) if get_field_tag(one) is None]
    tagged = {int(tag): _field(one) for one in fields(kind) if (tag := get_field_tag(one)) is not None}

    def skip(reader: Reader) -> None:
        for skip_field in placed:
            skip_field(reader)
        for _ in range(reader.uvarint()):
            tag, value = reader.uvarint(), reader.take(reader.uvarint())
            if tag in tagged:
                tagged[tag](Reader(memoryview(value)))

    return skip


def _field(field: Any) -> Skip:
    kind = classify_field(field)
    if isinstance(kind, EntityField | EntityTupleField):
        element = _entity(kind.type_)
    else:
        element = _primitive(get_schema_field_type(field))
    return _array(element) if kind.is_array else element


def _primitive(name: str) -> Skip:
    if name in _BYTES:
        return lambda reader: _drop(reader, _BYTES[name])
    return lambda reader: _drop(reader, max(0, reader.uvarint() - 1))


def _array(element: Skip) -> Skip:
    def skip(reader: Reader) -> None:
        count = reader.uvarint() - 1
        if count > reader.left():  # an element has a byte at least
            raise IndexError(f"an array of {count} elements in {reader.left()} bytes")
        for _ in range(count):
            element(reader)

    return skip


def _drop(reader: Reader, size_bytes: int) -> None:
    """Without a copy, which the records of a fetch would be."""
    if size_bytes > reader.left():
        raise IndexError(f"{size_bytes} bytes are to be read, and {reader.left()} are there")
    reader.at += size_bytes
