"""Types of a spec, for one binding of its constants.

Every type flattens to a list of scalar leaves, each holding a code. That one list is what the
front end computes with, what the layout packs, and in what order values are sorted (`Type.key`).
Dead leaves (of an absent option, another variant, a slot past the end) are 0, so that equal values
have equal codes. An ordinal's code is 0 where it is dead and its value + 1 where it is alive.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import Any

from checker.lang.ir import Kind
from checker.lang.order import order_key
from checker.lang.scalars import (
    BoolType,
    EnumType,
    FixedOrdinalType,
    IdentityType,
    LeafType,
    OrdinalType,
    RangeType,
    Scalar,
    Type,
    wrong,
)
from checker.lang.values import UNCHECKED, Bag, Cut, Map, RuntimeViolation

WORD = 64  # possible members of a set in one leaf
MAX_MEMBERS = 1024  # possible members of a set, keys of a map: each is compiled on its own
ABSENT_ITF: dict[str, Any] = {"tag": "None", "value": {"#tup": []}}

__all__ = [
    "ABSENT_ITF", "MAX_MEMBERS", "WORD", "BagType", "BoolType", "BoundedSetType", "EnumType", "FixedOrdinalType",
    "IdentityType", "LeafType", "MapType", "OptionStyle", "OptionType", "OrdinalType", "RangeType", "RecordType",
    "Scalar", "SeqType", "SetType", "Type", "UnionType",
]  # fmt: skip


class OptionStyle(enum.Enum):
    CODE = enum.auto()  # a scalar: 0 is absent, then the scalar's codes
    ORDINAL = enum.auto()  # 0 is absent already
    TAG = enum.auto()  # a leaf of its own before the value


class OptionType(Type):
    """A value or None. How absence is coded depends on the inner type's first leaf: `style`."""

    def __init__(self, inner: Type) -> None:
        self.inner = inner
        first = inner.leaves[0][1]
        if isinstance(inner, Scalar | UnionType):
            self.style = OptionStyle.CODE
            head = (inner.leaves[0][0], LeafType(Kind.INT, first.size + 1))
            self.leaves = (head, *inner.leaves[1:])
        elif isinstance(inner, OrdinalType):
            self.style = OptionStyle.ORDINAL
            self.leaves = inner.leaves
        else:
            self.style = OptionStyle.TAG
            self.leaves = (("?", LeafType(Kind.INT, 2)), *inner.leaves)

    @property
    def count(self) -> int | None:
        return None if self.inner.count is None else self.inner.count + 1

    def values(self) -> Iterator[Any]:
        return chain([None], self.inner.values())

    def encode(self, value: Any) -> list[int]:
        if value is None:
            return [0] * self.width
        codes = self.inner.encode(value)
        if self.style is OptionStyle.CODE:
            codes[0] += 1
        elif self.style is OptionStyle.TAG:
            codes.insert(0, 1)
        return codes

    def decode(self, codes: Sequence[int]) -> Any:
        if codes[0] == 0:
            return None
        if self.style is OptionStyle.CODE:
            return self.inner.decode([codes[0] - 1, *codes[1:]])
        return self.inner.decode(codes if self.style is OptionStyle.ORDINAL else codes[1:])

    def store(self, value: Any) -> Any:
        return None if value is None else self.inner.store(value)

    def itf(self, value: Any) -> Any:
        return ABSENT_ITF if value is None else {"tag": "Some", "value": self.inner.itf(value)}

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, dict) or itf.get("tag") not in ("None", "Some"):
            raise ValueError(f"{itf!r} is not an option")
        return None if itf["tag"] == "None" else self.inner.parse(itf.get("value"))

    def __str__(self) -> str:
        return f"Option[{self.inner}]"


