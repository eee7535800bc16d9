"""A state of the spec that notes what an adapter reads of it: what an answer goes by, beside the SUT itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter, is_
from typing import Any

from checker.lang.marks import MARK


class Noting:
    """A state, or a record in it. read: the values that were read, by their paths; of a record, field by field."""

    __slots__ = ("_of", "_path", "read")

    def __init__(self, of: Any, path: str, read: dict[str, Any]) -> None:
        self._of, self._path, self.read = of, path, read

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._of, name)
        info = getattr(type(value), MARK, None)
        if info is not None and not info.frozen:
            return Noting(value, f"{self._path}{name}.", self.read)
        self.read[self._path + name] = value
        return value


Reading = tuple[Callable[[Any], tuple[Any, ...]], tuple[Any, ...]] | None
"""What was read, as far as that is anything: the values, and how to read them of another state."""


def noted(read: dict[str, Any]) -> Reading:
    """The reading of what a state has noted."""
    return (_getter(tuple(read)), tuple(read.values())) if read else None


def reads_alike(reading: Reading, state: Any) -> bool:
    """True if another state has the same objects there. Equal parts of states are mostly one object."""
    return reading is None or all(map(is_, reading[0](state), reading[1]))


@cache
def _getter(paths: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    read = attrgetter(*paths)
    return read if len(paths) > 1 else lambda state: (read(state),)
