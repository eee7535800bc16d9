"""Immutable values, of which every step makes new ones.

Steps of hosts that are the same object, with the same arguments, are taken once: what was made of them is recalled. So
what is reached on several ways is mostly one object, and what was read off it is remembered with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, ParamSpec, TypeVar

from impl.kraft.effects import Effects

P = ParamSpec("P")
T = TypeVar("T")
MOST_RECALLED = 1 << 16  # of one function; beyond it all are forgotten


def recalled(function: Callable[P, T]) -> Callable[P, T]:
    """The function, of which a result is made once. Arguments are positional and hashable; results are not changed."""
    table: dict[tuple[Any, ...], T] = {}

    @wraps(function)
    def recall(*arguments: P.args, **_: P.kwargs) -> T:
        found = table.get(arguments)
        if found is None:
            if len(table) > MOST_RECALLED:
                table.clear()
            found = table[arguments] = function(*arguments, **_)
        return found

    return recall


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a core's method, which also gets the time."""

    method: str
    arguments: tuple[Any, ...] = ()

    def __call__(self, core: Any, now_ms: int) -> Effects:
        effects: Effects = getattr(core, self.method)(*self.arguments, now_ms)
        return effects


class Remembering:
    """A value that remembers what was made of it. A frozen dataclass without slots."""

    @cached_property
    def memory(self) -> dict[object, object]:
        return {}


def replace(value: T, **changes: Any) -> T:
    """As `dataclasses.replace`, for frozen dataclasses without slots, and a good deal faster."""
    other = object.__new__(type(value))
    fields = vars(other)
    fields.update(vars(value), **changes)
    fields.pop("memory", None)
    fields.pop("_parts", None)
    return other