class SetType(Type):
    """A set over a numbered universe: a bit for each possible member, in as many words as that takes."""

    def __init__(self, element: Type) -> None:
        size = element.count
        assert size is not None, f"the values of {element} have no numbers"
        self.element = element
        self.size = size
        starts = range(0, max(size, 1), WORD)
        names = [""] if size <= WORD else [f"[members {i}..{min(size, i + WORD) - 1}]" for i in starts]
        self.leaves = tuple(
            (name, LeafType(Kind.SET, min(WORD, size - i))) for name, i in zip(names, starts, strict=True)
        )

    @functools.cached_property
    def members(self) -> list[Any]:
        """The universe in order of its numbers."""
        return list(self.element.values())

    @functools.cached_property
    def numbers(self) -> dict[Any, int]:
        """The number of each possible member."""
        return {member: i for i, member in enumerate(self.members)}

    @property
    def count(self) -> int:
        return 1 << self.size

    def values(self) -> Iterator[Any]:
        return map(self.of_mask, range(self.count))

    def encode(self, value: Any) -> list[int]:
        mask = sum(1 << self.numbers[member] for member in value)
        return [mask >> start & (1 << WORD) - 1 for start in range(0, WORD * self.width, WORD)]

    def decode(self, codes: Sequence[int]) -> Any:
        return self.of_mask(sum(code << WORD * i for i, code in enumerate(codes)))

    def of_mask(self, mask: int) -> Any:
        """The set whose members are the bits of `mask`, by number."""
        return frozenset(m for i, m in enumerate(self.members) if mask >> i & 1)

    def store(self, value: Any) -> Any:
        if not isinstance(value, frozenset | set):
            raise wrong(value, self)
        return frozenset(self.element.store(member) for member in value)

    def itf(self, value: Any) -> Any:
        return {"#set": [self.element.itf(m) for m in sorted(value, key=order_key)]}

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, dict) or not isinstance(itf.get("#set"), list):
            raise ValueError(f"{itf!r} is not a set")
        return frozenset(self.element.parse(m) for m in itf["#set"])

    def __str__(self) -> str:
        return f"Set[{self.element}]"


class MapType(Type):
    """A total map over a numbered key."""

    def __init__(self, key: Type, value: Type) -> None:
        self.key_type, self.value_type = key, value
        self.keys = list(key.values())
        names = [key.itf(k) if isinstance(key, Scalar) else repr(k) for k in self.keys]
        self.leaves = tuple((f"[{name}]{path}", leaf) for name in names for path, leaf in value.leaves)

    @property
    def count(self) -> int | None:
        return None if self.value_type.count is None else int(self.value_type.count ** len(self.keys))

    def values(self) -> Iterator[Any]:
        for values in product(*[list(self.value_type.values())] * len(self.keys)):
            yield Map(dict(zip(self.keys, values, strict=True)), self.value_type.store)

    def encode(self, value: Any) -> list[int]:
        return [code for k in self.keys for code in self.value_type.encode(value[k])]

    def decode(self, codes: Sequence[int]) -> Any:
        w = self.value_type.width
        items = {k: self.value_type.decode(codes[i * w : (i + 1) * w]) for i, k in enumerate(self.keys)}
        return Map(items, self.value_type.store)

    def store(self, value: Any) -> Any:
        if not isinstance(value, Map):
            raise wrong(value, self)
        if set(value) != set(self.keys):
            raise RuntimeViolation(f"a map must have every {self.key_type} as a key, this one has {list(value)}")
        return Map({k: self.value_type.store(value[k]) for k in self.keys}, self.value_type.store)

    def itf(self, value: Any) -> Any:
        return {"#map": [[self.key_type.itf(k), self.value_type.itf(value[k])] for k in self.keys]}

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, dict) or not isinstance(itf.get("#map"), list):
            raise ValueError(f"{itf!r} is not a map")
        items = {self.key_type.parse(k): self.value_type.parse(v) for k, v in itf["#map"]}
        if set(items) != set(self.keys):
            raise ValueError(f"a map over {self.key_type} must have each of {self.keys} as a key")
        return Map({k: items[k] for k in self.keys}, self.value_type.store)

    def __str__(self) -> str:
        return f"Map[{self.key_type}, {self.value_type}]"


class SeqType(Type):
    """A sequence of at most `length` elements: a leaf for how many there are, then the places."""

    def __init__(self, element: Type, length: int) -> None:
        self.element, self.length = element, length
        places = [(f"[{i}]{path}", leaf) for i in range(length) for path, leaf in element.leaves]
        self.leaves = ((".len", LeafType(Kind.INT, length + 1)), *places)

    @property
    def count(self) -> int | None:
        each = self.element.count
        return None if each is None else int(sum(each**length for length in range(self.length + 1)))

    def values(self) -> Iterator[Any]:
        elements = list(self.element.values())
        return chain.from_iterable(product(elements, repeat=length) for length in range(self.length + 1))

    def encode(self, value: Any) -> list[int]:
        codes = [len(value)] + [code for element in value for code in self.element.encode(element)]
        return codes + [0] * (self.width - len(codes))

    def decode(self, codes: Sequence[int]) -> Any:
        w = self.element.width
        return tuple(self.element.decode(codes[1 + i * w : 1 + (i + 1) * w]) for i in range(codes[0]))

    def store(self, value: Any) -> Any:
        if not isinstance(value, tuple):
            raise wrong(value, self)
        if len(value) > self.length:
            raise Cut(f"a sequence of {len(value)} exceeds its {self.length}")
        return tuple(self.element.store(element) for element in value)

    def itf(self, value: Any) -> Any:
        return [self.element.itf(element) for element in value]

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, list):
            raise ValueError(f"{itf!r} is not a sequence")
        return tuple(self.element.parse(element) for element in itf)

    def __str__(self) -> str:
        return f"Seq[{self.element}] of at most {self.length}"


