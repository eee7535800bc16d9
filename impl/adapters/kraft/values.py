"""Immutable values, of which every step makes new ones."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


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
    return other
