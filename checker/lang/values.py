"""The values a spec computes with, and how a step ends when it is run as plain Python.

Everything here is an immutable value, but for `Map`, which a spec changes in place by
`s.map[key] = value`; assigning a map or a record to a field of the state copies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
O = TypeVar("O", bound="Ordinal")
I = TypeVar("I", bound="Identity")

UNCHECKED = "_unchecked"  # on a message that was made before constants were bound, at the top of a module

Size = int | Callable[[], int]


class StepEnd(Exception):
    """A step ended before its last line."""


class Disabled(StepEnd):
    """A `require` was false: the step cannot happen."""


class Cut(StepEnd):
    """A bound of the model would be exceeded: the step is enabled, and cut."""


class RuntimeViolation(StepEnd):
    """A store outside a Range, an absent Option used as a value, an index outside a sequence, ..."""


class WriteToReadOnly(Exception):
    """A state was assigned to while it may only be read (a guard is tried, a property evaluated)."""


class _Mode:
    """Write protection of states: the reference engine tries a step on the original first."""

    read_only = False


def check_writable() -> None:
    if _Mode.read_only:
        raise WriteToReadOnly


def require(condition: bool) -> None:
    """The guard of an action: where `condition` is false, the step cannot happen."""
    if not condition:
        raise Disabled


def require_some(option: T | None) -> T:
    """A guard that gives the value of an option: where it is absent, the step cannot happen."""
    if option is None:
        raise Disabled
    return option


class _IdentityMeta(type):
    def __iter__(cls: type[I]) -> Iterator[I]:  # type: ignore[misc]  # every class of this metaclass is one
        return (cls(i) for i in range(cls.count()))

    def __len__(cls) -> int:
        return cls.count()  # type: ignore[attr-defined, no-any-return]  # as above


class Identity(metaclass=_IdentityMeta):
    """A name without order or arithmetic. `class Broker(Identity, size=3)`; the members are `Broker(0)`, ...

    size: how many there are: a number, or a function of the model's constants. label: what they are called in traces
    and tables, before their number, or a function from the number to the whole name; the class, if it is not given.
    """

    _size: ClassVar[Size] = 0
    _label: ClassVar[str | Callable[[int], str]] = ""
    _members: ClassVar[dict[int, Any]]
    index: int

    def __init_subclass__(cls, size: Size, label: str | Callable[[int], str] = "") -> None:
        cls._size = size
        cls._label = staticmethod(label) if callable(label) else label or cls.__name__.lower()
        cls._members = {}

    def __new__(cls: type[I], index: int) -> I:
        member = cls._members.get(index)
        if member is None:
            if not isinstance(index, int):
                raise TypeError(f"{cls.__name__}({index!r}): members are numbered, the first is {cls.__name__}(0)")
            member = super().__new__(cls)
            member.index = index
            cls._members[index] = member
        return member

    @classmethod
    def count(cls) -> int:
        """The number of members in the model in force."""
        return cls._size() if callable(cls._size) else cls._size

    def __deepcopy__(self: I, memo: object) -> I:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.index,))

    def __repr__(self) -> str:
        label = type(self)._label
        return label(self.index) if callable(label) else f"{label}{self.index}"


class Ordinal:
    """A value of which only `==`, `<` and `fresh` matter. One subclass per sort; `BrokerEpoch(0)` in @init only.

    fixed: a function of the model's constants; where it is true, none is ever issued, `BrokerEpoch(0)` is the
    only one there is, and it takes no room in a state.
    """

    __slots__ = ("value",)
    _fixed: ClassVar[Callable[[], bool]]

    def __init_subclass__(cls, fixed: Callable[[], bool] = lambda: False) -> None:
        cls._fixed = staticmethod(fixed)

    @classmethod
    def is_fixed(cls) -> bool:
        """True if the model in force has only one of this sort."""
        return cls._fixed()

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.value))

    def __lt__(self: O, other: O) -> bool:
        return self.value < self._same_sort(other)

    def __le__(self: O, other: O) -> bool:
        return self.value <= self._same_sort(other)

    def __gt__(self: O, other: O) -> bool:
        return self.value > self._same_sort(other)

    def __ge__(self: O, other: O) -> bool:
        return self.value >= self._same_sort(other)

    def _same_sort(self: O, other: O) -> int:
        if type(self) is not type(other):
            raise TypeError(f"{type(self).__name__} cannot be compared with {type(other).__name__}")
        return other.value

    def __repr__(self) -> str:
        return str(self.value)


class Map(Generic[K, V]):
    """A total map over a finite key type. `Map({b: None for b in Broker})`."""

    __slots__ = ("_items", "_store")

    def __init__(self, items: Mapping[K, V], store: Callable[[Any], Any] | None = None) -> None:
        self._items = dict(items)
        self._store = store  # what the declared type of the values does with a value that is stored

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __setitem__(self, key: K, value: V) -> None:
        check_writable()
        if key not in self._items:
            raise RuntimeViolation(f"{key!r} is not a key of this map")
        self._items[key] = self._store(value) if self._store else value

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def values(self) -> Iterable[V]:
        return self._items.values()

    def items(self) -> Iterable[tuple[K, V]]:
        return self._items.items()

    def copied(self, copy: Callable[[V], V]) -> Map[K, V]:
        """A map of copies of the values, which are stored in it as in this one."""
        return Map({key: copy(value) for key, value in self._items.items()}, self._store)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and self._items == other._items

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{k!r}: {v!r}" for k, v in self._items.items()) + "}"


class Bag(Generic[T]):
    """A bounded multiset, immutable: `s.network = s.network.add(message)`."""

    __slots__ = ("_counts",)

    def __init__(self, members: Iterable[T] = ()) -> None:
        self._counts: dict[T, int] = {}
        for member in members:
            self._counts[member] = self._counts.get(member, 0) + 1

    def add(self, member: T) -> Bag[T]:
        """The bag with one more of `member`; storing it when the bag was full cuts the step."""
        return Bag([*self, member])

    def remove(self, member: T) -> Bag[T]:
        """The bag with one less of `member`. A violation where there is none."""
        if member not in self._counts:
            raise RuntimeViolation(f"{member!r} is not in the bag")
        members = list(self)
        members.remove(member)
        return Bag(members)

    def count(self, member: T) -> int:
        return self._counts.get(member, 0)

    def __contains__(self, member: object) -> bool:
        return member in self._counts

    def __len__(self) -> int:
        return sum(self._counts.values())

    def __iter__(self) -> Iterator[T]:
        return (m for m, n in self._counts.items() for _ in range(n))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bag) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    def __repr__(self) -> str:
        return "[" + ", ".join(repr(m) for m in self) + "]"


class History:
    """Marks a history variable: `Served = Annotated[Set[Broker], History]`."""


class Nat:
    """`Version = Annotated[int, Nat(5)]`: 0..5. A store above the maximum cuts the step."""

    def __init__(self, maximum: Size) -> None:
        self.maximum = maximum


class Range:
    """`Level = Annotated[int, Range(-1, 3)]`. A store outside it is a violation."""

    def __init__(self, lowest: Size, highest: Size) -> None:
        self.lowest = lowest
        self.highest = highest


class AtMost:
    """Greatest length of a sequence or bag: `Log = Annotated[Seq[Entry], AtMost(3)]`; storing a longer one is cut."""

    def __init__(self, length: Size) -> None:
        self.length = length


class MemberOf:
    """A parameter that ranges over members of the state: `Sent = Annotated[Message, MemberOf("network")]`.

    source: a field of the state, with indices that name earlier parameters ("channels[broker]"); or a helper that
    computes a set from the state and from earlier parameters, by their names: `MemberOf(electable)`.
    """

    def __init__(self, source: str | Callable[..., AbstractSet[Any]]) -> None:
        self.source = source


class Permutation:
    """Marks a parameter that ranges over all orders of a type: `Order = Annotated[Seq[Broker], Permutation]`."""


class Arrangement:
    """Marks a parameter that ranges over all orders of some or none of a type: lists in which none is twice."""
