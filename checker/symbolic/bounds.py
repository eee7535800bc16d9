"""Which bounds of a model a proof rests on, and which it does without.

An invariant holds on because every step keeps it. Where none of the invariants that a proof uses reads a field, the
proof starts each step from any value of it: a fault budget that is never used up, a network that holds whatever it
may. That bound is no bound of the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checker.lang.ir import EventKind, support
from checker.lang.program import Program
from checker.lang.types import BagType, MapType, OptionType, RangeType, RecordType, SeqType, Type


@dataclass(frozen=True)
class Growing:
    """A place of the state that a step may grow, and what bounds it there.

    kind: "counter", "sequence" or "bag"; most: the largest number, length or number of members.
    """

    path: str
    kind: str
    most: int
    leaves: frozenset[int]

    def __str__(self) -> str:
        words = {"counter": f"up to {self.most}", "sequence": f"at most {self.most} long",
                 "bag": f"at most {self.most} in flight"}  # fmt: skip
        return f"{self.path}: {words[self.kind]}"


def growing(type_: Type, program: Program) -> list[Growing]:
    """The counters (Nat) and bags of a state that some step changes, and the sequences at whose end a step is cut."""
    changed = {leaf for instance in program.instances for leaf in instance.updates}
    ends = [e.condition for i in program.instances for e in i.events if program.sites[e.site].kind is EventKind.CUT]
    cut = frozenset[int]().union(*map(support, ends))
    return [p for p in _places(type_, "", 0) if p.leaves & changed and (p.kind != "sequence" or p.leaves & cut)]


def _places(type_: Type, path: str, start: int) -> Iterator[Growing]:
    leaves = frozenset(range(start, start + type_.width))
    name = path.lstrip(".")
    if isinstance(type_, RangeType) and type_.cuts and type_.size > 1:
        yield Growing(name, "counter", type_.hi, leaves)
    elif isinstance(type_, BagType):
        yield Growing(name, "bag", type_.capacity, leaves)
    elif isinstance(type_, SeqType):
        yield Growing(name, "sequence", type_.length, leaves)
    elif isinstance(type_, RecordType):
        for field, inner in type_.fields.items():
            yield from _places(inner, f"{path}.{field}", start + type_.offsets[field])
    elif isinstance(type_, MapType):
        for i, key in enumerate(type_.keys):
            yield from _places(type_.value_type, f"{path}[{key!r}]", start + i * type_.value_type.width)
    elif isinstance(type_, OptionType):
        yield from _places(type_.inner, path, start + type_.width - type_.inner.width)
