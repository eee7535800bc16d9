"""Packed states as Arrow columns, decoded a column at a time: nested values as the types of the spec nest them.

bool, Range, Nat, Ordinal      bool, int32, int32 (an ordinal: its rank among the live ones of its sort, from 0)
enum, identity                 string: the member's name, "broker0"
Option[T]                      T, null where it is absent
Set[T], Seq[T], Bag[T]         list<T>; of a bag each member as often as it is there
Map[K, V]                      map<K, V>: map['broker0'] in SQL
record, message                struct of its fields; one without fields is its name, a string
union of messages              struct of `tag` and one nullable struct for each variant that has fields
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from checker.explicit.kernel.layout import Layout
from checker.lang.scalars import FixedOrdinalType
from checker.lang.types import (
    BagType,
    BoolType,
    EnumType,
    IdentityType,
    MapType,
    OptionStyle,
    OptionType,
    OrdinalType,
    RangeType,
    RecordType,
    SeqType,
    SetType,
    Type,
    UnionType,
)
from checker.running.arrays import Bits, Longs, Words

"""Shape (values, leaves): one code per leaf, as `Type.encode` gives them."""


def codes_of(layout: Layout, words: Words, leaves: Sequence[int] | None = None) -> Longs:
    """The codes of packed states, of all leaves or of these. words: shape (states, words).

    The last member of a set of 64 is the sign bit.
    """
    wanted = range(len(layout.leaves)) if leaves is None else leaves
    codes = np.zeros((len(words), len(wanted)), dtype=np.int64, order="F")
    for column, leaf in enumerate(wanted):
        for piece in layout.fields[leaf]:
            part = words[:, piece.word] >> np.uint64(piece.shift) & np.uint64(piece.mask)
            codes[:, column] |= (part << np.uint64(piece.at)).view(np.int64)
    return codes


def arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type that `column` gives for values of `type_`."""
    return column(type_, np.zeros((0, type_.width), dtype=np.int64)).type


def column(type_: Type, codes: Longs) -> pa.Array:
    """An Arrow array of the values that `codes` stand for."""
    match type_:
        case OptionType():
            return _option(type_, codes)
        case BoolType():
            return pa.array(codes[:, 0] != 0)
        case RangeType():
            return pa.array(codes[:, 0] + type_.lo, pa.int32())
        case OrdinalType():
            return pa.array(codes[:, 0] - 1, pa.int32())
        case FixedOrdinalType():
            return pa.array(codes[:, 0], pa.int32())
        case EnumType() | IdentityType():
            names = pa.array([type_.itf(value) for value in type_.domain()], pa.string())
            return names.take(pa.array(codes[:, 0].clip(0, type_.size - 1)))
        case SetType():
            return _set(type_, codes)
        case MapType():
            parts = _parts(type_.value_type, codes, 0, len(type_.keys))
            encoded = [type_.key_type.encode(key) for key in type_.keys]
            keys = column(type_.key_type, np.array(encoded, dtype=np.int64).reshape(-1, type_.key_type.width))
            at = np.tile(np.arange(len(type_.keys)), len(codes))
            offsets = np.arange(len(codes) + 1, dtype=np.int32) * len(type_.keys)
            every = np.ones((len(codes), len(type_.keys)), dtype=bool)
            values = _chosen(type_.value_type, parts, every)
            return pa.MapArray.from_arrays(pa.array(offsets), keys.take(pa.array(at)), values)
        case SeqType():
            there = np.arange(type_.length) < codes[:, :1]
            return _list(there, _chosen(type_.element, _parts(type_.element, codes, 1, type_.length), there))
        case BagType():
            slots = codes.reshape(len(codes), type_.capacity, type_.slot_width)
            there = slots[:, :, 0] != 0
            parts = [column(type_.slot, slots[:, i, int(type_.tagged) :]) for i in range(type_.capacity)]
            return _list(there, _chosen(type_.slot, parts, there))
        case RecordType():
            return _record(type_, codes)
        case UnionType():
            return _union(type_, codes)
    raise TypeError(f"no column for a {type_}")


def _option(type_: OptionType, codes: Longs) -> pa.Array:
    absent = codes[:, 0] == 0
    inner = codes[:, 1:] if type_.style is OptionStyle.TAG else codes
    if type_.style is OptionStyle.CODE:
        inner = inner.copy()
        inner[:, 0] = (inner[:, 0] - 1).clip(0)
    return _nulled(column(type_.inner, inner), absent)


def _nulled(values: pa.Array, absent: Bits) -> pa.Array:
    if not absent.any():
        return values
    return values.take(pa.array(np.arange(len(values)), mask=absent))


def _set(type_: SetType, words: Longs) -> pa.Array:
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), 8 * type_.width)
    there = np.unpackbits(octets, axis=1, bitorder="little")[:, : type_.size].astype(bool)
    members = np.array([type_.element.encode(m) for m in type_.members], dtype=np.int64)
    return _list(there, column(type_.element, members[np.nonzero(there)[1]]))


def _parts(type_: Type, codes: Longs, first: int, count: int) -> list[pa.Array]:
    """The columns of `count` values of `type_` that lie side by side from leaf `first` on."""
    edges = [first + i * type_.width for i in range(count + 1)]
    return [column(type_, codes[:, a:b]) for a, b in pairwise(edges)]


def _chosen(type_: Type, parts: Sequence[pa.Array], there: Bits) -> pa.Array:
    """The values of `parts`, columns of `type_`, that are there, row by row. there: shape (rows, parts)."""
    if not parts:
        return column(type_, np.zeros((0, type_.width), dtype=np.int64))
    rows, places = np.nonzero(there)
    return pa.concat_arrays(parts).take(pa.array(rows + places * len(there)))


def _list(there: Bits, values: pa.Array) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _record(type_: RecordType, codes: Longs) -> pa.Array:
    if not type_.fields:
        return pa.array([str(type_)] * len(codes), pa.string())
    arrays = [
        column(field, codes[:, type_.offsets[name] : type_.offsets[name] + field.width])
        for name, field in type_.fields.items()
    ]
    return pa.StructArray.from_arrays(arrays, names=list(type_.fields))


def _union(type_: UnionType, codes: Longs) -> pa.Array:
    tags = codes[:, 0].clip(0, len(type_.variants) - 1)
    names = pa.array([str(variant) for variant in type_.variants], pa.string())
    fields: dict[str, pa.Array] = {"tag": names.take(pa.array(tags))}
    for number, variant in enumerate(type_.variants):
        if variant.fields:
            other = tags != number
            own = np.where(other[:, None], 0, codes[:, type_.places[variant.cls]])
            fields[str(variant)] = _nulled(column(variant, own), other)
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))


def shown(type_: Type, codes: Longs, text: Callable[[Any], str]) -> pa.Array:
    """`text(value)` of each value, worked out once for each that differs."""
    padded = codes if codes.shape[1] else np.zeros((len(codes), 1), dtype=np.int64)
    distinct, at = np.unique(padded, axis=0, return_inverse=True)
    texts = pa.array([text(type_.decode(row)) for row in distinct.tolist()], pa.string())
    return texts.take(pa.array(at.reshape(-1)))
