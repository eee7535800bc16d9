"""What the SUT shows beside what the spec says that it should, as text, place by place."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from checker.conform.canonical import places, renumbered
from checker.conform.driver import Diverges
from checker.conform.system import Structure, System
from checker.lang.types import ABSENT_ITF
from traces.trace import Value
from traces.values import show


@dataclass(frozen=True)
class Row:
    """A place in what is observed, and what stands there, as text.

    hidden: in what does not show; `spec` is what stood there before then, and should still stand there.
    """

    path: str
    spec: str
    system: str
    hidden: bool = False

    @property
    def differs(self) -> bool:
        return self.spec != self.system

    def text(self) -> str:
        return f"{self.system}, {'before' if self.hidden else 'in the spec'} {self.spec}"


class Seen(NamedTuple):
    """How a search came upon a divergence: what the SUT does, and the two states side by side."""

    reason: str
    rows: tuple[Row, ...]


def seen(system: System[Any], found: Diverges) -> Seen:
    return Seen(str(found), tuple(_rows(system, found)))


def _rows(system: System[Any], found: Diverges) -> Iterator[Row]:
    """The two states side by side, the SUT's ordinals by the numbers of the spec's.

    Of what does not show, only where they differ: an adapter derives it from all objects that there are.
    """
    if found.system is None or found.spec is None:
        return
    yield from _beside(system.expect(found.spec), system.observe(found.system))
    if found.before is not None:
        yield from _beside(system.key(found.before), system.key(found.system), hidden=True)


def _beside(spec: Structure, system: Structure, hidden: bool = False) -> Iterator[Row]:
    for path, one, other in places(spec, renumbered(system, spec), "hidden" * hidden):
        row = Row(path, show(value_of(one)), show(value_of(other)), hidden)
        if row.differs or not hidden:
            yield row


def value_of(structure: Structure) -> Value:
    """A structure as a value of a trace. Ordinals are numbers."""
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        if structure._fields == ("sort", "value"):
            return int(structure[1])
        return {name: value_of(part) for name, part in zip(structure._fields, structure, strict=True)}
    if isinstance(structure, tuple):
        return [value_of(part) for part in structure]
    if isinstance(structure, frozenset):
        members: list[Value] = [value_of(part) for part in structure]
        tagged: dict[str, Value] = {"#set": members}
        return tagged
    if isinstance(structure, enum.Enum):
        return structure.name
    if structure is None:
        return ABSENT_ITF
    return structure if isinstance(structure, bool | int | str) else repr(structure)
