"""What a table says of a record: its fields, their types, and the versions that have them.

All records are flexible in every version (KIP-482): lengths are compact, and a tagged field is absent where it has its
default.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """A type of the protocol, by Kafka's name."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """An array of values, or of structs with these fields."""

    element: Kind | tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field. name: as in Kafka's JSON. since: the first version that has it. tag: None where it has a place.

    default: of a tagged field alone.
    """

    name: str
    kind: Kind | ArrayOf
    since: int = 0
    tag: int | None = None
    nullable: bool = False
    default: object = None


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """A type of record. name: as kafka-dump-log prints it. Versions begin at 0."""

    number: int
    name: str
    highest_version: int
    fields: tuple[Field, ...]
