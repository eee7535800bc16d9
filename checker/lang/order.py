"""The order of a spec's values: enums that have one, the least of what satisfies a condition, folds.

Every value has a place in one order, so that what a spec chooses does not depend on how Python happens to go through a
set: numbers and ordinals by size, enums and identities as declared, None before all else. Messages are compared field
by field (of different kinds: by the kinds' names), sequences by length and then element by element, sets by the
greatest member that only one of them has. The numbers of a set's members (`Type.values`) are in this order.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from checker.lang.values import Bag, Identity, Map, Ordinal, RuntimeViolation

A = TypeVar("A")
T = TypeVar("T")
E = TypeVar("E", bound="OrderedEnum")


class OrderedEnum(enum.Enum):
    """An enum whose members are compared with `<`, in the order of their declaration: `class Phase(OrderedEnum)`."""

    def __lt__(self: E, other: E) -> bool:
        return self._place() < self._place_of(other)

    def __le__(self: E, other: E) -> bool:
        return self._place() <= self._place_of(other)

    def __gt__(self: E, other: E) -> bool:
        return self._place() > self._place_of(other)

    def __ge__(self: E, other: E) -> bool:
        return self._place() >= self._place_of(other)

    def _place(self) -> int:
        return list(type(self)).index(self)

    def _place_of(self: E, other: E) -> int:
        if type(self) is not type(other):
            raise TypeError(f"{type(self).__name__} cannot be compared with {type(other).__name__}")
        return other._place()


def choose(candidates: Iterable[T]) -> T:
    """The least of `candidates`: `choose(b for b in s.live if s.epochs[b] == e)`. A violation where there is none."""
    found = list(candidates)
    if not found:
        raise RuntimeViolation("choose of nothing")
    if any(one is None for one in found):
        raise RuntimeViolation("an absent option is used as a value")
    return min(found, key=order_key)


def fold(step: Callable[[A, T], A], elements: Iterable[T], initial: A) -> A:
    """`step(... step(step(initial, first), second) ..., last)`, where `step` is a helper.

    A sequence is gone through as it stands, a set, a bag and the keys of a map from the least to the greatest.
    """
    if isinstance(elements, frozenset | set | Bag | Map):
        elements = sorted(elements, key=order_key)
    result = initial
    for element in elements:
        result = step(result, element)
    return result


def order_key(value: Any) -> tuple[Any, ...]:
    """The sort key of a value. Keys of values of one type can be compared, and are equal for equal values only."""
    if value is None:
        return ()
    if isinstance(value, enum.Enum):
        return (list(type(value)).index(value),)
    if isinstance(value, Identity):
        return (value.index,)
    if isinstance(value, Ordinal):
        return (value.value,)
    if isinstance(value, int):
        return (int(value),)
    if isinstance(value, frozenset | set):
        return (0, *sorted(map(order_key, value), reverse=True))
    if isinstance(value, tuple):
        return (len(value), *map(order_key, value))
    if isinstance(value, Map):
        return tuple(order_key(value[k]) for k in sorted(value, key=order_key))
    return (type(value).__name__, *[order_key(getattr(value, f.name)) for f in dataclasses.fields(value)])
