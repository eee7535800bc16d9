"""A message, looked at before kio reads it: its lengths, and tagged fields that are unknown.

kio makes room for as many elements as an array says to have, and where there is no such room, its native code aborts,
and so the process. A tagged field of a later version is to be skipped (KIP-482); kio refuses one that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any

from kio.serial._introspect import (
    EntityField,
    EntityTupleField,
    classify_field,
    get_field_tag,
    get_schema_field_type,
    is_optional,
)

from impl.runtime.wire import uvarint

_BYTES = {
    "bool": 1, "int8": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4, "timedelta_i32": 4,
    "int64": 8, "uint64": 8, "float64": 8, "timedelta_i64": 8, "datetime_i64": 8, "uuid": 16,
}  # fmt: skip
"""Of the types that have a size; the others begin with a length."""
_MOST_SHIFT = 63

Change = tuple[int, int, bytes]
"""Of a message: from where to where it changes, and what stands there then."""
Skip = Callable[[bytes, int, list[Change]], int]
"""From a position in a message to the one behind a field; what has to change there is noted."""


def end_of(kind: type, body: bytes, changes: list[Change]) -> int:
    """Where an entity of kio's ends that a body begins with. Raises IndexError where some part of it is not there.

    changes: what has to change until nothing in the body is unknown is added to these.
    """
    return _entity(kind)(body, 0, changes)


def changed(body: bytes, changes: list[Change], start: int = 0, end: int | None = None) -> bytes:
    """A body, or a part of it, after changes in it."""
    parts: list[bytes] = []
    for first, behind, instead in changes:
        parts += [body[start:first], instead]
        start = behind
    return b"".join([*parts, body[start:end]])


@cache
def _entity(kind: Any) -> Skip:
    is_flexible = bool(kind.__flexible__)
    placed = [_field(one, is_flexible) for one in fields(kind) if get_field_tag(one) is None]
    tagged = {int(tag): _field(one, is_flexible) for one in fields(kind) if (tag := get_field_tag(one)) is not None}

    def skip(body: bytes, at: int, changes: list[Change]) -> int:
        for skip_field in placed:
            at = skip_field(body, at, changes)
        return _skip_tagged(tagged, body, at, changes) if is_flexible else at

    return skip


def _skip_tagged(tagged: dict[int, Skip], body: bytes, at: int, changes: list[Change]) -> int:
    start = at
    count, at = _uvarint(body, at)
    kept, differs = [], False
    for _ in range(count):
        tag, at = _uvarint(body, at)
        size_bytes, at = _uvarint(body, at)
        end = _behind(body, at, size_bytes)
        within: list[Change] = []
        if tag in tagged:
            tagged[tag](body, at, within)
            value = changed(body, within, at, end)
            kept.append(uvarint(tag) + uvarint(len(value)) + value)
        differs |= bool(within) or tag not in tagged
        at = end
    if differs:
        changes.append((start, at, uvarint(len(kept)) + b"".join(kept)))
    return at


def _field(field: Any, is_flexible: bool) -> Skip:
    kind = classify_field(field)
    if isinstance(kind, EntityField | EntityTupleField):
        element = _entity(kind.type_)
    else:
        element = _primitive(get_schema_field_type(field), is_flexible)
    if kind.is_array:
        return _array(element, is_flexible)
    return _nullable(element) if isinstance(kind, EntityField) and is_optional(field) else element


def _primitive(name: str, is_flexible: bool) -> Skip:
    if name in _BYTES:
        size_bytes = _BYTES[name]
        return lambda body, at, _: _behind(body, at, size_bytes)
    length_of = _compact_length if is_flexible else _length(2 if name == "string" else 4)

    def skip(body: bytes, at: int, _: list[Change]) -> int:
        length, at = length_of(body, at)
        return _behind(body, at, max(0, length))

    return skip


def _array(element: Skip, is_flexible: bool) -> Skip:
    length_of = _compact_length if is_flexible else _length(4)

    def skip(body: bytes, at: int, changes: list[Change]) -> int:
        count, at = length_of(body, at)
        if count > len(body) - at:  # an element has a byte at least
            raise IndexError(f"an array of {count} elements in {len(body) - at} bytes")
        for _ in range(count):
            at = element(body, at, changes)
        return at

    return skip


def _nullable(entity: Skip) -> Skip:
    """An entity behind a byte that says whether it is there: -1 where it is not."""

    def skip(body: bytes, at: int, changes: list[Change]) -> int:
        return at + 1 if body[at] == 0xFF else entity(body, at + 1, changes)

    return skip


def _compact_length(body: bytes, at: int) -> tuple[int, int]:
    """One more than the length, 0 for null."""
    length, at = _uvarint(body, at)
    return length - 1, at


def _length(size_bytes: int) -> Callable[[bytes, int], tuple[int, int]]:
    """A signed number, -1 for null."""

    def read(body: bytes, at: int) -> tuple[int, int]:
        end = _behind(body, at, size_bytes)
        length = int.from_bytes(body[at:end], "big", signed=True)
        if length < -1:
            raise IndexError(f"a length of {length}")
        return length, end

    return read


def _uvarint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _MOST_SHIFT:
            raise IndexError("a number of more than ten bytes")


def _behind(body: bytes, at: int, size_bytes: int) -> int:
    """Without a copy, which the records of a fetch would be."""
    if size_bytes > len(body) - at:
        raise IndexError(f"{size_bytes} bytes are to be read, and {len(body) - at} are there")
    return at + size_bytes
