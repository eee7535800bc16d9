"""The interface of all types, and the types of one leaf: bool, enums, ranges, identities, ordinals."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checker.lang.errors import shortened
from checker.lang.ir import Kind
from checker.lang.values import Cut, Identity, Ordinal, RuntimeViolation


@dataclass(frozen=True)
class LeafType:
    """One scalar: codes 0..size-1 of an INT or BOOL, `size` members of a SET, or an ORDINAL of `sort`."""

    kind: Kind
    size: int = 0
    sort: str = ""

    @property
    def is_constant(self) -> bool:
        return self.kind is not Kind.ORDINAL and self.size <= (0 if self.kind is Kind.SET else 1)


def wrong(value: Any, type_: Type) -> RuntimeViolation:
    return RuntimeViolation(f"{shortened(repr(value))} is not a value of {type_}")


class Type:
    """The interface of all types. Codes are lists of ints, one per leaf."""

    leaves: tuple[tuple[str, LeafType], ...]  # (path below the value, leaf)

    def encode(self, value: Any) -> list[int]:
        raise NotImplementedError

    def decode(self, codes: Sequence[int]) -> Any:
        raise NotImplementedError

    def store(self, value: Any) -> Any:
        """A copy of `value` fit to be kept in a state. Raises Cut or RuntimeViolation where it does not fit."""
        raise NotImplementedError

    def itf(self, value: Any) -> Any:
        raise NotImplementedError

    def parse(self, itf: Any) -> Any:
        """The value that `itf` stands for. Raises ValueError where it is none of this type."""
        raise NotImplementedError

    @property
    def count(self) -> int | None:
        """The number of values; None where they have no numbers: of ordinals without end, of bags."""
        return None

    def values(self) -> Iterator[Any]:
        """All values of a type that has a `count`, in the order of `checker.lang.order`: their numbers are by it."""
        raise NotImplementedError

    def key(self, value: Any) -> tuple[int, ...]:
        """The sort key of values of this type: their codes in declared order."""
        return tuple(self.encode(value))

    @property
    def width(self) -> int:
        return len(self.leaves)

    @property
    def is_constant(self) -> bool:
        """True if there is one value only: what a budget of 0 leaves of a counter or a sequence."""
        return all(leaf.is_constant for _, leaf in self.leaves)


class Scalar(Type):
    """A finite type whose values are numbered: bool, enum, range, identity."""

    size: int

    @property
    def count(self) -> int:
        return self.size

    def values(self) -> Iterator[Any]:
        return iter(self.domain())

    def code(self, value: Any) -> int:
        raise NotImplementedError

    def value(self, code: int) -> Any:
        raise NotImplementedError

    def encode(self, value: Any) -> list[int]:
        return [self.code(value)]

    def decode(self, codes: Sequence[int]) -> Any:
        return self.value(codes[0])

    def domain(self) -> list[Any]:
        return [self.value(i) for i in range(self.size)]


class BoolType(Scalar):
    size = 2

    def __init__(self) -> None:
        self.leaves = (("", LeafType(Kind.BOOL, 2)),)

    def code(self, value: Any) -> int:
        return int(value)

    def value(self, code: int) -> Any:
        return bool(code)

    def store(self, value: Any) -> Any:
        if not isinstance(value, bool):
            raise wrong(value, self)
        return value

    def itf(self, value: Any) -> Any:
        return value

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, bool):
            raise ValueError(f"{itf!r} is not true or false")
        return itf

    def __str__(self) -> str:
        return "bool"


class RangeType(Scalar):
    """`lo..hi`; a store above the maximum of a Nat is a cut, any other store outside is a violation."""

    def __init__(self, lo: int, hi: int, cuts: bool) -> None:
        self.lo, self.hi, self.cuts = lo, hi, cuts
        self.size = hi - lo + 1
        self.leaves = (("", LeafType(Kind.INT, self.size)),)

    def code(self, value: Any) -> int:
        return int(value) - self.lo

    def value(self, code: int) -> Any:
        return code + self.lo

    def store(self, value: Any) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong(value, self)
        if self.lo <= value <= self.hi:
            return value
        if self.cuts and value > self.hi:
            raise Cut(f"{value} exceeds {self}")
        raise RuntimeViolation(f"{value} is outside {self}")

    def itf(self, value: Any) -> Any:
        return value

    def parse(self, itf: Any) -> Any:
        if isinstance(itf, dict) and "#bigint" in itf:
            itf = int(itf["#bigint"])
        if not isinstance(itf, int) or isinstance(itf, bool) or not self.lo <= itf <= self.hi:
            raise ValueError(f"{itf!r} is not a number of {self}")
        return itf

    def __str__(self) -> str:
        return f"Nat({self.hi})" if self.cuts else f"Range({self.lo}, {self.hi})"


class EnumType(Scalar):
    def __init__(self, cls: type[enum.Enum]) -> None:
        self.cls = cls
        self.members = list(cls)
        self.size = len(self.members)
        self.leaves = (("", LeafType(Kind.INT, self.size)),)
        self._codes = {m: i for i, m in enumerate(self.members)}

    def code(self, value: Any) -> int:
        return self._codes[value]

    def value(self, code: int) -> Any:
        return self.members[code]

    def store(self, value: Any) -> Any:
        if not isinstance(value, self.cls):
            raise wrong(value, self)
        return value

    def itf(self, value: Any) -> Any:
        return value.name

    def parse(self, itf: Any) -> Any:
        if not isinstance(itf, str) or itf not in self.cls.__members__:
            raise ValueError(f"{itf!r} is not a value of {self}")
        return self.cls[itf]

    def __str__(self) -> str:
        return self.cls.__name__


class IdentityType(Scalar):
    def __init__(self, cls: type[Identity]) -> None:
        self.cls = cls
        self.size = cls.count()
        self.leaves = (("", LeafType(Kind.INT, self.size)),)

    def code(self, value: Any) -> int:
        return int(value.index)

    def value(self, code: int) -> Any:
        return self.cls(code)

    def store(self, value: Any) -> Any:
        if type(value) is not self.cls:
            raise wrong(value, self)
        if not 0 <= value.index < self.size:
            raise RuntimeViolation(f"{value!r} is beyond the {self.size} members of {self}")
        return value

    def itf(self, value: Any) -> Any:
        return repr(value)

    def parse(self, itf: Any) -> Any:
        for member in self.domain():
            if repr(member) == itf:
                return member
        raise ValueError(f"{itf!r} is not a value of {self}")

    def __str__(self) -> str:
        return self.cls.__name__


class OrdinalType(Type):
    def __init__(self, cls: type[Ordinal]) -> None:
        self.cls = cls
        self.sort = cls.__name__
        self.leaves = (("", LeafType(Kind.ORDINAL, 0, self.sort)),)

    def encode(self, value: Any) -> list[int]:
        return [value.value + 1]

    def decode(self, codes: Sequence[int]) -> Any:
        return self.cls(codes[0] - 1)

    def store(self, value: Any) -> Any:
        if type(value) is not self.cls or value.value < 0:
            raise wrong(value, self)
        return value

    def itf(self, value: Any) -> Any:
        return value.value

    def parse(self, itf: Any) -> Any:
        if isinstance(itf, dict) and "#bigint" in itf:
            itf = int(itf["#bigint"])
        if not isinstance(itf, int) or isinstance(itf, bool) or itf < 0:
            raise ValueError(f"{itf!r} is not a value of {self}")
        return self.cls(itf)

    def __str__(self) -> str:
        return self.sort


class FixedOrdinalType(Scalar):
    """A sort of which a model issues none: there is one, and nothing to number."""

    size = 1

    def __init__(self, cls: type[Ordinal]) -> None:
        self.cls = cls
        self.leaves = (("", LeafType(Kind.INT, self.size)),)

    def code(self, value: Any) -> int:
        return int(value.value)

    def value(self, code: int) -> Any:
        return self.cls(code)

    def store(self, value: Any) -> Any:
        if type(value) is not self.cls or value.value:
            raise wrong(value, self)
        return value

    def itf(self, value: Any) -> Any:
        return value.value

    def parse(self, itf: Any) -> Any:
        if OrdinalType(self.cls).parse(itf).value:
            raise ValueError(f"{itf!r} is not a value of {self}")
        return self.cls(0)

    def __str__(self) -> str:
        return self.cls.__name__


def canonical(type_: Type, value: Any) -> tuple[int, ...]:
    """The codes of a value with ordinals renumbered by rank, sort by sort: 0 stays, live ones become 1.. in order."""
    codes = type_.encode(value)
    live: dict[str, set[int]] = {}
    for (_, leaf), code in zip(type_.leaves, codes, strict=True):
        if leaf.sort and code:
            live.setdefault(leaf.sort, set()).add(code)
    ranks = {sort: {code: i + 1 for i, code in enumerate(sorted(found))} for sort, found in live.items()}
    return tuple(
        ranks[leaf.sort][code] if leaf.sort and code else code
        for (_, leaf), code in zip(type_.leaves, codes, strict=True)
    )
