"""Well-formed codes of a state: the types, as conditions on the leaves.

A number is in its range, a live ordinal above 0, and what is dead (of an absent option, another variant, a slot past
the end) is 0. A proof starts from all such states, and shows that no step leaves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import z3

from checker.lang.types import (
    BagType,
    BoundedSetType,
    MapType,
    OptionStyle,
    OptionType,
    OrdinalType,
    RecordType,
    Scalar,
    SeqType,
    SetType,
    Type,
    UnionType,
)


def well_formed(type_: Type, leaves: Sequence[Any]) -> list[Any]:
    """The conditions under which `leaves` (Z3 expressions, in the type's order) code a value of `type_`."""
    if isinstance(type_, Scalar):
        return [] if z3.is_bool(leaves[0]) else [z3.ULE(leaves[0], type_.size - 1)]
    if isinstance(type_, OrdinalType):
        return [leaves[0] > 0]
    if isinstance(type_, SetType):
        sizes = [leaf.size for _, leaf in type_.leaves]
        return [z3.ULT(word, 1 << size) for word, size in zip(leaves, sizes, strict=True) if word.size() > size]
    if isinstance(type_, RecordType):
        return _parts(((t, type_.offsets[name]) for name, t in type_.fields.items()), leaves)
    if isinstance(type_, MapType):
        return _parts(((type_.value_type, i * type_.value_type.width) for i in range(len(type_.keys))), leaves)
    if isinstance(type_, OptionType):
        return _option(type_, leaves)
    if isinstance(type_, SeqType):
        return _sequence(type_, leaves)
    if isinstance(type_, BagType):
        return _bag(type_, leaves)
    assert isinstance(type_, UnionType), type_
    return [z3.ULE(leaves[0], len(type_.variants) - 1), *_variants(type_, leaves, first=0)]


def _parts(parts: Iterable[tuple[Type, int]], leaves: Sequence[Any]) -> list[Any]:
    return [c for type_, start in parts for c in well_formed(type_, leaves[start : start + type_.width])]


def _zero(leaf: Any) -> Any:
    return z3.Not(leaf) if z3.is_bool(leaf) else leaf == 0


def _either(there: Any, conditions: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
    """The conditions hold where it is there, and its leaves are 0 where it is not."""
    alive = [z3.Implies(there, c) for c in conditions]
    return alive + [z3.Or(there, _zero(leaf)) for leaf in leaves]


def _option(type_: OptionType, leaves: Sequence[Any]) -> list[Any]:
    head, rest = leaves[0], leaves[1:]
    if type_.style is OptionStyle.ORDINAL:
        return [head >= 0]
    if type_.style is OptionStyle.TAG:
        return [z3.ULE(head, 1), *_either(head == 1, well_formed(type_.inner, rest), rest)]
    if isinstance(type_.inner, UnionType):
        variants = _variants(type_.inner, leaves, first=1)
        return [z3.ULE(head, len(type_.inner.variants)), *variants, *[z3.Or(head != 0, _zero(leaf)) for leaf in rest]]
    assert isinstance(type_.inner, Scalar)
    return [z3.ULE(head, type_.inner.size)]


def _variants(type_: UnionType, leaves: Sequence[Any], first: int) -> list[Any]:
    """A union's leaves, given its tag. first: the code of the first variant."""
    found = []
    for number, variant in enumerate(type_.variants):
        places = type_.places[variant.cls]
        conditions = well_formed(variant, [leaves[p] for p in places])
        conditions += [_zero(leaf) for place, leaf in enumerate(leaves) if place and place not in places]
        found += [z3.Implies(leaves[0] == number + first, c) for c in conditions]
    return found


def _sequence(type_: SeqType, leaves: Sequence[Any]) -> list[Any]:
    length, w = leaves[0], type_.element.width
    found = [z3.ULE(length, type_.length)]
    for i in range(type_.length):
        place = leaves[1 + i * w : 1 + (i + 1) * w]
        found += _either(z3.UGT(length, i), well_formed(type_.element, place), place)
    return found


def _bag(type_: BagType, leaves: Sequence[Any]) -> list[Any]:
    found = []
    for start in range(0, type_.width, type_.slot_width):
        slot = leaves[start : start + type_.slot_width]
        if type_.tagged:
            found += [z3.ULE(slot[0], 1), *_either(slot[0] == 1, [slot[1] > 0], slot[1:])]
        else:
            found += well_formed(type_.slot, slot)
    if isinstance(type_, BoundedSetType):
        slots = [leaves[i : i + type_.slot_width] for i in range(0, type_.width, type_.slot_width)]
        found += [z3.Or(_zero(a[0]), *[x != y for x, y in zip(a, b, strict=True)]) for a, b in combinations(slots, 2)]
    return found