class BagType(Type):
    """A bag of at most `capacity` members: slots, each an option, kept sorted with the empty ones last."""

    def __init__(self, element: Type, capacity: int) -> None:
        self.element, self.capacity = element, capacity
        self.slot = OptionType(element)
        self.tagged = self.slot.style is OptionStyle.ORDINAL  # a slot starts with an INT code in any case
        head = ((("?", LeafType(Kind.INT, 2)),) if self.tagged else ()) + self.slot.leaves
        self.slot_width = len(head)
        self.leaves = tuple((f"[{i}]{path}", leaf) for i in range(capacity) for path, leaf in head)

    def encode(self, value: Any) -> list[int]:
        slots = sorted(self._slot(member) for member in value)
        codes = [code for slot in slots for code in slot]
        return codes + [0] * (self.width - len(codes))

    def _slot(self, member: Any) -> list[int]:
        return ([1] if self.tagged else []) + self.slot.encode(member)

    def decode(self, codes: Sequence[int]) -> Any:
        w = self.slot_width
        slots = [codes[i * w : (i + 1) * w] for i in range(self.capacity)]
        return Bag(self.slot.decode(s[1:] if self.tagged else s) for s in slots if s[0])

    def store(self, value: Any) -> Any:
        if not isinstance(value, Bag):
            raise wrong(value, self)
        if len(value) > self.capacity:
            raise Cut(f"a bag of {len(value)} exceeds its {self.capacity}")
        return Bag(self.element.store(member) for member in value)

    def itf(self, value: Any) -> Any:
        members = sorted(set(value), key=self.element.key)
        return {"#map": [[self.element.itf(m), value.count(m)] for m in members]}

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, dict) or not isinstance(itf.get("#map"), list):
            raise ValueError(f"{itf!r} is not a bag")
        return Bag(self.element.parse(m) for m, n in itf["#map"] for _ in range(n))

    def __str__(self) -> str:
        return f"Bag[{self.element}] of at most {self.capacity}"


class BoundedSetType(BagType):
    """A set of at most `capacity` members, of which there may be any number: a bag's slots, no two of them alike."""

    def decode(self, codes: Sequence[int]) -> Any:
        return frozenset(super().decode(codes))

    def store(self, value: Any) -> Any:
        if not isinstance(value, frozenset | set):
            raise wrong(value, self)
        if len(value) > self.capacity:
            raise Cut(f"a set of {len(value)} exceeds its {self.capacity}")
        return frozenset(self.element.store(member) for member in value)

    def itf(self, value: Any) -> Any:
        return {"#set": [self.element.itf(m) for m in sorted(value, key=order_key)]}

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, dict) or not isinstance(itf.get("#set"), list):
            raise ValueError(f"{itf!r} is not a set")
        return frozenset(self.element.parse(m) for m in itf["#set"])

    def __str__(self) -> str:
        return f"Set[{self.element}] of at most {self.capacity}"


