"""Metadata records as bytes: uvarints of frame, type and version, then the fields as the tables have them.

A table is compiled once for each version, to a row of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from struct import Struct, error, pack, unpack
from typing import Any, NamedTuple
from uuid import UUID

from impl.kraft.fields import MOST_STRING_BYTES
from impl.kraft.metadata.schema import ArrayOf, Field, Kind, RecordSchema
from impl.kraft.metadata.tables import BY_NAME, BY_NUMBER
from impl.kraft.storage.batches import Reader
from impl.runtime.wire import uvarint

FRAME_VERSION = 1
"""KIP-631 says 0; no release wrote that."""

_FORMATS = {
    Kind.BOOL: "?", Kind.INT8: "b", Kind.INT16: "h", Kind.UINT16: "H", Kind.INT32: "i", Kind.INT64: "q",
    Kind.FLOAT64: "d",
}  # fmt: skip
_UUID_BYTES = 16
_MOST_UUIDS = 1 << 12
_INT32_BYTES = 4
_NOT_OF_THE_TYPE = (error, AttributeError, TypeError, UnicodeEncodeError)
"""What writing raises where a value is of another type than its field, or too large."""

Write = Callable[[bytearray, Any], None]
Read = Callable[[Reader], Any]


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A record of any type. fields: those that its version has, by name; arrays are tuples, structs mappings.

    A tagged field with its default is not among them.
    """

    type: str
    version: int
    fields: Mapping[str, Any]


class _Place(NamedTuple):
    """A field as it is written and read."""

    field: Field
    write: Write
    read: Read


def encode(record: MetadataRecord) -> bytes:
    """The value of a data record in the log. Raises ValueError where a field is missing, unknown or of another type."""
    schema = BY_NAME.get(record.type)
    if schema is None or not 0 <= record.version <= schema.highest_version:
        raise ValueError(f"there is no record {record.type!r} of version {record.version}")
    data = bytearray((FRAME_VERSION, schema.number, record.version))
    try:
        _layout(schema.number, record.version).write(data, record.fields)
    except _WrongValueError as wrong:
        raise ValueError(f"{record.type} of version {record.version}: {wrong}") from None
    return bytes(data)


def decode(value: bytes | memoryview) -> MetadataRecord:
    """The record in the value of a data record. Raises ValueError."""
    reader = Reader(memoryview(value))
    try:
        frame, number, version = reader.uvarint(), reader.uvarint(), reader.uvarint()
        schema = _schema_of(frame, number, version)
        fields = _layout(schema.number, version).read(reader)
    except IndexError as short:
        raise ValueError(f"a metadata record that ends within a field: {short}") from None
    if reader.left():
        raise ValueError(f"{reader.left()} bytes behind the last field of {schema.name} of version {version}")
    return MetadataRecord(schema.name, version, fields)


def _schema_of(frame: int, number: int, version: int) -> RecordSchema:
    if frame != FRAME_VERSION:
        raise ValueError(f"a metadata record in frame version {frame}: known is {FRAME_VERSION}")
    if number not in BY_NUMBER:
        raise ValueError(f"a metadata record of the unknown type {number}")
    schema = BY_NUMBER[number]
    if version > schema.highest_version:
        raise ValueError(f"{schema.name} of version {version}: known are versions up to {schema.highest_version}")
    return schema


class _WrongValueError(ValueError):
    """A value that its field cannot have. The message names the field."""


class _Struct:
    """The fields of a version: first those with a place, then the tagged ones, by rising tag."""

    def __init__(self, fields: Sequence[Field], version: int) -> None:
        here = [_Place(field, *_functions(field, version)) for field in fields if field.since <= version]
        self._written = [(place.field.name, place.write) for place in here if place.field.tag is None]
        self._read = [(place.field.name, place.read) for place in here if place.field.tag is None]
        self._tagged = sorted((place for place in here if place.field.tag is not None), key=_tag)
        self._by_tag = {place.field.tag: place for place in self._tagged}
        self._names = [place.field.name for place in here]
        self._known = frozenset(self._names)

    def write(self, data: bytearray, values: Mapping[str, Any]) -> None:
        if not self._known.issuperset(values):
            raise _WrongValueError(f"this version has no {', '.join(sorted(values.keys() - self._known))}")
        name = ""
        try:
            for name, write in self._written:
                write(data, values.get(name))
            given = [place for place in self._tagged if place.field.name in values]
            tagged = [place for place in given if values[place.field.name] != place.field.default]
            _put_uvarint(data, len(tagged))
            for place in tagged:
                name = place.field.name
                _put_tagged(data, place, values[name])
        except _WrongValueError as wrong:
            raise _WrongValueError(f"{name}.{wrong}") from None
        except _NOT_OF_THE_TYPE:
            raise _WrongValueError(f"{name} cannot be {values.get(name)!r:.80}") from None

    def read(self, reader: Reader) -> dict[str, Any]:
        found = {name: read(reader) for name, read in self._read}
        tagged = reader.uvarint()
        for _ in range(tagged):
            self._read_tagged(reader, found)
        return {name: found[name] for name in self._names if name in found} if tagged else found

    def _read_tagged(self, reader: Reader, found: dict[str, Any]) -> None:
        tag = reader.uvarint()
        alone = Reader(memoryview(reader.take(reader.uvarint())))
        place = self._by_tag.get(tag)
        if place is None:  # a field of a later version, which older software ignores
            return
        value = place.read(alone)
        if alone.left():
            raise ValueError(f"{alone.left()} bytes behind the tagged field {place.field.name}")
        if value != place.field.default:
            found[place.field.name] = value


