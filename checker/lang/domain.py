"""All values of a finite type: what a parameter of an action or of @init ranges over."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from checker.lang.types import MapType, OptionType, RecordType, Scalar, SeqType, SetType, Type, UnionType
from checker.lang.values import Map


def domain_size(type_: Type) -> int | None:
    """How many values a type has; None where they are not listed: of ordinals without end, of bags."""
    if isinstance(type_, Scalar):
        return type_.size
    if isinstance(type_, SetType):
        return 1 << type_.size
    if isinstance(type_, OptionType | SeqType | MapType):
        inner = domain_size(_part(type_))
        if inner is None or isinstance(type_, OptionType):
            return None if inner is None else inner + 1
        if isinstance(type_, MapType):
            return math.prod(inner for _ in type_.keys)
        return int(sum(inner**length for length in range(type_.length + 1)))
    if isinstance(type_, RecordType | UnionType):
        parts = [domain_size(t) for t in (type_.fields.values() if isinstance(type_, RecordType) else type_.variants)]
        known = [size for size in parts if size is not None]
        if len(known) == len(parts):
            return math.prod(known) if isinstance(type_, RecordType) else sum(known)
    return None


def _part(type_: OptionType | SeqType | MapType) -> Type:
    if isinstance(type_, OptionType):
        return type_.inner
    return type_.element if isinstance(type_, SeqType) else type_.value_type


def domain(type_: Type) -> Iterator[Any]:
    """The values of a type that has a `domain_size`, in the order of their codes."""
    if isinstance(type_, Scalar):
        yield from type_.domain()
    elif isinstance(type_, SetType):
        yield from (type_.decode([mask]) for mask in range(1 << type_.size))
    elif isinstance(type_, OptionType):
        yield None
        yield from domain(type_.inner)
    elif isinstance(type_, SeqType):
        for length in range(type_.length + 1):
            yield from product(domain(type_.element), repeat=length)
    elif isinstance(type_, MapType):
        for values in product(domain(type_.value_type), repeat=len(type_.keys)):
            yield Map(dict(zip(type_.keys, values, strict=True)), type_.value_type.store)
    elif isinstance(type_, UnionType):
        for variant in type_.variants:
            yield from domain(variant)
    else:
        assert isinstance(type_, RecordType)
        for values in product(*[domain(t) for t in type_.fields.values()]):
            yield type_.make(dict(zip(type_.fields, values, strict=True)))