class RecordType(Type):
    """A record: its fields' leaves one after the other. `frozen` ones are values, the others places."""

    def __init__(self, cls: type[Any], fields: dict[str, Type], frozen: bool) -> None:
        self.cls, self.fields, self.frozen = cls, fields, frozen
        self.leaves = tuple((f".{name}{path}", leaf) for name, t in fields.items() for path, leaf in t.leaves)
        self.offsets: dict[str, int] = {}
        offset = 0
        for name, type_ in fields.items():
            self.offsets[name] = offset
            offset += type_.width

    @property
    def count(self) -> int | None:
        known = [type_.count for type_ in self.fields.values() if type_.count is not None]
        return math.prod(known) if len(known) == len(self.fields) else None

    def values(self) -> Iterator[Any]:
        for values in product(*[list(type_.values()) for type_ in self.fields.values()]):
            yield self.make(dict(zip(self.fields, values, strict=True)))

    def encode(self, value: Any) -> list[int]:
        return [code for name, t in self.fields.items() for code in t.encode(getattr(value, name))]

    def decode(self, codes: Sequence[int]) -> Any:
        offsets = self.offsets
        return self.make({n: t.decode(codes[offsets[n] : offsets[n] + t.width]) for n, t in self.fields.items()})

    def make(self, fields: dict[str, Any]) -> Any:
        """A record of values that are of their types, and nobody else's: they are neither checked nor copied."""
        made = object.__new__(self.cls)
        made.__dict__.update(fields)
        return made

    def store(self, value: Any) -> Any:
        if type(value) is not self.cls:
            raise wrong(value, self)
        if self.frozen and UNCHECKED not in value.__dict__:
            return value  # it was checked when it was made
        return self.make({name: type_.store(getattr(value, name)) for name, type_ in self.fields.items()})

    def itf(self, value: Any) -> Any:
        return {name: t.itf(getattr(value, name)) for name, t in self.fields.items()}

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, dict) or set(itf) - {"#meta"} < set(self.fields):
            raise ValueError(f"{itf!r} is not a value of {self}: it needs the fields {', '.join(self.fields)}")
        return self.cls(**{name: t.parse(itf[name]) for name, t in self.fields.items()})

    def __str__(self) -> str:
        return self.cls.__name__


class UnionType(Type):
    """A tagged union of frozen records: a tag, then leaves that the variants share by kind.

    Ordinals are shared by sort, so that a leaf is an ordinal of one sort in every variant.
    `places[cls]` says which leaves hold the variant's own, in the order of its declaration.
    """

    def __init__(self, variants: Sequence[RecordType]) -> None:
        self.variants = list(variants)
        self.in_order = sorted(self.variants, key=str)  # as `checker.lang.order` has it
        self.tags = {v.cls: i for i, v in enumerate(self.variants)}
        pool: list[LeafType] = []
        self.places: dict[type[Any], list[int]] = {}
        for variant in self.variants:
            taken: set[int] = set()
            self.places[variant.cls] = [1 + self._take(pool, leaf, taken) for _, leaf in variant.leaves]
        tag = ("", LeafType(Kind.INT, len(self.variants)))
        self.leaves = (tag, *[(f".{i}", leaf) for i, leaf in enumerate(pool)])

    @property
    def count(self) -> int | None:
        known = [variant.count for variant in self.variants if variant.count is not None]
        return sum(known) if len(known) == len(self.variants) else None

    def values(self) -> Iterator[Any]:
        return chain.from_iterable(variant.values() for variant in self.in_order)

    @staticmethod
    def _take(pool: list[LeafType], wanted: LeafType, taken: set[int]) -> int:
        for i, leaf in enumerate(pool):
            if i not in taken and (leaf.kind, leaf.sort) == (wanted.kind, wanted.sort):
                pool[i] = LeafType(leaf.kind, max(leaf.size, wanted.size), leaf.sort)
                taken.add(i)
                return i
        pool.append(wanted)
        taken.add(len(pool) - 1)
        return len(pool) - 1

    def encode(self, value: Any) -> list[int]:
        codes = [0] * self.width
        tag = self.tags[type(value)]
        codes[0] = tag
        for place, code in zip(self.places[type(value)], self.variants[tag].encode(value), strict=True):
            codes[place] = code
        return codes

    def decode(self, codes: Sequence[int]) -> Any:
        variant = self.variants[codes[0]]
        return variant.decode([codes[place] for place in self.places[variant.cls]])

    def store(self, value: Any) -> Any:
        if type(value) not in self.tags:
            raise wrong(value, self)
        return self.variants[self.tags[type(value)]].store(value)

    def itf(self, value: Any) -> Any:
        variant = self.variants[self.tags[type(value)]]
        return {"tag": str(variant), "value": variant.itf(value)}

    def parse(self, itf: Any) -> Any:
        for variant in self.variants:
            if isinstance(itf, dict) and itf.get("tag") == str(variant):
                return variant.parse(itf.get("value"))
        raise ValueError(f"{itf!r} is none of {self}")

    def __str__(self) -> str:
        return " | ".join(str(v) for v in self.variants)
