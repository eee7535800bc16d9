"""Values by number, and sets as bits: what `Type.values` lists, as expressions over leaves."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from checker.lang.frontend.codes import Codes
from checker.lang.frontend.symbols import Val
from checker.lang.ir import EventKind, Kind, Node
from checker.lang.types import (
    WORD,
    MapType,
    OptionType,
    RangeType,
    RecordType,
    Scalar,
    SeqType,
    SetType,
    Type,
    UnionType,
)

Words = tuple[Node, ...]  # a set: a bit for each possible member, 64 to a word


class Numbering(Codes):
    """Numbers values, and makes and reads sets of numbered values."""

    def number_in(self, type_: Type, nodes: Sequence[Node]) -> Node:
        """The number of the value whose leaves are `nodes` among all those of its type."""
        g = self.graph
        match type_:
            case Scalar():
                return g.select(nodes[0], g.integer(1), g.integer(0)) if nodes[0].kind is Kind.BOOL else nodes[0]
            case SetType():
                bits = [self.has_number(nodes, g.integer(i)) for i in range(type_.size)]
                return self.total([g.select(bit, g.integer(1 << i), g.integer(0)) for i, bit in enumerate(bits)])
            case OptionType():
                return self._number_of_option(type_, nodes)
            case UnionType():
                return self._number_of_union(type_, nodes, first=0)
            case SeqType():
                return self._number_of_sequence(type_, nodes)
            case MapType():
                return self._mixed([type_.value_type] * len(type_.keys), nodes)
        assert isinstance(type_, RecordType), type_
        return self._mixed(list(type_.fields.values()), nodes)

    def total(self, numbers: Sequence[Node]) -> Node:
        result = self.graph.integer(0)
        for number in numbers:
            result = self.graph.add(result, number)
        return result

    def _mixed(self, types: Sequence[Type], nodes: Sequence[Node]) -> Node:
        """The number of several values together: mixed radix, the first one most significant."""
        g, result, start = self.graph, self.graph.integer(0), 0
        for type_ in types:
            part = self.number_in(type_, nodes[start : start + type_.width])
            result = g.add(g.mul(result, g.integer(type_.count or 0)), part)
            start += type_.width
        return result

    def _number_of_option(self, type_: OptionType, nodes: Sequence[Node]) -> Node:
        g = self.graph
        if isinstance(type_.inner, Scalar):
            return nodes[0]  # absent is 0, and what is there one above its own number
        if isinstance(type_.inner, UnionType):
            inner = self._number_of_union(type_.inner, nodes, first=1)
        else:
            inner = self.number_in(type_.inner, nodes[1:])
        return g.select(g.eq(nodes[0], g.integer(0)), g.integer(0), g.add(inner, g.integer(1)))

    def _number_of_union(self, type_: UnionType, nodes: Sequence[Node], first: int) -> Node:
        """first: the code of the first variant's tag."""
        g, result, below = self.graph, self.graph.integer(0), 0
        for variant in type_.in_order:
            here = g.eq(nodes[0], g.integer(type_.tags[variant.cls] + first))
            own = self.number_in(variant, self.variant(Val(type_, tuple(nodes)), variant).nodes)
            result = g.select(here, g.add(own, g.integer(below)), result)
            below += variant.count or 0
        return result

    def _number_of_sequence(self, type_: SeqType, nodes: Sequence[Node]) -> Node:
        g, result, below = self.graph, self.graph.integer(0), 0
        for length in range(type_.length + 1):
            own = self._mixed([type_.element] * length, nodes[1:])
            result = g.select(g.eq(nodes[0], g.integer(length)), g.add(own, g.integer(below)), result)
            below += (type_.element.count or 0) ** length
        return result

    # Sets.

    def has_number(self, words: Sequence[Node], number: Node) -> Node:
        """The condition that a set holds the member with this number."""
        g = self.graph
        places = zip(words, self._places_of(number, len(words)), strict=True)
        return g.any_([g.and_(inside, g.has(word, bit)) for word, (inside, bit) in places])

    def set_of_one(self, type_: SetType, number: Node) -> Words:
        """The set of the one member with this number."""
        g = self.graph
        return tuple(g.select(inside, g.bit(bit), g.mask(0)) for inside, bit in self._places_of(number, type_.width))

    def _places_of(self, number: Node, width: int) -> list[tuple[Node, Node]]:
        """For each word of a set: (whether the member with this number is in it, the bit that it would be)."""
        g = self.graph
        if width == 1:
            return [(g.true, number)]
        result = []
        for start in range(0, width * WORD, WORD):
            inside = g.and_(g.not_(g.lt(number, g.integer(start))), g.lt(number, g.integer(start + WORD)))
            result.append((inside, g.integer(0) if inside is g.false else g.sub(number, g.integer(start))))
        return result

    def numbers_as(self, words: Sequence[Node], given: RangeType, type_: SetType, node: ast.AST) -> Words:
        """A set of numbers of one range as one of another; a number that does not fit is a cut or a violation."""
        g, result, wanted = self.graph, self.no_members(type_), type_.element
        assert isinstance(wanted, RangeType)
        for i, value in enumerate(range(given.lo, given.hi + 1)):
            there = self.has_number(words, g.integer(i))
            if wanted.lo <= value <= wanted.hi:
                one = self.set_of_one(type_, g.integer(value - wanted.lo))
                result = self.united(result, self.if_there(there, one))
            elif value > wanted.hi and wanted.cuts:
                self.event(EventKind.CUT, there, node, f"above {wanted}")
            else:
                self.error(there, node, f"stored outside {wanted}")
        return result

    def no_members(self, type_: SetType) -> Words:
        return (self.graph.mask(0),) * type_.width

    def united(self, a: Sequence[Node], b: Sequence[Node]) -> Words:
        return tuple(map(self.graph.set_or, a, b))

    def shared(self, a: Sequence[Node], b: Sequence[Node]) -> Words:
        return tuple(map(self.graph.set_and, a, b))

    def without(self, a: Sequence[Node], b: Sequence[Node]) -> Words:
        return tuple(map(self.graph.set_minus, a, b))

    def if_there(self, there: Node, words: Sequence[Node]) -> Words:
        """The set, or the empty one where `there` is false."""
        return tuple(self.graph.select(there, word, self.graph.mask(0)) for word in words)

    def is_empty(self, words: Sequence[Node]) -> Node:
        return self.graph.all_([self.graph.eq(word, self.graph.mask(0)) for word in words])

    def is_same(self, a: Sequence[Node], b: Sequence[Node]) -> Node:
        return self.graph.all_(list(map(self.graph.eq, a, b)))

    def member_count(self, type_: SetType, words: Sequence[Node]) -> Node:
        sizes = [leaf.size for _, leaf in type_.leaves]
        return self.total(list(map(self.graph.count, words, sizes)))
