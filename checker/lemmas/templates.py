"""Templates of candidates: facts about a state that are the same for every identity and every message.

A fact is about one identity `i` (of a map's keys, in an identity field, in a set) and of one member `m` of a bag. It
is one expression for each choice of the two, so that a clause over facts is one candidate whatever the number of
brokers, and what symmetry makes alike is tried once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from checker.lang.graph import Graph
from checker.lang.ir import Kind, Leaf, Node
from checker.lang.program import Program
from checker.lang.types import (
    BagType,
    BoolType,
    EnumType,
    IdentityType,
    MapType,
    OptionStyle,
    OptionType,
    OrdinalType,
    RangeType,
    RecordType,
    Scalar,
    SeqType,
    SetType,
    Type,
    UnionType,
)

Choice = tuple[int, int]
"""(which identity `i` is, which slot of the bag `m` is); 0 where there is nothing to choose from."""


@dataclass
class Place:
    """A field of the state, for every i and m. leaves: by (i, m), None: the field does not depend on it.

    absent: 1 where code 0 means that it is not there, else 0. bag: the bag that it lies in.
    """

    text: str
    type: Type | None
    absent: int
    bag: str
    leaves: dict[tuple[int | None, int | None], int] = field(default_factory=dict)

    def leaf(self, choice: Choice) -> int:
        i, m = choice
        return next(self.leaves[key] for key in ((i, m), (i, None), (None, m), (None, None)) if key in self.leaves)


@dataclass(frozen=True)
class Fact:
    """text: as it is true. nodes: by choice. joins: it ties two things together, and may be an antecedent."""

    text: str
    nodes: tuple[Node, ...]
    bag: str
    joins: bool


class Places:
    """The places of a state's type, by walking over it."""

    def __init__(self, type_: Type) -> None:
        self.identities = max(_identities(type_), default=0)
        self.slots: dict[str, int] = {}
        self._found: dict[str, Place] = {}
        self._walk(type_, "", 0, (None, None), "")

    def all(self) -> list[Place]:
        return list(self._found.values())

    def _add(
        self, text: str, type_: Type | None, absent: int, at: tuple[int | None, int | None], leaf: int, bag: str
    ) -> None:
        name = text.lstrip(".")
        self._found.setdefault(name, Place(name, type_, absent, bag)).leaves.setdefault(at, leaf)

    def _walk(
        self, type_: Type, path: str, start: int, at: tuple[int | None, int | None], bag: str, absent: int = 0
    ) -> None:
        match type_:
            case RecordType():
                for name, inner in type_.fields.items():
                    self._walk(inner, f"{path}.{name}", start + type_.offsets[name], at, bag)
            case MapType():
                sized = isinstance(type_.key_type, IdentityType) and len(type_.keys) == self.identities
                lifted = sized and at[0] is None
                for k, key in enumerate(type_.keys):
                    inner_at = (k, at[1]) if lifted else at
                    name = f"{path}[i]" if lifted else f"{path}[{key!r}]"
                    self._walk(type_.value_type, name, start + k * type_.value_type.width, inner_at, bag)
            case OptionType():
                self._option(type_, path, start, at, bag)
            case UnionType():
                self._union(type_, path, start, at, bag, absent)
            case SeqType():
                for k in range(type_.length):
                    self._walk(type_.element, f"{path}[{k}]", start + 1 + k * type_.element.width, at, bag)
            case BagType() if at[0] is None:
                name = path.lstrip(".")
                self.slots[name] = type_.capacity
                for k in range(type_.capacity):
                    here = start + k * type_.slot_width + int(type_.tagged)
                    self._walk(type_.slot, f"{path}[m]", here, (None, k), name)
            case _ if type_.width:
                self._add(path, type_, absent, at, start, bag)

    def _option(self, type_: OptionType, path: str, start: int, at: tuple[int | None, int | None], bag: str) -> None:
        if type_.style is OptionStyle.TAG:
            self._add(path, None, 1, at, start, bag)
            self._walk(type_.inner, path, start + 1, at, bag)
        else:
            self._walk(type_.inner, path, start, at, bag, absent=1)

    def _union(
        self, type_: UnionType, path: str, start: int, at: tuple[int | None, int | None], bag: str, absent: int
    ) -> None:
        """A variant's leaves do not lie side by side: each has its place by itself, shared with other variants."""
        self._add(path, type_, absent, at, start, bag)
        names: dict[int, dict[str, Type]] = {}
        for variant in type_.variants:
            places = type_.places[variant.cls]
            for name, inner in variant.fields.items():
                plain = inner.inner if isinstance(inner, OptionType) else inner
                if isinstance(plain, Scalar | OrdinalType | SetType):
                    names.setdefault(places[variant.offsets[name]], {})[name] = inner
        for place, named in names.items():
            self._walk(next(iter(named.values())), f"{path}.{'/'.join(named)}", start + place, at, bag)


