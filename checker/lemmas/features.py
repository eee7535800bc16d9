"""Features of a state: that a field has a value, that two ordinals stand in an order.

A feature is asked of many packed states at once, column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from checker.explicit.kernel.layout import Field, Layout
from checker.explicit.search.store import Shard
from checker.lang.ir import Bag, Kind
from checker.lang.types import (
    BagType,
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
from checker.running.arrays import Bits, Longs, Words
from traces.values import NOTHING, show


@dataclass(frozen=True)
class Named:
    """A live leaf of a state: which, what it is called, and its value as text ("" of an ordinal that is there)."""

    leaf: int
    name: str
    value: str


@dataclass(frozen=True)
class Feature:
    """Something that is true of one state, and of which of many others. text: as it is true."""

    text: str
    holds: Callable[[Columns], Bits]


class Columns:
    """Many packed states as a column of codes for each leaf, unpacked when it is asked for."""

    def __init__(self, layout: Layout, words: Words) -> None:
        self._layout, self._words = layout, words
        self._columns: dict[int, Longs] = {}

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, leaf: int) -> Longs:
        if leaf not in self._columns:
            self._columns[leaf] = self._unpacked(self._layout.fields[leaf])
        return self._columns[leaf]

    def _unpacked(self, field: Field) -> Longs:
        column = np.zeros(len(self._words), dtype=np.uint64)
        for piece in field:
            part = self._words[:, piece.word] >> np.uint64(piece.shift) & np.uint64(piece.mask)
            column |= part << np.uint64(piece.at)
        return column.view(np.int64)


def named_leaves(type_: Type, codes: Sequence[int], path: str = "", start: int = 0) -> Iterator[Named]:
    """The live leaves of a value, those of bags left out. start: the number of its first leaf; codes: of the state."""
    name, code = path.lstrip("."), codes[start]
    if isinstance(type_, Scalar):
        yield Named(start, name, show(type_.itf(type_.value(code))))
    elif isinstance(type_, SetType):
        for i, (part, _) in enumerate(type_.leaves):
            word = type_.decode([*[0] * i, codes[start + i]])
            yield Named(start + i, name + part, show(type_.itf(word)))
    elif isinstance(type_, OrdinalType):
        yield Named(start, name, "")
    elif isinstance(type_, RecordType):
        for field, inner in type_.fields.items():
            yield from named_leaves(inner, codes, f"{path}.{field}", start + type_.offsets[field])
    elif isinstance(type_, MapType):
        for i, key in enumerate(type_.keys):
            yield from named_leaves(type_.value_type, codes, f"{path}[{key!r}]", start + i * type_.value_type.width)
    elif isinstance(type_, OptionType):
        yield from _named_option(type_, codes, path, start)
    elif isinstance(type_, SeqType):
        yield Named(start, f"len({name})", str(code))
        for i in range(code):
            yield from named_leaves(type_.element, codes, f"{path}[{i}]", start + 1 + i * type_.element.width)
    elif isinstance(type_, UnionType):
        yield from _named_variant(type_, codes, path, start, first=0)


def _named_option(type_: OptionType, codes: Sequence[int], path: str, start: int) -> Iterator[Named]:
    name, code = path.lstrip("."), codes[start]
    if code == 0:
        yield Named(start, name, NOTHING)
    elif type_.style is OptionStyle.ORDINAL:
        yield Named(start, name, "")
    elif isinstance(type_.inner, UnionType):
        yield from _named_variant(type_.inner, codes, path, start, first=1)
    elif type_.style is OptionStyle.CODE:
        yield Named(start, name, show(type_.inner.itf(type_.inner.decode([code - 1]))))
    else:
        yield Named(start, name, "there")
        yield from named_leaves(type_.inner, codes, path, start + 1)


def _named_variant(type_: UnionType, codes: Sequence[int], path: str, start: int, first: int) -> Iterator[Named]:
    variant = type_.variants[codes[start] - first]
    yield Named(start, path.lstrip("."), str(variant))
    places = [start + place for place in type_.places[variant.cls]]
    inner = [codes[place] for place in places]
    for named in named_leaves(variant, inner, path):
        yield Named(places[named.leaf], named.name, named.value)


def features(type_: Type, layout: Layout, codes: Sequence[int], read: frozenset[int]) -> list[Feature]:
    """The features of the state with these (canonical) codes, as far as the leaves in `read` go.

    A bag comes in as a whole: how many it holds, and for each member that some such is there.
    """
    named = [n for n in named_leaves(type_, codes) if n.leaf in read and not layout.leaves[n.leaf].hidden]
    found = [_equals(n, codes[n.leaf]) for n in named if n.value]
    ordinals = [n for n in named if not n.value]
    found += [_there(n) for n in ordinals]
    for a, b in combinations(ordinals, 2):
        if layout.leaves[a.leaf].sort == layout.leaves[b.leaf].sort:
            found.append(_in_order(a, b, codes))
    for bag, (path, bag_type) in zip(layout.bags, _bags(type_, ""), strict=True):
        if read.intersection(i for slot in bag.slots for i in slot):
            found += _of_bag(path, bag_type, bag, layout, codes, ordinals)
    return found


def _equals(named: Named, code: int) -> Feature:
    signed = code - (code >> 63 << 64)  # a word of a set: columns are of signed integers
    return Feature(f"{named.name} = {named.value}", lambda columns: columns[named.leaf] == signed)


def _there(named: Named) -> Feature:
    return Feature(f"{named.name} is there", lambda columns: columns[named.leaf] != 0)


def _in_order(a: Named, b: Named, codes: Sequence[int]) -> Feature:
    sign = np.sign(codes[a.leaf] - codes[b.leaf])
    word = {-1: "<", 0: "=", 1: ">"}[int(sign)]

    def holds(columns: Columns) -> Bits:
        one, other = columns[a.leaf], columns[b.leaf]
        found: Bits = (np.sign(one - other) == sign) & (one != 0) & (other != 0)
        return found

    return Feature(f"{a.name} {word} {b.name}", holds)


def _bags(type_: Type, path: str) -> Iterator[tuple[str, BagType]]:
    """The bags of a type, in the order in which a program numbers them."""
    if isinstance(type_, BagType):
        yield path.lstrip("."), type_
    elif isinstance(type_, RecordType):
        for field, inner in type_.fields.items():
            yield from _bags(inner, f"{path}.{field}")
    elif isinstance(type_, MapType):
        for key in type_.keys:
            yield from _bags(type_.value_type, f"{path}[{key!r}]")
    elif isinstance(type_, OptionType):
        yield from _bags(type_.inner, path)


def _of_bag(
    path: str, type_: BagType, bag: Bag, layout: Layout, codes: Sequence[int], ordinals: Sequence[Named]
) -> Iterator[Feature]:  # fmt: skip
    """The number of members of a bag, and that some member is like each of those in this state."""
    heads = [slot[0] for slot in bag.slots]
    held = sum(codes[head] != 0 for head in heads)

    def holds_as_many(columns: Columns) -> Bits:
        full = np.array([columns[head] != 0 for head in heads]).sum(axis=0)
        found: Bits = full == held
        return found

    yield Feature(f"{path} holds {held}", holds_as_many)
    for slot in bag.slots:
        if codes[slot[0]]:
            member = [codes[i] for i in slot]
            text = show(type_.itf(type_.decode([*member, *[0] * (type_.width - len(member))])))
            yield Feature(f"{path} has {text}", _has_member(bag, slot, layout, codes, ordinals))


def _has_member(
    bag: Bag, wanted: Sequence[int], layout: Layout, codes: Sequence[int], ordinals: Sequence[Named]
) -> Callable[[Columns], Bits]:  # fmt: skip
    """Per state, whether some slot has the same codes, its ordinals in the same order to those outside as here."""

    def holds(columns: Columns) -> Bits:
        found = np.zeros(len(columns), dtype=np.bool_)
        for slot in bag.slots:
            same = np.ones(len(columns), dtype=np.bool_)
            for here, there in zip(wanted, slot, strict=True):
                if layout.leaves[here].kind is not Kind.ORDINAL:
                    same &= columns[there] == codes[here]
                    continue
                same &= (columns[there] != 0) == (codes[here] != 0)
                for other in ordinals:
                    if codes[here] and layout.leaves[other.leaf].sort == layout.leaves[here].sort:
                        sign = np.sign(codes[here] - codes[other.leaf])
                        same &= np.sign(columns[there] - columns[other.leaf]) == sign
            found |= same
        return found

    return holds


def chunks(shards: Sequence[Shard], size: int) -> Iterator[Words]:
    """The stored states of a search, some at a time."""
    for shard in shards:
        for start in range(0, shard.count, size):
            yield shard.states(start, min(start + size, shard.count))
