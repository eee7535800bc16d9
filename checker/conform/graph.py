"""The state of an implementation, derived from its objects: every field of every object that can be reached.

An adapter says of the fields that it knows what each is: a value that stands for itself (`plain`), an ordinal, a time
or an offset as what it decides, or something that decides nothing (`LeftOut`, with the reason). A field that it does
not know is part of the state as it is, in a `Free`, so that nothing an implementation remembers can hide; where
such a field makes one new state after the other, the exploration reports which it is.

Of a subclass of a builtin, both its fields and its contents are part of a structure; of an object of an extension
type, what a pickle of it would hold. Not part of a structure: the order of a dict (but for an OrderedDict), whether two
fields hold the same object or equal ones, and the state of classes and modules.
"""

from __future__ import annotations

import enum
import struct
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

from checker.conform.system import Structure

T = TypeVar("T")
FREE = "free"
MOST_REMEMBERED, MOST_CONTEXTS = 1 << 16, 1 << 8  # immutable objects, contexts; beyond it all are forgotten
SCALARS = (int, str, bool, type(None), bytes, float, UUID)
ITSELF = frozenset(SCALARS)
BUILTINS = (OrderedDict, dict, list, deque, set, frozenset, tuple, bytearray, *SCALARS)  # a subclass before its base
POINTER_BYTES = struct.calcsize("P")
PICKLE_PROTOCOL = 4
ACCUMULATING = (int, float, str, bytes, bytearray, list, tuple, deque, set, frozenset, dict)
REFUSED: tuple[tuple[tuple[type, ...], str], ...] = (
    ((types.FunctionType, types.BuiltinFunctionType), "a function"),
    ((types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType), "a generator"),
    ((Iterator,), "an iterator"),
    ((types.ModuleType, types.FrameType, types.CodeType), "a part of the program"),
)


class UnreadableStateError(Exception):
    """Something was reached whose state cannot be read. places: the way to it, from the innermost outwards."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.places: list[str] = []

    def __str__(self) -> str:
        return f"{''.join(reversed(self.places)).lstrip('.') or 'the state'} is {self.what}, whose state cannot be read"


class Free(NamedTuple):
    """The value of a field that no rule is about, which may be one of ever more. No other tuple equals one."""

    value: Structure
    kind: str = FREE


class LeftOut(NamedTuple):
    """A field that decides nothing, and why."""

    reason: str


class Elsewhere(NamedTuple):
    """A field that is in another part of what is compared, and where."""

    where: str


Rule = Callable[[Any, Any, "Graph"], Structure]
"""What a field is in the structure: called with its value, the object that has it, and the graph."""
Fields = Mapping[str, Rule | LeftOut | Elsewhere]
Rules = Mapping[type, Fields]
Reader = Callable[[Any], Structure]
Plan = tuple[Callable[[list[Structure]], Structure], list[tuple[str, Rule | None]]]
"""What makes a structure of an object's parts, and of which fields; None: those that stand for themselves."""


def plain(value: Any, _: Any, graph: Graph) -> Structure:
    """The value stands for itself: there are only so many of them."""
    return graph.of(value)


def unknown(value: Any, _: Any, graph: Graph) -> Structure:
    """The value of a field that no other rule is about."""
    made = graph.of(value)
    is_counted = isinstance(value, ACCUMULATING) and not isinstance(value, bool | enum.Enum)
    return Free(made) if is_counted else made


@dataclass(frozen=True)
class By:
    """A rule: an object by other rules than those of its class. None is None."""

    fields: Fields

    def __call__(self, value: Any, _: Any, graph: Graph) -> Structure:
        return None if value is None else graph.by(self.fields, value)