def _identities(type_: Type) -> Iterator[int]:
    """The sizes of the identity sorts that a type has anywhere."""
    match type_:
        case IdentityType():
            yield type_.size
        case RecordType():
            for inner in type_.fields.values():
                yield from _identities(inner)
        case MapType():
            yield from _identities(type_.key_type)
            yield from _identities(type_.value_type)
        case OptionType():
            yield from _identities(type_.inner)
        case SetType() | SeqType() | BagType():
            yield from _identities(type_.element)
        case UnionType():
            for variant in type_.variants:
                yield from _identities(variant)


class Templates:
    """The facts of one program. graph: in which their expressions are made."""

    def __init__(self, type_: Type, program: Program, graph: Graph) -> None:
        self.graph, self._leaves = graph, program.leaves
        self._places = Places(type_)
        self._identities = self._places.identities

    def families(self) -> list[tuple[str, list[Fact]]]:
        """(a bag, the facts of any i and m of that bag) for each bag with room, and first ("", the facts of any i)."""
        return [(bag, self._facts(bag)) for bag in ("", *(bag for bag, size in self._places.slots.items() if size))]

    def choices(self, bag: str) -> list[Choice]:
        return [(i, m) for i in range(max(1, self._identities)) for m in range(self._places.slots.get(bag, 1))]

    def _facts(self, bag: str) -> list[Fact]:
        places = [p for p in self._places.all() if p.bag in ("", bag)]
        choices = self.choices(bag)
        found = [fact for place in places for fact in self._of_place(place, choices)]
        ordinals = [p for p in places if isinstance(p.type, OrdinalType)]
        for a, b in combinations(ordinals, 2):
            if self._leaf(a, choices[0]).sort == self._leaf(b, choices[0]).sort:
                found += self._of_pair(a, b, choices)
        return found

    def _leaf(self, place: Place, choice: Choice) -> Leaf:
        return self._leaves[place.leaf(choice)]

    def _node(self, place: Place, choice: Choice) -> Node:
        return self.graph.leaf(place.leaf(choice), self._leaf(place, choice))

    def _of_place(self, place: Place, choices: Sequence[Choice]) -> Iterator[Fact]:
        graph, type_ = self.graph, place.type
        nodes = [self._node(place, choice) for choice in choices]
        if isinstance(type_, BoolType) and not place.absent and nodes[0].kind is Kind.BOOL:
            yield Fact(place.text, tuple(nodes), place.bag, False)
        elif isinstance(type_, SetType):
            if isinstance(type_.element, IdentityType) and type_.size == self._identities:
                members = tuple(graph.has(n, graph.integer(i)) for n, (i, _) in zip(nodes, choices, strict=True))
                yield Fact(f"i in {place.text}", members, place.bag, True)
        elif isinstance(type_, IdentityType) and type_.size == self._identities > 1:
            same = (graph.eq(n, graph.integer(i + place.absent)) for n, (i, _) in zip(nodes, choices, strict=True))
            yield Fact(f"{place.text} = i", tuple(same), place.bag, True)
        else:
            for code, name in _values(type_, place.absent):
                equal = tuple(graph.eq(node, graph.integer(code)) for node in nodes)
                yield Fact(f"{place.text} is {name}", equal, place.bag, False)
        if place.absent:
            yield Fact(f"{place.text} is there", tuple(graph.not_(self._is_dead(n)) for n in nodes), place.bag, True)

    def _is_dead(self, node: Node) -> Node:
        none = self.graph.absent_ordinal(node.sort) if node.kind is Kind.ORDINAL else self.graph.integer(0)
        return self.graph.eq(node, none)

    def _of_pair(self, a: Place, b: Place, choices: Sequence[Choice]) -> Iterator[Fact]:
        """The order of two ordinals, one that is not there being below all others."""
        graph, bag = self.graph, a.bag or b.bag
        pairs = [(self._node(a, choice), self._node(b, choice)) for choice in choices]
        same = tuple(graph.and_(graph.eq(x, y), graph.not_(self._is_dead(x))) for x, y in pairs)
        yield Fact(f"{a.text} = {b.text}", same, bag, True)
        yield Fact(f"{a.text} < {b.text}", tuple(graph.lt(x, y) for x, y in pairs), bag, False)
        yield Fact(f"{b.text} < {a.text}", tuple(graph.lt(y, x) for x, y in pairs), bag, False)


def _values(type_: Type | None, absent: int) -> Iterator[tuple[int, str]]:
    """The (code, name) of the values of a small type that are worth asking for. Budgets (Nat) are not."""
    if isinstance(type_, UnionType):
        yield from ((code + absent, str(variant)) for code, variant in enumerate(type_.variants))
    elif isinstance(type_, EnumType | RangeType | BoolType) and not (isinstance(type_, RangeType) and type_.cuts):
        yield from ((code + absent, str(type_.itf(type_.value(code)))) for code in range(type_.size))
