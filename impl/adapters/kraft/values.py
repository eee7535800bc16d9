"""Immutable values, of which every step makes new ones.

Steps of hosts that are the same object, with the same arguments, are taken once: what was made of them is recalled. Of
hosts that are alike, the first stands for all. So what is reached on several ways is mostly one object, and what was
read off it is remembered with it.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from hashlib import blake2b
from io import BytesIO
from pickle import Pickler
from typing import Any, ParamSpec, Self, TypeVar
from uuid import UUID

from checker.conform.graph import UnreadableStateError
from impl.kraft.effects import Effects

P = ParamSpec("P")
T = TypeVar("T")
MOST_RECALLED = 1 << 16  # of one function; beyond it all are forgotten


class _Mode:
    forgets = False


@contextmanager
def forgetting() -> Iterator[None]:
    """Nothing comes of what is made inside: it is not kept to be recalled, nor is anything sought that is alike."""
    _Mode.forgets = True
    try:
        yield
    finally:
        _Mode.forgets = False


def recalled(function: Callable[P, T]) -> Callable[P, T]:
    """The function, of which a result is made once. Arguments are positional and hashable; results are not changed.

    Of what it makes, and of the parts where that is a tuple, the first that is alike is returned.
    """
    return _recalling(function, first_alike)


def passing(function: Callable[P, T]) -> Callable[P, T]:
    """As `recalled`, of what is made on the way to something else: that it is like another one is not asked."""
    return _recalling(function, lambda made: made)


def _recalling(function: Callable[P, T], kept: Callable[[T], T]) -> Callable[P, T]:
    table: dict[tuple[Any, ...], T] = {}

    @wraps(function)
    def recall(*arguments: P.args, **_: P.kwargs) -> T:
        if _Mode.forgets:
            return function(*arguments, **_)
        found = table.get(arguments)
        if found is None:
            if len(table) > MOST_RECALLED:
                table.clear()
            found = table[arguments] = kept(function(*arguments, **_))
        return found

    return recall


@dataclass(frozen=True)
class Call:
    """A call of a core's method, which also gets the time."""

    method: str
    arguments: tuple[Any, ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.method, self.arguments))

    def __call__(self, core: Any, now_ms: int) -> Effects:
        effects: Effects = getattr(core, self.method)(*self.arguments, now_ms)
        return effects


Lacking = frozenset[tuple[int, int]]
"""(broker, end of a snapshot): see `Cluster.lacking`."""


class Remembering:
    """A value that remembers what was made of it. A frozen dataclass without slots."""

    @cached_property
    def memory(self) -> dict[object, object]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return without_memory(self)

    def __setstate__(self, fields: dict[str, Any]) -> None:
        vars(self).update(fields)


def remembered(memory: dict[object, object], key: object, make: Callable[[], T]) -> T:
    found = memory.get(key)
    if found is None:
        found = memory[key] = make()
    return found  # type: ignore[return-value]  # a key is always of what `make` gives


class Comparable(Remembering):
    """A value of which others may be alike, so that the first of them can stand for all."""

    @property
    def likeness(self) -> Hashable:
        """What others do not differ in that do the same wherever this does. Raises UnreadableStateError."""
        raise NotImplementedError

    def alike(self) -> Self:
        """The first that was asked of those that are like this one."""
        if _Mode.forgets:
            return self
        found = self.memory.get(ALIKE)
        if found is None:
            if len(FIRST) > MOST_RECALLED:
                FIRST.clear()
            try:
                found = FIRST.setdefault(self.likeness, self)
            except UnreadableStateError:  # whoever reads its key reports that
                found = self
            self.memory[ALIKE] = IS_FIRST if found is self else found
        return self if found is IS_FIRST else found  # type: ignore[return-value]  # likeness tells classes apart


ALIKE, IS_FIRST = "alike", "is the first"
FIRST: dict[Hashable, Comparable] = {}
MEMORY = "memory"  # the field of what was made of a value, which for another one is made anew
DISPATCH = dict(copyreg.dispatch_table) | {UUID: lambda id_: (int, (id_.int,))}  # a UUID's own way is a slow one


def digest(structure: object) -> bytes:
    """Of equal structures the same, unless the members of a set are in another order."""
    stream = BytesIO()
    pickler = Pickler(stream)
    pickler.dispatch_table = DISPATCH
    pickler.fast = True  # it does not matter which parts are one object
    pickler.dump(structure)
    return blake2b(stream.getbuffer(), digest_size=16).digest()


def first_alike(value: T) -> T:
    """A value, or a tuple of some, with the first that is alike in place of each that knows of such."""
    if isinstance(value, Comparable):
        return value.alike()
    if isinstance(value, tuple) and any(isinstance(part, Comparable) for part in value):
        return tuple.__new__(type(value), map(first_alike, value))
    return value


def without_memory(value: object) -> dict[str, Any]:
    """The fields of a value but for what it was read to be."""
    return {name: part for name, part in vars(value).items() if name != MEMORY}


def replace(value: T, **changes: Any) -> T:
    """As `dataclasses.replace`, for frozen dataclasses without slots, and a good deal faster."""
    other = object.__new__(type(value))
    fields = vars(other)
    fields.update(vars(value), **changes)
    fields.pop(MEMORY, None)
    return other