def _tag(place: _Place) -> int:
    assert place.field.tag is not None
    return place.field.tag


def _put_tagged(data: bytearray, place: _Place, value: Any) -> None:
    alone = bytearray()
    place.write(alone, value)
    _put_uvarint(data, _tag(place))
    _put_uvarint(data, len(alone))
    data += alone


def _put_uvarint(data: bytearray, value: int) -> None:
    if value < 0x80:
        data.append(value)
    else:
        data += uvarint(value)


@cache
def _layout(number: int, version: int) -> _Struct:
    return _Struct(BY_NUMBER[number].fields, version)


def _functions(field: Field, version: int) -> tuple[Write, Read]:
    kind = field.kind
    if isinstance(kind, ArrayOf):
        return _array(kind, version, field.nullable)
    if kind is Kind.UUID:
        return _write_uuid, _read_uuid
    if kind is Kind.STRING:
        return _sized(_string_bytes, bytes.decode, field.nullable)
    if kind is Kind.BYTES:
        return _sized(_bytes, bytes, field.nullable)
    return _fixed(kind)


def _fixed(kind: Kind) -> tuple[Write, Read]:
    layout = Struct(f">{_FORMATS[kind]}")
    is_bool = kind is Kind.BOOL

    def write(data: bytearray, value: Any) -> None:
        if isinstance(value, bool) is not is_bool:
            raise TypeError(value)
        data += layout.pack(value)

    def read(reader: Reader) -> Any:
        (value,) = layout.unpack(reader.take(layout.size))
        return value

    return write, read


def _write_uuid(data: bytearray, value: Any) -> None:
    data += value.bytes


def _read_uuid(reader: Reader) -> UUID:
    return uuid_of(reader.take(_UUID_BYTES))


@lru_cache(_MOST_UUIDS)
def uuid_of(value: bytes) -> UUID:
    """One object for all that are equal: most of a log is about partitions, and names their topic each time."""
    return UUID(bytes=value)


def _string_bytes(value: Any) -> bytes:
    encoded = str.encode(value)
    if len(encoded) > MOST_STRING_BYTES:
        raise TypeError(value)
    return encoded


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(value)
    return value


def _sized(to_bytes: Callable[[Any], bytes], of_bytes: Callable[[bytes], Any], nullable: bool) -> tuple[Write, Read]:
    """A string or bytes: one more than the length, 0 for null, and the bytes."""

    def write(data: bytearray, value: Any) -> None:
        if value is None and nullable:
            data += b"\0"
            return
        encoded = to_bytes(value)
        _put_uvarint(data, len(encoded) + 1)
        data += encoded

    def read(reader: Reader) -> Any:
        length = _length(reader, nullable)
        return None if length is None else of_bytes(reader.take(length))

    return write, read


def _array(kind: ArrayOf, version: int, nullable: bool) -> tuple[Write, Read]:
    """One more than the length, 0 for null, and the elements."""
    write_all, read_all = _elements(kind, version)

    def write(data: bytearray, value: Any) -> None:
        if value is None and nullable:
            data += b"\0"
            return
        if not isinstance(value, tuple):
            raise TypeError(value)
        _put_uvarint(data, len(value) + 1)
        write_all(data, value)

    def read(reader: Reader) -> Any:
        length = _length(reader, nullable)
        return None if length is None else read_all(reader, length)

    return write, read


def _elements(kind: ArrayOf, version: int) -> tuple[Write, Callable[[Reader, int], Any]]:
    """Of an array whose length is known. Numbers are written and read at once: most of the log is lists of ids."""
    if kind.element is Kind.INT32:
        return _write_int32s, lambda reader, length: unpack(f">{length}i", reader.take(_INT32_BYTES * length))
    if isinstance(kind.element, Kind):
        write_each, read_each = _functions(Field("", kind.element), version)
    else:
        struct = _Struct(kind.element, version)
        write_each, read_each = struct.write, struct.read

    def write_all(data: bytearray, value: Any) -> None:
        for one in value:
            write_each(data, one)

    return write_all, lambda reader, length: tuple(read_each(reader) for _ in range(length))


def _write_int32s(data: bytearray, value: Any) -> None:
    if bool in map(type, value):
        raise TypeError(value)
    data += pack(f">{len(value)}i", *value)


def _length(reader: Reader, nullable: bool) -> int | None:
    length = reader.uvarint() - 1
    if length == -1 and not nullable:
        raise ValueError("a null where none may be")
    return None if length == -1 else length