class Graph:
    """Reads objects by rules for the fields of their classes, and remembers what it made of immutable ones.

    context: of the reading that is under way; what the rules need besides.
    """

    def __init__(self, rules: Rules, *, named: bool = True) -> None:
        """named: a report can name the parts of what is read, and tell fields that have no rule by their being Free."""
        self._rules, self._is_named = rules, named
        self.context: Any = None
        self._readers: dict[type, Reader] = {kind: _itself for kind in SCALARS}
        self._readers |= {tuple: self._sequence, frozenset: self._set}
        self._readers |= {list: self._mutable(self._sequence), deque: self._mutable(self._sequence)}
        self._readers |= {set: self._mutable(self._set), dict: self._mutable(self._mapping)}
        self._readers |= {OrderedDict: self._mutable(self._in_order)}
        self._readers |= {types.MethodType: self._mutable(self._method)}
        self._readers |= {types.MappingProxyType: self._mutable(self._mapping), bytearray: self._mutable(bytes)}
        self._plans: dict[tuple[type, int, tuple[str, ...]], Plan] = {}
        self._remembered: dict[Any, dict[int, tuple[Any, Structure]]] = {}
        self._values: dict[int, tuple[Any, Structure]] = {}
        self._many = 0  # that are remembered, in all contexts
        self._owners: list[Any] = []
        self._is_passing = False  # what was just read can change, or rests on what can

    def know(self, rules: Rules) -> None:
        """Read further classes by rules, from now on."""
        self._rules = {**self._rules, **rules}
        self._plans.clear()
        self._forget()

    def read(self, value: Any, context: Hashable = None) -> Structure:
        """The structure of a value and all that it holds. Raises UnreadableStateError."""
        if self._many > MOST_REMEMBERED or len(self._remembered) > MOST_CONTEXTS:
            self._forget()
        self.context, self._values = context, self._remembered.setdefault(context, {})
        return self.of(value)

    def _forget(self) -> None:
        self._remembered.clear()
        self._many = 0

    def of(self, value: Any) -> Structure:
        """The structure of a part of what is read."""
        reader = self._readers.get(value.__class__)
        if reader is None:
            reader = self._readers[value.__class__] = self._reader(value.__class__)
        return reader(value)

    def owner(self, kind: type[T]) -> T:
        """The innermost object of a class of those whose fields are being read; for rules."""
        self._is_passing = True
        return next(owner for owner in reversed(self._owners) if isinstance(owner, kind))

    def _reader(self, kind: type) -> Reader:
        if issubclass(kind, enum.Enum):
            return _itself
        if issubclass(kind, type):
            return lambda one: f"{one.__module__}.{one.__qualname__}"
        if issubclass(kind, tuple) and hasattr(kind, "_fields") and not kind.__dictoffset__:
            return lambda one: _named(kind.__name__, kind._fields)(
                [self._part(f".{name}", part) for name, part in zip(kind._fields, one, strict=True)]
            )
        for builtin in BUILTINS:
            if issubclass(kind, builtin):
                return self._mutable(self._derived(self._readers[builtin]))
        for kinds, what in REFUSED:
            if issubclass(kind, kinds):
                return _refusal(what)
        if _has_more_than_fields(kind):
            return self._mutable(self._reduced)
        is_frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
        return self._value if is_frozen else self._mutable(self._object)

    def _mutable(self, reader: Reader) -> Reader:
        def read(value: Any) -> Structure:
            made = reader(value)
            self._is_passing = True
            return made

        return read

    def _derived(self, contents: Reader) -> Reader:
        """The fields of an object of a subclass of a builtin, and its contents."""
        return lambda value: (self._object(value), contents(value))

    def _reduced(self, value: Any) -> Structure:
        """The fields of an object of an extension type, and all that a pickle of it would hold."""
        try:
            reduced = value.__reduce_ex__(PICKLE_PROTOCOL)
        except TypeError:
            raise UnreadableStateError(f"of the type {type(value).__name__}") from None
        if isinstance(reduced, str):  # the name of a constant
            return reduced
        parts = [list(part) if isinstance(part, Iterator) else part for part in reduced[1:]]
        return (self._object(value), self._sequence(parts))

    def _part(self, place: str, part: Any) -> Structure:
        try:
            return self.of(part)
        except UnreadableStateError as error:
            error.places.append(place)
            raise

    def _sequence(self, value: Any) -> Structure:
        try:
            return tuple([part if part.__class__ in ITSELF else self.of(part) for part in value])
        except UnreadableStateError:
            return tuple([self._part(f"[{number}]", part) for number, part in enumerate(value)])

    def _method(self, value: types.MethodType) -> Structure:
        """Which method it is, and of what."""
        code = getattr(value.__func__, "__code__", None)
        if code is None or set(code.co_freevars) - {"__class__"}:  # that of super()
            raise UnreadableStateError("a function")
        return code.co_qualname, self._part(".__self__", value.__self__)

    def _set(self, value: Any) -> Structure:
        return frozenset([self._part("{...}", part) for part in value])

    def _mapping(self, value: Any) -> Structure:
        pairs = [(self._part("(key)", key), self._part(f"[{key!r}]", part)) for key, part in value.items()]
        try:
            return tuple(sorted(pairs, key=_key))
        except TypeError:
            return frozenset(pairs)

    def _in_order(self, value: Any) -> Structure:
        """An OrderedDict, whose order decides."""
        return self._sequence(tuple(value.items()))

    def _value(self, value: Any) -> Structure:
        """An object that is never changed, unless something in it is."""
        return self.once(value, self._object)

    def once(self, value: Any, read: Reader) -> Structure:
        """What `read` makes of an object that is never changed, and is read by nothing else; for rules."""
        known = self._values.get(id(value))
        if known is not None:
            return known[1]
        before, self._is_passing = self._is_passing, False
        made = read(value)
        if not self._is_passing:
            self._values[id(value)] = value, made
            self._many += 1
        self._is_passing |= before
        return made

    def _object(self, value: Any) -> Structure:
        return self.by(None, value)

    def by(self, fields: Fields | None, value: Any) -> Structure:
        """An object by other rules than those of its class."""
        kind = value.__class__
        for owner in self._owners:
            if owner is value:
                return ("cycle", kind.__name__)
        names = slots_of(kind)
        if hasattr(value, "__dict__"):
            names += tuple(value.__dict__)
        plan = self._plans.get((kind, id(fields), names))
        if plan is None:
            plan = self._plans[kind, id(fields), names] = self._plan(kind, fields, names)
        make, read = plan
        parts: list[Structure] = []
        self._owners.append(value)
        try:
            for name, rule in read:
                part = getattr(value, name, None)
                if rule is None:
                    parts.append(part if part.__class__ in ITSELF else self.of(part))
                else:
                    parts.append(rule(part, value, self))
        except UnreadableStateError as error:
            error.places.append(f".{name}")
            raise
        finally:
            self._owners.pop()
        return make(parts)

    def _plan(self, kind: type, fields: Fields | None, names: tuple[str, ...]) -> Plan:
        known = dict(fields or {})
        for base in kind.__mro__ if fields is None else ():
            known = {**self._rules.get(base, {}), **known}
        missing = {name for name in known.keys() - set(names) if not hasattr(kind, name)}
        if missing:
            raise UnreadableStateError(f"a {kind.__name__} without the fields {', '.join(sorted(missing))}")
        read: list[tuple[str, Rule | None]] = []
        for name in sorted(set(names)):
            rule = known.get(name, unknown if self._is_named else plain)
            if not isinstance(rule, LeftOut | Elsewhere):
                read.append((name, None if rule is plain else rule))
        make = _named if self._is_named else _unnamed
        return make(kind.__name__, tuple(name for name, _ in read)), read


def _key(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _itself(value: Any) -> Structure:
    return cast(Structure, value)


def _refusal(what: str) -> Reader:
    def refuse(value: Any) -> Structure:
        raise UnreadableStateError(what)

    return refuse


@cache
def slots_of(kind: type) -> tuple[str, ...]:
    """The slots of a class and of those that it derives from, but for the ones that hold no state."""
    found: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__"):
                is_private = slot.startswith("__") and not slot.endswith("__")
                found.append(f"_{base.__name__.lstrip('_')}{slot}" if is_private else slot)
    return tuple(found)


def _has_more_than_fields(kind: type) -> bool:
    """True if objects of a class hold something beside slots and a dict, as those of an extension type do."""
    pointers = len(slots_of(kind)) + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    return kind.__basicsize__ > object.__basicsize__ + POINTER_BYTES * pointers


@cache
def _named(name: str, fields: tuple[str, ...]) -> Callable[[list[Structure]], Structure]:
    """Makes tuples that a report can name the parts of. The first part is the name of the class."""
    kind = type(name, (_Read,), {"__slots__": (), "_fields": ("kind", *fields)})
    return lambda parts: kind((name, *parts))


@cache
def _unnamed(name: str, fields: tuple[str, ...]) -> Callable[[list[Structure]], Structure]:
    """As `_named`, of plain tuples, which have all the names first."""
    kind = (name, *fields)
    return lambda parts: (kind, *parts)


class _Read(tuple[Structure, ...]):
    """An object that was read. It travels between processes as a plain tuple."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)
